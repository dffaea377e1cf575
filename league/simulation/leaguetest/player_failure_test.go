package leaguetest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/player/strategy"
)

// failure is a fault of P02 and its expected consequences.
type failure struct {
	name       string
	traits     []leaguetest.Option
	gameErrors []leaguetest.GameError
	over       time.Duration // time of GAME_OVER
	lost       string        // reason of P02's loss; "" without a loss
	asked      int           // invitations or questions to P02
	chosen     bool          // P01 was asked for its choice
}

func (f *failure) check(t *testing.T, w *leaguetest.World, method string) {
	t.Helper()
	record := w.Duel(nil, f.traits)
	assert.Equal(t, f.gameErrors, w.GameErrors())
	over := w.Calls(protocol.NotifyMatchResult.Name)
	assert.Equal(t, []time.Duration{f.over, f.over}, leaguetest.Times(over), "GAME_OVER to both players")
	assert.Len(t, w.Calls(method, "p02"), f.asked)
	if f.lost == "" {
		assert.Equal(t, league.StatusWin, record.Status)
		return
	}
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
			name: "silent once, then it answers", traits: in(leaguetest.Silent, leaguetest.Normally),
			gameErrors: []leaguetest.GameError{leaguetest.RetryAfterPause(5*leaguetest.Second, protocol.ErrTimeout, 1, leaguetest.JoinAck)}, asked: 2, over: 7 * leaguetest.Second,
		},
		{
			name: "closes the connection always", traits: in(leaguetest.FailWith(leaguetest.ErrHangUp)),
			gameErrors: leaguetest.FourErrors(0, 2*leaguetest.Second, protocol.ErrConnection, leaguetest.JoinAck), asked: 4,
			over: 6 * leaguetest.Second, lost: "accepted the connection, but sent no readable GAME_JOIN_ACK",
		},
		{
			name: "answers HTTP 500, then too much, then correctly", traits: in(leaguetest.FailWith(leaguetest.ErrServerError), leaguetest.FailWith(leaguetest.ErrTooLarge), leaguetest.Normally),
			gameErrors: leaguetest.FourErrors(0, 2*leaguetest.Second, protocol.ErrConnection, leaguetest.JoinAck)[:2], asked: 3, over: 4 * leaguetest.Second,
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
		{
			name: "silent, then invalid, then valid", traits: in(leaguetest.Silent, leaguetest.EditAnswer("accept", "yes"), leaguetest.Normally),
			gameErrors: []leaguetest.GameError{
				leaguetest.RetryAfterPause(5*leaguetest.Second, protocol.ErrTimeout, 1, leaguetest.JoinAck),
				leaguetest.RetryAtOnce(7*leaguetest.Second, protocol.ErrInvalidFieldType, 2, leaguetest.JoinAck, 5*leaguetest.Second),
			},
			asked: 3, over: 7 * leaguetest.Second,
		},
		{
			name:   "invalid, then the connection breaks, then silent: the window does not restart",
			traits: in(leaguetest.EditAnswer("accept", "yes"), leaguetest.FailWith(leaguetest.ErrHangUp), leaguetest.Silent),
			gameErrors: []leaguetest.GameError{
				leaguetest.RetryAtOnce(0, protocol.ErrInvalidFieldType, 1, leaguetest.JoinAck, 5*leaguetest.Second),
				leaguetest.RetryAfterPause(0, protocol.ErrConnection, 2, leaguetest.JoinAck),
				leaguetest.FinalError(5*leaguetest.Second, protocol.ErrTimeout, 2, leaguetest.JoinAck),
			},
			asked: 3, over: 5 * leaguetest.Second, lost: "did not send GAME_JOIN_ACK in time",
		},
	} {
		leaguetest.RunOnWire(t, f.name, func(t *testing.T, w *leaguetest.World) { f.check(t, w, protocol.Invite.Name) })
	}
}

func TestChoiceFailuresAreRetriedAndReported(t *testing.T) {
	in := func(parts ...leaguetest.Reply) []leaguetest.Option {
		return leaguetest.Options(leaguetest.On(protocol.ChooseParity.Name, leaguetest.InTurn(parts...)))
	}
	for _, f := range []failure{
		{
			name: "silent always", traits: in(leaguetest.Silent),
			gameErrors: leaguetest.FourErrors(30*leaguetest.Second, 32*leaguetest.Second, protocol.ErrTimeout, leaguetest.ChoiceReply), asked: 4,
			over: 126 * leaguetest.Second, lost: "did not send CHOOSE_PARITY_RESPONSE in time",
		},
		{
			name: `"Even", then "even"`, traits: in(leaguetest.EditAnswer("parity_choice", "Even"), leaguetest.Normally),
			gameErrors: leaguetest.FourErrorsAtOnce(protocol.ErrInvalidParityChoice, leaguetest.ChoiceReply, 30*leaguetest.Second)[:1], asked: 2,
		},
		{
			name: "invalid three times after 5 s each, then valid", over: 20 * leaguetest.Second, asked: 4,
			traits: in(leaguetest.Delayed(5*leaguetest.Second, leaguetest.EditAnswer("parity_choice", "Even")), leaguetest.Delayed(5*leaguetest.Second, leaguetest.EditAnswer("parity_choice", 0)),
				leaguetest.Delayed(5*leaguetest.Second, leaguetest.EditAnswer("parity_choice", "")), leaguetest.Delayed(5*leaguetest.Second, leaguetest.Normally)),
			gameErrors: []leaguetest.GameError{
				leaguetest.RetryAtOnce(5*leaguetest.Second, protocol.ErrInvalidParityChoice, 1, leaguetest.ChoiceReply, 25*leaguetest.Second),
				leaguetest.RetryAtOnce(10*leaguetest.Second, protocol.ErrInvalidParityChoice, 2, leaguetest.ChoiceReply, 20*leaguetest.Second),
				leaguetest.RetryAtOnce(15*leaguetest.Second, protocol.ErrInvalidParityChoice, 3, leaguetest.ChoiceReply, 15*leaguetest.Second),
			},
		},
		{
			name: "with another entropy once", traits: in(leaguetest.EditAnswer("entropy", protocol.Secret{1}.Hex()), leaguetest.Normally),
			gameErrors: leaguetest.FourErrorsAtOnce(protocol.ErrInvalidFieldType, leaguetest.ChoiceReply, 30*leaguetest.Second)[:1], asked: 2,
		},
		{
			name: "another player_id and a local time: accepted, and counted as warnings",
			traits: in(func(c *leaguetest.Call) (jsontext.Value, error) {
				answer, err := c.OwnAnswer()
				return leaguetest.Edit(leaguetest.Edit(answer, "player_id", "P77"), "timestamp", "2000-01-01T02:00:00"), err
			}),
			asked: 1,
		},
	} {
		f.chosen = true
		leaguetest.RunOnWire(t, f.name, func(t *testing.T, w *leaguetest.World) { f.check(t, w, protocol.ChooseParity.Name) })
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

func TestGameErrorStatesTheDefect(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		w.Duel(nil, leaguetest.Options(leaguetest.On(protocol.ChooseParity.Name, leaguetest.InTurn(leaguetest.EditAnswer("parity_choice", "Even"), leaguetest.Normally))))
		gameErrors := w.Calls(protocol.NotifyGameError.Name)
		require.Len(t, gameErrors, 1)
		q := leaguetest.Decode[protocol.GameError](gameErrors[0].Message)
		assert.Equal(t, "P02", q.AffectedPlayer)
		assert.Equal(t, "P02", q.PlayerID)
		assert.Equal(t, "R1M1", q.MatchID)
		assert.Equal(t, "INVALID_PARITY_CHOICE", q.ErrorName)
		assert.Equal(t, "INVALID_PARITY_CHOICE", q.ErrorDescription)
		assert.Equal(t, "COLLECTING_CHOICES", q.GameState)
		assert.Equal(t, "Even", q.Context["invalid_choice"])
		assert.Equal(t, []any{"even", "odd"}, q.Context["valid_choices"])
		assert.NotEmpty(t, q.Consequence)
		assert.Equal(t, 3, *q.MaxRetries)
		assert.Equal(t, protocol.RetryInfo{
			RetryCount: 1, MaxRetries: 3, NextRetryAt: "2000-01-01T00:00:00Z", TimeRemaining: q.RetryInfo.TimeRemaining,
		}, *q.RetryInfo)
		assert.Equal(t, w.AccessToken("P02", "R1M1", 1, "REF01"), q.AuthToken)
		assert.NoError(t, gameErrors[0].Err, "acknowledged")
	})
}
