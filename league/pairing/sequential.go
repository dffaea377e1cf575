package pairing

import (
	"fmt"
	"math"
	"slices"

	"evenodd/league"
)

// perRival is the evidence for each rival of the best player at the level of 5%: 1 / 0.05.
const perRival = 20

// A sequential is a round robin that ends when one player is shown to be better than every other, or, with bounds, when
// the results of its two players decide between them; at the latest after all legs. It decides after each double leg,
// from the results alone.
type sequential struct {
	RoundRobin

	bounds *Bounds // nil for none
}

func newSequential(algorithm string, f *Format) (sequential, error) {
	if f.Legs%2 != 0 {
		return sequential{}, fmt.Errorf("a round robin until a significant result has an even number of legs, got %d", f.Legs)
	}
	r, err := NewRoundRobin(f.Players, f.Legs)
	s := sequential{RoundRobin: r.with(algorithm)}
	if algorithm != SPRT || err != nil {
		return s, err
	}
	if f.Players != 2 {
		return s, fmt.Errorf("a league with bounds has two players, got %d", f.Players)
	}
	s.bounds = &f.Bounds
	return s, f.Bounds.Check()
}

// decided tells whether the results of complete double legs end the league.
func (s sequential) decided(played [][]league.Played) bool {
	if s.bounds != nil {
		_, decided := s.bounds.Decision(CountDoubleLegs(played))
		return decided
	}
	return Compare(s.players, played).Best() != none
}

// Round returns the pairings of the round robin, of absent players too, who forfeit their matches. It returns
// nil after the double leg that decides, and if fewer than two players are left.
func (s sequential) Round(round int, played [][]league.Played, absent Absences) []Pairing {
	left := 0
	for p := range s.players {
		if !absent.Has(p, round) {
			left++
		}
	}
	if round < 1 || len(played) < round-1 || left < 2 {
		return nil
	}
	if done := round - 1; done%(2*s.ring()) == 0 && s.decided(played[:done]) {
		return nil
	}
	return s.RoundRobin.Round(round, nil, nil)
}

// A Comparison compares the players of a round robin by their scores in double legs: two legs, in
// which each pair meets once on each side. Of two players of equal strength, each scores more than the
// other equally often, whatever the strength of the other players. docs/statistics.md describes the test.
type Comparison struct {
	players int
	scores  [][]int // by double leg and player: 2 for a win, 1 for a draw; void after a technical loss

	copied [][]bool // by double leg and player: all of its matches are copies
}

const void = -1

// Compare compares the players by the complete double legs of a round robin. The results must be
// those of its players.
func Compare(players int, played [][]league.Played) *Comparison {
	c, rounds := &Comparison{players: players}, 2*RoundRobin{players: players}.ring()
	for ; len(played) >= rounds; played = played[rounds:] {
		scores, copied := make([]int, players), slices.Repeat([]bool{true}, players)
		for _, results := range played[:rounds] {
			for _, r := range results {
				copied[r.A], copied[r.B] = copied[r.A] && r.Copy, copied[r.B] && r.Copy
				addScore(scores, r.A, r.Outcome(r.A))
				addScore(scores, r.B, r.Outcome(r.B))
			}
		}
		c.scores, c.copied = append(c.scores, scores), append(c.copied, copied)
	}
	return c
}

func addScore(scores []int, player int, o league.Outcome) {
	switch {
	case o == league.TechnicalLoss:
		scores[player] = void
	case scores[player] == void:
	case o == league.Win:
		scores[player] += 2
	case o == league.Draw:
		scores[player]++
	}
}

// Legs is the number of complete legs, which is even.
func (c *Comparison) Legs() int { return 2 * len(c.scores) }

// Threshold is the evidence from which on a player is better than another. It grows with the number
// of rivals, so that the best player is wrongly found in at most 5% of leagues.
func (c *Comparison) Threshold() float64 { return perRival * float64(c.players-1) }

// A Duel counts the double legs by the score of a player against that of another.
type Duel struct {
	Ahead  int `json:"ahead"`           // more points than the other
	Behind int `json:"behind"`          // fewer points
	Level  int `json:"level"`           // as many points
	Void   int `json:"void"`            // with a technical loss of one of the two
	Copies int `json:"copies,omitzero"` // in which all matches of the two are copies of earlier ones
}

// Duel compares two players.
func (c *Comparison) Duel(player, other int) (d Duel) {
	for i, scores := range c.scores {
		switch p, q := scores[player], scores[other]; {
		case c.copied[i][player] && c.copied[i][other]:
			d.Copies++
		case p == void || q == void:
			d.Void++
		case p > q:
			d.Ahead++
		case p < q:
			d.Behind++
		default:
			d.Level++
		}
	}
	return d
}

// Evidence is that against equal players: 2^(w+l) · B(w+½, l+½) / B(½, ½) for w double legs ahead
// and l behind. Its value over the double legs of equal players is a martingale that begins at 1,
// so that it ever reaches x in at most 1 of x leagues (Ville's inequality), however often one looks.
func (d Duel) Evidence() float64 {
	e, n := 1.0, 0
	// Multiplying and dividing alone gives the same bits on each processor. Taking turns keeps the
	// product small if both numbers are large.
	step := func(k, of int) {
		if k < of {
			n++
			e = e * float64(2*k+1) / float64(n)
		}
	}
	for k := range max(d.Ahead, d.Behind) {
		step(k, d.Ahead)
		step(k, d.Behind)
	}
	return min(e, math.MaxFloat64)
}

// Better tells whether a player is shown to be better than another.
func (c *Comparison) Better(player, other int) bool {
	d := c.Duel(player, other)
	return d.Ahead > d.Behind && d.Evidence() >= c.Threshold()
}

// Best is the player that is shown to be better than every other, or league.None.
func (c *Comparison) Best() int {
	for player := range c.players {
		rivals := 0
		for rivals < c.players && (rivals == player || c.Better(player, rivals)) {
			rivals++
		}
		if rivals == c.players {
			return player
		}
	}
	return none
}
