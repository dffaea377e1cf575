package leaguetest

import (
	"context"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"evenodd/league/decide"
	"evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/view/record"
)

// StartLeague calls start_league with the admin token and waits until all agents are idle.
func (w *World) StartLeague() {
	w.T.Helper()
	synctest.Wait() // until the agents have answered the pings of the manager
	q := &protocol.ToolRequest{}
	q.AuthToken = w.Manager.AdminToken()
	_, err := protocol.StartLeague.Call(w.Context, w.Untrusted, protocol.Peer{Endpoint: EndpointOf(ManagerHost)}, q)
	require.NoError(w.T, err)
	synctest.Wait()
}

const (
	JoinAck     = protocol.TypeGameJoinAck
	ChoiceReply = protocol.TypeChooseParityResponse
	Second      = time.Second
	NotGiven    = time.Duration(-1)
)

// RetryAfterPause is a GAME_ERROR to P02 after which the referee asks again in 2 s.
func RetryAfterPause(at time.Duration, code protocol.Code, retry int, action string) GameError {
	return GameError{At: at, To: "p02", Code: code, Retry: retry, Retryable: true, Action: action, Next: at + 2*Second,
		Remaining: NotGiven}
}

// RetryAtOnce is a GAME_ERROR to P02 after which the referee asks again at once, in the
// same window.
func RetryAtOnce(at time.Duration, code protocol.Code, retry int, action string, left time.Duration) GameError {
	return GameError{At: at, To: "p02", Code: code, Retry: retry, Retryable: true, Action: action, Next: at,
		Remaining: left}
}

// FinalError is a GAME_ERROR to P02 after which P02 has lost the match.
func FinalError(at time.Duration, code protocol.Code, retry int, action string) GameError {
	return GameError{At: at, To: "p02", Code: code, Retry: retry, Action: action, Next: NotGiven, Remaining: NotGiven}
}

// FourErrors are the GAME_ERRORs of a question that fails four times. The first comes at
// first, the others follow at intervals of every.
func FourErrors(first, every time.Duration, code protocol.Code, action string) []GameError {
	list := []GameError{}
	for i := range 3 {
		list = append(list, RetryAfterPause(first+time.Duration(i)*every, code, i+1, action))
	}
	return append(list, FinalError(first+3*every, code, 3, action))
}

func FourErrorsAtOnce(code protocol.Code, action string, window time.Duration) []GameError {
	return []GameError{
		RetryAtOnce(0, code, 1, action, window), RetryAtOnce(0, code, 2, action, window), RetryAtOnce(0, code, 3, action,
			window),
		FinalError(0, code, 3, action),
	}
}

// Results are the matches of a league that have a result, in schedule order, without times, attempts and decisions.
func Results(m *manager.Manager) (all []record.Match) {
	// an error tells that the journal cannot be written any more
	_, _ = m.Read(context.Background(), manager.ReadResource, m.AdminToken(), func(v *decide.View) (any, error) {
		for r := range (&record.League{State: v.State}).Played() {
			all = append(all, record.Match{MatchID: r.MatchID, RoundID: r.RoundID, PlayerAID: r.PlayerAID, PlayerBID: r.PlayerBID,
				RefereeID: r.RefereeID, Result: r.Result, Score: r.Score, Grade: r.Grade})
		}
		return nil, nil
	})
	return all
}

// Duel plays a league of one match: P01, which always chooses even, against P02, which
// always chooses odd.
func (w *World) Duel(first, second []Option) record.Match {
	w.T.Helper()
	w.StartManager(2, 1)
	w.Referee("REF01")
	w.Player("P01", append([]Option{WithStrategy("even")}, first...)...)
	w.Player("P02", append([]Option{WithStrategy("odd")}, second...)...)
	w.Finish()
	results := Results(w.Manager)
	require.Len(w.T, results, 1)
	return results[0]
}

func Options(traits ...Option) []Option { return traits }

// GameOver returns the GAME_OVER that a player received.
func (w *World) GameOver(to string) *protocol.GameOver {
	w.T.Helper()
	return Decode[protocol.GameOver](w.OnlyCall(protocol.NotifyMatchResult.Name, to).Message)
}

// WithDelays delays each step of a match at the player.
func WithDelays(join, choice, end time.Duration) Option {
	return func(a *Agent) {
		a.Script[protocol.Invite.Name] = Delayed(join, Normally)
		a.Script[protocol.ChooseParity.Name] = Delayed(choice, Normally)
		a.Script[protocol.NotifyMatchResult.Name] = Delayed(end, Normally)
	}
}
