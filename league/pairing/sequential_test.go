package pairing_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/pairing"
)

func TestEvidenceIsTheRatioOfBetaFunctions(t *testing.T) {
	logBeta := func(a, b float64) float64 {
		x, _ := math.Lgamma(a)
		y, _ := math.Lgamma(b)
		z, _ := math.Lgamma(a + b)
		return x + y - z
	}
	for _, d := range []pairing.Duel{{}, {Ahead: 1}, {Ahead: 2}, {Ahead: 7}, {Ahead: 3, Behind: 4, Level: 9, Void: 2},
		{Ahead: 60, Behind: 40}, {Ahead: 40, Behind: 60}, {Ahead: 3000, Behind: 2900}} {
		w, l := float64(d.Ahead), float64(d.Behind)
		want := math.Exp((w+l)*math.Ln2 + logBeta(w+0.5, l+0.5) - logBeta(0.5, 0.5))
		assert.InEpsilon(t, want, d.Evidence(), 1e-8, "%+v", d)
	}
	assert.InDelta(t, 26.8125, pairing.Duel{Ahead: 7}.Evidence(), 0)
	assert.InDelta(t, math.MaxFloat64, pairing.Duel{Ahead: 5000}.Evidence(), 0)
}

// A lead that suffices ends the league after a double leg, with more of them among more players.
func TestRoundRobinEndsWhenOnePlayerIsTheBest(t *testing.T) {
	for _, tt := range []struct {
		name    string
		players int
		judge   judge
		rounds  int
	}{
		{"two players: 7 double legs", 2, lowerWins, 14},
		{"three players need evidence of 40: 8 double legs", 3, lowerWins, 8 * 2 * 3},
		{"five players need evidence of 80: 9 double legs", 5, lowerWins, 9 * 2 * 5},
		{"players of equal strength", 4, allDrawn, 40 * 3},
		{"side A always wins", 2, func(_ int, p pairing.Pairing) league.Played {
			return league.Played{A: p.A, B: p.B, Winner: p.A}
		}, 40},
		{"double legs with a technical loss are void, and ties do not count", 2,
			func(round int, p pairing.Pairing) league.Played {
				r := lowerWins(round, p)
				r.Technical = round == 1
				if round == 3 || round == 4 {
					r.Winner = league.None
				}
				return r
			}, 18},
		{"two players that are better than the others, but not than each other", 4,
			func(round int, p pairing.Pairing) league.Played {
				r := lowerWins(round, p)
				if p.A+p.B == 1 {
					r.Winner = league.None
				}
				return r
			}, 40 * 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for name, of := range map[string]pairing.RoundRobin{
				pairing.Sequential:       roundRobin(t, tt.players, 40),
				pairing.SequentialBerger: berger(t, pairing.Berger, tt.players, 40),
			} {
				p := newPairer(t, pairing.Format{Name: name, Players: tt.players, Legs: 40})
				assert.Equal(t, of.Matches(), p.Matches())
				played := play(p, tt.judge)
				require.Len(t, played, tt.rounds, name)
				for round, pairings := range pairingsOf(played) {
					require.Equal(t, of.Round(round+1, nil, nil), pairings)
				}
			}
		})
	}
	_, err := pairing.New(pairing.Format{Name: pairing.Sequential, Players: 2, Legs: 3})
	assert.ErrorContains(t, err, "an even number of legs, got 3")
}

func TestSequentialLeagueEndsWithoutTwoPlayers(t *testing.T) {
	p := newPairer(t, pairing.Format{Name: pairing.Sequential, Players: 3, Legs: 2})
	assert.NotNil(t, p.Round(1, nil, pairing.Absences{{1}, nil, nil}), "absent players forfeit")
	assert.NotNil(t, p.Round(1, nil, pairing.Absences{{1}, {2}, nil}))
	assert.Nil(t, p.Round(1, nil, pairing.Absences{{1}, {1}, nil}))
}
