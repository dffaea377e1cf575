package stats

import (
	"math/rand/v2"

	"evenodd/league"
)

// Equality is the result of the test whether all players are equal.
//
// If they are, each match with a winner could as well have been won by the other player. The
// test compares the statistic, Σ (wins − losses)² over the players, with its values after many
// shuffles, each of which decides the winners anew. Draws stay draws, and technical losses are
// left out.
//
// If the rules treat both sides alike, a shuffle flips each match with the probability ½.
// Otherwise it keeps the number of matches that side A won, and draws which ones these are. Wins
// minus losses are then those beyond the ones that a player's sides explain. So an advantage of
// side A of any size is no difference between players.
type Equality struct {
	// P is the probability that equal players differ at least as much: (1 + shuffles with a
	// statistic at least as large) / (1 + shuffles). It is 1 without decisive matches.
	P float64 `json:"p"`
	// SmallestP is the smallest P that any results of these matches can give.
	SmallestP float64 `json:"smallest_p"`
	// Possible tells that the test can reject: SmallestP is at most Level, and the results do
	// not decide who meets whom. Where winners meet winners, as in a Swiss system, the statistic
	// hardly depends on the results, and P is rarely small.
	Possible  bool    `json:"possible"`
	Rejected  bool    `json:"rejected"` // p is at most 0.05
	Statistic float64 `json:"statistic"`
	Matches   int     `json:"matches"` // that a player won by playing
	Shuffles  int     `json:"shuffles"`
}

// A shuffler decides matches anew. All its values are integers, so that equal statistics are
// equal; unless the sides are alike, net is multiplied by the number of matches.
type shuffler struct {
	matches  []league.Played // the decisive ones
	alike    bool
	winsA    int64
	expected []int64 // by player: the part of net that its sides explain

	net []int64 // by player: wins minus losses
}

func newShuffler(players int, matches []league.Played, alike bool) *shuffler {
	s := &shuffler{alike: alike, expected: make([]int64, players), net: make([]int64, players)}
	for i := range matches {
		if m := &matches[i]; !m.Technical && m.Winner != league.None {
			s.matches = append(s.matches, *m)
			if m.Winner == m.A {
				s.winsA++
			}
		}
	}
	if !alike {
		surplus := 2*s.winsA - int64(len(s.matches))
		for i := range s.matches {
			s.expected[s.matches[i].A] += surplus
			s.expected[s.matches[i].B] -= surplus
		}
	}
	return s
}

// observed returns the statistic of the results.
func (s *shuffler) observed() int64 {
	clear(s.net)
	for i := range s.matches {
		m := &s.matches[i]
		s.count(m, m.Winner == m.A)
	}
	return s.statistic()
}

// shuffled returns the statistic of new results. It calls no function value for each match, which would
// double its time.
func (s *shuffler) shuffled(random *rand.Rand) int64 {
	clear(s.net)
	bits, left, wins := uint64(0), uint64(len(s.matches)), uint64(s.winsA) //nolint:gosec // counts
	for i := range s.matches {
		var won bool
		if s.alike {
			if i%64 == 0 {
				bits = random.Uint64()
			}
			won, bits = bits&1 == 1, bits>>1
		} else if won = random.Uint64N(left-uint64(i)) < wins; won {
			wins--
		}
		s.count(&s.matches[i], won)
	}
	return s.statistic()
}

func (s *shuffler) count(m *league.Played, wonByA bool) {
	if wonByA {
		s.net[m.A]++
		s.net[m.B]--
	} else {
		s.net[m.A]--
		s.net[m.B]++
	}
}

func (s *shuffler) statistic() (sum int64) {
	factor := s.factor()
	for player, net := range s.net {
		d := factor*net - s.expected[player]
		sum += d * d
	}
	return sum
}

// factor is what net is multiplied with. Its square times that of the number of matches is
// below 2⁶³, because there are at most MaxMatches.
func (s *shuffler) factor() int64 {
	if s.alike {
		return 1
	}
	return int64(len(s.matches))
}

func testEquality(players int, matches []league.Played, o *Options) Equality {
	s := newShuffler(players, matches, o.SidesAlike)
	e := Equality{P: 1, SmallestP: 1, Matches: len(s.matches)}
	if e.Matches == 0 {
		return e
	}
	if e.Shuffles = o.Shuffles; e.Shuffles == 0 {
		e.Shuffles = min(max(2_000_000/(e.Matches+players), 999), 4_999)
	}
	observed, largest := s.observed(), int64(-1)
	atLeast, ofLargest := 0, 0
	random := newRandom(o.Seed, keyShuffle)
	for range e.Shuffles {
		value := s.shuffled(random)
		if value >= observed {
			atLeast++
		}
		switch {
		case value > largest:
			largest, ofLargest = value, 1
		case value == largest:
			ofLargest++
		}
	}
	all := float64(1 + e.Shuffles)
	e.Statistic = float64(observed) / float64(s.factor()*s.factor())
	e.P = float64(1+atLeast) / all
	e.SmallestP = min(e.P, float64(1+ofLargest)/all)
	e.Possible, e.Rejected = e.SmallestP <= Level && !o.PairedByResults, e.P <= Level
	return e
}
