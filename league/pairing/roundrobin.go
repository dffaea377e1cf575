package pairing

import (
	"fmt"
	"math"

	"evenodd/league"
)

// A RoundRobin pairs every player with every other player once per leg
// (spec 003 §3.5). It is an immutable value, and stores no rounds. The zero
// RoundRobin has no rounds.
//
// The layout is the circle method: player 0 stays, and the others move by one
// position a round on a ring. With four players it gives spec 003 table 9. With an
// odd number of players, a dummy takes the last position of the ring, and its
// opponent has a bye. In the odd legs the lower index is A, in the even legs B.
type RoundRobin struct{ players, legs int }

var _ Pairer = RoundRobin{}

// NewRoundRobin returns the round robin of 2 or more players and 1 or more legs. Fewer are an
// error, and so many that an int cannot count their matches.
func NewRoundRobin(players, legs int) (RoundRobin, error) {
	if players < 2 {
		return RoundRobin{}, fmt.Errorf("a round robin needs at least 2 players, got %d", players)
	}
	if legs < 1 {
		return RoundRobin{}, fmt.Errorf("a round robin needs at least 1 leg, got %d", legs)
	}
	r := RoundRobin{players, legs}
	if legs > math.MaxInt/r.ring()/(players/2) { // Matches must not overflow
		return RoundRobin{}, fmt.Errorf("a round robin of %d players and %d legs has more matches than can be counted",
			players, legs)
	}
	return r, nil
}

// Rounds is the number of rounds of all legs.
func (r RoundRobin) Rounds() int { return r.ring() * r.legs }

// Matches is the number of matches of all legs: n(n-1)/2 per leg.
func (r RoundRobin) Matches() int { return r.Rounds() * (r.players / 2) }

// Round returns the pairings of a round. They do not depend on results: played may
// be nil.
func (r RoundRobin) Round(round int, _ [][]league.Played) []Pairing {
	if round < 1 || round > r.Rounds() {
		return nil
	}
	ring := r.ring()
	leg, turn := (round-1)/ring, (round-1)%ring
	pairings := make([]Pairing, 0, r.players/2)
	for i := range ring/2 + 1 {
		// The players of the positions i after and i before the turn meet. Position p
		// belongs to player p+1. At the turn itself the two are the same: it meets player 0.
		p, q := (turn+i)%ring+1, (turn-i+ring)%ring+1
		if i == 0 {
			p = 0
		}
		switch low, high := min(p, q), max(p, q); {
		case high == r.players: // the dummy: low has a bye
		case leg%2 == 0:
			pairings = append(pairings, Pairing{low, high})
		default:
			pairings = append(pairings, Pairing{high, low})
		}
	}
	return pairings
}

// ring is the number of positions on the ring, including that of the dummy. It is
// odd, and also the number of rounds in a leg.
func (r RoundRobin) ring() int { return r.players - 1 + r.players%2 }
