// Package schedule says who meets whom in a round robin, and in which round.
//
// Players are indexes, 0 to n-1, into the league's list of players in
// ascending order of id. The package knows no ids, referees, results or time,
// and it stores no rounds: every pairing is computed when it is asked for, so
// the schedule of a thousand players is as small as that of four.
package schedule

import (
	"fmt"
	"math"
)

// Pairing is one match: the indexes of PLAYER_A and PLAYER_B.
type Pairing struct{ A, B int }

// Schedule is a round robin of one or more legs (spec 003 §3.5). It is a
// value, never changes and is safe for concurrent use. The zero Schedule has
// no rounds.
//
// Rounds are numbered from 1 through all legs, matches from 1 within a round.
//
// The layout is the circle method: player 0 keeps its place, the others sit on
// a ring and turn by one place a round. It is read off the ring so that four
// players give spec 003 table 9 to the letter. With an odd number of players a
// dummy takes the last place of the ring, and whoever meets it has a bye.
type Schedule struct{ players, legs int }

// RoundRobin returns the schedule in which every one of players (2 or more)
// meets every other once per leg (1 or more). In the odd legs the lower index
// is A; the even legs repeat them with seats swapped.
func RoundRobin(players, legs int) (Schedule, error) {
	if players < 2 {
		return Schedule{}, fmt.Errorf("a round robin needs at least 2 players, got %d", players)
	}
	if legs < 1 {
		return Schedule{}, fmt.Errorf("a round robin needs at least 1 leg, got %d", legs)
	}
	s := Schedule{players: players, legs: legs}
	// Refused here so that no count below can overflow.
	if legs > math.MaxInt/s.ring()/s.MatchesPerRound() {
		return Schedule{}, fmt.Errorf("a round robin of %d players and %d legs has more matches than can be counted", players, legs)
	}
	return s, nil
}

// Players is the number of players.
func (s Schedule) Players() int { return s.players }

// Legs is how many times every pair meets.
func (s Schedule) Legs() int { return s.legs }

// Rounds is the number of rounds over all legs.
func (s Schedule) Rounds() int { return s.ring() * s.legs }

// MatchesPerRound is the number of matches in every round; a bye is none.
func (s Schedule) MatchesPerRound() int { return s.players / 2 }

// Matches is the number of matches over all legs: n(n-1)/2 per leg
// (spec 003 §3.5.1).
func (s Schedule) Matches() int { return s.Rounds() * s.MatchesPerRound() }

// Index is the position of a match in the order in which the schedule lists
// them, from 0 to Matches()-1. It means nothing for a match that Pair does not
// know.
func (s Schedule) Index(round, match int) int {
	return (round-1)*s.MatchesPerRound() + match - 1
}

// Pair returns who plays the given match of the given round, both counted from
// 1, and false when there is no such match. It takes constant time and does
// not allocate.
func (s Schedule) Pair(round, match int) (Pairing, bool) {
	if !s.hasRound(round) || match < 1 || match > s.MatchesPerRound() {
		return Pairing{}, false
	}
	turn := s.turn(round)
	slot := match - 1
	if slot >= s.byeSlot(turn) {
		slot++ // the slot of the bye has no match number
	}
	p, q := s.slot(turn, slot)
	if s.swapped(round) {
		return Pairing{A: max(p, q), B: min(p, q)}, true
	}
	return Pairing{A: min(p, q), B: max(p, q)}, true
}

// Round returns the matches of a round, counted from 1, in order of their
// number; nil when there is no such round.
func (s Schedule) Round(round int) []Pairing {
	if !s.hasRound(round) {
		return nil
	}
	pairings := make([]Pairing, s.MatchesPerRound())
	for i := range pairings {
		pairings[i], _ = s.Pair(round, i+1)
	}
	return pairings
}

// Opponent returns whom a player meets in a round and the number of that
// match. ok is false when the player has a bye or when there is no such round
// or player. It takes constant time and does not allocate.
func (s Schedule) Opponent(round, player int) (opponent, match int, ok bool) {
	if !s.hasRound(round) || player < 0 || player >= s.players {
		return 0, 0, false
	}
	turn, ring := s.turn(round), s.ring()
	slot := 0
	switch place := player - 1; {
	case player == 0:
		opponent = turn + 1
	case place == turn:
		opponent = 0
	default:
		// Opponents sit mirrored around the turn: i places after it and i before.
		opponent = mod(2*turn-place, ring) + 1
		slot = min(mod(place-turn, ring), mod(turn-place, ring))
	}
	bye := s.byeSlot(turn)
	switch {
	case slot == bye:
		return 0, 0, false
	case slot > bye:
		return opponent, slot, true
	default:
		return opponent, slot + 1, true
	}
}

// ring is the number of places that turn around player 0, the dummy's
// included: always odd, and also the number of rounds in a leg.
func (s Schedule) ring() int {
	if s.players%2 == 0 {
		return s.players - 1
	}
	return s.players
}

func (s Schedule) hasRound(round int) bool { return round >= 1 && round <= s.Rounds() }

// turn is how far the ring has turned in a round: 0 to ring-1, the same in
// every leg.
func (s Schedule) turn(round int) int { return (round - 1) % s.ring() }

// swapped reports whether the round is in an even leg: 2nd, 4th, ...
func (s Schedule) swapped(round int) bool { return (round-1)/s.ring()%2 == 1 }

// slot returns the two players of a slot, 0 to ring/2. Place p of the ring
// belongs to player p+1. Slot 0 is player 0 against the place at the turn;
// slot i is the places i after and i before it.
func (s Schedule) slot(turn, slot int) (p, q int) {
	if slot == 0 {
		return 0, turn + 1
	}
	ring := s.ring()
	return mod(turn+slot, ring) + 1, mod(turn-slot, ring) + 1
}

// byeSlot is the slot that the dummy falls in; with an even number of players
// it is past the last slot. The dummy has place ring-1, which is also place -1:
// ring-1-turn places after the turn and turn+1 before it, and the shorter way
// is the slot.
func (s Schedule) byeSlot(turn int) int {
	if s.players%2 == 0 {
		return s.players
	}
	return min(s.ring()-1-turn, turn+1)
}

// mod is x modulo n, never negative.
func mod(x, n int) int { return (x%n + n) % n }
