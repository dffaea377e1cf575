package pairing

import (
	"fmt"
	"math/bits"
	"slices"

	"evenodd/league"
)

// maxReplays is the number of replays of a drawn match. After another draw, the
// higher seed advances.
const maxReplays = 3

// A knockout eliminates the loser of each match.
//
//   - Seeds have their standard positions in the bracket: seeds 1 and 2 can only meet in
//     the final, 1 to 4 not before the semifinals. If n is not a power of two, the
//     highest seeds have a bye in the first stage.
//   - A round has either the matches of a new stage, or the replays of the draws of the
//     round before, with sides swapped.
//   - After a double loss neither player advances. The player that would meet the winner
//     advances without a match; if both players are missing, nobody does.
//   - An absent player leaves at its next match, replay or bye. Its opponent advances without a match.
//   - With 4 or more players, the losers of the semifinals play for third place, in the
//     rounds of the final. A double loss has no loser in this sense: a single loser of
//     the semifinals is third without a match.
type knockout struct {
	seeds  []int // players, best first
	stages int
}

var _ Ranker = knockout{}

// newKnockout returns the knockout of 2 or more players.
func newKnockout(players int, seeds []int) (knockout, error) {
	if players < 2 {
		return knockout{}, fmt.Errorf("a knockout needs at least 2 players, got %d", players)
	}
	seeds, err := order(players, seeds)
	return knockout{seeds, bits.Len(uint(players - 1))}, err
}

// Rounds is the number of rounds if each stage needs all replays.
func (k knockout) Rounds() int { return k.stages * (1 + maxReplays) }

// Matches is the number of matches if each is replayed as often as possible.
func (k knockout) Matches() int {
	matches := len(k.seeds) - 1
	if len(k.seeds) >= 4 {
		matches++ // for third place
	}
	return matches * (1 + maxReplays)
}

// Round returns the pairings of a round in the order of the bracket; the match for third
// place follows the final.
func (k knockout) Round(round int, played [][]league.Played, absent Absences) []Pairing {
	if round < 1 || round > k.Rounds() || len(played) < round-1 {
		return nil
	}
	b, fits := k.after(played[:round-1], absent)
	if !fits {
		return nil
	}
	return b.pairings()
}

// Ranks ranks the players that are not eliminated first, then the eliminated by the
// stage of their last match. The match for third place decides between ranks 3 and 4;
// after a double loss both are third. After a double loss in the final there is no
// champion: both finalists have rank 1. Ranks ignores results from the first round on
// that does not fit the bracket.
func (k knockout) Ranks(played [][]league.Played, absent Absences) []int {
	b, _ := k.after(played, absent)
	above := make([]int, b.champion()+1) // the number of players on higher levels
	for _, level := range b.level {
		for lower := range level {
			above[lower]++
		}
	}
	ranks := make([]int, len(k.seeds))
	for p, level := range b.level {
		ranks[p] = above[level] + 1
	}
	return ranks
}

// after returns the bracket after rounds; that before the first one which does not fit, if one does not.
func (k knockout) after(played [][]league.Played, absent Absences) (b *bracket, fits bool) {
	b = k.bracket(absent)
	for _, results := range played {
		if !b.record(results) {
			return b, false
		}
	}
	return b, true
}

// bracket returns the bracket before the first round.
func (k knockout) bracket(absent Absences) *bracket {
	b := &bracket{stages: k.stages, absent: absent, level: make([]int, len(k.seeds)), seed: make([]int, len(k.seeds))}
	for seed, p := range k.seeds {
		b.level[p], b.seed[p] = b.champion(), seed
	}
	// Each doubling puts the best seeds so far against the worst of twice as many.
	seeds := []int{0}
	for stage := range k.stages {
		doubled := make([]int, 0, 2*len(seeds))
		for _, seed := range seeds {
			doubled = append(doubled, seed, 2*len(seeds)-1-seed)
		}
		seeds = doubled
		b.slots = append(b.slots, slices.Repeat([]Slot{{A: none, B: none, Winner: none}}, 1<<(k.stages-1-stage)))
	}
	if len(k.seeds) >= 4 {
		b.slots[k.stages-1] = append(b.slots[k.stages-1], Slot{Third: true, A: none, B: none, Winner: none})
	}
	for _, seed := range seeds {
		if seed < len(k.seeds) {
			b.next = append(b.next, k.seeds[seed])
		} else {
			b.next = append(b.next, none)
		}
	}
	b.advance()
	return b
}

// Bracket implements Ranker.
func (k knockout) Bracket(played [][]league.Played, absent Absences) [][]Slot {
	b, _ := k.after(played, absent)
	b.number()
	return b.slots
}

// A bracket is the state of a knockout between two rounds.
type bracket struct {
	stages int
	absent Absences
	seed   []int // by player, from 0

	stage int   // the current one, from 1
	next  []int // the players of the next stage by position, or none where a player is missing
	open  []tie // the matches without a decision, in the order of the bracket
	third []int // the losers of the semifinals

	slots [][]Slot // by stage
	round int      // the last recorded one

	// level ranks the players. It is champion for a player that is not eliminated, else
	// twice the stage of the last match, and 1 more for the third.
	level []int
}

// A tie is a match of a stage with its replays.
type tie struct {
	a, b     int // the players; a is the higher seed
	position int // of the winner in the next stage
	third    bool
	draws    int
}

// champion is the highest level.
func (b *bracket) champion() int { return 2*b.stages + 1 }

// advance starts the next stage, and skips stages in which no player has an opponent that is there.
func (b *bracket) advance() {
	for b.decideAbsent(); len(b.open) == 0 && b.stage < b.stages; b.decideAbsent() {
		b.startStage()
		if b.stage == b.stages {
			b.startThird()
		}
	}
}

// decideAbsent decides the matches of absent players.
func (b *bracket) decideAbsent() {
	open := b.open
	b.open = nil
	for _, t := range open {
		switch leftA, leftB := b.left(t.a), b.left(t.b); {
		case leftA && leftB:
			b.decide(t, none)
		case leftA:
			b.decide(t, t.b)
		case leftB:
			b.decide(t, t.a)
		default:
			b.open = append(b.open, t)
		}
	}
}

// startStage starts the matches of the next stage.
func (b *bracket) startStage() {
	b.stage++
	players := b.next
	b.next = make([]int, len(players)/2)
	for i := range b.next {
		p, q := players[2*i], players[2*i+1]
		slot := &b.slots[b.stage-1][i]
		slot.A, slot.B, b.next[i] = p, q, none
		if p != none && q != none {
			b.open = append(b.open, b.tie(p, q, i, false))
			continue
		}
		winner := max(p, q) // none is less than any player
		if winner != none && b.left(winner) {
			b.level[winner] = 2 * b.stage
			continue
		}
		slot.Winner, b.next[i] = winner, winner
	}
}

// startThird starts the match for third place.
func (b *bracket) startThird() {
	final := b.slots[b.stage-1]
	switch third := &final[len(final)-1]; len(b.third) {
	case 1:
		if b.left(b.third[0]) {
			break
		}
		b.level[b.third[0]]++
		if third.Third { // not of three players
			third.A, third.Winner = b.third[0], b.third[0]
		}
	case 2:
		b.open = append(b.open, b.tie(b.third[0], b.third[1], 1, true))
		third.A, third.B = b.third[0], b.third[1]
	}
}

// left tells whether a player is absent in the next round.
func (b *bracket) left(player int) bool { return b.absent.Has(player, b.round+1) }

func (b *bracket) tie(p, q, position int, third bool) tie {
	if b.seed[p] > b.seed[q] {
		p, q = q, p
	}
	return tie{a: p, b: q, position: position, third: third}
}

// pairings returns the pairings of the next round; nil after the end.
func (b *bracket) pairings() []Pairing {
	var pairings []Pairing
	for _, t := range b.open {
		pairings = append(pairings, t.pairing())
	}
	return pairings
}

// pairing returns the next match of a tie. The higher seed begins as A.
func (t tie) pairing() Pairing {
	if t.draws%2 == 1 {
		return Pairing{t.b, t.a}
	}
	return Pairing{t.a, t.b}
}

// record adds the results of a round. It returns false, and changes nothing, if they
// do not belong to its pairings.
func (b *bracket) record(results []league.Played) bool {
	fits := slices.EqualFunc(results, b.open, func(r league.Played, t tie) bool {
		return Pairing{r.A, r.B} == t.pairing() && r.Check(len(b.level)) == nil
	})
	if !fits || len(results) == 0 {
		return false
	}
	b.number()
	var replays []tie
	for i, t := range b.open {
		r := results[i]
		if r.Winner == none && !r.Technical {
			if t.draws++; t.draws <= maxReplays {
				replays = append(replays, t)
				continue
			}
			r.Winner = t.a
		}
		b.decide(t, r.Winner)
	}
	b.open = replays
	b.advance()
	return true
}

// number gives the matches of the next round their places.
func (b *bracket) number() {
	b.round++
	for i, t := range b.open {
		slot := &b.slots[b.stage-1][t.position]
		slot.Matches = append(slot.Matches, league.MatchID{Round: b.round, Number: i + 1})
	}
}

// decide ends a tie with a winner, or with none after a double loss.
func (b *bracket) decide(t tie, winner int) {
	b.slots[b.stage-1][t.position].Winner = winner
	if t.third {
		if winner != none {
			b.level[winner]++
		}
		return
	}
	b.next[t.position] = winner
	for _, p := range []int{t.a, t.b} {
		if p == winner {
			continue
		}
		b.level[p] = 2 * b.stage
		if winner != none && b.stage == b.stages-1 {
			b.third = append(b.third, p)
		}
	}
}
