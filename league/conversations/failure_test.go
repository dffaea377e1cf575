package conversations

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
	"evenodd/player/strategy"
)

const (
	join   = protocol.TypeGameJoinAck
	choice = protocol.TypeChooseParityResponse
	second = time.Second
	none   = time.Duration(-1)
)

// paused is a complaint after which the player is tried again in 2 s.
func paused(at time.Duration, code protocol.Code, retry int, action string) complaint {
	return complaint{At: at, To: "p02", Code: code, Retry: retry, Retryable: true, Action: action, Next: at + 2*second, Remaining: none}
}

// again is one after which it is asked again at once, in the same window.
func again(at time.Duration, code protocol.Code, retry int, action string, left time.Duration) complaint {
	return complaint{At: at, To: "p02", Code: code, Retry: retry, Retryable: true, Action: action, Next: at, Remaining: left}
}

// last is one after which the match is lost.
func last(at time.Duration, code protocol.Code, retry int, action string) complaint {
	return complaint{At: at, To: "p02", Code: code, Retry: retry, Action: action, Next: none, Remaining: none}
}

// fourTimes is the failure of all chances, each as long as pause after the one
// before, or asked again at once.
func fourTimes(first, every time.Duration, code protocol.Code, action string) []complaint {
	list := []complaint{}
	for i := range 3 {
		list = append(list, paused(first+time.Duration(i)*every, code, i+1, action))
	}
	return append(list, last(first+3*every, code, 3, action))
}

func fourAtOnce(code protocol.Code, action string, window time.Duration) []complaint {
	return []complaint{
		again(0, code, 1, action, window), again(0, code, 2, action, window), again(0, code, 3, action, window),
		last(0, code, 3, action),
	}
}

// What P02 did wrong, and what came of it.
type failure struct {
	name       string
	traits     []trait
	complaints []complaint
	over       time.Duration // when GAME_OVER goes out
	lost       string        // why P02 lost; "" when it did not
	asked      int           // invitations or questions that P02 got
	chosen     bool          // P01 was asked for its choice
}

func (f *failure) check(t *testing.T, w *world, method string) {
	t.Helper()
	record := w.duel(nil, f.traits)
	assert.Equal(t, f.complaints, w.complaints())
	over := w.said(protocol.NotifyMatchResult.Name)
	assert.Equal(t, []time.Duration{f.over, f.over}, times(over), "GAME_OVER to both")
	assert.Len(t, w.said(method, "p02"), f.asked)
	if f.lost == "" {
		assert.Equal(t, protocol.StatusWin, record.Status)
		return
	}
	result := w.gameOver("p01").GameResult
	even := "even"
	wantA := &even
	if !f.chosen {
		wantA = nil
		assert.Empty(t, w.said(protocol.ChooseParity.Name), "nobody is asked for a choice")
	}
	one := "P01"
	var faults protocol.PerPlayer[string]
	if n := len(f.complaints); n > 0 { // a refusal is no failure
		faults = protocol.PerPlayer[string]{{Name: "P02", Value: string(f.complaints[n-1].Code)}}
	}
	assert.Equal(t, &protocol.GameResult{
		Status: protocol.StatusTechnicalLoss, WinnerPlayerID: &one,
		Choices: protocol.Both("P01", wantA, "P02", (*string)(nil)),
		Reason:  "P02 " + f.lost + " - P01 wins by default",
		Faults:  faults,
	}, result)
	report := read[protocol.MatchResultReport](w.only(protocol.ReportMatchResult.Name, theBoss).message)
	assert.Equal(t, protocol.Both("P01", 3, "P02", 0), report.Result.Score)
	assert.Equal(t, &one, report.Result.Winner)
	assert.Equal(t, protocol.StatusTechnicalLoss, report.Result.Details.Status)
	standings := w.manager.Standings()
	assert.Equal(t, 3, standings[0].Points)
	assert.Equal(t, "P02", standings[1].PlayerID)
	assert.Equal(t, 1, standings[1].TechnicalLosses)
	assert.Equal(t, 0, standings[1].Points)
}

func TestFailuresAtTheInvitation(t *testing.T) {
	in := func(parts ...part) []trait { return with(does(protocol.Invite.Name, inTurn(parts...))) }
	invalid := func(code string) string { return "sent no valid GAME_JOIN_ACK (" + code + ")" }
	for _, f := range []failure{
		{
			name: "silent always", traits: in(silent),
			complaints: fourTimes(5*second, 7*second, protocol.ErrTimeout, join), asked: 4,
			over: 26 * second, lost: "did not send GAME_JOIN_ACK in time",
		},
		{
			name: "silent once, then it answers", traits: in(silent, honestly),
			complaints: []complaint{paused(5*second, protocol.ErrTimeout, 1, join)}, asked: 2, over: 7 * second,
		},
		{
			name: "silent three times, then it answers", traits: in(nTimes(3, silent, honestly)),
			complaints: fourTimes(5*second, 7*second, protocol.ErrTimeout, join)[:3], asked: 4, over: 21 * second,
		},
		{
			name: "late once", traits: in(after(6*second, honestly), honestly),
			complaints: []complaint{paused(5*second, protocol.ErrTimeout, 1, join)}, asked: 2, over: 7 * second,
		},
		{
			name: "closes the connection always", traits: in(failing(errHangUp)),
			complaints: fourTimes(0, 2*second, protocol.ErrConnection, join), asked: 4,
			over: 6 * second, lost: "could not be reached for GAME_JOIN_ACK",
		},
		{
			name: "closes the connection once", traits: in(failing(errHangUp), honestly),
			complaints: []complaint{paused(0, protocol.ErrConnection, 1, join)}, asked: 2, over: 2 * second,
		},
		{
			name: "answers garbage always", traits: in(failing(errGarbage)),
			complaints: fourTimes(0, 2*second, protocol.ErrConnection, join), asked: 4,
			over: 6 * second, lost: "answered GAME_INVITATION with HTTP 200 and no readable message",
		},
		{
			name: "answers HTTP 500 always", traits: in(failing(errServerError)),
			complaints: fourTimes(0, 2*second, protocol.ErrConnection, join), asked: 4,
			over: 6 * second, lost: "answered GAME_INVITATION with HTTP 500",
		},
		{
			name: "answers HTTP 500, then too much, then rightly", traits: in(failing(errServerError), failing(errTooLarge), honestly),
			complaints: fourTimes(0, 2*second, protocol.ErrConnection, join)[:2], asked: 3, over: 4 * second,
		},
		{
			name: "refuses", traits: in(editing("accept", false)),
			asked: 1, lost: "refused the invitation",
		},
		{
			name: "answers about another match always", traits: in(editing("match_id", "R9M9")),
			complaints: fourAtOnce(protocol.ErrMatchIDMismatch, join, 5*second), asked: 4, lost: invalid("E015"),
		},
		{
			name: "answers about another match once", traits: in(editing("match_id", "R9M9"), honestly),
			complaints: fourAtOnce(protocol.ErrMatchIDMismatch, join, 5*second)[:1], asked: 2,
		},
		{
			name: "accepts with a string always", traits: in(editing("accept", "yes")),
			complaints: fourAtOnce(protocol.ErrInvalidFieldType, join, 5*second), asked: 4, lost: invalid("E002"),
		},
		{
			name: "accepts with a number once", traits: in(editing("accept", 1), honestly),
			complaints: fourAtOnce(protocol.ErrInvalidFieldType, join, 5*second)[:1], asked: 2,
		},
		{
			name: "does not say whether it accepts", traits: in(editing("accept", nil)),
			complaints: fourAtOnce(protocol.ErrMissingField, join, 5*second), asked: 4, lost: invalid("E003"),
		},
		{
			name: "accepts with null once", traits: in(editing("accept", null()), honestly),
			complaints: fourAtOnce(protocol.ErrMissingField, join, 5*second)[:1], asked: 2,
		},
		{
			name: "answers with an error always", traits: in(refusing(protocol.ErrMatchNotFound)),
			complaints: fourAtOnce(protocol.ErrInvalidFieldType, join, 5*second), asked: 4,
			lost: "answered GAME_INVITATION with JSON-RPC error 4003",
		},
		{
			name: "answers with an array once", traits: in(saying([]int{1}), honestly),
			complaints: fourAtOnce(protocol.ErrInvalidFieldType, join, 5*second)[:1], asked: 2,
		},
		{
			name: "wrong, then silent until the window ends", traits: in(editing("accept", "yes"), silent),
			complaints: []complaint{
				again(0, protocol.ErrInvalidFieldType, 1, join, 5*second),
				last(5*second, protocol.ErrTimeout, 1, join),
			},
			asked: 2, over: 5 * second, lost: "did not send GAME_JOIN_ACK in time",
		},
		{
			name: "silent, then wrong, then right", traits: in(silent, editing("accept", "yes"), honestly),
			complaints: []complaint{
				paused(5*second, protocol.ErrTimeout, 1, join),
				again(7*second, protocol.ErrInvalidFieldType, 2, join, 5*second),
			},
			asked: 3, over: 7 * second,
		},
		{
			name: "wrong, then the connection breaks once", traits: in(editing("accept", "yes"), failing(errHangUp), honestly),
			complaints: []complaint{
				again(0, protocol.ErrInvalidFieldType, 1, join, 5*second),
				paused(0, protocol.ErrConnection, 2, join),
			},
			asked: 3, over: 2 * second,
		},
		{
			name:   "wrong, then the connection breaks, then silent: the window does not begin anew",
			traits: in(editing("accept", "yes"), failing(errHangUp), silent),
			complaints: []complaint{
				again(0, protocol.ErrInvalidFieldType, 1, join, 5*second),
				paused(0, protocol.ErrConnection, 2, join),
				last(5*second, protocol.ErrTimeout, 2, join),
			},
			asked: 3, over: 5 * second, lost: "did not send GAME_JOIN_ACK in time",
		},
	} {
		t.Run(f.name, func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) { f.check(t, w, protocol.Invite.Name) })
		})
	}
}

func TestFailuresAtTheChoice(t *testing.T) {
	in := func(parts ...part) []trait { return with(does(protocol.ChooseParity.Name, inTurn(parts...))) }
	invalid := func(code string) string { return "sent no valid CHOOSE_PARITY_RESPONSE (" + code + ")" }
	illegal := func(v any) failure {
		return failure{
			traits:     in(editing("parity_choice", v)),
			complaints: fourAtOnce(protocol.ErrInvalidParityChoice, choice, 30*second), asked: 4, lost: invalid("E004"),
		}
	}
	called := func(name string, f failure) failure {
		f.name = name
		return f
	}
	for _, f := range []failure{
		{
			name: "silent always", traits: in(silent),
			complaints: fourTimes(30*second, 32*second, protocol.ErrTimeout, choice), asked: 4,
			over: 126 * second, lost: "did not send CHOOSE_PARITY_RESPONSE in time",
		},
		{
			name: "silent once, then it answers", traits: in(silent, honestly),
			complaints: []complaint{paused(30*second, protocol.ErrTimeout, 1, choice)}, asked: 2, over: 32 * second,
		},
		{
			name: "late once", traits: in(after(31*second, honestly), honestly),
			complaints: []complaint{paused(30*second, protocol.ErrTimeout, 1, choice)}, asked: 2, over: 32 * second,
		},
		{
			name: "closes the connection always", traits: in(failing(errHangUp)),
			complaints: fourTimes(0, 2*second, protocol.ErrConnection, choice), asked: 4,
			over: 6 * second, lost: "could not be reached for CHOOSE_PARITY_RESPONSE",
		},
		called(`always "Even"`, illegal("Even")),
		called("always 0", illegal(0)),
		called("always false", illegal(false)),
		called("always null", illegal(null())),
		called(`always ""`, illegal("")),
		called("no choice at all", illegal(nil)),
		{
			name: `"Even", then "even"`, traits: in(editing("parity_choice", "Even"), honestly),
			complaints: fourAtOnce(protocol.ErrInvalidParityChoice, choice, 30*second)[:1], asked: 2,
		},
		{
			name: "wrong thrice, 5 s each, then right", over: 20 * second, asked: 4,
			traits: in(after(5*second, editing("parity_choice", "Even")), after(5*second, editing("parity_choice", 0)),
				after(5*second, editing("parity_choice", "")), after(5*second, honestly)),
			complaints: []complaint{
				again(5*second, protocol.ErrInvalidParityChoice, 1, choice, 25*second),
				again(10*second, protocol.ErrInvalidParityChoice, 2, choice, 20*second),
				again(15*second, protocol.ErrInvalidParityChoice, 3, choice, 15*second),
			},
		},
		{
			name: "wrong, then silent until the window ends", traits: in(editing("parity_choice", "Even"), silent),
			complaints: []complaint{
				again(0, protocol.ErrInvalidParityChoice, 1, choice, 30*second),
				last(30*second, protocol.ErrTimeout, 1, choice),
			},
			asked: 2, over: 30 * second, lost: "did not send CHOOSE_PARITY_RESPONSE in time",
		},
		{
			name: "about another match always", traits: in(editing("match_id", "R9M9")),
			complaints: fourAtOnce(protocol.ErrMatchIDMismatch, choice, 30*second), asked: 4, lost: invalid("E015"),
		},
		{
			name: "match_id is a number once", traits: in(editing("match_id", 7), honestly),
			complaints: fourAtOnce(protocol.ErrInvalidFieldType, choice, 30*second)[:1], asked: 2,
		},
		{
			name: "without the entropy it committed", traits: in(editing("entropy", nil)),
			complaints: fourAtOnce(protocol.ErrInvalidFieldType, choice, 30*second), asked: 4, lost: invalid("E002"),
		},
		{
			name: "with another entropy once", traits: in(editing("entropy", protocol.Secret{1}.Hex()), honestly),
			complaints: fourAtOnce(protocol.ErrInvalidFieldType, choice, 30*second)[:1], asked: 2,
		},
		{
			name: "answers with an error always", traits: in(refusing(protocol.ErrInvalidMatchState)),
			complaints: fourAtOnce(protocol.ErrInvalidFieldType, choice, 30*second), asked: 4,
			lost: "answered CHOOSE_PARITY_CALL with JSON-RPC error 4005",
		},
		{
			name: "another player_id and a local time: understood, and counted as warnings",
			traits: in(func(c *call) (jsontext.Value, error) {
				answer, err := c.answer()
				return edited(edited(answer, "player_id", "P77"), "timestamp", "2000-01-01T02:00:00"), err
			}),
			asked: 1,
		},
	} {
		f.chosen = true
		t.Run(f.name, func(t *testing.T) {
			onEveryCarrier(t, func(t *testing.T, w *world) { f.check(t, w, protocol.ChooseParity.Name) })
		})
	}
}

// broken is a strategy that cannot decide.
type broken struct{ err error }

func (broken) Name() string { return "broken" }

func (b broken) Choose(context.Context, strategy.View) (string, error) { return "", b.err }

func TestAPlayerWhoseStrategyFails(t *testing.T) {
	f := failure{
		traits:     with(func(a *actor) { a.decide = broken{errors.New("the key sk-123 is not valid")} }),
		complaints: fourAtOnce(protocol.ErrInvalidFieldType, choice, 30*second), asked: 4, chosen: true,
		lost: "answered CHOOSE_PARITY_CALL with JSON-RPC error -32603",
	}
	onEveryCarrier(t, func(t *testing.T, w *world) {
		f.check(t, w, protocol.ChooseParity.Name)
		for _, e := range w.said(protocol.ChooseParity.Name, "p02") {
			assert.NotContains(t, e.failure().Error(), "sk-123", "why is nobody's business")
		}
	})
}

func TestAComplaintSaysWhatWasWrong(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.duel(nil, with(does(protocol.ChooseParity.Name, inTurn(editing("parity_choice", "Even"), honestly))))
		complaints := w.said(protocol.NotifyGameError.Name)
		require.Len(t, complaints, 1)
		q := read[protocol.GameError](complaints[0].message)
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
		assert.Equal(t, w.access("P02", "R1M1", 1, "REF01"), q.AuthToken)
		assert.NoError(t, complaints[0].err, "acknowledged")
	})
}
