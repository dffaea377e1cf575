package transport

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/rs/zerolog"
)

// A Mux holds an agent's handlers by method. Register them all before the
// first call; then it is safe for concurrent use.
type Mux struct {
	routes   map[string]route
	fallback func(params any) (method string, ok bool)
	unread   func(ctx context.Context, method string, err error)
	open     func() bool // nil: always
	answered Answered    // nil for no observer
	guard    Guard       // nil for none
	prompt   bool
	log      zerolog.Logger
}

type route struct {
	method string
	decode func(params []byte) (any, error)
	handle func(ctx context.Context, bearer string, params any) (any, error)
}

// NewMux makes an empty mux. At debug level log gets a line for every call.
func NewMux(log zerolog.Logger) *Mux {
	return &Mux{routes: map[string]route{}, unread: func(context.Context, string, error) {}, log: log}
}

// Handle registers a method. Decode must fail for anything that is not one whole JSON
// value without repeated names, as package json/v2 does, because nothing else checks
// that.
func (m *Mux) Handle(
	method string, decode func(params []byte) (any, error),
	handle func(ctx context.Context, bearer string, params any) (any, error),
) {
	m.routes[method] = route{method, decode, handle}
}

// Fallback names the method of a call whose method is not registered.
func (m *Mux) Fallback(resolve func(params any) (method string, ok bool)) { m.fallback = resolve }

// OnUnread makes the mux call f, from any goroutine, for every encoded request that no
// handler can read: it is no JSON-RPC request, its method is not registered, or its params
// cannot be decoded. The method is "" where the request names none.
func (m *Mux) OnUnread(f func(ctx context.Context, method string, err error)) { m.unread = f }

// OnAnswered makes the mux call f, from any goroutine, after every encoded call, also one that no handler can read.
// The method is that of the request, "" where it names none. Took is the time until the result was encoded.
func (m *Mux) OnAnswered(f Answered) { m.answered = f }

// Answered is told of a call that was answered.
type Answered func(ctx context.Context, method string, result any, err error, took time.Duration)

// Guarded sets the guard of the handlers. A panic of a handler is always an error of its call alone.
func (m *Mux) Guarded(guard Guard) { m.guard = guard }

// SetPrompt declares that each handler returns at once: it waits for this process and its disk alone, and no longer
// than until its context ends. A carrier within the process may run such handlers in the goroutine of their caller,
// which holds no lock that a handler needs.
func (m *Mux) SetPrompt() { m.prompt = true }

// Prompt tells whether SetPrompt was called.
func (m *Mux) Prompt() bool { return m.prompt }

func (m *Mux) find(method string, params any) (route, error) {
	if r, ok := m.routes[method]; ok {
		return r, nil
	}
	if m.fallback != nil {
		if method, ok := m.fallback(params); ok {
			if r, ok := m.routes[method]; ok {
				return r, nil
			}
		}
	}
	return route{}, &Error{Code: CodeMethodNotFound, Message: "Method not found"}
}

// Dispatch answers a call whose params are a value. Its errors are the same that a
// carrier of bytes sends.
func (m *Mux) Dispatch(ctx context.Context, bearer, method string, params any) (result any, err error) {
	defer m.contain(method, &err)
	r, err := m.find(method, params)
	if err != nil {
		return nil, err
	}
	result, err = m.run(ctx, r, method, bearer, params)
	if err != nil {
		return nil, asRPC(err)
	}
	return result, nil
}

// Handles tells whether a method is registered.
func (m *Mux) Handles(method string) bool {
	_, ok := m.routes[method]
	return ok
}

// DispatchEncoded answers a call whose params are encoded, for carriers with another
// envelope than JSON-RPC 2.0. Its errors are those of Dispatch.
func (m *Mux) DispatchEncoded(ctx context.Context, bearer, method string, params []byte) (result any, err error) {
	if m.answered != nil {
		begun := time.Now()
		defer func() { m.answered(ctx, method, result, err, time.Since(begun)) }()
	}
	defer m.contain(method, &err)
	if result, err = m.dispatchRaw(ctx, bearer, method, params); err != nil {
		return nil, asRPC(err)
	}
	return result, nil
}

// dispatchRaw answers a call whose params are encoded.
func (m *Mux) dispatchRaw(ctx context.Context, bearer, method string, params []byte) (any, error) {
	r, err := m.find(method, params)
	if err != nil {
		m.unread(ctx, method, err)
		return nil, err
	}
	value, err := r.decode(params)
	if err != nil {
		m.log.Debug().Str("method", method).Err(err).Str("event_type", "CALL_REFUSED").Msg("call refused")
		m.unread(ctx, method, err)
		return nil, err
	}
	return m.run(ctx, r, method, bearer, value)
}

// contain, deferred, turns a panic into an error of this call.
func (m *Mux) contain(method string, err *error) {
	if v := recover(); v != nil {
		stack := debug.Stack()
		m.log.Error().Str("method", method).Str("panic", fmt.Sprint(v)).Bytes("stack", stack).
			Str("event_type", "HANDLER_PANIC").Msg("a handler panicked")
		if m.guard != nil {
			m.guard(v, stack)
		}
		*err = &Error{Code: CodeInternal, Message: "Internal error"}
	}
}

// run calls the handler.
func (m *Mux) run(ctx context.Context, r route, method, bearer string, params any) (any, error) {
	if e := m.log.Debug(); e.Enabled() {
		describe(e, params).Func(party("sender", params)).Str("method", method).
			Str("event_type", "MESSAGE_RECEIVED").Msg("received")
	}
	if !m.Open() {
		return nil, closedGate()
	}
	result, err := r.handle(ctx, bearer, params)
	if !m.Open() {
		result, err = nil, closedGate()
	}
	if e := m.log.Debug(); e.Enabled() {
		if err != nil {
			describe(e, params).Func(party("recipient", params)).Str("method", method).Err(err).Str("event_type", "ERROR_SENT").Msg("answered with an error")
		} else {
			describe(e, result).Func(party("recipient", params)).Str("method", method).
				Str("event_type", "MESSAGE_SENT").Msg("answered")
		}
	}
	return result, err
}

// party adds the sender of a request under a name, if it names one.
func party(name string, request any) func(e *zerolog.Event) {
	return func(e *zerolog.Event) {
		if v, ok := request.(interface{ From() string }); ok && v.From() != "" {
			e.Str(name, v.From())
		}
	}
}
