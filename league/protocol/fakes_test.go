package protocol_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
	"evenodd/transport"
)

// An rpcFailure is a JSON-RPC error as a carrier returns it.
type rpcFailure struct {
	code    int
	message string
	data    any
}

func (e *rpcFailure) Error() string { return fmt.Sprintf("rpc %d: %s", e.code, e.message) }
func (e *rpcFailure) Unwrap() error {
	return &transport.Error{Code: e.code, Message: e.message, Data: e.data}
}

// A fakeMux is an agent's handlers without a carrier.
type fakeMux struct{ routes map[string]route }

type route struct {
	decode func([]byte) (any, error)
	handle func(context.Context, string, any) (any, error)
}

var _ protocol.Mux = (*fakeMux)(nil)

func newMux() *fakeMux { return &fakeMux{map[string]route{}} }

func (m *fakeMux) Handle(method string, decode func([]byte) (any, error), handle func(context.Context, string, any) (any, error)) {
	m.routes[method] = route{decode, handle}
}

func (m *fakeMux) Fallback(func(any) (string, bool)) {}

func (m *fakeMux) OnUnread(func(context.Context, string, error)) {}

// ask calls a method with encoded params, as a carrier of bytes does.
func (m *fakeMux) ask(t require.TestingT, method string, params []byte) (any, error) {
	r, ok := m.routes[method]
	require.True(t, ok, "no handler of %s", method)
	value, err := r.decode(params)
	if err != nil {
		return nil, err
	}
	return r.handle(context.Background(), "", value)
}

// give calls a method with a value, as the value bus does.
func (m *fakeMux) give(t require.TestingT, method string, params any) (any, error) {
	r, ok := m.routes[method]
	require.True(t, ok, "no handler of %s", method)
	return r.handle(context.Background(), "", params)
}

// A callerFunc is a carrier made of one function.
type callerFunc func(ctx context.Context, c sent) (any, error)

// sent is a recorded call.
type sent = protocol.CallRequest

var _ protocol.Caller = callerFunc(nil)

func (f callerFunc) Call(ctx context.Context, r protocol.CallRequest) (any, *protocol.Timing, error) {
	ctx, cancel := context.WithTimeout(ctx, r.Limit)
	defer cancel()
	answer, err := f(ctx, r)
	return answer, nil, err
}

// stopped is a clock that always shows the same moment.
func stopped() *protocol.Clock {
	moment := time.Date(2025, 1, 15, 10, 30, 0, 0, time.UTC)
	return protocol.NewClock(func() time.Time { return moment },
		func(ctx context.Context, _ time.Duration) error { return ctx.Err() })
}

// pointer is the address of a value.
func pointer[T any](v T) *T { return &v }

// serveAll handles every method with an empty result, and counts the accepted requests.
func serveAll(mux protocol.Mux) *atomic.Int64 {
	count := new(atomic.Int64)
	handleAll(mux, func() error { count.Add(1); return nil })
	return count
}

// handleAll handles every method with the error of answer, or with an empty result.
func handleAll(mux protocol.Mux, answer func() error) {
	for _, e := range endpoints() {
		e.serve(mux, answer)
	}
}

// An endpoint is a method without its Go types: it answers requests and reads replies.
type endpoint struct {
	name, request, result string

	serve func(mux protocol.Mux, answer func() error)
	call  func(protocol.Caller) (messageType string, err error) // that of the reply
}

func endpointOf[Q, R any](m *protocol.Method[Q, R]) endpoint {
	return endpoint{
		name: m.Name, request: m.Request, result: m.Result,
		serve: func(mux protocol.Mux, answer func() error) {
			m.Handle(mux, protocol.NewStamp("league_manager", stopped()), func(context.Context, string, *Q) (*R, error) {
				return new(R), answer()
			})
		},
		call: func(caller protocol.Caller) (string, error) {
			r, err := m.Call(context.Background(), caller, protocol.Peer{}, new(Q))
			if err != nil {
				return "", err
			}
			return any(r).(interface{ Type() string }).Type(), nil
		},
	}
}

// endpoints are all methods of the table. Their order is part of the corpora of fuzzing.
func endpoints() []endpoint {
	return []endpoint{
		endpointOf(&protocol.RegisterReferee), endpointOf(&protocol.RegisterPlayer), endpointOf(&protocol.NotifyRound),
		endpointOf(&protocol.StartMatch), endpointOf(&protocol.Invite), endpointOf(&protocol.ChooseParity),
		endpointOf(&protocol.MakeMove), endpointOf(&protocol.NotifyMatchResult), endpointOf(&protocol.NotifyGameError),
		endpointOf(&protocol.ReportMatchResult), endpointOf(&protocol.UpdateStandings),
		endpointOf(&protocol.NotifyRoundCompleted), endpointOf(&protocol.NotifyLeagueCompleted), endpointOf(&protocol.Query),
		endpointOf(&protocol.GetStandings), endpointOf(&protocol.GetMatchState), endpointOf(&protocol.GetMatchTranscript),
		endpointOf(&protocol.GetPlayerState), endpointOf(&protocol.Ping), endpointOf(&protocol.StartLeague),
		endpointOf(&protocol.OrganiseLeague),
	}
}
