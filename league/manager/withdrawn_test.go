package manager_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/manager"
	"evenodd/league/pairing"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
)

// Players are withdrawn while the league is paused after a number of rounds, and before the first one.
func TestWithdrawnPlayersAreNotPaired(t *testing.T) {
	swiss := &journal.Tournament{Algorithm: pairing.Swiss, Rounds: 4} // or as many as the players admit
	knockout := &journal.Tournament{Algorithm: pairing.Knockout}
	sequential := &journal.Tournament{Algorithm: pairing.Sequential}
	for _, test := range []struct {
		name     string
		format   *journal.Tournament
		players  int
		after    int // rounds
		withdraw []string
		rounds   int // of the league; 0 for any number
		check    func(t *testing.T, s *journal.State, events string)
	}{
		{"Swiss of seven", swiss, 7, 1, []string{"P03", "P06"}, 4, nil},
		{"Swiss before its first round", swiss, 4, 0, []string{"P01"}, 2, nil},
		{
			"Swiss with two players left", swiss, 7, 2, []string{"P01", "P02", "P03", "P04", "P05"}, 4,
			func(t *testing.T, _ *journal.State, events string) {
				_, last, _ := strings.Cut(events, `"round_id":4,"pairings"`)
				assert.True(t, strings.HasPrefix(strings.TrimLeft(last, `:[]"P067,`), `referees":["REF01"],"repeated_pairs":1`), "P06 and P07 met in round 3")
				assert.NotContains(t, events, "repeated_byes")
			},
		},
		{
			"Swiss with three players left", swiss, 7, 1, []string{"P01", "P02", "P03", "P04"}, 4,
			func(t *testing.T, _ *journal.State, events string) {
				assert.Equal(t, 1, strings.Count(events, `"repeated_byes":1`), "P07 had a bye in round 1, the others in rounds 2 and 3")
				assert.NotContains(t, events, "repeated_pairs")
			},
		},
		{"Swiss with one player left", swiss, 7, 2, []string{"P01", "P02", "P03", "P04", "P05", "P06"}, 2, nil},
		{"Swiss with nobody left", swiss, 4, 0, []string{"P01", "P02", "P03", "P04"}, -1, nil},
		{"knockout: the opponent advances", knockout, 4, 0, []string{"P01"}, 0, func(t *testing.T, s *journal.State, _ string) {
			final := s.Bracket(s.Round)[0][1][0]
			assert.Contains(t, []int{final.A, final.B}, 3, "P04 is in the final without a match")
		}},
		{"knockout with one player left", knockout, 4, 0, []string{"P01", "P03", "P04"}, -1, func(t *testing.T, s *journal.State, _ string) {
			assert.Equal(t, "P02", s.Champion().PlayerID)
		}},
		{"until a significant result: with one player left", sequential, 3, 1, []string{"P01", "P02"}, 1, nil},
	} {
		leaguetest.RunInMemory(t, test.name, func(t *testing.T, w *leaguetest.World) {
			folder := leaguetest.TempFolder(t)
			x := w.StartManagerIn(folder, test.players, 1, withPause, withTournament(test.format), func(o *manager.Options) {
				if test.format == sequential {
					o.Legs = 2
				}
			})
			if test.after == 0 {
				w.Organise(protocol.CommandPause)
			}
			w.RefereeWithFiles("REF01", folder)
			playersIn(w, folder, test.players)
			w.WaitUntil(leaguetest.Second)
			if test.after > 0 {
				organise(w, folder, []organiserStep{step(test.after, protocol.CommandPause)})
			}
			for _, id := range test.withdraw {
				w.Organise(protocol.CommandWithdraw, leaguetest.About(id))
			}
			w.Organise(protocol.CommandResume)
			s := finish(x)
			require.NotNil(t, s.Completed)
			if test.rounds != 0 {
				assert.Equal(t, max(test.rounds, 0), s.Round)
			}
			for id, m := range s.Matches() {
				if id.Round > test.after {
					_, a, b, _ := s.Find(id)
					assert.Nil(t, m.Forfeited, "%s against %s", a, b)
					assert.False(t, slices.Contains(test.withdraw, a) || slices.Contains(test.withdraw, b), "%s against %s", a, b)
				}
			}
			for _, row := range s.Standings() {
				if slices.Contains(test.withdraw, row.PlayerID) {
					after := s.StandingsAfter(min(test.after, s.Round))
					i := slices.IndexFunc(after, func(r league.Standing) bool { return r.PlayerID == row.PlayerID })
					assert.Equal(t, after[i].Points, row.Points, "%s gets no points after its withdrawal", row.PlayerID)
				}
			}
			if test.check != nil {
				test.check(t, s, string(leaguetest.ReadJournal(w, folder)))
			}
		})
	}
}
