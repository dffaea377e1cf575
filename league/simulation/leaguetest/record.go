package leaguetest

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
)

// An Exchange is one call as its caller saw it. Times count from the start of the World.
type Exchange struct {
	From, To string // hosts
	Method   string
	Bearer   string
	Message  jsontext.Value // as JSON, on each carrier
	At       time.Duration

	ended  bool
	Answer jsontext.Value // nil if there was none
	Err    error
	Until  time.Duration
}

// Type is the message type of the request, "" for tools.
func (e *Exchange) Type() string { return Decode[protocol.Envelope](e.Message).MessageType }

// ProtocolError returns the error of the call as an agent sees it.
func (e *Exchange) ProtocolError() *protocol.Error { return protocol.AsError(e.Err) }

// Decode decodes a message; it panics on invalid JSON.
func Decode[T any](raw jsontext.Value) *T {
	v := new(T)
	if err := json.Unmarshal(raw, v); err != nil {
		panic(err) // our agents send valid messages
	}
	return v
}

// Encode returns a message as JSON.
func Encode(v any) jsontext.Value {
	var raw []byte
	var err error
	switch v := v.(type) {
	case jsontext.Value:
		return v
	case interface{ Encoded() ([]byte, error) }:
		raw, err = v.Encoded()
	default:
		raw, err = json.Marshal(v)
	}
	if err != nil {
		panic(err) // messages of our agents can be encoded
	}
	return raw
}

// A Recorder contains all exchanges of a World, in order of their start.
type Recorder struct {
	began time.Time

	Mu        sync.Mutex
	Exchanges []*Exchange
}

func (r *Recorder) now() time.Duration { return time.Since(r.began) }

func (r *Recorder) begin(e Exchange) *Exchange {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	e.At = r.now()
	r.Exchanges = append(r.Exchanges, &e)
	return &e
}

func (r *Recorder) end(e *Exchange, answer any, err error) {
	var raw jsontext.Value
	if err == nil {
		raw = Encode(answer)
	}
	r.Mu.Lock()
	defer r.Mu.Unlock()
	e.ended, e.Answer, e.Err, e.Until = true, raw, err, r.now()
}

// All returns copies of the exchanges for which want is true.
func (r *Recorder) All(want func(*Exchange) bool) []Exchange {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	var found []Exchange
	for _, e := range r.Exchanges {
		if want(e) {
			found = append(found, *e)
		}
	}
	return found
}

// A recordingCaller records each exchange of one agent.
type recordingCaller struct {
	host   string
	record *Recorder
	next   protocol.Caller
}

// A wrapped context hides the type of another one. Each call of each agent gets one,
// because nothing may depend on that type.
type wrapped struct{ context.Context }

func (s *recordingCaller) Call(ctx context.Context, r protocol.CallRequest) (any, *protocol.Timing, error) {
	e := s.record.begin(Exchange{From: s.host, To: HostOf(r.Endpoint), Method: r.Method, Bearer: r.Bearer,
		Message: Encode(r.Params)})
	answer, timing, err := s.next.Call(wrapped{ctx}, r)
	if lost := carrierFailure(err); lost != nil {
		answer, err = nil, lost
	}
	if raw, scripted := answer.(jsontext.Value); scripted && err == nil { // the memory bus does not decode
		answer, err = r.Decode(raw)
		if err == nil {
			s.record.end(e, raw, nil)
			return answer, timing, nil
		}
	}
	s.record.end(e, answer, err)
	return answer, timing, err
}

// Calls returns the calls of a method, to the given hosts or to all.
func (w *World) Calls(method string, to ...string) []Exchange {
	return w.Recorder.All(func(e *Exchange) bool {
		return e.Method == method && (len(to) == 0 || slices.Contains(to, e.To))
	})
}

// OnlyCall returns the only call of a method to a host.
func (w *World) OnlyCall(method, to string) Exchange {
	w.T.Helper()
	found := w.Calls(method, to)
	require.Len(w.T, found, 1, "%s to %s", method, to)
	return found[0]
}

// Times returns the start times of calls.
func Times(calls []Exchange) []time.Duration {
	at := make([]time.Duration, len(calls))
	for i := range calls {
		at[i] = calls[i].At
	}
	return at
}

// A GameError contains what scenarios check of a GAME_ERROR.
type GameError struct {
	At        time.Duration
	To        string
	Code      protocol.Code
	Retry     int
	Retryable bool
	Action    string
	Next      time.Duration // time of the next attempt; NotGiven if there is none
	Remaining time.Duration // time left in the window; NotGiven if absent
}

// GameErrors returns all GAME_ERRORs of referees by time, receiver and number.
func (w *World) GameErrors() []GameError {
	var list []GameError
	for _, e := range w.Calls(protocol.NotifyGameError.Name) {
		if w.Unchecked[e.From] {
			continue
		}
		q := Decode[protocol.GameError](e.Message)
		c := GameError{
			At: e.At, To: e.To, Code: protocol.Code(q.ErrorCode), Retry: *q.RetryCount, Retryable: *q.Retryable,
			Action: q.ActionRequired, Next: -1, Remaining: -1,
		}
		if next := q.RetryInfo.NextRetryAt; next != "" {
			c.Next = w.SinceStart(next)
		}
		if left := q.RetryInfo.TimeRemaining; left != nil {
			c.Remaining = protocol.Seconds(*left)
		}
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b GameError) int {
		last := func(c GameError) int { // the final error repeats the number of the one before
			if c.Retryable {
				return 0
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.To, b.To), cmp.Compare(b.Action, a.Action),
			cmp.Compare(a.Retry, b.Retry), last(a)-last(b))
	})
	return list
}

// SinceStart converts the timestamp of a message to the time of the World.
func (w *World) SinceStart(stamp string) time.Duration {
	t, err := protocol.ParseTimestamp(stamp)
	require.NoError(w.T, err)
	return t.Sub(w.Recorder.began)
}

// AnswerWithStatus answers start_match with a status and a reason, and conducts no match.
func AnswerWithStatus(status string) Reply {
	return func(c *Call) (jsontext.Value, error) {
		q := Decode[protocol.MatchAssignment](c.Message)
		e := q.Envelope
		e.MessageType, e.AuthToken = protocol.StartMatch.Result, ""
		return Encode(protocol.MatchAssignmentAck{
			Envelope: e, Status: status, MatchID: q.MatchID, Attempt: q.Attempt, Reason: "not now",
		}), nil
	}
}

// AssignmentLog returns the calls of start_match, such as "R1M1 ref01 attempt 1 at 0s".
func (w *World) AssignmentLog() []string {
	var list []string
	for _, e := range w.Calls(protocol.StartMatch.Name) {
		q := Decode[protocol.MatchAssignment](e.Message)
		assert.Equal(w.T, protocol.MatchConversation(q.MatchID, q.Attempt), q.ConversationID)
		for _, p := range []protocol.AssignedPlayer{q.PlayerA, q.PlayerB} {
			assert.Equal(w.T, w.AccessToken(p.PlayerID, q.MatchID, q.Attempt, strings.ToUpper(e.To)), p.AccessToken)
		}
		list = append(list, q.MatchID+" "+e.To+" attempt "+string(rune('0'+q.Attempt))+" at "+e.At.String())
	}
	return list
}

// OnWire runs a scenario on the memory bus with encoded messages. It is for scenarios
// whose duration matters, and not their carrier, and for messages that break a rule: values of the
// same process are not validated.
func OnWire(t *testing.T, scenario func(t *testing.T, w *World)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { run(t, Wire, scenario) })
}

// OnHTTP runs a scenario over HTTP through pipes.
func OnHTTP(t *testing.T, scenario func(t *testing.T, w *World)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { run(t, HTTP, scenario) })
}

// Seconds returns the start times of calls in whole seconds.
func Seconds(calls []Exchange) []int {
	list := make([]int, len(calls))
	for i := range calls {
		list[i] = int(calls[i].At / Second)
	}
	return list
}
