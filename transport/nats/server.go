package nats

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
	"golang.org/x/time/rate"

	"evenodd/transport"
)

// Config configures a server. Its members are those of an HTTP server.
type Config struct {
	MaxBody       int64                                            // bytes of a request
	MaxBearerBody int64                                            // bytes of a request whose bearer credential is valid; 0 means MaxBody
	Identify      func(bearer string, body []byte) (caller string) // nil identifies nobody
	TooLarge      func(ctx context.Context, limit int64) error
	RateLimited   func(wait time.Duration) error
	Limits        transport.Limits // of callers; the zero value has the defaults
	Log           zerolog.Logger
}

// Bounds of a server.
const (
	flushTimeout = 2 * time.Second // until the server has answered a subscription
	mostMessages = 8192            // that wait for receive, which never blocks; the library drops further ones
	mostBytes    = 32 << 20
)

// A server answers the calls to one subject.
type server struct {
	Config
	conn    *nats.Conn
	mux     *transport.Mux
	named   bool // the last token of the subject of a request names its caller
	budgets *transport.Budgets
	life    context.Context //nolint:containedctx // of all handlers

	strange rate.Sometimes // limits lines of the log

	mu      sync.Mutex // orders new requests before stop
	stopped bool
	workers *transport.Workers
}

// Serve answers the calls to a subject until stop is called, which waits for running handlers, for so
// long at most. Where the last token of the subject is *, it is the name of the caller: the users of the
// server must let each publish to its own only.
func Serve(conn *nats.Conn, subject string, mux *transport.Mux, c Config) (
	stop func(patience time.Duration), err error,
) {
	c.MaxBearerBody = max(c.MaxBearerBody, c.MaxBody)
	s := &server{Config: c, conn: conn, mux: mux, named: strings.HasSuffix(subject, ".*"),
		budgets: transport.NewBudgets(c.Limits.OrDefault()), workers: transport.NewWorkers(nil),
		strange: rate.Sometimes{First: 10, Interval: time.Minute}}
	life, end := context.WithCancel(context.Background())
	s.life = life
	subscription, err := conn.Subscribe(subject, s.receive)
	if err == nil {
		err = subscription.SetPendingLimits(mostMessages, mostBytes)
	}
	if err != nil {
		end()
		return nil, err
	}
	stop = func(patience time.Duration) {
		_ = subscription.Unsubscribe() // an error means that the connection is closed
		s.mu.Lock()
		s.stopped = true
		s.mu.Unlock()
		defer time.AfterFunc(patience, end).Stop()
		s.workers.Stop()
		end()
	}
	if !conn.IsConnected() { // the log tells if the server refuses it later
		return stop, nil
	}
	limited, cancel := context.WithTimeout(life, flushTimeout)
	defer cancel()
	if err := conn.FlushWithContext(limited); err == nil && errors.Is(conn.LastError(), nats.ErrPermissionViolation) {
		stop(0)
		return nil, fmt.Errorf("the NATS server does not let this user answer at %s: %w", subject, conn.LastError())
	}
	return stop, nil
}

// A Caller is the sender of a request.
type Caller struct {
	Name  string // by the subject of the request
	Known bool   // whether the server authenticates users: then the name is certain
}

type callerKey struct{}

// CallerOf is the caller of the request with a context; the zero value where requests do not name theirs, and
// for other carriers.
func CallerOf(ctx context.Context) Caller {
	c, _ := ctx.Value(callerKey{}).(Caller)
	return c
}

// receive begins to answer a request. It refuses one that is beyond the limits of its caller at once.
func (s *server) receive(m *nats.Msg) {
	from, inbox := Caller{}, InboxOf("")
	if s.named {
		from.Name = m.Subject[strings.LastIndexByte(m.Subject, '.')+1:]
		from.Known = s.conn.AuthRequired()
		inbox = InboxOf(from.Name) + "."
	}
	if m.Reply != "" && !strings.HasPrefix(m.Reply, inbox) {
		// It would make this agent publish where the caller may not: to a journal, or as another's reply.
		s.strange.Do(func() {
			s.Log.Warn().Str("subject", m.Subject).Str("reply", m.Reply[:min(len(m.Reply), maxShown)]).
				Str("event_type", "NATS_REPLY_REFUSED").
				Msg("a request wants its reply at a subject that is not an inbox of its caller")
		})
		return
	}
	if !s.mux.Open() { // the process that may answer gets the request too
		return
	}
	budget, wait := s.enter(m, from)
	if budget == nil {
		s.respond(m, transport.EncodeError(s.RateLimited(max(wait, time.Second))))
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		s.budgets.Leave(budget)
		return
	}
	s.workers.Start(func() { s.work(m, from, budget) })
}

// enter counts a request as a call of its caller, whom the server of NATS knows, or else as one of all others. If these
// have too many, it counts as a call of the caller that its credential names, as over HTTP.
func (s *server) enter(m *nats.Msg, from Caller) (budget *transport.Budget, wait time.Duration) {
	id := transport.CallerID{}
	if from.Known {
		id.Name = Scheme + from.Name // no credential names a caller so
	}
	if budget, wait = s.budgets.Enter(id); budget != nil || from.Known || s.Identify == nil {
		return budget, wait
	}
	body := m.Data
	if int64(len(body)) > s.MaxBody {
		body = nil
	}
	if name := s.Identify(transport.Bearer(m.Header.Get(authorization)), body); name != "" {
		return s.budgets.Enter(transport.CallerID{Name: name})
	}
	return nil, wait
}

// work answers a request that has been admitted.
func (s *server) work(m *nats.Msg, from Caller, budget *transport.Budget) {
	defer s.budgets.Leave(budget)
	ctx := s.life // handlers have limits of their own: nobody tells when a caller waits no more
	if s.named {
		ctx = context.WithValue(ctx, callerKey{}, from)
	}
	answer := s.answer(ctx, m)
	if answer.Calls > 1 {
		budget.Batch(answer.Calls)
	}
	s.respond(m, answer.Body)
}

// maxShown is how many bytes of a subject the log shows.
const maxShown = 100

// answer answers a request by the mux, unless it is too large.
func (s *server) answer(ctx context.Context, m *nats.Msg) transport.Answer {
	bearer, limit := transport.Bearer(m.Header.Get(authorization)), s.MaxBody
	if size := int64(len(m.Data)); size > limit {
		if s.Identify != nil && s.Identify(bearer, nil) != "" {
			limit = s.MaxBearerBody
		}
		if size > limit {
			return transport.Answer{Body: transport.EncodeError(s.TooLarge(ctx, limit))}
		}
	}
	return s.mux.Serve(ctx, bearer, m.Data)
}

// respond sends a reply, if the request wants one. A reply that the server would refuse becomes an error.
func (s *server) respond(m *nats.Msg, body []byte) {
	if m.Reply == "" || !s.mux.Open() {
		return
	}
	reply := &nats.Msg{Subject: m.Reply, Data: body}
	if err := checkSize(s.conn, reply); err != nil {
		s.Log.Error().Err(err).Str("event_type", "NATS_REPLY_TOO_LARGE").Msg("a reply cannot be sent")
		reply.Data = transport.EncodeError(&transport.Error{Code: transport.CodeInternal, Message: err.Error()})
	}
	if err := s.conn.PublishMsg(reply); err != nil { // the caller calls again
		s.Log.Warn().Err(err).Str("event_type", "NATS_REPLY_NOT_SENT").Msg("a reply cannot be sent")
	}
}
