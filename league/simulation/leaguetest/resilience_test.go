package leaguetest_test

import (
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
)

// A referee that accepts a match, never reports and re-registers repeatedly loses the match
// after the longest match.
func TestReregistrationDoesNotExtendAMatch(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(2, 2, func(o *manager.Options) { o.LongestMatch = 120 })
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
		assert.Equal(t, "REF02", leaguetest.Results(w.Manager)[0].RefereeID)
		assert.Less(t, w.Now(), 3*time.Minute)
	})
}

// A third-party referee may omit the attempt in its acknowledgement.
func TestAcknowledgementWithoutAttemptMeansTheAssignedAttempt(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(2, 1)
		w.Referee("REF01", leaguetest.On(protocol.StartMatch.Name, leaguetest.InTurn(leaguetest.AnswerWithStatus(protocol.StatusBusy), leaguetest.EditAnswer("attempt", nil))))
		w.Players(2)
		w.Finish()
		assert.Equal(t, []string{"R1M1 ref01 attempt 1 at 0s", "R1M1 ref01 attempt 1 at 2s"}, w.AssignmentLog())
	})
}

// Two referees that always reject a match do not fill the journal: each keeps its attempt,
// is recorded once, and is asked at growing intervals.
func TestAlwaysRejectingRefereesDoNotFillTheJournal(t *testing.T) {
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

// The token length is a recorded setting; another length would invalidate all tokens.
func TestResumedLeagueKeepsItsTokenLength(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		x := w.StartManagerIn(folder, 4, 1, func(o *manager.Options) { o.Pace = 10 })
		w.Referee("REF01")
		w.Players(4)
		w.WaitUntil(15 * leaguetest.Second)
		x.Kill()
		x = w.StartManagerIn(folder, 4, 1, func(o *manager.Options) { o.TokenLength = 30 })
		x.Finish()
		require.NoError(t, x.CloseFiles())
		w.CheckFiles(folder)
	})
}

// After the first use of a token, a repeated registration does not return it, also after a
// restart.
func TestRegistrationIsNotRepeatedAfterTheTokenWasUsed(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		x := w.StartManagerIn(folder, 0, 1)
		w.PingOnly("alpha")
		q := w.Application("Alpha")
		first, err := w.Apply(q)
		require.NoError(t, err)
		again, err := w.Apply(q)
		require.NoError(t, err)
		assert.Equal(t, first.AuthToken, again.AuthToken, "the first response was lost")
		ask := w.Query(*first.PlayerID, protocol.QueryStatus)
		ask.AuthToken = first.AuthToken
		_, err = ask.Send()
		require.NoError(t, err)
		for range 2 {
			other, err := w.Apply(q)
			require.NoError(t, err)
			assert.Equal(t, string(protocol.ErrDuplicateName), other.ErrorCode)
			x.Kill()
			x = w.StartManagerIn(folder, 0, 1)
		}
		x.Kill()
	})
}

// After a restart the manager assigns the match again. A referee that answers pings but not
// the assignment loses the match after the longest match.
func TestHangingRefereeLosesItsMatchAfterARestart(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		limit := func(o *manager.Options) { o.LongestMatch = 120 }
		x := w.StartManagerIn(folder, 2, 2, limit)
		w.Referee("REF01", leaguetest.On(protocol.StartMatch.Name, leaguetest.InTurn(leaguetest.AnswerWithStatus(protocol.StatusAccepted), leaguetest.Silent)))
		w.Referee("REF02")
		w.Players(2)
		w.WaitUntil(10 * leaguetest.Second)
		x.Kill()
		x = w.StartManagerIn(folder, 2, 2, limit)
		x.Finish()
		assert.Less(t, w.Now(), 3*time.Minute)
		assert.Equal(t, "REF02", leaguetest.Results(x.Manager)[0].RefereeID)
	})
}

// After a restart, a referee that accepted a match may answer that it is busy with it.
func TestRefereeBusyWithTheSameMatchKeepsIt(t *testing.T) {
	for name, first := range map[string]func(*leaguetest.Call) (jsontext.Value, error){"with a commitment": leaguetest.Normally, "without a commitment": leaguetest.EditAnswer("draw_commitment", nil)} {
		leaguetest.RunOnWire(t, name, func(t *testing.T, w *leaguetest.World) {
			folder := leaguetest.TempFolder(t)
			x := w.StartManagerIn(folder, 2, 1)
			w.Referee("REF01", leaguetest.On(protocol.StartMatch.Name, leaguetest.InTurn(first, leaguetest.AnswerWithStatus(protocol.StatusBusy))))
			w.Player("P01", leaguetest.WithDelays(0, 20*time.Second, 0))
			w.Player("P02")
			w.WaitUntil(5 * leaguetest.Second)
			x.Kill()
			x = w.StartManagerIn(folder, 2, 1)
			x.Finish()
			assert.Less(t, w.Now(), time.Minute, "its report was recorded")
		})
	}
}

// A clock that jumps back during a league changes recorded times only.
func TestLeagueCompletesWhenTheClockJumpsBack(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		back := func(o *manager.Options) {
			o.Pace, o.TokenTTL = 2, 24*3600
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
		assert.Less(t, state.Rounds[2].CompletedAt, state.Rounds[0].AnnouncedAt, "the clock jumped back")
		assert.Less(t, w.Now(), 20*leaguetest.Second, "no wait depended on the clock")
	})
}

// During an assignment, a report with a wrong token is rejected immediately; only the
// referee's own report waits.
func TestUnauthenticatedReportDoesNotWait(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(2, 1)
		w.Referee("REF01", leaguetest.On(protocol.StartMatch.Name, leaguetest.InTurn(leaguetest.Silent, leaguetest.Normally)))
		w.Players(2)
		w.WaitUntil(1 * leaguetest.Second)
		report := func(token string) error {
			q := w.ReportOf("REF01", "R1M1", nil, "P01", "P02", 1, 1)
			q.AuthToken = token
			_, err := w.Report(q)
			return err
		}
		for _, token := range []string{"", "tok-ref01-forged", w.Token("P01")} {
			require.Error(t, report(token))
			assert.Equal(t, 1*leaguetest.Second, w.Now(), "no wait")
		}
		require.NoError(t, report(w.Token("REF01")))
		assert.Equal(t, 6*leaguetest.Second, w.Now(), "it waits at most 5 s")
		w.Finish()
	})
}

// The acceptance of a referee was lost, and the match is being assigned to another. A report
// of the first attempt is recorded immediately.
func TestReportOfAnEarlierAttemptDoesNotWait(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(2, 2)
		w.Referee("REF01", leaguetest.On(protocol.StartMatch.Name, leaguetest.Silent))
		w.Referee("REF02", leaguetest.On(protocol.StartMatch.Name, leaguetest.Silent))
		w.Players(2)
		w.WaitUntil(13 * leaguetest.Second)
		require.Len(t, w.Calls(protocol.StartMatch.Name, "ref02"), 1, "the assignment is in progress")
		report := w.WinReport("REF01")
		report.Attempt = 1
		_, err := w.Report(report)
		require.NoError(t, err)
		assert.Equal(t, 13*leaguetest.Second, w.Now(), "no wait")
		w.Finish()
	})
}

// The answers of both referees to their assignments are lost, so that both conduct the match. A player that the later
// attempt has reached refuses the earlier one, which is no technical loss.
func TestLostAnswersOfRefereesMakeNoPlayerLose(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		x := w.StartManagerIn(folder, 2, 2)
		traits := []leaguetest.Option{
			leaguetest.On(protocol.StartMatch.Name, leaguetest.FirstN(1, func(c *leaguetest.Call) (jsontext.Value, error) {
				_, err := c.OwnAnswer()
				assert.NoError(t, err)
				return nil, leaguetest.ErrHangUp
			}, leaguetest.Normally)),
			leaguetest.On(protocol.Ping.Name, leaguetest.FirstN(1, leaguetest.Normally, leaguetest.Silent)), // no third attempt
		}
		w.RefereeWithFiles("REF01", folder, traits...)
		w.RefereeWithFiles("REF02", folder, traits...)
		w.Player("P01", leaguetest.On(protocol.Invite.Name,
			leaguetest.InTurn(leaguetest.Delayed(4*time.Second, leaguetest.Normally), leaguetest.Normally)))
		w.Player("P02", leaguetest.On(protocol.ChooseParity.Name, leaguetest.Delayed(25*time.Second, leaguetest.Normally)))
		x.Finish()
		require.NoError(t, x.CloseFiles())
		reports := w.Calls(protocol.ReportMatchResult.Name)
		require.Equal(t, "ref01", reports[0].From)
		leaguetest.AssertRefused(t, reports[0].Err, protocol.ErrInvalidMatchState, 4005)
		r := leaguetest.Results(x.Manager)[0]
		assert.Equal(t, "REF02", r.RefereeID)
		assert.NotEqual(t, league.StatusTechnicalLoss, r.Status, r.Reason)
		w.CheckAudited(folder)
	})
}
