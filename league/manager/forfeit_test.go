package manager_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/store"
)

// forfeitsTold are the GAME_OVERs of the manager, by receiver, of a match.
func forfeitsTold(w *leaguetest.World, matchID string) map[string][]*protocol.GameOver {
	told := map[string][]*protocol.GameOver{}
	for _, c := range w.Calls(protocol.NotifyMatchResult.Name) {
		q := leaguetest.Decode[protocol.GameOver](c.Message)
		if q.Sender == protocol.ManagerSender && q.MatchID == matchID {
			told[c.To] = append(told[c.To], q)
		}
	}
	return told
}

// assertForfeitTold checks what the player that is there gets, and that its history has the match once.
func assertForfeitTold(w *leaguetest.World, folder store.Folder, matchID, winner string, times int) {
	w.T.Helper()
	host := strings.ToLower(winner)
	told := forfeitsTold(w, matchID)
	require.Len(w.T, told, 1, "only the player that is there")
	require.Len(w.T, told[host], times)
	for _, q := range told[host] {
		r := q.GameResult
		assert.Equal(w.T, league.StatusTechnicalLoss, r.Status)
		assert.Equal(w.T, winner, protocol.ValueOf(r.WinnerPlayerID))
		assert.Contains(w.T, r.Reason, winner+" wins by default")
		assert.Nil(w.T, r.DrawnNumber)
		assert.Len(w.T, r.Choices, 2)
	}
	entries := 0
	for _, m := range leaguetest.ReadHistory(w.T, folder, winner).Matches {
		if m.MatchID == matchID {
			entries++
			assert.Equal(w.T, store.Technical+store.ResultWin, m.Result)
		}
	}
	assert.Equal(w.T, 1, entries, "in the history")
}

// The player that is there learns by GAME_OVER of the manager that it wins a forfeited match, whether the manager or
// an organiser decided that the other one is absent, and whenever. No player is told of a match that both forfeit.
func TestForfeitedMatchHasItsGameOver(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*manager.Options)
		first  []leaguetest.Option // of P01
		play   func(w *leaguetest.World)
		match  string
		winner string // "" for none
	}{
		{"withdrawn before the round", nil, nil, func(w *leaguetest.World) {
			w.Organise(protocol.CommandWithdraw, leaguetest.About("P01"))
		}, "R2M1", "P02"},
		{"suspended by the organiser", nil, nil, func(w *leaguetest.World) {
			w.Organise(protocol.CommandSuspend, leaguetest.About("P02"))
		}, "R2M1", "P01"},
		{"both", nil, nil, func(w *leaguetest.World) {
			w.Organise(protocol.CommandSuspend, leaguetest.About("P01"))
			w.Organise(protocol.CommandWithdraw, leaguetest.About("P02"))
		}, "R2M1", ""},
		{"not reachable", func(o *manager.Options) { o.SuspendAfter = 1 },
			leaguetest.Options(leaguetest.On(protocol.Invite.Name, leaguetest.FailWith(leaguetest.ErrHangUp)), leaguetest.On(protocol.Ping.Name, leaguetest.FirstN(1, leaguetest.Normally, leaguetest.FailWith(leaguetest.ErrHangUp)))),
			func(*leaguetest.World) {}, "R2M1", "P02"},
	} {
		leaguetest.RunOnWire(t, test.name, func(t *testing.T, w *leaguetest.World) {
			folder := leaguetest.TempFolder(t)
			x := w.StartManagerIn(folder, 2, 1, func(o *manager.Options) {
				o.Legs = 2
				if test.change != nil {
					test.change(o)
				}
			})
			w.RefereeWithFiles("REF01", folder)
			w.PlayerIn("P01", folder, append([]leaguetest.Option{leaguetest.WithDelays(0, 5*leaguetest.Second, 0)}, test.first...)...)
			w.PlayerIn("P02", folder, leaguetest.WithDelays(0, 5*leaguetest.Second, 0))
			w.WaitUntil(2 * leaguetest.Second)
			test.play(w)
			state := finish(x)
			require.NotEmpty(t, matchOf(state, test.match).Forfeited)
			w.WaitUntil(w.Now() + time.Minute)
			if test.winner == "" {
				assert.Empty(t, forfeitsTold(w, test.match))
				return
			}
			assertForfeitTold(w, folder, test.match, test.winner, 1)
		})
	}
}

// A match that waits for its referee is forfeited in the middle of the round.
func TestMatchThatIsForfeitedInItsRoundHasItsGameOver(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		x := w.StartManagerIn(folder, 2, 1)
		w.Referee("REF01", leaguetest.On(protocol.StartMatch.Name, leaguetest.FailWith(leaguetest.ErrHangUp)))
		w.PlayerIn("P01", folder)
		w.PlayerIn("P02", folder)
		w.WaitUntil(2 * leaguetest.Second)
		w.Organise(protocol.CommandSuspend, leaguetest.About("P01"))
		require.Equal(t, []string{"P01"}, matchOf(finish(x), "R1M1").Forfeited)
		w.WaitUntil(w.Now() + time.Minute)
		assertForfeitTold(w, folder, "R1M1", "P02", 1)
	})
}

// A manager that resumes the round says so again, and a player that is restarted has the match once.
func TestForfeitIsToldAgainAfterARestart(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		x := w.StartManagerIn(folder, 4, 1)
		w.RefereeWithFiles("REF01", folder)
		playersIn(w, folder, 4, leaguetest.WithDelays(0, 20*leaguetest.Second, 0))
		w.WaitUntil(2 * leaguetest.Second)
		w.Organise(protocol.CommandWithdraw, leaguetest.About("P01"))
		w.WaitUntil(30 * leaguetest.Second) // in round 2
		state, _ := w.FoldJournal(folder)
		require.Equal(t, 2, state.Round)
		id := ""
		for _, n := range []string{"R2M1", "R2M2"} {
			if matchOf(state, n).Forfeited != nil {
				id = n
			}
		}
		require.NotEmpty(t, id)
		winner := ""
		for host := range forfeitsTold(w, id) {
			winner = strings.ToUpper(host)
		}
		x.Kill()
		x = w.StartManagerIn(folder, 4, 1)
		finish(x)
		w.WaitUntil(w.Now() + time.Minute)
		assertForfeitTold(w, folder, id, winner, 2)
	})
}

// The other matches of the round do not wait for a player that does not acknowledge it.
func TestRoundDoesNotWaitForTheGameOverOfAForfeit(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		x := w.StartManagerIn(leaguetest.TempFolder(t), 4, 1, func(o *manager.Options) { o.Pace = 2 })
		w.RefereeWithFiles("REF01", x.Folder)
		hangs := leaguetest.On(protocol.NotifyMatchResult.Name, leaguetest.Silent)
		for _, id := range []string{"P01", "P02", "P03", "P04"} {
			w.Player(id, map[bool][]leaguetest.Option{true: {hangs}}[id == "P02"]...)
		}
		w.WaitUntil(leaguetest.Second)
		w.Organise(protocol.CommandWithdraw, leaguetest.About("P01"))
		finish(x)
		require.Len(t, forfeitsTold(w, "R1M1")["p02"], 1)
		assert.Equal(t, 2*leaguetest.Second, w.Calls(protocol.NotifyRoundCompleted.Name, "p03")[0].At)
	})
}
