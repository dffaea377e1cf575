package simulation_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/journal"
	"evenodd/league/pairing"
	"evenodd/league/simulation"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/view/record"
	"evenodd/rules"
	"evenodd/rules/evenodd"
	"evenodd/rules/tictactoe"
)

func untilSignificant(seed uint64, game string, players int, strategies ...string) simulation.Options {
	o := options(players)
	o.Seed, o.GameType, o.Strategies, o.Legs = seed, game, strategies, 200
	o.Games = rules.NewRegistry(evenodd.Game{}, tictactoe.Game{})
	o.Tournament = &journal.Tournament{Algorithm: pairing.Sequential}
	return o
}

// TestLeaguesUntilASignificantResult measures how often leagues stop early. docs/statistics.md has the
// figures of 2,000 leagues each.
func TestLeaguesUntilASignificantResult(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name       string
		game       string
		players    int
		strategies []string
		few, all   int // leagues
	}{
		{"two equal players of Even/Odd", evenodd.Type, 2, []string{"random"}, 28, 400},
		{"two equal players of Tic-Tac-Toe", tictactoe.Type, 2, []string{"random"}, 12, 400},
		{"four equal players of Even/Odd", evenodd.Type, 4, []string{"random"}, 2, 100},
		{"a perfect and a random player", tictactoe.Type, 2, []string{"perfect", "random"}, 8, 200},
	} {
		t.Run(tt.name, func(t *testing.T) {
			leagues := tt.few
			if leaguetest.All() {
				leagues = tt.all
			}
			early, within16 := 0.0, 0.0
			for seed := range leagues {
				c := run(t, untilSignificant(uint64(seed), tt.game, tt.players, tt.strategies...)).Comparison()
				if c.StoppedBy == record.StoppedBySignificance {
					early++
					if c.Legs <= 16 {
						within16++
					}
				}
			}
			n := float64(leagues)
			t.Logf("%d leagues: %v stopped early, %v within 16 legs", leagues, early, within16)
			if len(tt.strategies) > 1 {
				assert.GreaterOrEqual(t, within16, 0.95*n)
				return
			}
			assert.LessOrEqual(t, early, 0.05*n+2*math.Sqrt(0.05*0.95*n), "5%% and two standard errors")
		})
	}
}

// An interrupted league stops where the whole one does, and the audit repeats the decision.
func TestLeagueUntilASignificantResultResumes(t *testing.T) {
	plain := untilSignificant(7, tictactoe.Type, 2, "perfect", "random")
	bounded := plain
	bounded.Tournament = &journal.Tournament{Algorithm: pairing.SPRT, Bounds: &pairing.Bounds{Elo0: 0, Elo1: 200}}
	for name, tt := range map[string]struct {
		o    simulation.Options
		want string
	}{
		"the best player": {plain, "Stopped after 14 of at most 200 legs: P01 is shown to be better than every other player."},
		"bounds": {bounded, "Stopped after 16 of at most 200 legs: P01 is rather 200 than 0 Elo stronger than P02 " +
			"(log-likelihood ratio 3.35, limits ±2.94)."},
	} {
		t.Run(name, func(t *testing.T) {
			o := tt.o
			folder := interrupted(t, o, 5)
			o.Files = openFiles(t, folder, o.LeagueID)
			o.Tournament, o.Legs = nil, 1 // the journal has them
			again := run(t, o)
			require.NoError(t, o.Files.Close())
			assert.Equal(t, run(t, tt.o).Comparison(), again.Comparison())
			assert.Equal(t, tt.want, again.Comparison().Sentence())
			findings, _ := audited(t, folder, o.Games)
			assert.Empty(t, findings)
		})
	}
}
