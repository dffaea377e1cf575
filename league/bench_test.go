package league_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"evenodd/league"
)

// BenchmarkStandings ranks 10,000 players after 10 rounds.
func BenchmarkStandings(b *testing.B) {
	const players, rounds = 10_000, 10
	for name, tiebreakers := range map[string][]string{
		"default":      league.DefaultScoring().Tiebreakers,
		"swiss":        league.SwissTiebreakers(),
		"head_to_head": {"points", "wins", "head_to_head"},
	} {
		b.Run(name, func(b *testing.B) {
			tbl, err := league.New(players, league.Scoring{MatchPoints: league.MatchPoints{Win: 3, Draw: 1}, Tiebreakers: tiebreakers})
			require.NoError(b, err)
			random := rand.New(rand.NewPCG(1, 2))
			for range rounds {
				order := random.Perm(players)
				for i := 0; i < players; i += 2 {
					r := league.Played{A: order[i], B: order[i+1]}
					r.Winner = []int{r.A, r.B, league.None}[random.IntN(3)]
					require.NoError(b, tbl.Record(1, r))
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				tbl.Ranking(nil)
			}
		})
	}
}
