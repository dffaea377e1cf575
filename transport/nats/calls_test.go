package nats_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	natsgo "github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/transport"
	"evenodd/transport/nats"
)

const (
	agentSubject   = "evenodd.L.agent.ben"
	managerSubject = "evenodd.L.manager.anna"
)

// connect connects a user without credentials.
func connect(t testing.TB, s *server.Server, name string, options ...natsgo.Option) *nats.Conn {
	t.Helper()
	var conn *nats.Conn
	var err error
	if len(options) > 0 {
		conn, err = natsgo.Connect(s.ClientURL(), options...)
	} else {
		conn, err = nats.Connect(nats.Options{URLs: []string{s.ClientURL()}, Name: name, Log: zerolog.Nop()})
	}
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	return conn
}

// newClient makes a client that calls any subject of the league.
func newClient(t testing.TB, conn *nats.Conn, name string) *nats.Client {
	t.Helper()
	inLeague := func(subject string) bool { return strings.HasPrefix(subject, "evenodd.L.") }
	c, err := nats.NewClient(conn, name, inLeague, 2000)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// spoken are params and results.
type spoken struct {
	Text   string `json:"text"`
	Bearer string `json:"bearer"`
}

// echo answers say with its params, and waits for hold twice if they are "hold".
func echo(hold <-chan struct{}) *transport.Mux {
	mux := transport.NewMux(zerolog.Nop())
	read := func(raw []byte) (any, error) { return string(raw), nil }
	mux.Handle("say", read, func(ctx context.Context, bearer string, params any) (any, error) {
		switch text := params.(string); {
		case strings.Contains(text, "hold"):
			for range 2 { // the first one shows that it has begun
				select {
				case <-hold:
				case <-ctx.Done():
				}
			}
		case strings.Contains(text, "much"):
			return &spoken{Text: strings.Repeat("x", 1900)}, nil
		case strings.Contains(text, "whole"):
			return &spoken{Text: strings.Repeat("x", 9000)}, nil
		}
		return &spoken{Bearer: bearer}, nil
	})
	return mux
}

func serve(t testing.TB, conn *nats.Conn, subject string, mux *transport.Mux, limits transport.Limits) {
	t.Helper()
	stop, err := nats.Serve(conn, subject, mux, nats.Config{
		MaxBody: 1000, MaxBearerBody: 3000, Limits: limits, Log: zerolog.Nop(),
		Identify:    func(bearer string, _ []byte) string { return bearer },
		TooLarge:    func(context.Context, int64) error { return &transport.Error{Code: 23, Message: "too large"} },
		RateLimited: func(time.Duration) error { return &transport.Error{Code: 22, Message: "too fast"} },
	})
	require.NoError(t, err)
	t.Cleanup(func() { stop(0) })
}

// say is a call to an agent.
func say(text string) transport.Request {
	return transport.Request{Endpoint: nats.Scheme + agentSubject, Method: "say", Params: &spoken{Text: text},
		Decode: func(raw []byte) (any, error) { return string(raw), nil }, Limit: patience}
}

// What a carrier can change in a call ends in the error of package transport that says whose fault it is.
func TestFailedCallsSayWhoseFaultItIs(t *testing.T) {
	t.Parallel()
	s := startServer(t, &server.Options{Port: -1, MaxPayload: 5000})
	hold := make(chan struct{})
	t.Cleanup(func() { close(hold) })
	serve(t, connect(t, s, "ben"), agentSubject, echo(hold), transport.Limits{})
	client := newClient(t, connect(t, s, "manager"), "manager")
	for _, tt := range []struct {
		name    string
		change  func(q *transport.Request)
		is      func(err error) bool
		problem string
		sent    bool
	}{
		{"answered", func(q *transport.Request) { q.Bearer = "secret" }, nil, "", true},
		{"nobody listens", func(q *transport.Request) { q.Endpoint = "nats://evenodd.L.agent.nobody" }, of(transport.Unreachable), "nobody listens at nats://evenodd.L.agent.nobody", true},
		{"silent", func(q *transport.Request) { q.Params, q.Limit = say("hold").Params, 50*time.Millisecond },
			func(err error) bool { return errors.Is(err, context.DeadlineExceeded) }, "", true},
		{"the time is over", func(q *transport.Request) { q.Limit = -1 },
			func(err error) bool { return errors.Is(err, context.DeadlineExceeded) }, "", false},
		{"a subject of another kind", func(q *transport.Request) { q.Endpoint = "nats://$JS.API.STREAM.PURGE.x" }, of(transport.Forbidden), "must not be called", false},
		{"another carrier", func(q *transport.Request) { q.Endpoint = "http://" + agentSubject }, of(transport.Forbidden), "must not be called", false},
		{"larger than the server takes", func(q *transport.Request) { q.Params = say(strings.Repeat("x", 6000)).Params },
			of(transport.Local), "the message has 6072 bytes, more than the 5000 that the NATS server takes (max_payload)", false},
		{"larger than the agent accepts", func(q *transport.Request) { q.Params = say(strings.Repeat("x", 1000)).Params },
			is[transport.RPCError], "too large", true},
		{"large, with a credential", func(q *transport.Request) { q.Bearer, q.Params = "secret", say(strings.Repeat("x", 1000)).Params }, nil, "", true},
		{"a reply larger than the caller reads", func(q *transport.Request) { q.Params = say("much").Params }, nil, "", true},
		{"a reply larger than this caller reads", func(q *transport.Request) { q.Params = say("whole").Params },
			is[transport.RPCError], "the message has 9057 bytes, more than the 5000 that the NATS server takes", true},
		{"a reply that is no result", func(q *transport.Request) {
			q.Decode = func([]byte) (any, error) { return nil, errors.New("not a result") }
		}, of(transport.Unreadable), "not a result", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			q := say("hello")
			tt.change(&q)
			result, timing, err := client.Call(t.Context(), q)
			if tt.is == nil {
				require.NoError(t, err)
				assert.Contains(t, result, q.Bearer)
			} else {
				require.True(t, tt.is(err), "%T: %v", err, err)
				require.ErrorContains(t, err, tt.problem)
			}
			sent := timing != nil && !timing.Departed.IsZero()
			assert.Equal(t, tt.sent, sent, "it was sent")
			if sent {
				assert.Positive(t, timing.Waiting)
				assert.Equal(t, timing.Waiting, timing.Total())
			}
		})
	}
}

// of tells whether an error is of a kind.
func of(kind transport.Kind) func(err error) bool {
	return func(err error) bool { return transport.KindOf(err) == kind }
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// A caller that has as many calls as it may have is answered at once. The budgets count by name if the server
// has users, else there is one for all.
func TestACallerWithTooManyCallsIsAnsweredAtOnce(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		users []*server.User
		other int // code of the answer to another caller
	}{
		"users":    {[]*server.User{{Username: "u", Password: "p"}}, 0},
		"no users": {nil, 22},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startServer(t, &server.Options{Port: -1, Users: tt.users})
			hold := make(chan struct{})
			user := natsgo.UserInfo("u", "p")
			serve(t, connect(t, s, "manager", user), "evenodd.L.manager.*", echo(hold), transport.Limits{CallsPerAddress: 1})
			call := func(name, text string) error {
				q := say(text)
				q.Endpoint = nats.Scheme + "evenodd.L.manager." + name
				_, _, err := newClient(t, connect(t, s, name, user), name).Call(t.Context(), q)
				return err
			}
			var holding sync.WaitGroup
			holding.Go(func() { assert.NoError(t, call("anna", "hold")) })
			hold <- struct{}{} // it has begun
			assert.Equal(t, 22, code(call("anna", "hello")))
			assert.Equal(t, tt.other, code(call("ben", "hello")))
			close(hold)
			holding.Wait()
		})
	}
}

// Callers without a credential share a budget. A flood of theirs uses up what they have, not what a caller with a
// credential has, in the header or in the message.
func TestAFloodWithoutACredentialRefusesNoCallerWithOne(t *testing.T) {
	t.Parallel()
	s := startServer(t, &server.Options{Port: -1, MaxPayload: 1 << 20})
	stop, err := nats.Serve(connect(t, s, "ben"), agentSubject, echo(nil), nats.Config{
		MaxBody: 100 << 10, Log: zerolog.Nop(),
		Identify: func(bearer string, body []byte) string {
			if bearer != "referee" && !bytes.Contains(body, []byte(`"token of the referee"`)) {
				return ""
			}
			return "referee"
		},
		RateLimited: func(time.Duration) error { return &transport.Error{Code: 22, Message: "too fast"} },
	})
	require.NoError(t, err)
	t.Cleanup(func() { stop(0) })
	flooder := connect(t, s, "eve")
	batch := "[" + strings.Repeat(`{"jsonrpc":"2.0","method":"say","params":{}},`, 99) + `{"jsonrpc":"2.0","method":"say","params":{}}]`
	for range 80 { // of 20 in a second, after 4 s
		require.NoError(t, flooder.PublishRequest(agentSubject, nats.InboxOf("eve")+".x", []byte(batch)))
	}
	require.NoError(t, flooder.Flush())
	client := newClient(t, connect(t, s, "whistle"), "whistle")
	call := func(q transport.Request) int {
		_, _, err := client.Call(t.Context(), q)
		return code(err)
	}
	require.Eventually(t, func() bool { return call(say("hello")) == 22 }, patience, time.Millisecond, "the shared budget is empty")
	q := say("hello")
	q.Bearer = "referee"
	for range 100 {
		require.Zero(t, call(q))
		require.Zero(t, call(say("token of the referee")))
	}
	q.Bearer = "wrong"
	assert.Equal(t, 22, call(q))
}

// code is the code of the error in a reply; 0 for none.
func code(err error) int {
	if e, ok := errors.AsType[transport.RPCError](err); ok {
		n, _, _ := e.RPCError()
		return n
	}
	return 0
}

// While the own connection is down, a call fails at once, also one that waits for its reply: the silence is not that of
// the agent. When the server is back, calls work again.
func TestCallsDuringARestartOfTheServerAreVoid(t *testing.T) {
	t.Parallel()
	s := startServer(t, &server.Options{Port: -1})
	port := s.Addr().(*net.TCPAddr).Port
	hold, held := make(chan struct{}), make(chan error)
	defer close(hold)
	serve(t, connect(t, s, "ben"), agentSubject, echo(hold), transport.Limits{})
	client := newClient(t, connect(t, s, "manager"), "manager")
	call := func(text string) error {
		_, _, err := client.Call(t.Context(), say(text))
		return err
	}
	require.NoError(t, call("hello"))
	go func() { held <- call("hold") }()
	hold <- struct{}{} // it has begun
	s.Shutdown()
	require.Equal(t, transport.Local, transport.KindOf(<-held))
	require.Equal(t, transport.Local, transport.KindOf(call("hello")))
	startServer(t, &server.Options{Port: port})
	assert.Eventually(t, func() bool { return call("hello") == nil }, patience, 10*time.Millisecond)
}

// An agent that sees a request cannot answer the next one in the name of another, and nobody makes a manager publish
// where the caller may not.
func TestForgedRepliesChangeNothing(t *testing.T) {
	t.Parallel()
	s := startServer(t, &server.Options{Port: -1})
	var log bytes.Buffer
	conn := connect(t, s, "manager")
	stop, err := nats.Serve(conn, "evenodd.L.manager.*", echo(nil), nats.Config{MaxBody: 1000, Log: zerolog.New(&log)})
	require.NoError(t, err)
	serve(t, connect(t, s, "ben"), agentSubject, echo(nil), transport.Limits{})
	forger := connect(t, s, "eve")
	var seen atomic.Pointer[string]
	_, err = forger.Subscribe(agentSubject, func(m *natsgo.Msg) {
		if last := seen.Swap(&m.Reply); last != nil {
			_ = forger.Publish(*last, []byte(`{"jsonrpc":"2.0","result":{"said":"forged"},"id":1}`))
			_ = forger.Publish(nats.InboxOf("manager")+".guess", []byte(`{"jsonrpc":"2.0","result":{"said":"forged"},"id":1}`))
		}
	})
	require.NoError(t, err)
	require.NoError(t, forger.Flush())
	client := newClient(t, conn, "manager")
	for range 20 {
		result, _, err := client.Call(t.Context(), say("hello"))
		require.NoError(t, err)
		require.NotContains(t, result, "forged")
	}
	refused := []string{"evenodd.L.journal.1", "$JS.API.STREAM.PURGE.x", "evenodd.L.manager.ben", "_INBOX_ben.x", "_INBOX_annabel.x"}
	var published atomic.Int64
	for _, subject := range refused {
		_, err := forger.Subscribe(subject, func(*natsgo.Msg) { published.Add(1) })
		require.NoError(t, err)
	}
	for _, subject := range append(refused, "_INBOX_anna.x") {
		require.NoError(t, forger.PublishRequest(managerSubject, subject, []byte(`{"jsonrpc":"2.0","method":"say","params":{},"id":1}`)))
	}
	require.NoError(t, forger.Flush())
	q := say("hello")
	q.Endpoint = nats.Scheme + managerSubject
	_, _, err = newClient(t, connect(t, s, "anna"), "anna").Call(t.Context(), q) // after those of the forger
	require.NoError(t, err)
	require.NoError(t, forger.Flush())
	stop(patience)
	assert.Zero(t, published.Load())
	assert.Equal(t, len(refused)-1, strings.Count(log.String(), "NATS_REPLY_REFUSED"), "the server drops the one of JetStream")
}

// A user that may not call an agent learns so at once: the agent is not silent.
func TestACallThatTheServerForbidsIsALocalFault(t *testing.T) {
	t.Parallel()
	player := &server.User{Username: "anna", Password: "p", Permissions: &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: []string{managerSubject}},
		Subscribe: &server.SubjectPermission{Allow: []string{"evenodd.L.agent.anna", "_INBOX_anna.>"}},
	}}
	s := startServer(t, &server.Options{Port: -1, Users: []*server.User{player}})
	conn := connect(t, s, "anna", natsgo.UserInfo("anna", "p"))
	_, _, err := newClient(t, conn, "anna").Call(t.Context(), say("hello"))
	require.Equal(t, transport.Local, transport.KindOf(err), "%v", err)
	_, err = nats.Serve(conn, agentSubject, echo(nil), nats.Config{})
	require.ErrorContains(t, err, "the NATS server does not let this user answer at evenodd.L.agent.ben")
}
