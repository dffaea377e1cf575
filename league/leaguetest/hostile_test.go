package leaguetest_test

import (
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/leaguetest"
	"evenodd/league/protocol"
)

// A referee that takes a match, never reports, and shows itself again and again,
// has it no longer than the longest match can take.
func TestARefereeThatOnlyComesBack(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(2, 2, func(o *league.Options) { o.LongestMatch = 2 * time.Minute })
		w.Referee("REF01", leaguetest.On(protocol.StartMatch.Name, leaguetest.AnswerWithStatus(protocol.StatusAccepted)))
		w.Referee("REF02")
		w.Players(2)
		q := w.RefereeApplication("Agent REF01")
		q.Sender, q.AuthToken = "referee:REF01", w.Token("REF01")
		q.RefereeMeta.ContactEndpoint = leaguetest.EndpointOf("ref01")
		for range 2 {
			w.WaitUntil(w.Now() + time.Minute - 10*leaguetest.Second)
			_, err := w.ApplyReferee(q)
			require.NoError(t, err)
		}
		w.Finish()
		assert.Equal(t, "REF02", w.Manager.Results()[0].RefereeID)
		assert.Less(t, w.Now(), 3*time.Minute)
	})
}

// A referee of another maker may leave out the attempt in its acknowledgement:
// that of the assignment is meant.
func TestAnAcknowledgementThatNamesNoAttempt(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(2, 1)
		w.Referee("REF01", leaguetest.On(protocol.StartMatch.Name, leaguetest.InTurn(leaguetest.AnswerWithStatus(protocol.StatusBusy), leaguetest.EditAnswer("attempt", nil))))
		w.Players(2)
		w.Finish()
		assert.Equal(t, []string{"R1M1 ref01 attempt 1 at 0s", "R1M1 ref01 attempt 1 at 2s"}, w.AssignmentLog())
	})
}

// Two referees that refuse for ever do not fill the disk: each keeps its attempt,
// is recorded once, and is asked more and more slowly.
func TestRefereesThatRefuseForEver(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		x := w.StartManagerIn(folder, 2, 2)
		w.Referee("REF01", leaguetest.On(protocol.StartMatch.Name, leaguetest.AnswerWithStatus(protocol.StatusRejected)))
		w.Referee("REF02", leaguetest.On(protocol.StartMatch.Name, leaguetest.AnswerWithStatus(protocol.StatusRejected)))
		w.Players(2)
		w.WaitUntil(time.Hour)
		events := map[string]int{}
		for _, kind := range w.EventTypes(folder) {
			events[kind]++
		}
		assert.Equal(t, 2, events["match_assigned"])
		assert.Equal(t, 2, events["match_declined"])
		assert.Less(t, len(w.Calls(protocol.StartMatch.Name)), 200, "in an hour")
		x.Kill()
	})
}

// The length of its tokens is a rule of a league: another setting at the next
// start would make strangers of all agents.
func TestTheLengthOfTokensDoesNotChange(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		x := w.StartManagerIn(folder, 4, 1, func(o *league.Options) { o.Pace = 10 * time.Second })
		w.Referee("REF01")
		w.Players(4)
		w.WaitUntil(15 * leaguetest.Second)
		x.Kill()
		x = w.StartManagerIn(folder, 4, 1, func(o *league.Options) { o.TokenLength = 30 })
		x.Finish()
		require.NoError(t, x.CloseFiles())
		w.CheckFiles(folder)
	})
}

// Once an agent has used its token, nobody gets it by repeating the
// registration, also from the next manager.
func TestARegistrationIsNotRepeatedForOthers(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		x := w.StartManagerIn(folder, 0, 1)
		w.PingOnly("alpha")
		q := w.Application("Alpha")
		first, err := w.Apply(q)
		require.NoError(t, err)
		again, err := w.Apply(q)
		require.NoError(t, err)
		assert.Equal(t, first.AuthToken, again.AuthToken, "its answer was lost")
		ask := w.Query(*first.PlayerID, protocol.QueryStatus)
		ask.AuthToken = first.AuthToken
		_, err = ask.Send()
		require.NoError(t, err)
		for range 2 {
			thief, err := w.Apply(q)
			require.NoError(t, err)
			assert.Equal(t, string(protocol.ErrDuplicateName), thief.ErrorCode)
			x.Kill()
			x = w.StartManagerIn(folder, 0, 1)
		}
		x.Kill()
	})
}

// A referee that has a match, answers pings, and hangs when it is handed the
// match again by the next manager, loses it after the longest match.
func TestARefereeThatHangsWhenItIsAskedAgain(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		limit := func(o *league.Options) { o.LongestMatch = 2 * time.Minute }
		x := w.StartManagerIn(folder, 2, 2, limit)
		w.Referee("REF01", leaguetest.On(protocol.StartMatch.Name, leaguetest.InTurn(leaguetest.AnswerWithStatus(protocol.StatusAccepted), leaguetest.Silent)))
		w.Referee("REF02")
		w.Players(2)
		w.WaitUntil(10 * leaguetest.Second)
		x.Kill()
		x = w.StartManagerIn(folder, 2, 2, limit)
		x.Finish()
		assert.Less(t, w.Now(), 3*time.Minute)
		assert.Equal(t, "REF02", x.Manager.Results()[0].RefereeID)
	})
}

// A referee that had accepted a match has it, also if it gave no commitment and
// says, asked once more, that it is busy: with this very match.
func TestARefereeThatIsBusyWithTheMatch(t *testing.T) {
	for name, first := range map[string]func(*leaguetest.Call) (jsontext.Value, error){"with a commitment": leaguetest.Normally, "without one": leaguetest.EditAnswer("draw_commitment", nil)} {
		t.Run(name, func(t *testing.T) {
			leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
				folder := leaguetest.TempFolder(t)
				x := w.StartManagerIn(folder, 2, 1)
				w.Referee("REF01", leaguetest.On(protocol.StartMatch.Name, leaguetest.InTurn(first, leaguetest.AnswerWithStatus(protocol.StatusBusy))))
				w.Player("P01", leaguetest.WithDelays(0, 20*time.Second, 0))
				w.Player("P02")
				w.WaitUntil(5 * leaguetest.Second)
				x.Kill()
				x = w.StartManagerIn(folder, 2, 1)
				x.Finish()
				assert.Less(t, w.Now(), time.Minute, "its report was taken")
			})
		})
	}
}

// A clock that jumps back in mid-league changes what files say of times, and
// nothing else.
func TestAClockThatJumpsBack(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		back := func(o *league.Options) {
			o.Pace, o.TokenTTL = 2*leaguetest.Second, 24*time.Hour
			o.Clock = protocol.NewClock(func() time.Time {
				if w.Now() > 3*leaguetest.Second {
					return time.Now().Add(-time.Hour)
				}
				return time.Now()
			}, w.Clock.Sleep)
		}
		x := w.StartManagerIn(folder, 4, 1, back)
		w.Referee("REF01")
		w.Players(4)
		w.WaitUntil(5 * leaguetest.Second)
		x.Kill()
		x = w.StartManagerIn(folder, 4, 1, back)
		x.Finish()
		require.NoError(t, x.CloseFiles())
		state := w.CheckFiles(folder)
		require.NotNil(t, state.Completed)
		assert.Less(t, state.Rounds[2].CompletedAt, state.Rounds[0].AnnouncedAt, "the clock did jump")
		assert.Less(t, w.Now(), 20*leaguetest.Second, "nothing waited for it")
	})
}

// A report of a stranger is refused at once, also while the match is being
// handed over: only its referee's own waits for that.
func TestAStrangersReportDoesNotWait(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(2, 1)
		w.Referee("REF01", leaguetest.On(protocol.StartMatch.Name, leaguetest.InTurn(leaguetest.Silent, leaguetest.Normally)))
		w.Players(2)
		w.WaitUntil(1 * leaguetest.Second)
		report := func(token string) error {
			q := &protocol.MatchResultReport{
				Envelope: protocol.NewStamp("referee:REF01", w.Clock).Envelope(protocol.TypeMatchResultReport, "conv-r1m1-a1"),
				LeagueID: leaguetest.LeagueID, RoundID: 1, MatchID: "R1M1", GameType: "even_odd",
				Result: protocol.MatchResult{Score: protocol.Both("P01", 1, "P02", 1)},
			}
			q.AuthToken = token
			_, err := protocol.ReportMatchResult.Call(w.Context, w.Untrusted, protocol.Peer{Endpoint: leaguetest.EndpointOf(leaguetest.ManagerHost)}, q)
			return err
		}
		for _, token := range []string{"", "tok-ref01-forged", w.Token("P01")} {
			require.Error(t, report(token))
			assert.Equal(t, 1*leaguetest.Second, w.Now(), "it was not kept waiting")
		}
		require.NoError(t, report(w.Token("REF01")))
		assert.Equal(t, 6*leaguetest.Second, w.Now(), "the referee's own waits, but not for ever")
		w.Finish()
	})
}

// A referee whose word that it has a match was lost reports it while the match
// is handed to another: that attempt is spared, and nobody waits for it.
func TestAReportOfAnEarlierAttemptDoesNotWaitForALaterOne(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(2, 2)
		w.Referee("REF01", leaguetest.On(protocol.StartMatch.Name, leaguetest.Silent))
		w.Referee("REF02", leaguetest.On(protocol.StartMatch.Name, leaguetest.Silent))
		w.Players(2)
		w.WaitUntil(13 * leaguetest.Second)
		require.Len(t, w.Calls(protocol.StartMatch.Name, "ref02"), 1, "it is being handed the match")
		report := w.WinReport("REF01")
		report.Attempt = 1
		_, err := w.Report(report)
		require.NoError(t, err)
		assert.Equal(t, 13*leaguetest.Second, w.Now(), "it was not kept waiting")
		w.Finish()
	})
}
