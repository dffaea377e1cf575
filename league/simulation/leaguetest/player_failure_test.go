package leaguetest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/player/strategy"
)

// failure is a fault of P02 and its expected consequences, from the questions to the standings. What is a failure, and
// what follows from each, is tested in league/conduct.
type failure struct {
	name       string
	traits     []leaguetest.Option
	gameErrors []leaguetest.GameError
	over       time.Duration // time of GAME_OVER
	lost       string        // reason of P02's loss
	asked      int           // invitations or questions to P02
	chosen     bool          // P01 was asked for its choice
}

func (f *failure) check(t *testing.T, w *leaguetest.World, method string) {
	t.Helper()
	w.Duel(nil, f.traits)
	assert.Equal(t, f.gameErrors, w.GameErrors())
	over := w.Calls(protocol.NotifyMatchResult.Name)
	assert.Equal(t, []time.Duration{f.over, f.over}, leaguetest.Times(over), "GAME_OVER to both players")
	assert.Len(t, w.Calls(method, "p02"), f.asked)
	result := w.GameOver("p01").GameResult
	var wantA *string
	if f.chosen {
		wantA = new("even")
	} else {
		assert.Empty(t, w.Calls(protocol.ChooseParity.Name), "no player is asked for a choice")
	}
	one := "P01"
	var faults league.PerPlayer[string]
	if n := len(f.gameErrors); n > 0 { // a rejected invitation has no GAME_ERROR
		faults = league.PerPlayer[string]{{Name: "P02", Value: string(f.gameErrors[n-1].Code)}}
	}
	assert.Equal(t, &league.Result{
		Status: league.StatusTechnicalLoss, WinnerPlayerID: &one,
		Choices: league.Both("P01", wantA, "P02", (*string)(nil)),
		Reason:  "P02 " + f.lost + " - P01 wins by default",
		Faults:  faults,
	}, result)
	report := leaguetest.Decode[protocol.MatchResultReport](w.OnlyCall(protocol.ReportMatchResult.Name, leaguetest.ManagerHost).Message)
	assert.Equal(t, league.Both("P01", 3, "P02", 0), report.Result.Score)
	assert.Equal(t, &one, report.Result.WinnerPlayerID)
	assert.Equal(t, league.StatusTechnicalLoss, report.Result.Status)
	standings := w.Manager.Standings()
	assert.Equal(t, 3, standings[0].Points)
	assert.Equal(t, "P02", standings[1].PlayerID)
	assert.Equal(t, 1, standings[1].TechnicalLosses)
	assert.Equal(t, 0, standings[1].Points)
}

func TestInvitationFailuresAreRetriedAndReported(t *testing.T) {
	in := func(parts ...leaguetest.Reply) []leaguetest.Option {
		return leaguetest.Options(leaguetest.On(protocol.Invite.Name, leaguetest.InTurn(parts...)))
	}
	for _, f := range []failure{
		{
			name: "silent always", traits: in(leaguetest.Silent),
			gameErrors: leaguetest.FourErrors(5*leaguetest.Second, 7*leaguetest.Second, protocol.ErrTimeout, leaguetest.JoinAck), asked: 4,
			over: 26 * leaguetest.Second, lost: "did not send GAME_JOIN_ACK in time",
		},
		{
			name: "rejects the invitation", traits: in(leaguetest.EditAnswer("accept", false)),
			asked: 1, lost: "refused the invitation",
		},
		{
			name: "invalid, then silent until the window ends", traits: in(leaguetest.EditAnswer("accept", "yes"), leaguetest.Silent),
			gameErrors: []leaguetest.GameError{
				leaguetest.RetryAtOnce(0, protocol.ErrInvalidFieldType, 1, leaguetest.JoinAck, 5*leaguetest.Second),
				leaguetest.FinalError(5*leaguetest.Second, protocol.ErrTimeout, 1, leaguetest.JoinAck),
			},
			asked: 2, over: 5 * leaguetest.Second, lost: "did not send GAME_JOIN_ACK in time",
		},
	} {
		leaguetest.RunOnWire(t, f.name, func(t *testing.T, w *leaguetest.World) { f.check(t, w, protocol.Invite.Name) })
	}
}

// broken is a strategy that always fails.
type broken struct{ err error }

func (broken) Name() string { return "broken" }

func (b broken) Choose(context.Context, strategy.View) (string, error) { return "", b.err }

func TestStrategyErrorIsAnInternalError(t *testing.T) {
	f := failure{
		traits:     leaguetest.Options(playing(broken{errors.New("the key sk-123 is not valid")})),
		gameErrors: leaguetest.FourErrorsAtOnce(protocol.ErrInvalidFieldType, leaguetest.ChoiceReply, 30*leaguetest.Second), asked: 4, chosen: true,
		lost: "answered CHOOSE_PARITY_CALL with JSON-RPC error -32603",
	}
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		f.check(t, w, protocol.ChooseParity.Name)
		for _, e := range w.Calls(protocol.ChooseParity.Name, "p02") {
			assert.NotContains(t, e.ProtocolError().Error(), "sk-123", "the cause is not sent to other agents")
		}
	})
}
