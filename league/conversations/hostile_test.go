package conversations

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/protocol"
)

// told tells a story on one carrier, where the time that it takes matters and
// not what carries it.
func told(t *testing.T, story func(t *testing.T, w *world)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, byWire, zerolog.Nop())
		story(t, w)
		w.close()
	})
}

// A referee that takes a match, never reports, and shows itself again and again,
// has it no longer than the longest match can take.
func TestARefereeThatOnlyComesBack(t *testing.T) {
	told(t, func(t *testing.T, w *world) {
		w.startManager(2, 2, func(o *league.Options) { o.LongestMatch = 2 * time.Minute })
		w.referee("REF01", does(protocol.StartMatch.Name, answering(protocol.StatusAccepted)))
		w.referee("REF02")
		w.players(2)
		q := w.refereeApplication("Agent REF01")
		q.Sender, q.AuthToken = "referee:REF01", w.token("REF01")
		q.RefereeMeta.ContactEndpoint = endpointOf("ref01")
		for range 2 {
			w.at(w.now() + time.Minute - 10*second)
			_, err := w.applyReferee(q)
			require.NoError(t, err)
		}
		w.finish()
		assert.Equal(t, "REF02", w.manager.Results()[0].RefereeID)
		assert.Less(t, w.now(), 3*time.Minute)
	})
}

// A referee of another maker may leave out the attempt in its acknowledgement:
// that of the assignment is meant.
func TestAnAcknowledgementThatNamesNoAttempt(t *testing.T) {
	told(t, func(t *testing.T, w *world) {
		w.startManager(2, 1)
		w.referee("REF01", does(protocol.StartMatch.Name, inTurn(answering(protocol.StatusBusy), editing("attempt", nil))))
		w.players(2)
		w.finish()
		assert.Equal(t, []string{"R1M1 ref01 attempt 1 at 0s", "R1M1 ref01 attempt 1 at 2s"}, w.assignments())
	})
}

// Two referees that refuse for ever do not fill the disk: each keeps its attempt,
// is recorded once, and is asked more and more slowly.
func TestRefereesThatRefuseForEver(t *testing.T) {
	told(t, func(t *testing.T, w *world) {
		folder := folderOf(t)
		x := w.tenure(folder, 2, 2)
		w.referee("REF01", does(protocol.StartMatch.Name, answering(protocol.StatusRejected)))
		w.referee("REF02", does(protocol.StartMatch.Name, answering(protocol.StatusRejected)))
		w.players(2)
		w.at(time.Hour)
		events := map[string]int{}
		for _, kind := range w.kinds(folder) {
			events[kind]++
		}
		assert.Equal(t, 2, events["match_assigned"])
		assert.Equal(t, 2, events["match_declined"])
		assert.Less(t, len(w.said(protocol.StartMatch.Name)), 200, "in an hour")
		x.kill()
	})
}

// The length of its tokens is a rule of a league: another setting at the next
// start would make strangers of all agents.
func TestTheLengthOfTokensDoesNotChange(t *testing.T) {
	told(t, func(t *testing.T, w *world) {
		folder := folderOf(t)
		x := w.tenure(folder, 4, 1, func(o *league.Options) { o.Pace = 10 * time.Second })
		w.referee("REF01")
		w.players(4)
		w.at(15 * second)
		x.kill()
		x = w.tenure(folder, 4, 1, func(o *league.Options) { o.TokenLength = 30 })
		x.finish()
		require.NoError(t, x.close())
		w.checkKept(folder)
	})
}

// Once an agent has used its token, nobody gets it by repeating the
// registration, also from the next manager.
func TestARegistrationIsNotRepeatedForOthers(t *testing.T) {
	told(t, func(t *testing.T, w *world) {
		folder := folderOf(t)
		x := w.tenure(folder, 0, 1)
		w.listener("alpha")
		q := w.application("Alpha")
		first, err := w.apply(q)
		require.NoError(t, err)
		again, err := w.apply(q)
		require.NoError(t, err)
		assert.Equal(t, first.AuthToken, again.AuthToken, "its answer was lost")
		ask := w.query(*first.PlayerID, protocol.QueryStatus)
		ask.AuthToken = first.AuthToken
		_, err = ask.send()
		require.NoError(t, err)
		for range 2 {
			thief, err := w.apply(q)
			require.NoError(t, err)
			assert.Equal(t, string(protocol.ErrDuplicateName), thief.ErrorCode)
			x.kill()
			x = w.tenure(folder, 0, 1)
		}
		x.kill()
	})
}

// A referee that has a match, answers pings, and hangs when it is handed the
// match again by the next manager, loses it after the longest match.
func TestARefereeThatHangsWhenItIsAskedAgain(t *testing.T) {
	told(t, func(t *testing.T, w *world) {
		folder := folderOf(t)
		limit := func(o *league.Options) { o.LongestMatch = 2 * time.Minute }
		x := w.tenure(folder, 2, 2, limit)
		w.referee("REF01", does(protocol.StartMatch.Name, inTurn(answering(protocol.StatusAccepted), silent)))
		w.referee("REF02")
		w.players(2)
		w.at(10 * second)
		x.kill()
		x = w.tenure(folder, 2, 2, limit)
		x.finish()
		assert.Less(t, w.now(), 3*time.Minute)
		assert.Equal(t, "REF02", x.manager.Results()[0].RefereeID)
	})
}

// A referee that had accepted a match has it, also if it gave no commitment and
// says, asked once more, that it is busy: with this very match.
func TestARefereeThatIsBusyWithTheMatch(t *testing.T) {
	for name, first := range map[string]func(*call) (jsontext.Value, error){"with a commitment": honestly, "without one": editing("draw_commitment", nil)} {
		t.Run(name, func(t *testing.T) {
			told(t, func(t *testing.T, w *world) {
				folder := folderOf(t)
				x := w.tenure(folder, 2, 1)
				w.referee("REF01", does(protocol.StartMatch.Name, inTurn(first, answering(protocol.StatusBusy))))
				w.player("P01", slow(0, 20*time.Second, 0))
				w.player("P02")
				w.at(5 * second)
				x.kill()
				x = w.tenure(folder, 2, 1)
				x.finish()
				assert.Less(t, w.now(), time.Minute, "its report was taken")
			})
		})
	}
}

// A clock that jumps back in mid-league changes what files say of times, and
// nothing else.
func TestAClockThatJumpsBack(t *testing.T) {
	told(t, func(t *testing.T, w *world) {
		folder := folderOf(t)
		back := func(o *league.Options) {
			o.Pace, o.TokenTTL = 2*second, 24*time.Hour
			o.Clock = protocol.NewClock(func() time.Time {
				if w.now() > 3*second {
					return time.Now().Add(-time.Hour)
				}
				return time.Now()
			}, w.clock.Sleep)
		}
		x := w.tenure(folder, 4, 1, back)
		w.referee("REF01")
		w.players(4)
		w.at(5 * second)
		x.kill()
		x = w.tenure(folder, 4, 1, back)
		x.finish()
		require.NoError(t, x.close())
		state := w.checkKept(folder)
		require.NotNil(t, state.Completed)
		assert.Less(t, state.Rounds[2].CompletedAt, state.Rounds[0].AnnouncedAt, "the clock did jump")
		assert.Less(t, w.now(), 20*second, "nothing waited for it")
	})
}

// A report of a stranger is refused at once, also while the match is being
// handed over: only its referee's own waits for that.
func TestAStrangersReportDoesNotWait(t *testing.T) {
	told(t, func(t *testing.T, w *world) {
		w.startManager(2, 1)
		w.referee("REF01", does(protocol.StartMatch.Name, inTurn(silent, honestly)))
		w.players(2)
		w.at(1 * second)
		report := func(token string) error {
			q := &protocol.MatchResultReport{
				Envelope: protocol.NewStamp("referee:REF01", w.clock).Envelope(protocol.TypeMatchResultReport, "conv-r1m1-a1"),
				LeagueID: leagueID, RoundID: 1, MatchID: "R1M1", GameType: "even_odd",
				Result: protocol.MatchResult{Score: protocol.Both("P01", 1, "P02", 1)},
			}
			q.AuthToken = token
			_, err := protocol.ReportMatchResult.Call(w.life, w.stranger, protocol.Peer{Endpoint: endpointOf(theBoss)}, q)
			return err
		}
		for _, token := range []string{"", "tok-ref01-forged", w.token("P01")} {
			require.Error(t, report(token))
			assert.Equal(t, 1*second, w.now(), "it was not kept waiting")
		}
		require.NoError(t, report(w.token("REF01")))
		assert.Equal(t, 6*second, w.now(), "the referee's own waits, but not for ever")
		w.finish()
	})
}

// A referee whose word that it has a match was lost reports it while the match
// is handed to another: that attempt is spared, and nobody waits for it.
func TestAReportOfAnEarlierAttemptDoesNotWaitForALaterOne(t *testing.T) {
	told(t, func(t *testing.T, w *world) {
		w.startManager(2, 2)
		w.referee("REF01", does(protocol.StartMatch.Name, silent))
		w.referee("REF02", does(protocol.StartMatch.Name, silent))
		w.players(2)
		w.at(13 * second)
		require.Len(t, w.said(protocol.StartMatch.Name, "ref02"), 1, "it is being handed the match")
		report := w.wins("REF01")
		report.Attempt = 1
		_, err := w.report(report)
		require.NoError(t, err)
		assert.Equal(t, 13*second, w.now(), "it was not kept waiting")
		w.finish()
	})
}
