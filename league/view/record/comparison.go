package record

import (
	"fmt"

	"evenodd/league"
	"evenodd/league/lists"
	"evenodd/league/pairing"
	"evenodd/league/view/stats"
)

// A Comparison tells what stopped a league that ends when one player is shown to be better than
// every other, and which players it could not tell apart.
type Comparison struct {
	StoppedBy string         `json:"stopped_by"` // significance, legs or copies; "" for a league that goes on
	Legs      int            `json:"legs"`       // the complete ones
	MostLegs  int            `json:"most_legs"`
	Best      string         `json:"best_player_id,omitzero"` // better than every other; "" for none
	Threshold float64        `json:"threshold"`               // the evidence from which on a player is better
	Pairs     []ComparedPair `json:"pairs"`
	Test      *BoundsTest    `json:"test,omitzero"` // with --elo0 and --elo1; nil without

	copied [][2]string // the pairs whose matches are copies
	ahead  string      // of StoppedByCopies
}

// A ComparedPair compares two players by their double legs.
type ComparedPair struct {
	PlayerID   string `json:"player_id"`
	OpponentID string `json:"opponent_id"`
	pairing.Duel
	Evidence float64 `json:"evidence"`
	Better   string  `json:"better_player_id,omitzero"` // "" if they could not be told apart
}

// What stopped a league.
const (
	StoppedBySignificance = "significance"
	StoppedByLegs         = "legs"
	StoppedByCopies       = "copies" // one player was ahead, but only in copies of matches that it had played before
)

// Comparison compares the players, if the league ends when one is shown to be the best; else nil.
func (r *Results) Comparison() *Comparison {
	if r.Until == 0 {
		return nil
	}
	var in []int       // the rounds of the matches
	var repeats []bool // whether they are copies
	copies, copied := r.copies()
	players, matches := r.played(func(m *Meeting) bool {
		in, repeats = append(in, m.Round), append(repeats, copies[m])
		return true
	})
	var rounds, asPlayed [][]league.Played
	for i, m := range matches {
		if i == 0 || in[i] != in[i-1] {
			rounds, asPlayed = append(rounds, nil), append(asPlayed, nil)
		}
		last := len(rounds) - 1
		asPlayed[last] = append(asPlayed[last], m)
		m.Copy = repeats[i]
		rounds[last] = append(rounds[last], m)
	}
	of := pairing.Compare(len(players), rounds)
	test, asPlayedTest := r.test(rounds), r.test(asPlayed)
	c := &Comparison{Legs: of.Legs(), MostLegs: r.Until, Threshold: of.Threshold(), Pairs: []ComparedPair{}, copied: copied}
	c.Test = test
	switch best := of.Best(); {
	case test == nil && best != league.None:
		c.StoppedBy, c.Best = StoppedBySignificance, players[best].PlayerID
	case test != nil && test.Accepted != "":
		c.StoppedBy = StoppedBySignificance
	case c.Legs >= c.MostLegs:
		c.StoppedBy = StoppedByLegs
	case test != nil:
		if asPlayedTest.Accepted != "" {
			c.StoppedBy = StoppedByCopies
		}
	default:
		if ahead := pairing.Compare(len(players), asPlayed).Best(); ahead != league.None {
			c.StoppedBy, c.ahead = StoppedByCopies, players[ahead].PlayerID
		}
	}
	for i := range players {
		for j := i + 1; j < len(players); j++ {
			one := ComparedPair{PlayerID: players[i].PlayerID, OpponentID: players[j].PlayerID, Duel: of.Duel(i, j)}
			one.Evidence = stats.Significant(one.Duel.Evidence())
			if of.Better(i, j) {
				one.Better = one.PlayerID
			} else if of.Better(j, i) {
				one.Better = one.OpponentID
			}
			c.Pairs = append(c.Pairs, one)
		}
	}
	return c
}

// Sentence says what stopped the league, and which players could not be told apart.
func (c *Comparison) Sentence() string { return c.sentence(byID) }

func (c *Comparison) sentence(named naming) string {
	if c.Test != nil {
		return c.Test.sentence(c, named) + c.copies(named)
	}
	text := fmt.Sprintf("After %d of at most %d legs no player is shown to be better than every other.", c.Legs, c.MostLegs)
	switch c.StoppedBy {
	case StoppedBySignificance:
		text = fmt.Sprintf("Stopped after %d of at most %d legs: %s is shown to be better than every other player.", c.Legs,
			c.MostLegs, named(c.Best))
	case StoppedByCopies:
		text = fmt.Sprintf("Stopped after %d of at most %d legs: %s was ahead, but no player is shown to be better than every other.",
			c.Legs, c.MostLegs, named(c.ahead))
	case StoppedByLegs:
		text = fmt.Sprintf("Stopped after all %d legs: no player is shown to be better than every other.", c.Legs)
	}
	const most = 6
	level := lists.Filter(c.Pairs, func(p ComparedPair) bool { return p.Better == "" })
	if len(level) > 0 {
		pairs := lists.Map(level, func(p ComparedPair) [2]string { return [2]string{p.PlayerID, p.OpponentID} })
		text += " Not told apart: " + pairsOf(pairs, most, named) + "."
	}
	return text + c.copies(named)
}

// copies says which matches count once; "" for none.
func (c *Comparison) copies(named naming) string {
	if len(c.copied) == 0 {
		return ""
	}
	return " The matches of " + pairsOf(c.copied, 6, named) +
		" are copies of each other, with the same sides and moves, and count once."
}
