package manager_test

import (
	"context"
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

// mostConcurrent returns the largest number of matches that the given referees conducted at
// the same time, from start_match to the report.
func mostConcurrent(w *leaguetest.World, referees ...string) int {
	type span struct{ from, to time.Duration }
	var spans []span
	reported := map[string]time.Duration{}
	for _, e := range w.Calls(protocol.ReportMatchResult.Name) {
		reported[leaguetest.Decode[protocol.MatchResultReport](e.Message).MatchID] = e.At
	}
	for _, e := range w.Calls(protocol.StartMatch.Name, referees...) {
		spans = append(spans, span{e.At, reported[leaguetest.Decode[protocol.MatchAssignment](e.Message).MatchID]})
	}
	most := 0
	for _, one := range spans {
		n := 0
		for _, other := range spans {
			if other.from <= one.from && one.from < other.to {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

func TestConcurrentMatchesAreLimited(t *testing.T) {
	for _, test := range []struct {
		name        string
		concurrency int // of the league
		first       int // capacity of REF01
		second      int // capacity of REF02
		most        [3]int
		took        int // seconds; a match takes one second
	}{
		{"capacity of two referees", 0, 1, 1, [3]int{1, 1, 2}, 10},
		{"capacity of two unequal referees", 0, 1, 2, [3]int{1, 2, 3}, 5},
		{"concurrency of the league", 1, 3, 3, [3]int{1, 1, 1}, 15},
		{"all matches of a round", 0, 10, 10, [3]int{2, 2, 3}, 5},
	} {
		leaguetest.RunInMemory(t, test.name, func(t *testing.T, w *leaguetest.World) {
			w.StartManager(6, 2, func(o *manager.Options) { o.Concurrency = test.concurrency })
			w.Referee("REF01", leaguetest.WithCapacity(test.first))
			w.Referee("REF02", leaguetest.WithCapacity(test.second))
			evenPlayers(w, 6)
			w.Finish()
			assert.Equal(t, test.most[0], mostConcurrent(w, "ref01"))
			assert.Equal(t, test.most[1], mostConcurrent(w, "ref02"))
			assert.Equal(t, test.most[2], mostConcurrent(w))
			assert.Equal(t, test.took, int(w.Now()/leaguetest.Second))
		})
	}
}

// A busy referee accepts the second request, but reports before the manager has received its
// acceptance.
func TestReportBeforeTheAcceptanceIsRecorded(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(2, 1)
		w.Referee("REF01", leaguetest.On(protocol.StartMatch.Name, leaguetest.InTurn(leaguetest.AnswerWith(protocol.MatchAssignmentAck{Status: protocol.StatusBusy}), leaguetest.Delayed(leaguetest.Second, w.AcceptMatch))))
		w.Players(2)
		w.WaitUntil(2500 * time.Millisecond)
		require.Equal(t, 2, w.CountCalls(protocol.StartMatch.Name))
		mustReport(w, w.WinReport("REF01"))
		w.Finish()
	})
}

func TestUnacceptedMatchIsReassigned(t *testing.T) {
	start := protocol.StartMatch.Name
	for _, test := range []struct {
		name     string
		first    []leaguetest.Option // of REF01, which is asked first
		second   []leaguetest.Option // of REF02; nil without a second referee
		assigned []string
		attempt  int
		referee  string
	}{
		{
			"it is busy: another referee gets it", leaguetest.Options(leaguetest.On(start, leaguetest.AnswerWithStatus(protocol.StatusBusy))), leaguetest.Options(leaguetest.WithCapacity(1)),
			[]string{"R1M1 ref01 attempt 1 at 0s", "R1M1 ref02 attempt 2 at 0s"}, 2, "REF02",
		},
		{
			"it hangs: another referee gets it after 10 s, as a new attempt", leaguetest.Options(leaguetest.On(start, leaguetest.Silent)), leaguetest.Options(leaguetest.WithCapacity(1)),
			[]string{"R1M1 ref01 attempt 1 at 0s", "R1M1 ref02 attempt 2 at 10s"}, 2, "REF02",
		},
		{
			"it is the only one, and busy twice: it is asked again every 2 s",
			leaguetest.Options(leaguetest.On(start, leaguetest.FirstN(2, leaguetest.AnswerWithStatus(protocol.StatusBusy), leaguetest.Normally))), nil,
			[]string{"R1M1 ref01 attempt 1 at 0s", "R1M1 ref01 attempt 1 at 2s", "R1M1 ref01 attempt 1 at 4s"}, 1, "REF01",
		},
		{
			"both are busy once: they are asked in turn",
			leaguetest.Options(leaguetest.On(start, leaguetest.InTurn(leaguetest.AnswerWithStatus(protocol.StatusBusy), leaguetest.Normally))),
			leaguetest.Options(leaguetest.WithCapacity(1), leaguetest.On(start, leaguetest.InTurn(leaguetest.AnswerWithStatus(protocol.StatusBusy), leaguetest.Normally))),
			[]string{"R1M1 ref01 attempt 1 at 0s", "R1M1 ref02 attempt 2 at 0s", "R1M1 ref01 attempt 1 at 2s"}, 1, "REF01",
		},
	} {
		leaguetest.RunInMemory(t, test.name, func(t *testing.T, w *leaguetest.World) {
			referees := 1
			if test.second != nil {
				referees = 2
			}
			w.StartManager(2, referees)
			w.Referee("REF01", test.first...)
			if test.second != nil {
				w.Referee("REF02", test.second...)
			}
			w.Players(2)
			w.Finish()
			assert.Equal(t, test.assigned, w.AssignmentLog())
			assert.Equal(t, test.referee, leaguetest.Results(w.Manager)[0].RefereeID)
			report := leaguetest.Decode[protocol.MatchResultReport](w.OnlyCall(protocol.ReportMatchResult.Name, leaguetest.ManagerHost).Message)
			assert.Equal(t, test.attempt, report.Attempt)
			assert.Empty(t, w.GameErrors(), "the players accept any referee that the manager assigns")
		})
	}
}

// longestMatch is how long the manager waits for a report: 26 s for the invitation, 126 s
// for the choice, 5 s for GAME_OVER, 40 s for the report, and 30 s margin.
const longestMatch = 227 * leaguetest.Second

func TestUnreportedMatchIsReassigned(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(2, 2)
		w.Referee("REF01", w.OnlyAccepting())
		w.Referee("REF02")
		w.Players(2)
		w.Finish()
		assert.Equal(t, longestMatch, w.Now())
		assert.Equal(t, []string{"R1M1 ref01 attempt 1 at 0s", "R1M1 ref02 attempt 2 at 3m47s"}, w.AssignmentLog())
		assert.Equal(t, "REF02", leaguetest.Results(w.Manager)[0].RefereeID)
	})
}

func TestFirstOfTwoReportsCounts(t *testing.T) {
	for name, order := range map[string][]string{
		"after the report of the second referee it is rejected": {"REF02", "REF01"},
		"before the report of the second referee it counts":     {"REF01", "REF02"},
	} {
		leaguetest.RunInMemory(t, name, func(t *testing.T, w *leaguetest.World) {
			w.StartManager(4, 3)
			for n := range 3 {
				w.Referee(league.RefereeID(n+1), w.OnlyAccepting())
			}
			w.Players(4)
			w.WaitUntil(longestMatch + leaguetest.Second)
			require.ElementsMatch(t, []string{
				"R1M1 ref01 attempt 1 at 0s", "R1M2 ref02 attempt 1 at 0s",
				"R1M1 ref02 attempt 2 at 3m47s", "R1M2 ref03 attempt 2 at 3m47s",
			}, w.AssignmentLog())
			assertReportRefused(w, w.WinReport("REF03"), protocol.ErrMatchNotFound, 5002)
			mustReport(w, w.WinReport(order[0]))
			other := w.WinReport(order[1])
			number := 6
			other.Result.DrawnNumber = &number
			assertReportRefused(w, other, protocol.ErrDuplicateReport, 5003)
			assert.Equal(t, 1, w.Manager.Status().Recorded)
			assert.Equal(t, order[0], leaguetest.Results(w.Manager)[0].RefereeID)
			assert.Equal(t, 8, protocol.ValueOf(leaguetest.Results(w.Manager)[0].DrawnNumber))
		})
	}
}

// acceptWithAnotherDraw accepts each assignment with another draw commitment.
func acceptWithAnotherDraw(w *leaguetest.World) leaguetest.Reply {
	n := 0
	return func(c *leaguetest.Call) (jsontext.Value, error) {
		n++
		commitment := protocol.DrawCommitment(leaguetest.LeagueID, "R1M1", n, "REF01", protocol.Secret{byte(n)})
		return leaguetest.ThenEdit(w.AcceptMatch, "draw_commitment", commitment)(c)
	}
}

// registerAgain registers a referee again with its token.
func registerAgain(w *leaguetest.World, id string) {
	w.T.Helper()
	q := w.RefereeApplication(id)
	q.AuthToken = w.Token(id)
	require.NotNil(w.T, mustApplyReferee(w, q).RefereeID)
}

// A manager that is told to stop hands out no further attempt, also not to a referee that
// has begun its attempt again.
func TestStoppedManagerDoesNotOfferARestartedAttempt(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		x, o := w.OpenManager(leaguetest.CrashPoint{}, leaguetest.TempFolder(t), 2, 1)
		o.StopWithin = 60 * leaguetest.Second
		require.NoError(t, x.Start(o))
		thirdPartyReferee(w, "REF01", acceptWithAnotherDraw(w))
		w.Players(2)
		w.WaitUntil(1 * leaguetest.Second)
		x.Cancel()
		registerAgain(w, "REF01")
		<-x.Done
		require.ErrorIs(t, x.Err, context.Canceled)
		assert.Equal(t, []int{0, 1}, leaguetest.Seconds(w.Calls(protocol.StartMatch.Name)))
	})
}

// A third-party referee that was not announced begins its attempt again and gets another
// attempt. The players get its announcement again.
func TestUnannouncedRefereeIsAnnouncedWithEachAttempt(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(2, 2)
		w.Referee("REF01", leaguetest.On(protocol.StartMatch.Name, leaguetest.FailWith(leaguetest.ErrHangUp)))
		thirdPartyReferee(w, "REF02", acceptWithAnotherDraw(w))
		w.Players(2)
		w.WaitUntil(1 * leaguetest.Second)
		registerAgain(w, "REF02")
		w.WaitUntil(2 * leaguetest.Second)
		assert.Equal(t, []int{0, 1, 1}, leaguetest.Seconds(w.Calls(protocol.StartMatch.Name, "ref02")))
		assert.Equal(t, []int{0, 0, 1}, leaguetest.Seconds(w.Calls(protocol.NotifyRound.Name, "p01")))
	})
}

// The manager pings the referee of a match and reassigns the match after three unanswered
// pings.
func TestMatchOfAnUnreachableRefereeIsReassigned(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(2, 2)
		gone := w.Referee("REF01", w.OnlyAccepting())
		w.Referee("REF02")
		w.Players(2)
		w.WaitUntil(1 * leaguetest.Second)
		gone.Stop()
		w.Finish()
		assert.Equal(t, "REF02", leaguetest.Results(w.Manager)[0].RefereeID)
		assert.Less(t, w.Now(), 60*time.Second)
	})
}

func TestAssignmentHoldsPlayersRecordsAndPolicy(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(3, 1, func(o *manager.Options) { o.RetryPolicy = protocol.RetryPolicy{MaxRetries: 1, Delay: 0.5} })
		w.Referee("REF01")
		evenPlayers(w, 3)
		w.Finish()
		calls := w.Calls(protocol.StartMatch.Name, "ref01")
		require.Len(t, calls, 3)
		q := leaguetest.Decode[protocol.MatchAssignment](calls[1].Message) // R2M1: P01, which drew once, against P03
		zero, one := 0, 1
		assert.Equal(t, &protocol.MatchAssignment{
			Envelope: protocol.Envelope{
				Protocol: "league.v2", MessageType: "MATCH_ASSIGNMENT", Sender: "league_manager",
				Timestamp: "2000-01-01T00:00:01Z", ConversationID: "conv-r2m1-a1",
			},
			LeagueID: leaguetest.LeagueID, RoundID: 2, MatchID: "R2M1", Attempt: 1, GameType: "even_odd",
			PlayerA: protocol.AssignedPlayer{
				PlayerID: "P01", Endpoint: "http://p01:8000/mcp", DisplayName: "Agent P01",
				Standings: protocol.Record{Draws: 1, Points: &one}, AccessToken: w.AccessToken("P01", "R2M1", 1, "REF01"),
			},
			PlayerB: protocol.AssignedPlayer{
				PlayerID: "P03", Endpoint: "http://p03:8000/mcp", DisplayName: "Agent P03",
				Standings: protocol.Record{Points: &zero}, AccessToken: w.AccessToken("P03", "R2M1", 1, "REF01"),
			},
			Timeouts:    protocol.Timeouts{GameJoinAck: 5, Move: 30, GameOver: 5, Generic: 10},
			RetryPolicy: protocol.RetryPolicy{MaxRetries: 1, Delay: 0.5},
			Scoring:     league.MatchPoints{Win: 3, Draw: 1},
		}, q)
		asked := w.Calls(protocol.ChooseParity.Name, "p01")
		require.Len(t, asked, 2)
		assert.Equal(t, q.PlayerA.Standings, *leaguetest.Decode[protocol.ChooseParityCall](asked[1].Message).Context.YourStandings)
	})
}

// The phase ends when both failures are known.
func TestTwoFailuresAreADoubleTechnicalLoss(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		invited := func(reply leaguetest.Reply) []leaguetest.Option {
			return leaguetest.Options(leaguetest.On(protocol.Invite.Name, reply))
		}
		record := w.Duel(invited(leaguetest.Silent), invited(leaguetest.EditAnswer("accept", false)))
		assert.Equal(t, league.StatusTechnicalLoss, record.Status)
		assert.Empty(t, record.Winner())
		assert.Equal(t, "P01 did not send GAME_JOIN_ACK in time, P02 refused the invitation - both lose", record.Reason)

		over := 26 * leaguetest.Second
		assert.Equal(t, []time.Duration{over, over}, leaguetest.Times(w.Calls(protocol.NotifyMatchResult.Name)))
		assert.Len(t, w.Calls(protocol.NotifyGameError.Name, "p01"), 4)
		assert.Empty(t, w.Calls(protocol.NotifyGameError.Name, "p02"))
		report := leaguetest.Decode[protocol.MatchResultReport](w.OnlyCall(protocol.ReportMatchResult.Name, leaguetest.ManagerHost).Message)
		assert.Nil(t, report.Result.WinnerPlayerID)
		assert.Equal(t, league.Both("P01", 0, "P02", 0), report.Result.Score)
		for _, row := range w.Manager.Standings() {
			assert.Equal(t, 1, row.Losses)
			assert.Equal(t, 1, row.TechnicalLosses)
			assert.Zero(t, row.Points)
		}
	})
}

func TestRetryStaysInItsWindowWhenGameErrorHangs(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.Duel(nil, leaguetest.Options(
			leaguetest.On(protocol.ChooseParity.Name, leaguetest.InTurn(leaguetest.Delayed(29*leaguetest.Second, leaguetest.EditAnswer("parity_choice", "Even")), leaguetest.Normally)),
			leaguetest.On(protocol.NotifyGameError.Name, leaguetest.Silent)))
		assert.Equal(t, []time.Duration{0, 29*leaguetest.Second + leaguetest.Second/2}, leaguetest.Times(w.Calls(protocol.ChooseParity.Name, "p02")), "the GAME_ERROR may take half of the remaining window")
	})
}
