package conversations

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
)

// An exchange is one call as its caller saw it. Times count from the beginning
// of the world.
type exchange struct {
	from, to string // hosts
	method   string
	bearer   string
	message  jsontext.Value // as JSON, whatever carried it
	at       time.Duration

	ended  bool
	answer jsontext.Value // nil when there was none
	err    error
	until  time.Duration
}

// Type is the message type of the request, "" for the tools.
func (e *exchange) Type() string { return read[protocol.Envelope](e.message).MessageType }

// failure is the error of the call as an agent sees it.
func (e *exchange) failure() *protocol.Error { return protocol.AsError(e.err) }

// read makes a message of its JSON.
func read[T any](raw jsontext.Value) *T {
	v := new(T)
	if err := json.Unmarshal(raw, v); err != nil {
		panic(err) // what our agents send can be read
	}
	return v
}

// written is a message as JSON.
func written(v any) jsontext.Value {
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
		panic(err) // what our agents send can be written
	}
	return raw
}

// A record is everything that was said in a world, in the order in which it
// was said.
type record struct {
	began time.Time

	mu        sync.Mutex
	exchanges []*exchange
}

func (r *record) now() time.Duration { return time.Since(r.began) }

func (r *record) begin(e exchange) *exchange {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.at = r.now()
	r.exchanges = append(r.exchanges, &e)
	return &e
}

func (r *record) end(e *exchange, answer any, err error) {
	var raw jsontext.Value
	if err == nil {
		raw = written(answer)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	e.ended, e.answer, e.err, e.until = true, raw, err, r.now()
}

// all are copies of the exchanges that want accepts.
func (r *record) all(want func(*exchange) bool) []exchange {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []exchange
	for _, e := range r.exchanges {
		if want(e) {
			found = append(found, *e)
		}
	}
	return found
}

// A scribe is a carrier as one agent has it: it writes down all the agent says
// and is told.
type scribe struct {
	host   string
	record *record
	next   protocol.Caller
}

// A wrapped context hides the type of another. Every call of every agent gets one,
// because nothing may depend on that type.
type wrapped struct{ context.Context }

func (s *scribe) Call(ctx context.Context, r protocol.CallRequest) (any, *protocol.CallTiming, error) {
	e := s.record.begin(exchange{from: s.host, to: hostOf(r.Endpoint), method: r.Method, bearer: r.Bearer, message: written(r.Params)})
	answer, timing, err := s.next.Call(wrapped{ctx}, r)
	if lost := breakdown(err); lost != nil {
		answer, err = nil, lost
	}
	if raw, scripted := answer.(jsontext.Value); scripted && err == nil { // the carrier of values brought it as it is
		answer, err = r.Decode(raw)
		if err == nil {
			s.record.end(e, raw, nil)
			return answer, timing, nil
		}
	}
	s.record.end(e, answer, err)
	return answer, timing, err
}

// said are the calls of a method, to the given hosts or to all.
func (w *world) said(method string, to ...string) []exchange {
	return w.record.all(func(e *exchange) bool {
		return e.method == method && (len(to) == 0 || slices.Contains(to, e.to))
	})
}

// only is the one call of a method to a host.
func (w *world) only(method, to string) exchange {
	w.t.Helper()
	found := w.said(method, to)
	require.Len(w.t, found, 1, "%s to %s", method, to)
	return found[0]
}

// times are when calls were made.
func times(calls []exchange) []time.Duration {
	at := make([]time.Duration, len(calls))
	for i := range calls {
		at[i] = calls[i].at
	}
	return at
}

// pauses are the times between calls.
func pauses(calls []exchange) []time.Duration {
	var between []time.Duration
	for i := 1; i < len(calls); i++ {
		between = append(between, calls[i].at-calls[i-1].at)
	}
	return between
}

// assertPauses checks times between calls that have up to a tenth of jitter.
func assertPauses(t *testing.T, want []time.Duration, calls []exchange) {
	t.Helper()
	got := pauses(calls)
	if !assert.GreaterOrEqual(t, len(got), len(want), "pauses: %v", got) {
		return
	}
	for i, pause := range want {
		assert.GreaterOrEqual(t, got[i], pause, "pause %d of %v", i+1, got)
		assert.Less(t, got[i], pause+pause/10, "pause %d of %v", i+1, got)
	}
}

// A complaint is a GAME_ERROR, as far as it matters.
type complaint struct {
	At        time.Duration
	To        string
	Code      protocol.Code
	Retry     int
	Retryable bool
	Action    string
	Next      time.Duration // of the next try; -1 when there is none
	Remaining time.Duration // to answer rightly; -1 when that is not said
}

// complaints are all GAME_ERRORs of referees, in order of time, receiver and
// number.
func (w *world) complaints() []complaint {
	var list []complaint
	for _, e := range w.said(protocol.NotifyGameError.Name) {
		if w.unchecked[e.from] {
			continue
		}
		q := read[protocol.GameError](e.message)
		c := complaint{
			At: e.at, To: e.to, Code: protocol.Code(q.ErrorCode), Retry: *q.RetryCount, Retryable: *q.Retryable,
			Action: q.ActionRequired, Next: -1, Remaining: -1,
		}
		if next := q.RetryInfo.NextRetryAt; next != "" {
			c.Next = w.since(next)
		}
		if left := q.RetryInfo.TimeRemaining; left != nil {
			c.Remaining = protocol.Seconds(*left)
		}
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b complaint) int {
		last := func(c complaint) int { // the last of them has the number of the one before
			if c.Retryable {
				return 0
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.To, b.To), cmp.Compare(b.Action, a.Action), cmp.Compare(a.Retry, b.Retry), last(a)-last(b))
	})
	return list
}

// since is a timestamp of a message as a time of the world.
func (w *world) since(stamp string) time.Duration {
	t, err := protocol.ParseTimestamp(stamp)
	require.NoError(w.t, err)
	return t.Sub(w.record.began)
}
