package conversations

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
)

func TestBothPlayersFail(t *testing.T) {
	invite, choose := protocol.Invite.Name, protocol.ChooseParity.Name
	refuse := editing("accept", false)
	for _, test := range []struct {
		name     string
		method   string
		p01, p02 part
		over     time.Duration
		reason   string
		told     map[string]int // GAME_ERRORs by player
	}{
		{
			"both silent at the invitation", invite, silent, silent, 26 * second,
			"P01 did not send GAME_JOIN_ACK in time, P02 did not send GAME_JOIN_ACK in time - both lose",
			map[string]int{"p01": 4, "p02": 4},
		},
		{
			"both refuse", invite, refuse, refuse, 0,
			"P01 refused the invitation, P02 refused the invitation - both lose", map[string]int{},
		},
		{
			"one is silent, one refuses: the phase ends when both are known", invite, silent, refuse, 26 * second,
			"P01 did not send GAME_JOIN_ACK in time, P02 refused the invitation - both lose", map[string]int{"p01": 4},
		},
		{
			"both silent at the choice", choose, silent, silent, 126 * second,
			"P01 did not send CHOOSE_PARITY_RESPONSE in time, P02 did not send CHOOSE_PARITY_RESPONSE in time - both lose",
			map[string]int{"p01": 4, "p02": 4},
		},
		{
			"one chooses wrongly, one hangs up", choose, editing("parity_choice", "Odd"), failing(errHangUp), 6 * second,
			"P01 sent no valid CHOOSE_PARITY_RESPONSE (E004), P02 could not be reached for CHOOSE_PARITY_RESPONSE - both lose",
			map[string]int{"p01": 4, "p02": 4},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) {
				record := w.duel(with(does(test.method, test.p01)), with(does(test.method, test.p02)))
				assert.Equal(t, protocol.StatusTechnicalLoss, record.Status)
				assert.Empty(t, record.Winner)
				assert.Equal(t, test.reason, record.Reason)

				told, last := map[string]int{}, map[string]protocol.Code{}
				for _, c := range w.complaints() {
					told[c.To]++
					last[c.To] = c.Code
				}
				assert.Equal(t, test.told, told)
				var faults protocol.PerPlayer[string]
				for _, id := range []string{"P01", "P02"} {
					if code := last[strings.ToLower(id)]; code != "" {
						faults = append(faults, protocol.Member[string]{Name: id, Value: string(code)})
					}
				}

				for _, host := range []string{"p01", "p02"} {
					over := w.only(protocol.NotifyMatchResult.Name, host)
					assert.Equal(t, test.over, over.at)
					assert.Equal(t, &protocol.GameResult{
						Status: protocol.StatusTechnicalLoss, Reason: test.reason,
						Choices: protocol.Both("P01", (*string)(nil), "P02", (*string)(nil)), Faults: faults,
					}, w.gameOver(host).GameResult)
				}
				report := read[protocol.MatchResultReport](w.only(protocol.ReportMatchResult.Name, theBoss).message)
				assert.Nil(t, report.Result.Winner)
				assert.Equal(t, protocol.Both("P01", 0, "P02", 0), report.Result.Score)
				for _, row := range w.manager.Standings() {
					assert.Equal(t, 1, row.Losses)
					assert.Equal(t, 1, row.TechnicalLosses)
					assert.Zero(t, row.Points)
				}
			})
		})
	}
}

func TestOneFailsWhileTheOtherThinks(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		record := w.duel(
			with(does(protocol.ChooseParity.Name, after(20*second, honestly))),
			with(does(protocol.ChooseParity.Name, editing("parity_choice", "neither"))))
		assert.Equal(t, "P01", record.Winner)
		assert.Equal(t, "even", record.ChoiceA, "what was chosen meanwhile stands in the result")
		assert.Empty(t, record.ChoiceB)
		assert.Zero(t, record.Number)
		assert.Equal(t, []time.Duration{20 * second, 20 * second}, times(w.said(protocol.NotifyMatchResult.Name)))
		_, revealed := w.gameOver("p02").Draw.Entropies.Get("P01")
		assert.True(t, revealed)
	})
}

func TestAGameOverThatNobodyAcknowledgesCosts5Seconds(t *testing.T) {
	for _, test := range []struct {
		name string
		part part
		cost time.Duration
	}{
		{"silent", silent, 5 * second},
		{"closes the connection", failing(errHangUp), 0},
		{"answers with an error", refusing(protocol.ErrTokenInvalid), 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) {
				record := w.duel(nil, with(does(protocol.NotifyMatchResult.Name, test.part)))
				assert.Equal(t, protocol.StatusWin, record.Status)
				assert.Equal(t, test.cost, w.only(protocol.ReportMatchResult.Name, theBoss).at)
				w.only(protocol.NotifyMatchResult.Name, "p02") // once: a missing acknowledgement changes nothing
				assert.Empty(t, w.complaints())
			})
		})
	}
}

func TestUndeliveredGameErrorDelaysTheNextQuestionByOneSecond(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		record := w.duel(nil, with(
			does(protocol.Invite.Name, inTurn(silent, honestly)),
			does(protocol.ChooseParity.Name, inTurn(editing("parity_choice", "Even"), honestly)),
			does(protocol.NotifyGameError.Name, silent)))
		assert.Equal(t, protocol.StatusWin, record.Status)
		assert.Equal(t, []time.Duration{0, 7 * second}, times(w.said(protocol.Invite.Name, "p02")), "the pause is long enough")
		assert.Equal(t, []time.Duration{7 * second, 8 * second}, times(w.said(protocol.ChooseParity.Name, "p02")))
		assert.Equal(t, 8*second, w.only(protocol.ReportMatchResult.Name, theBoss).at)
		assert.Len(t, w.complaints(), 2)
	})
}

func TestGameErrorIsDeliveredBeforeTheQuestionIsAskedAgain(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.duel(nil, with(
			does(protocol.ChooseParity.Name, inTurn(editing("parity_choice", "Even"), honestly)),
			does(protocol.NotifyGameError.Name, after(second/2, honestly))))
		assert.Equal(t, second/2, w.only(protocol.NotifyGameError.Name, "p02").until)
		assert.Equal(t, []time.Duration{0, second / 2}, times(w.said(protocol.ChooseParity.Name, "p02")))
	})
}

func TestQuestionIsAskedAgainWithinItsWindowWhenGameErrorHangs(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.duel(nil, with(
			does(protocol.ChooseParity.Name, inTurn(after(29*second, editing("parity_choice", "Even")), honestly)),
			does(protocol.NotifyGameError.Name, silent)))
		assert.Equal(t, []time.Duration{0, 29*second + second/2}, times(w.said(protocol.ChooseParity.Name, "p02")), "half of the rest is left")
	})
}

func TestAPlayerThatIsGoneLoses(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.startManager(0, 1)
		w.referee("REF01")
		players := w.players(2)
		synctest.Wait() // they have answered the manager's pings
		players[1].stop()
		w.begin()
		w.finish()
		assert.Equal(t, fourTimes(0, 2*second, protocol.ErrConnection, join), w.complaints())
		assert.Equal(t, "P01", w.manager.Results()[0].Winner)
	})
}

// begin starts the league with the admin token, and waits until nobody has
// anything to do at this moment.
func (w *world) begin() {
	w.t.Helper()
	synctest.Wait() // the agents have answered the manager's pings
	q := &protocol.ToolRequest{}
	q.AuthToken = w.manager.AdminToken()
	_, err := protocol.StartLeague.Call(w.life, w.stranger, protocol.Peer{Endpoint: endpointOf(theBoss)}, q)
	require.NoError(w.t, err)
	synctest.Wait()
}

func TestAReportIsRepeatedUntilTheManagerAnswers(t *testing.T) {
	report := protocol.ReportMatchResult.Name
	for _, test := range []struct {
		name   string
		parts  part
		pauses []time.Duration
		calls  int
	}{
		{
			"the manager is away for six calls",
			nTimes(6, failing(errHangUp), honestly),
			[]time.Duration{2 * second, 4 * second, 8 * second, 8 * second, 8 * second, 8 * second}, 7,
		},
		{
			"the manager hangs once, for the 10 s a report may take",
			inTurn(silent, honestly), []time.Duration{12 * second}, 2,
		},
		{
			"the manager cannot be understood once", inTurn(failing(errServerError), honestly), []time.Duration{2 * second}, 2,
		},
		{
			"the manager is asked too often", inTurn(refusing(protocol.ErrRateLimited), honestly), []time.Duration{2 * second}, 2,
		},
		{
			"the manager refuses", refusing(protocol.ErrDuplicateReport), nil, 1,
		},
		{
			"the manager is away, then refuses",
			inTurn(failing(errHangUp), refusing(protocol.ErrMatchNotFound)), []time.Duration{2 * second}, 2,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) {
				boss := w.boss(does(report, test.parts))
				r := w.referee("REF01")
				w.players(2)
				_, err := w.assign(boss, r, w.assignment("R1M1", 1, "REF01"))
				require.NoError(t, err)
				w.at(5 * 60 * second)
				calls := w.said(report)
				assert.Len(t, calls, test.calls)
				for i := range calls {
					assert.JSONEq(t, string(calls[0].message), string(calls[i].message), "the same report")
				}
				assertPauses(t, test.pauses, calls)
				assert.Equal(t, 1, r.referee.Record().Conducted, "whatever came of the report")
			})
		})
	}
}
