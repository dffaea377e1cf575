package pairing

import (
	"fmt"
	"slices"
)

// A doubleElimination eliminates a player at its second loss.
//
//   - The winners' bracket is that of a knockout. Its losers drop into the losers' bracket, where a stage of its own
//     winners alternates with a stage against the losers that drop next. These come in another order each time, so that
//     of 2^k players no two meet again before stage k of the losers' bracket.
//   - The winners of both brackets play the final. If its loser has lost none before, they play a second one.
//   - Each match is played as soon as both players are known: a round has matches of several stages, and replays.
//   - After a double loss both have lost, and nobody advances: the player that would meet the winner advances without
//     a match. Players that have lost none before then play for the place in the losers' bracket, and the loser is
//     eliminated. In the first final, the player that had lost none before is the champion.
//   - An absent player loses its next match, replay or bye.
//
// The eliminated rank by the stage of their last match; those that never came to the losers' bracket, by the stage that
// they missed.
type doubleElimination struct{ *tree }

var _ Ranker = doubleElimination{}

// The parts of the bracket.
const (
	partWinners = iota
	partLosers
	partFinal
)

// newDoubleElimination returns the double elimination of 2 or more players.
func newDoubleElimination(players int, seeds []int) (doubleElimination, error) {
	if players < 2 {
		return doubleElimination{}, fmt.Errorf("a double elimination needs at least 2 players, got %d", players)
	}
	seeds, err := order(players, seeds)
	if err != nil {
		return doubleElimination{}, err
	}
	// Each stage of the losers' bracket has 2 levels: the lower one is that of the players that it misses.
	level := func(stage int) int { return 2 * (stage + 1) }
	t := &tree{seeds: seeds, lives: 2, top: level(2 * (stagesFor(players) - 1))}
	firsts := t.grow(func(stage int) int { return level(max(2*stage-1, 0)) - 1 })
	firsts = append(firsts, len(t.places))
	feeds := t.losers(firsts[0], firsts[1])
	for stage := 1; stage < len(firsts)-1; stage++ {
		winners := t.add(partLosers, 2*stage-2, level(2*stage-2), feeds)
		drops := t.losers(firsts[stage], firsts[stage+1])
		if half := len(drops) / 2; stage%4 >= 2 {
			drops = slices.Concat(drops[half:], drops[:half])
		}
		if stage%2 == 1 {
			slices.Reverse(drops)
		}
		feeds = nil
		for i := range winners {
			feeds = append(feeds, winners[i], drops[i])
		}
		feeds = t.add(partLosers, 2*stage-1, level(2*stage-1), feeds)
	}
	final := len(t.places)
	t.add(partFinal, 0, t.top, []feed{{place: firsts[len(firsts)-1] - 1}, feeds[0]})
	t.add(partFinal, 1, t.top, []feed{{place: final}, {place: final, loser: true}})
	t.places[final+1].first = 1
	return doubleElimination{t}, nil
}

// losers are the feeds of the losers of places.
func (t *tree) losers(from, to int) (feeds []feed) {
	for place := from; place < to; place++ {
		feeds = append(feeds, feed{place: place, loser: true})
	}
	return feeds
}

// Rounds is the number of rounds if each match in a row needs all replays: one of each stage of the losers' bracket,
// two finals, and two matches of the first stage, the second one after a double loss.
func (d doubleElimination) Rounds() int { return rounds(2*(stagesFor(len(d.seeds))-1) + 4) }

// Matches is the number of matches if each is replayed as often as possible. Each takes a life, and one is left.
func (d doubleElimination) Matches() int { return rounds(2*len(d.seeds) - 1) }
