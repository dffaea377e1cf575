package record

import (
	"fmt"
	"strings"

	"evenodd/league"
	"evenodd/league/decide"
	"evenodd/league/pairing"
	"evenodd/league/view/stats"
)

// A Comparison tells what stopped a league that ends when one player is shown to be better than
// every other, and which players it could not tell apart.
type Comparison struct {
	StoppedBy string         `json:"stopped_by"` // StoppedBySignificance or StoppedByLegs; "" for a league that goes on
	Legs      int            `json:"legs"`       // the complete ones
	MostLegs  int            `json:"most_legs"`
	Best      string         `json:"best_player_id,omitzero"` // better than every other; "" for none
	Threshold float64        `json:"threshold"`               // the evidence from which on a player is better
	Pairs     []ComparedPair `json:"pairs"`
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
)

// Comparison compares the players, if the league ends when one is shown to be the best; else nil.
func (r *Results) Comparison() *Comparison {
	if r.Until == 0 {
		return nil
	}
	var in []int // the rounds of the matches
	players, matches, _ := r.played(func(m *decide.MatchRecord) bool { in = append(in, m.RoundID); return true })
	var rounds [][]league.Played
	for i, m := range matches {
		if i == 0 || in[i] != in[i-1] {
			rounds = append(rounds, nil)
		}
		last := len(rounds) - 1
		rounds[last] = append(rounds[last], m)
	}
	of := pairing.Compare(len(players), rounds)
	c := &Comparison{Legs: of.Legs(), MostLegs: r.Until, Threshold: of.Threshold(), Pairs: []ComparedPair{}}
	if best := of.Best(); best != league.None {
		c.StoppedBy, c.Best = StoppedBySignificance, players[best].PlayerID
	} else if c.Legs >= c.MostLegs {
		c.StoppedBy = StoppedByLegs
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
func (c *Comparison) Sentence() string {
	text := fmt.Sprintf("After %d of at most %d legs no player is shown to be better than every other.", c.Legs, c.MostLegs)
	switch c.StoppedBy {
	case StoppedBySignificance:
		text = fmt.Sprintf("Stopped after %d of at most %d legs: %s is shown to be better than every other player.", c.Legs,
			c.MostLegs, c.Best)
	case StoppedByLegs:
		text = fmt.Sprintf("Stopped after all %d legs: no player is shown to be better than every other.", c.Legs)
	}
	const most = 6
	var pairs []string
	for _, p := range c.Pairs {
		if p.Better == "" {
			pairs = append(pairs, p.PlayerID+" and "+p.OpponentID)
		}
	}
	if n := len(pairs); n > most {
		pairs = append(pairs[:most-1], fmt.Sprintf("%d further pairs", n-most+1))
	}
	if len(pairs) > 0 {
		text += " Not told apart: " + strings.Join(pairs, "; ") + "."
	}
	return text
}
