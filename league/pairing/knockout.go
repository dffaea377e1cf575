package pairing

import "fmt"

// A knockout eliminates the loser of each match.
//
//   - Seeds have their standard positions in the bracket: seeds 1 and 2 can only meet in
//     the final, 1 to 4 not before the semifinals. If n is not a power of two, the
//     highest seeds have a bye in the first stage.
//   - A round has either the matches of a new stage, or the replays of the draws of the
//     round before.
//   - After a double loss neither player advances. The player that would meet the winner
//     advances without a match; if both players are missing, nobody does.
//   - An absent player leaves at its next match, replay or bye.
//   - The losers of the semifinals play for third place, in the rounds of the final. A double
//     loss has no loser in this sense: a single loser of the semifinals is third without a match.
//
// The rank follows from the stage of the last match. The match for third place decides between ranks 3 and 4; after a
// double loss both are third.
type knockout struct{ *tree }

var _ Ranker = knockout{}

// newKnockout returns the knockout of 2 or more players.
func newKnockout(players int, seeds []int) (knockout, error) {
	if players < 2 {
		return knockout{}, fmt.Errorf("a knockout needs at least 2 players, got %d", players)
	}
	seeds, err := order(players, seeds)
	if err != nil {
		return knockout{}, err
	}
	k := knockout{&tree{seeds: seeds, lives: 1, staged: true, top: 2 * stagesFor(players)}}
	firsts := k.grow(func(stage int) int { return 2 * (stage + 1) })
	if stages := len(firsts); stages > 1 {
		semifinals := firsts[stages-2]
		k.add(0, stages-1, 0, []feed{{place: semifinals, loser: true}, {place: semifinals + 1, loser: true}})
		k.places[len(k.places)-1].Third = true
	}
	return k, nil
}

// Rounds is the number of rounds if each stage needs all replays.
func (k knockout) Rounds() int { return rounds(stagesFor(len(k.seeds))) }

// Matches is the number of matches if each is replayed as often as possible.
func (k knockout) Matches() int {
	matches := len(k.seeds) - 1
	if len(k.seeds) >= 4 {
		matches++ // for third place
	}
	return rounds(matches)
}
