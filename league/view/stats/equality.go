package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

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
	Rejected  bool    `json:"rejected"` // P is at most Level
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

// sentence says what the data show, and what they cannot show.
func (a *Analysis) sentence(o *Options) string {
	text := a.verdict(o)
	if a.Sampled {
		text += fmt.Sprintf(" Ratings and test use a random sample of %d of the %d matches.", a.Used, a.Played)
	}
	return text
}

func (a *Analysis) verdict(o *Options) string {
	e := &a.Equality
	switch {
	case a.Used == 0:
		return "No match has been decided by play yet: nothing can be said about the players."
	case e.Matches == 0 && a.Used == 1:
		return "The only match is a draw: nothing can be said about the players."
	case e.Matches == 0:
		return fmt.Sprintf("All %d matches are draws: they show no difference between the players.", a.Used)
	case e.Rejected:
		return fmt.Sprintf("The data show differences (%s)%s.", e.shownP(), a.standouts())
	case o.PairedByResults:
		return "The order of these players can be luck: where results decide who meets whom, results hardly tell players apart."
	case !e.Possible && e.Matches > 1 && !o.SidesAlike && (a.Sides.WinsA == 0 || a.Sides.WinsB == 0):
		return fmt.Sprintf(
			"The same side won all %d matches that have a winner: this can be the advantage of the side, and the order of these players can be luck.", e.Matches)
	case !e.Possible:
		matches := fmt.Sprintf("%d matches%s are", a.Used, a.withWinner())
		if a.Used == 1 {
			matches = "1 match is"
		}
		return matches + " too few to tell the players apart: their order can be luck."
	}
	return fmt.Sprintf(
		"The order of these players can be luck: equal players differ at least as much in %.0f%% of such leagues (%s).",
		math.Round(100*e.P), e.shownP())
}

// withWinner tells how many matches have a winner, if not all have.
func (a *Analysis) withWinner() string {
	if a.Equality.Matches == a.Used {
		return ""
	}
	return fmt.Sprintf(" (%d with a winner)", a.Equality.Matches)
}

// standouts names the smallest group of players that is clearly better, or worse, than all
// others. If there is none, it compares the first player with those that are clearly worse.
func (a *Analysis) standouts() string {
	n, first := len(a.Order), a.Order[0]
	for size := 1; size <= n/2; size++ {
		switch {
		case a.separate(size):
			return ": " + a.group(a.Order[:size]) + " better than the rest"
		case a.separate(n - size):
			return ": " + a.group(a.Order[n-size:]) + " worse than the rest"
		}
	}
	below := 0
	for i := range a.Players {
		if a.Players[i].BestRank > a.Players[first].WorstRank {
			below++
		}
	}
	if below > 0 {
		return fmt.Sprintf(": %s is better than %d of the %d others", a.Players[first].PlayerID, below, n-1)
	}
	return ", but no player is clearly better than another"
}

// separate reports whether the rank intervals of the first players by rating all end, or those
// of the others all begin, between the two groups.
func (a *Analysis) separate(first int) bool {
	above, below := true, true
	for i, player := range a.Order {
		if i < first {
			above = above && a.Players[player].WorstRank <= first
		} else {
			below = below && a.Players[player].BestRank > first
		}
	}
	return above || below
}

// group names players with a verb.
func (a *Analysis) group(players []int) string {
	const most = 5
	var names []string
	for _, player := range players {
		names = append(names, a.Players[player].PlayerID)
	}
	switch last := len(names) - 1; {
	case last == 0:
		return names[0] + " is"
	case last < most:
		return strings.Join(names[:last], ", ") + " and " + names[last] + " are"
	default:
		return fmt.Sprintf("%s and %d others are", names[0], last)
	}
}

// shownP is P with as many digits as matter.
func (e *Equality) shownP() string {
	switch {
	case e.P < 0.001:
		return "p < 0.001"
	case e.P < 0.1:
		return fmt.Sprintf("p = %.3f", e.P)
	default:
		return fmt.Sprintf("p = %.2f", e.P)
	}
}
