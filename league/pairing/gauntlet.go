package pairing

import (
	"errors"
	"fmt"
	"math"

	"evenodd/league"
)

// A gauntlet pairs each of the first seeds with each other player once per leg, and neither the seeds nor the others
// with each other. Its rounds are the fewest possible: of s seeds and m others, a leg has max(s, m) rounds.
//
// The sides of a seed alternate from opponent to opponent, as do those of the others: each player is A in half of its
// matches of a leg, or in one more or less. Each leg has the opposite sides of the leg before. All pairings follow from
// the players and their seeds.
type gauntlet struct {
	seeds, others []int // players, best first
	legs          int
}

// newGauntlet returns the gauntlet of 2 or more players, of which fewer than all are seeds.
func newGauntlet(f Format) (gauntlet, error) {
	seeds, err := order(max(f.Players, 0), f.Seeds)
	switch most := f.Players - 1; {
	case f.Players < 2:
		return gauntlet{}, fmt.Errorf("a gauntlet needs at least 2 players, got %d", f.Players)
	case err != nil:
		return gauntlet{}, err
	case f.Gauntlet < 1 || f.Gauntlet > most:
		return gauntlet{}, fmt.Errorf("a gauntlet of %d players is of 1 to %d of them, got %d", f.Players, most, f.Gauntlet)
	case f.Legs < 1:
		return gauntlet{}, fmt.Errorf("a gauntlet needs at least 1 leg, got %d", f.Legs)
	}
	g := gauntlet{seeds[:f.Gauntlet], seeds[f.Gauntlet:], f.Legs}
	if f.Legs > math.MaxInt/len(g.others)/len(g.seeds) { // Matches must not overflow
		return gauntlet{}, errors.New("the gauntlet has more matches than can be counted")
	}
	return g, nil
}

func (g gauntlet) Rounds() int  { return g.turns() * g.legs }
func (g gauntlet) Matches() int { return len(g.seeds) * len(g.others) * g.legs }

// turns is the number of rounds of a leg.
func (g gauntlet) turns() int { return max(len(g.seeds), len(g.others)) }

// Leg returns the leg of a round: see Legged.
func (g gauntlet) Leg(round int) int { return (round-1)/g.turns() + 1 }

// Round returns the pairings of a round, in the order of the seeds or of the others if these are fewer. They do not
// depend on results: played may be nil.
func (g gauntlet) Round(round int, _ [][]league.Played, _ Absences) (pairings []Pairing) {
	if round < 1 || round > g.Rounds() {
		return nil
	}
	turns := g.turns()
	leg, turn := (round-1)/turns, (round-1)%turns
	for i := range min(len(g.seeds), len(g.others)) {
		seed, other := i, (i+turn)%turns
		if len(g.seeds) > len(g.others) {
			seed, other = other, seed
		}
		p := Pairing{g.seeds[seed], g.others[other]}
		if (seed+other+leg)%2 == 1 {
			p.A, p.B = p.B, p.A
		}
		pairings = append(pairings, p)
	}
	return pairings
}
