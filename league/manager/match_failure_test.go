package manager_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
)

func TestTwoFailuresAreADoubleTechnicalLoss(t *testing.T) {
	invite, choose := protocol.Invite.Name, protocol.ChooseParity.Name
	refuse := leaguetest.EditAnswer("accept", false)
	for _, test := range []struct {
		name     string
		method   string
		p01, p02 leaguetest.Reply
		over     time.Duration
		reason   string
		sent     map[string]int // GAME_ERRORs by player
	}{
		{
			"both do not answer the invitation", invite, leaguetest.Silent, leaguetest.Silent, 26 * leaguetest.Second,
			"P01 did not send GAME_JOIN_ACK in time, P02 did not send GAME_JOIN_ACK in time - both lose",
			map[string]int{"p01": 4, "p02": 4},
		},
		{
			"both reject the invitation", invite, refuse, refuse, 0,
			"P01 refused the invitation, P02 refused the invitation - both lose", map[string]int{},
		},
		{
			"one does not answer, one rejects: the phase ends when both failures are known", invite, leaguetest.Silent, refuse, 26 * leaguetest.Second,
			"P01 did not send GAME_JOIN_ACK in time, P02 refused the invitation - both lose", map[string]int{"p01": 4},
		},
		{
			"both do not choose", choose, leaguetest.Silent, leaguetest.Silent, 126 * leaguetest.Second,
			"P01 did not send CHOOSE_PARITY_RESPONSE in time, P02 did not send CHOOSE_PARITY_RESPONSE in time - both lose",
			map[string]int{"p01": 4, "p02": 4},
		},
		{
			"one sends an illegal choice, one hangs up", choose, leaguetest.EditAnswer("parity_choice", "Odd"), leaguetest.FailWith(leaguetest.ErrHangUp), 6 * leaguetest.Second,
			"P01 sent no valid CHOOSE_PARITY_RESPONSE (E004), P02 accepted the connection, but sent no readable CHOOSE_PARITY_RESPONSE - both lose",
			map[string]int{"p01": 4, "p02": 4},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
				record := w.Duel(leaguetest.Options(leaguetest.On(test.method, test.p01)), leaguetest.Options(leaguetest.On(test.method, test.p02)))
				assert.Equal(t, protocol.StatusTechnicalLoss, record.Status)
				assert.Empty(t, record.Winner)
				assert.Equal(t, test.reason, record.Reason)

				sent, last := map[string]int{}, map[string]protocol.Code{}
				for _, c := range w.GameErrors() {
					sent[c.To]++
					last[c.To] = c.Code
				}
				assert.Equal(t, test.sent, sent)
				var faults protocol.PerPlayer[string]
				for _, id := range []string{"P01", "P02"} {
					if code := last[strings.ToLower(id)]; code != "" {
						faults = append(faults, protocol.Member[string]{Name: id, Value: string(code)})
					}
				}

				for _, host := range []string{"p01", "p02"} {
					over := w.OnlyCall(protocol.NotifyMatchResult.Name, host)
					assert.Equal(t, test.over, over.At)
					assert.Equal(t, &protocol.GameResult{
						Status: protocol.StatusTechnicalLoss, Reason: test.reason,
						Choices: protocol.Both("P01", (*string)(nil), "P02", (*string)(nil)), Faults: faults,
					}, w.GameOver(host).GameResult)
				}
				report := leaguetest.Decode[protocol.MatchResultReport](w.OnlyCall(protocol.ReportMatchResult.Name, leaguetest.ManagerHost).Message)
				assert.Nil(t, report.Result.Winner)
				assert.Equal(t, protocol.Both("P01", 0, "P02", 0), report.Result.Score)
				for _, row := range w.Manager.Standings() {
					assert.Equal(t, 1, row.Losses)
					assert.Equal(t, 1, row.TechnicalLosses)
					assert.Zero(t, row.Points)
				}
			})
		})
	}
}

func TestChoiceOfTheWinnerStaysInATechnicalResult(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		record := w.Duel(
			leaguetest.Options(leaguetest.On(protocol.ChooseParity.Name, leaguetest.Delayed(20*leaguetest.Second, leaguetest.Normally))),
			leaguetest.Options(leaguetest.On(protocol.ChooseParity.Name, leaguetest.EditAnswer("parity_choice", "neither"))))
		assert.Equal(t, "P01", record.Winner)
		assert.Equal(t, "even", record.ChoiceA, "the result has the choice of the other player")
		assert.Empty(t, record.ChoiceB)
		assert.Zero(t, record.Number)
		assert.Equal(t, []time.Duration{20 * leaguetest.Second, 20 * leaguetest.Second}, leaguetest.Times(w.Calls(protocol.NotifyMatchResult.Name)))
		_, revealed := w.GameOver("p02").Draw.Entropies.Get("P01")
		assert.True(t, revealed)
	})
}

func TestUnacknowledgedGameOverTakesAtMostFiveSeconds(t *testing.T) {
	for _, test := range []struct {
		name string
		part leaguetest.Reply
		cost time.Duration
	}{
		{"silent", leaguetest.Silent, 5 * leaguetest.Second},
		{"closes the connection", leaguetest.FailWith(leaguetest.ErrHangUp), 0},
		{"answers with an error", leaguetest.RefuseWith(protocol.ErrTokenInvalid), 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
				record := w.Duel(nil, leaguetest.Options(leaguetest.On(protocol.NotifyMatchResult.Name, test.part)))
				assert.Equal(t, protocol.StatusWin, record.Status)
				assert.Equal(t, test.cost, w.OnlyCall(protocol.ReportMatchResult.Name, leaguetest.ManagerHost).At)
				w.OnlyCall(protocol.NotifyMatchResult.Name, "p02") // once: a missing acknowledgement changes nothing
				assert.Empty(t, w.GameErrors())
			})
		})
	}
}

func TestUndeliveredGameErrorDelaysTheRetryByOneSecond(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		record := w.Duel(nil, leaguetest.Options(
			leaguetest.On(protocol.Invite.Name, leaguetest.InTurn(leaguetest.Silent, leaguetest.Normally)),
			leaguetest.On(protocol.ChooseParity.Name, leaguetest.InTurn(leaguetest.EditAnswer("parity_choice", "Even"), leaguetest.Normally)),
			leaguetest.On(protocol.NotifyGameError.Name, leaguetest.Silent)))
		assert.Equal(t, protocol.StatusWin, record.Status)
		assert.Equal(t, []time.Duration{0, 7 * leaguetest.Second}, leaguetest.Times(w.Calls(protocol.Invite.Name, "p02")), "the GAME_ERROR times out within the pause")
		assert.Equal(t, []time.Duration{7 * leaguetest.Second, 8 * leaguetest.Second}, leaguetest.Times(w.Calls(protocol.ChooseParity.Name, "p02")))
		assert.Equal(t, 8*leaguetest.Second, w.OnlyCall(protocol.ReportMatchResult.Name, leaguetest.ManagerHost).At)
		assert.Len(t, w.GameErrors(), 2)
	})
}

func TestGameErrorIsDeliveredBeforeTheRetry(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.Duel(nil, leaguetest.Options(
			leaguetest.On(protocol.ChooseParity.Name, leaguetest.InTurn(leaguetest.EditAnswer("parity_choice", "Even"), leaguetest.Normally)),
			leaguetest.On(protocol.NotifyGameError.Name, leaguetest.Delayed(leaguetest.Second/2, leaguetest.Normally))))
		assert.Equal(t, leaguetest.Second/2, w.OnlyCall(protocol.NotifyGameError.Name, "p02").Until)
		assert.Equal(t, []time.Duration{0, leaguetest.Second / 2}, leaguetest.Times(w.Calls(protocol.ChooseParity.Name, "p02")))
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

func TestUnreachablePlayerLoses(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(0, 1)
		w.Referee("REF01")
		players := w.Players(2)
		synctest.Wait() // the agents have answered the manager's pings
		players[1].Stop()
		w.StartLeague()
		w.Finish()
		assert.Equal(t, leaguetest.FourErrors(0, 2*leaguetest.Second, protocol.ErrConnection, leaguetest.JoinAck), w.GameErrors())
		assert.Equal(t, "P01", w.Manager.Results()[0].Winner)
	})
}

func TestReportIsRetriedUntilTheManagerAnswers(t *testing.T) {
	report := protocol.ReportMatchResult.Name
	for _, test := range []struct {
		name   string
		parts  leaguetest.Reply
		pauses []time.Duration
		calls  int
	}{
		{
			"the manager is unreachable for six calls",
			leaguetest.FirstN(6, leaguetest.FailWith(leaguetest.ErrHangUp), leaguetest.Normally),
			[]time.Duration{2 * leaguetest.Second, 4 * leaguetest.Second, 8 * leaguetest.Second, 8 * leaguetest.Second, 8 * leaguetest.Second, 8 * leaguetest.Second}, 7,
		},
		{
			"the manager hangs once, for 10 s",
			leaguetest.InTurn(leaguetest.Silent, leaguetest.Normally), []time.Duration{12 * leaguetest.Second}, 2,
		},
		{
			"the manager answers once with a server error", leaguetest.InTurn(leaguetest.FailWith(leaguetest.ErrServerError), leaguetest.Normally), []time.Duration{2 * leaguetest.Second}, 2,
		},
		{
			"the manager answers RATE_LIMITED", leaguetest.InTurn(leaguetest.RefuseWith(protocol.ErrRateLimited), leaguetest.Normally), []time.Duration{2 * leaguetest.Second}, 2,
		},
		{
			"the manager rejects the report", leaguetest.RefuseWith(protocol.ErrDuplicateReport), nil, 1,
		},
		{
			"the manager is unreachable, then rejects the report",
			leaguetest.InTurn(leaguetest.FailWith(leaguetest.ErrHangUp), leaguetest.RefuseWith(protocol.ErrMatchNotFound)), []time.Duration{2 * leaguetest.Second}, 2,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
				manager := w.ScriptedManager(leaguetest.On(report, test.parts))
				r := w.Referee("REF01")
				w.Players(2)
				_, err := w.Assign(manager, r, w.Assignment("R1M1", 1, "REF01"))
				require.NoError(t, err)
				w.WaitUntil(5 * 60 * leaguetest.Second)
				calls := w.Calls(report)
				assert.Len(t, calls, test.calls)
				for i := range calls {
					assert.JSONEq(t, string(calls[0].Message), string(calls[i].Message), "the same report")
				}
				leaguetest.AssertPauses(t, test.pauses, calls)
				assert.Equal(t, 1, r.Referee.Record().Conducted, "also if the report was refused")
			})
		})
	}
}
