package leaguetest

import (
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/protocol"
)

// Begin starts the league with the admin token, and waits until nobody has
// anything to do at this moment.
func (w *World) Begin() {
	w.T.Helper()
	synctest.Wait() // the agents have answered the manager's pings
	q := &protocol.ToolRequest{}
	q.AuthToken = w.Manager.AdminToken()
	_, err := protocol.StartLeague.Call(w.Context, w.Untrusted, protocol.Peer{Endpoint: EndpointOf(ManagerHost)}, q)
	require.NoError(w.T, err)
	synctest.Wait()
}

const (
	Join   = protocol.TypeGameJoinAck
	Choice = protocol.TypeChooseParityResponse
	Second = time.Second
	None   = time.Duration(-1)
)

// Paused is a complaint after which the player is tried again in 2 s.
func Paused(at time.Duration, code protocol.Code, retry int, action string) GameError {
	return GameError{At: at, To: "p02", Code: code, Retry: retry, Retryable: true, Action: action, Next: at + 2*Second, Remaining: None}
}

// Again is one after which it is asked again at once, in the same window.
func Again(at time.Duration, code protocol.Code, retry int, action string, left time.Duration) GameError {
	return GameError{At: at, To: "p02", Code: code, Retry: retry, Retryable: true, Action: action, Next: at, Remaining: left}
}

// Last is one after which the match is lost.
func Last(at time.Duration, code protocol.Code, retry int, action string) GameError {
	return GameError{At: at, To: "p02", Code: code, Retry: retry, Action: action, Next: None, Remaining: None}
}

// FourTimes is the failure of all chances, each as long as pause after the one
// before, or asked again at once.
func FourTimes(first, every time.Duration, code protocol.Code, action string) []GameError {
	list := []GameError{}
	for i := range 3 {
		list = append(list, Paused(first+time.Duration(i)*every, code, i+1, action))
	}
	return append(list, Last(first+3*every, code, 3, action))
}

func FourAtOnce(code protocol.Code, action string, window time.Duration) []GameError {
	return []GameError{
		Again(0, code, 1, action, window), Again(0, code, 2, action, window), Again(0, code, 3, action, window),
		Last(0, code, 3, action),
	}
}

// Duel plays a league of one match: P01, who chooses even, against P02, who
// chooses odd, both with traits of their own.
func (w *World) Duel(first, second []Option) league.MatchRecord {
	w.T.Helper()
	w.StartManager(2, 1)
	w.Referee("REF01")
	w.Player("P01", append([]Option{WithStrategy("even")}, first...)...)
	w.Player("P02", append([]Option{WithStrategy("odd")}, second...)...)
	w.Finish()
	results := w.Manager.Results()
	require.Len(w.T, results, 1)
	return results[0]
}

func With(traits ...Option) []Option { return traits }

// GameOver is the GAME_OVER that a player was sent.
func (w *World) GameOver(to string) *protocol.GameOver {
	w.T.Helper()
	return Decode[protocol.GameOver](w.OnlyCall(protocol.NotifyMatchResult.Name, to).Message)
}

// Slow takes a time for each step of a match.
func Slow(join, choice, end time.Duration) Option {
	return func(a *Agent) {
		a.Script[protocol.Invite.Name] = Delayed(join, Normally)
		a.Script[protocol.ChooseParity.Name] = Delayed(choice, Normally)
		a.Script[protocol.NotifyMatchResult.Name] = Delayed(end, Normally)
	}
}
