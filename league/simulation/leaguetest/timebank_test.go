package leaguetest_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/inspect/audit"
	"evenodd/league/lists"
	"evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/store"
	"evenodd/league/view/record"
	"evenodd/rules"
	"evenodd/rules/tictactoe"
)

// playWithBanks plays two legs with 25 s and one second more after each move. P01 thinks for ten seconds at its first
// three moves, so that it loses the first leg by time. P02 asks the referee to wait, and makes a wrong move.
func playWithBanks(w *leaguetest.World) (*leaguetest.ManagerRun, store.Folder) {
	w.Game = tictactoe.Game{}
	folder := leaguetest.TempFolder(w.T)
	x := w.StartManagerIn(folder, 2, 1, func(o *manager.Options) {
		o.Legs, o.TimeBank = 2, &protocol.TimeBank{Initial: 25_000, Increment: 1000}
	})
	w.RefereeWithFiles("REF01", folder)
	thinking := leaguetest.Delayed(10*time.Second, leaguetest.Normally)
	w.Player("P01", marks("01238"), moving(leaguetest.FirstN(3, thinking, leaguetest.Normally)))
	w.Player("P02", marks("456"), moving(leaguetest.InTurn(leaguetest.Delayed(time.Second, limiting(2*time.Second)),
		leaguetest.Delayed(3*time.Second, inCell("9")), leaguetest.Normally)))
	x.Finish()
	require.NoError(w.T, x.CloseFiles())
	return x, folder
}

func TestPlayerThatUsesUpItsTimeLoses(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		x, folder := playWithBanks(w)
		w.CheckAudited(folder)
		results := leaguetest.Results(x.Manager)
		require.Len(t, results, 2)
		assert.Equal(t, league.StatusTechnicalLoss, results[0].Status)
		assert.Equal(t, "P01 used up its time of 25s+1s - P02 wins by default", results[0].Reason)
		assert.Equal(t, "used up its time", record.CauseIn(&results[0].Result, "P01").Words)
		assert.Equal(t, league.StatusWin, results[1].Status, results[1].Reason)

		asked := map[string][]int{}
		for _, e := range w.Calls(protocol.MakeMove.Name)[:7] {
			q := leaguetest.Decode[protocol.GameMoveCall](e.Message)
			asked[e.To] = append(asked[e.To], q.TimeLeft)
		}
		assert.Equal(t, map[string][]int{"p01": {25_000, 16_000, 7000}, "p02": {25_000, 22_000, 19_000, 20_000}}, asked)
		last := w.Calls(protocol.MakeMove.Name)[6]
		assert.Equal(t, 7*time.Second, last.Until-last.At, "the window ends with the bank")

		doc := leaguetest.ReadMatchFile(t, folder, leaguetest.FirstMatchFile)
		shown := record.ConversationOf(doc, rules.NewRegistry(w.Game))
		assert.Equal(t, []string{"", "P01 0:16.0 left", "P01 0:16.0, P02 0:20.0 left", "P01 0:07.0, P02 0:20.0 left",
			"P01 0:07.0, P02 0:21.0 left"}, lists.Map(shown.Steps, func(s record.Step) string { return s.Clocks() }))
		failed := slices.IndexFunc(shown.Lines, func(u record.Line) bool { return u.Trouble == record.TroubleNoAnswer })
		assert.Equal(t, "0:00.0 left", shown.Lines[failed].TimeLeft())

		testForgedTimes(t, folder, doc)
	})
}

// The referee's clock is set forward while it waits for P02, whose time goes on by the monotonic clock.
func TestClockThatIsSetWhileARefereeWaitsTakesNoTime(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.Game = tictactoe.Game{}
		folder := leaguetest.TempFolder(t)
		x := w.StartManagerIn(folder, 2, 1, func(o *manager.Options) {
			o.TimeBank = &protocol.TimeBank{Initial: 25_000}
		})
		w.RefereeWithFiles("REF01", folder, leaguetest.WithClock(0, leaguetest.Jump{At: 15 * time.Second, By: time.Minute}))
		w.Player("P01", marks("012"))
		w.Player("P02", marks("345"), moving(leaguetest.InTurn(limiting(18*time.Second), leaguetest.Normally)))
		x.Finish()
		require.NoError(t, x.CloseFiles())
		checkHonest(w, x)
		var left []int
		for _, e := range w.Calls(protocol.MakeMove.Name) {
			if e.To == "p02" {
				left = append(left, leaguetest.Decode[protocol.GameMoveCall](e.Message).TimeLeft)
			}
		}
		assert.Equal(t, []int{25_000, 7000, 7000}, left)
	})
}

// An attempt that begins again has full time banks. A league keeps them, whatever the settings of the manager that resumes
// it.
func TestAttemptThatBeginsAgainHasFullTimeBanks(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.Game = tictactoe.Game{}
		folder := leaguetest.TempFolder(t)
		x := w.StartManagerIn(folder, 2, 2, func(o *manager.Options) { o.TimeBank = &protocol.TimeBank{Initial: 12_000} })
		r := w.RefereeWithFiles("REF01", folder)
		w.RefereeWithFiles("REF02", folder)
		w.Player("P01", marks("012"), moving(leaguetest.FirstN(2, leaguetest.Delayed(10*time.Second, leaguetest.Normally),
			leaguetest.Normally)))
		w.Player("P02", marks("345"))
		w.WaitUntil(11 * time.Second) // P01 has 2 s left, and thinks
		r.StopReferee()
		x.Kill()
		x = w.StartManagerIn(folder, 2, 2)
		w.WaitUntil(30 * time.Second)
		w.RefereeWithFiles("REF01", folder)
		x.Finish()
		assert.Equal(t, league.StatusWin, leaguetest.Results(x.Manager)[0].Status)
		x.CloseAudited()

		var left []int
		for _, e := range w.Calls(protocol.MakeMove.Name) {
			if e.To == "p01" {
				left = append(left, leaguetest.Decode[protocol.GameMoveCall](e.Message).TimeLeft)
			}
		}
		assert.Equal(t, []int{12_000, 2000, 12_000, 12_000, 12_000}, left)
	})
}

// testForgedTimes makes one forgery of the times in a match file after the other.
func testForgedTimes(t *testing.T, folder store.Folder, doc *store.Match) {
	t.Helper()
	used := func(d *store.Match, playerID string) (all []*store.Exchange) {
		for i := range d.Transcript {
			if x := &d.Transcript[i]; x.PlayerID == playerID && x.Used != nil {
				all = append(all, x)
			}
		}
		return all
	}
	shift := func(x *store.Exchange, by int) {
		x.Used = &protocol.TimeUsed{Debit: x.Used.Debit + by, Left: x.Used.Left - by}
	}
	set := func(x *store.Exchange, by int) {
		x.Used = &protocol.TimeUsed{Debit: x.Used.Debit, Left: x.Used.Left, ClockSet: by}
	}
	show := func(d *store.Match, was, is int) {
		from, to := fmt.Sprintf(`"time_left_ms":%d`, was), fmt.Sprintf(`"time_left_ms":%d`, is)
		i := slices.IndexFunc(d.Transcript, func(e store.Exchange) bool { return strings.Contains(string(e.Message), from) })
		d.Transcript[i].Message = []byte(strings.Replace(string(d.Transcript[i].Message), from, to, 1))
	}
	for _, tt := range []struct {
		name  string
		forge func(d *store.Match)
		want  string // of a finding; "" for none
	}{
		{"honest", func(*store.Match) {}, ""},
		{"a debit within the tolerance", func(d *store.Match) {
			shift(used(d, "P02")[2], 50)
		}, "time_left_ms"}, // the next question shows that
		{"a debit that is too large", func(d *store.Match) { shift(used(d, "P01")[0], 500) },
			"the call to P01 is said to have taken 10.5s from its time bank, but took 10s"},
		{"a debit that is too small", func(d *store.Match) { shift(used(d, "P01")[1], -9000) },
			"the call to P01 is said to have taken 1s from its time bank, but took 10s"},
		{"a debit below nothing", func(d *store.Match) { shift(used(d, "P02")[2], -60) },
			"the call to P02 is said to have taken -60ms"},
		{"a debit that overflows", func(d *store.Match) { shift(used(d, "P01")[0], math.MinInt>>5) },
			"the call to P01 is said to have taken"},
		{"debits that are too large together", func(d *store.Match) {
			for _, x := range used(d, "P02") {
				shift(x, 60)
			}
		}, "the calls to P02 up to this one are said to have taken"},
		{"a clock that is said to have been set", func(d *store.Match) { set(used(d, "P01")[0], 9000) },
			"the call to P01 is said to have taken 10s from its time bank, but took 1s"},
		{"a clock that is said to have been set back", func(d *store.Match) { set(used(d, "P01")[0], -1) },
			"the clock is said to have been set by -1 ms during the call to P01: the times of a match are never set back"},
		{"no debit", func(d *store.Match) { used(d, "P01")[0].Used = nil },
			"the file does not say what the call to P01 took from its time bank"},
		{"a wrong rest", func(d *store.Match) {
			x := used(d, "P01")[0]
			x.Used = &protocol.TimeUsed{Debit: x.Used.Debit, Left: x.Used.Left + 5000}
		}, "P01 is said to have 21000 ms left; by the debits and increments it has 16000 ms"},
		{"a loss before the time is over", func(d *store.Match) {
			x := used(d, "P01")[2]
			x.At = used(d, "P01")[1].At
			i := slices.IndexFunc(d.Transcript, func(e store.Exchange) bool { return e.At == x.At })
			for k := range d.Transcript[i:] {
				d.Transcript[i+k].At = x.At
			}
		}, "the call to P01 is said to have taken 7s from its time bank, but took 0s"},
		{"a loss with time left", func(d *store.Match) {
			shift(used(d, "P01")[2], -50)
		}, "P01 has lost R1M1 by this failure, but the league gives it another attempt"},
		{"an invitation that costs time", func(d *store.Match) {
			i := slices.IndexFunc(d.Transcript, func(e store.Exchange) bool { return e.Direction == store.Received })
			d.Transcript[i].Used = &protocol.TimeUsed{Left: 25_000}
		},
			"is said to have taken time from its time bank, but costs none"},
		{"a question that shows more time", func(d *store.Match) { show(d, 16_000, 19_000) },
			"time_left_ms in the GAME_MOVE_CALL to P01 is 19000; in R1M1 it is 16000"},
		{"a question that shows more time after a pause", func(d *store.Match) { show(d, 22_000, 23_000) },
			"time_left_ms in the GAME_MOVE_CALL to P02 is 23000; in R1M1 it is 22000"},
	} {
		forged := *doc
		forged.Transcript = slices.Clone(doc.Transcript)
		tt.forge(&forged)
		require.NoError(t, store.WriteMatch(folder.Disk, folder.Match(doc.LeagueID, doc.MatchID), &forged))
		report, err := audit.Run(folder, audit.Options{Games: rules.NewRegistry(tictactoe.Game{})})
		require.NoError(t, err)
		details := lists.Map(report.Leagues[0].Findings, func(f audit.Finding) string { return f.Detail })
		found := slices.ContainsFunc(details, func(detail string) bool { return strings.Contains(detail, tt.want) })
		assert.True(t, found || tt.want == "" && len(details) == 0, "%s: %q is not among:\n%s", tt.name, tt.want,
			strings.Join(details, "\n"))
	}
}
