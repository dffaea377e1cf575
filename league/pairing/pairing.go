// Package pairing decides which players meet in each round of a league.
//
// Players are indexes, 0 to n-1, into the league's list of players in ascending
// order of id. The package is pure: it knows no ids, referees or files, and must
// not use a clock, the network or a random source.
package pairing

import "fmt"

// A Pairing is one match: the indexes of players A and B.
type Pairing struct{ A, B int }

// A Pairer pairs the players of a league, one round at a time. The journal's state
// is its only user: everything else asks the state for a round.
type Pairer interface {
	// Rounds is the number of rounds. A method that may end earlier returns the
	// largest number.
	Rounds() int
	// Matches is the number of matches of all rounds. A bye is no match.
	Matches() int
	// Round returns the pairings of a round, counted from 1, in the order of their
	// match numbers. It returns nil if there is no such round, or if its pairings
	// are not known yet.
	Round(round int) []Pairing
}

// Circle is the algorithm of RoundRobin, as the journal names it.
const Circle = "circle-v1"

// New returns the pairer of an algorithm that the journal names.
func New(algorithm string, players, legs int) (Pairer, error) {
	if algorithm != Circle {
		return nil, fmt.Errorf("algorithm %.40q is not known: made by a newer evenodd", algorithm)
	}
	return NewRoundRobin(players, legs)
}
