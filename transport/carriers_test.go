package transport_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/nats-io/nats-server/v2/server"
	natsgo "github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
	"evenodd/transport"
	"evenodd/transport/http"
	"evenodd/transport/memory"
	"evenodd/transport/nats"
	"evenodd/transport/pipenet"
)

// A carrier serves a mux at an endpoint until stop is called.
type carrier struct {
	name  string
	serve func(t *testing.T, mux *transport.Mux) (caller protocol.Caller, endpoint string, stop func())
}

func carriers() []carrier {
	onBus := func(bus func() *memory.Bus) func(t *testing.T, mux *transport.Mux) (protocol.Caller, string, func()) {
		return func(_ *testing.T, mux *transport.Mux) (protocol.Caller, string, func()) {
			b := bus()
			stop := b.Listen("memory://agent", mux)
			return b, "memory://agent", stop
		}
	}
	return []carrier{
		{"memory", onBus(memory.NewBus)},
		{"wire", onBus(memory.NewWireBus)},
		{"http", func(_ *testing.T, mux *transport.Mux) (protocol.Caller, string, func()) {
			l := pipenet.Listen("agent.test:80")
			server, client := http.NewServer(mux, http.Config{MaxBody: 10 << 10}), http.NewClient(http.ClientConfig{MaxReply: 64 << 10, Dial: l.Dial})
			var serving sync.WaitGroup
			serving.Go(func() { _ = server.Serve(l) }) // ends by Shutdown
			return client, "http://agent.test:80" + http.Path, func() {
				client.Close()
				_ = server.Shutdown(context.Background()) // waits for handlers
				serving.Wait()
			}
		}},
		{"nats", func(t *testing.T, mux *transport.Mux) (protocol.Caller, string, func()) {
			s, err := server.NewServer(&server.Options{DontListen: true, NoLog: true, NoSigs: true}) // over pipes
			require.NoError(t, err)
			s.Start()
			conn, err := natsgo.Connect("", natsgo.InProcessServer(s))
			require.NoError(t, err)
			client, err := nats.NewClient(conn, "manager", func(string) bool { return true }, 64<<10)
			require.NoError(t, err)
			stop, err := nats.Serve(conn, "agent", mux, nats.Config{MaxBody: 10 << 10})
			require.NoError(t, err)
			return client, "nats://agent", func() {
				client.Close()
				stop(time.Minute)
				conn.Close()
				s.Shutdown()
				s.WaitForShutdown()
			}
		}},
	}
}

// A callResult is everything that a caller learns from a call.
type callResult struct {
	Result      string // as JSON
	Code        protocol.Code
	RPC         int
	Detail      string
	Context     string // of the error, as JSON
	Remote      bool   // the other side answered with the error
	Unreachable bool
	GaveUp      bool // the caller itself
	Took        time.Duration
}

func outcomeOf(t *testing.T, result any, err error, took time.Duration) callResult {
	t.Helper()
	o := callResult{Took: took, GaveUp: errors.Is(err, context.Canceled), Unreachable: protocol.Unreachable(err)}
	switch e := protocol.AsError(err); {
	case e != nil:
		o.Code, o.RPC, o.Remote, o.Context = e.Code, e.RPC, e.Remote, asJSON(t, e.Context)
		if !o.Unreachable { // every network has its own words for it
			o.Detail = e.Detail
		}
	case err == nil:
		o.Result = asJSON(t, result)
	}
	return o
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	encoded, err := json.Marshal(v)
	require.NoError(t, err)
	var plain any // members in order, whatever v was
	require.NoError(t, json.Unmarshal(encoded, &plain))
	encoded, err = json.Marshal(plain)
	require.NoError(t, err)
	return string(encoded)
}

// call makes a call without its timing.
func call(ctx context.Context, caller transport.Caller, r transport.Request) (any, error) {
	result, _, err := caller.Call(ctx, r)
	return result, err
}

// A pinged is a handler of ping.
type pinged = func(ctx context.Context, bearer string, q *protocol.ToolRequest) (*protocol.Pong, error)

func ping(h pinged) func(protocol.Mux, *protocol.Stamp) {
	return func(mux protocol.Mux, stamp *protocol.Stamp) { protocol.Ping.Handle(mux, stamp, h) }
}

func sendPing(ctx context.Context, caller protocol.Caller, to protocol.Peer) (any, error) {
	return protocol.Ping.Call(ctx, caller, to, &protocol.ToolRequest{Envelope: protocol.Envelope{ConversationID: "conv-1"}, LeagueID: "league"})
}

// invitation is a valid GAME_INVITATION.
func invitation() *protocol.GameInvitation {
	return &protocol.GameInvitation{
		Envelope: protocol.Envelope{
			Protocol: protocol.Name, MessageType: protocol.TypeGameInvitation, Sender: "referee:REF01",
			Timestamp: "2025-01-15T10:15:00Z", ConversationID: "conv-r1m1", AuthToken: "tok-ref01",
		},
		LeagueID: "league", RoundID: 1, MatchID: "R1M1", GameType: "even_odd", RoleInMatch: protocol.RolePlayerA, OpponentID: "P02",
	}
}

func invited(mux protocol.Mux, stamp *protocol.Stamp) {
	yes := true
	protocol.Invite.Handle(mux, stamp, func(_ context.Context, _ string, q *protocol.GameInvitation) (*protocol.GameJoinAck, error) {
		return &protocol.GameJoinAck{MatchID: q.MatchID, PlayerID: "P01", Accept: &yes}, nil
	})
}

func sendInvitation(change func(*protocol.GameInvitation)) func(context.Context, protocol.Caller, protocol.Peer) (any, error) {
	return func(ctx context.Context, caller protocol.Caller, to protocol.Peer) (any, error) {
		q := invitation()
		change(q)
		return protocol.Invite.Call(ctx, caller, to, q)
	}
}

// pong is the answer to a ping at a number of seconds of virtual time.
func pong(status string, seconds int) string {
	return fmt.Sprintf(`{"conversation_id":"conv-1","message_type":"PONG","protocol":"league.v2","sender":"player:P01","status":%q,"timestamp":"2000-01-01T00:00:%02dZ"}`, status, seconds)
}

const joined = `{"accept":true,"conversation_id":"conv-r1m1","match_id":"R1M1","message_type":"GAME_JOIN_ACK",` +
	`"player_id":"P01","protocol":"league.v2","sender":"player:P01","timestamp":"2000-01-01T00:00:00Z"}`

// Every call has the same result over every carrier.
func TestAllCarriersBehaveAlike(t *testing.T) {
	answer := func(status string) pinged {
		return func(context.Context, string, *protocol.ToolRequest) (*protocol.Pong, error) {
			return &protocol.Pong{Status: status}, nil
		}
	}
	refuse := func(err error) pinged {
		return func(context.Context, string, *protocol.ToolRequest) (*protocol.Pong, error) { return nil, err }
	}
	for _, tt := range []struct {
		name  string
		serve func(protocol.Mux, *protocol.Stamp)
		call  func(context.Context, protocol.Caller, protocol.Peer) (any, error)
		want  callResult
	}{
		{"a call is answered", ping(answer("alive")), sendPing, callResult{Result: pong("alive", 0)}},
		{"in any script", ping(answer("שלום 🎲 é")), sendPing, callResult{Result: pong("שלום 🎲 é", 0)}},
		{"the message arrives whole", ping(func(_ context.Context, _ string, q *protocol.ToolRequest) (*protocol.Pong, error) {
			return &protocol.Pong{Status: q.LeagueID + "/" + q.ConversationID}, nil
		}), sendPing, callResult{Result: pong("league/conv-1", 0)}},
		{"the bearer arrives beside it", ping(func(_ context.Context, bearer string, _ *protocol.ToolRequest) (*protocol.Pong, error) {
			return &protocol.Pong{Status: bearer}, nil
		}), sendPing, callResult{Result: pong("credential", 0)}},
		{"an invitation is accepted", invited, sendInvitation(func(*protocol.GameInvitation) {}), callResult{Result: joined}},
		{"a broadcast arrives", invited, func(ctx context.Context, caller protocol.Caller, to protocol.Peer) (any, error) {
			return protocol.Invite.CallMany(ctx, caller, to, protocol.Many(invitation()), time.Second)
		}, callResult{Result: joined}},
		{"a message is known by its type", invited, func(ctx context.Context, caller protocol.Caller, to protocol.Peer) (any, error) {
			return call(ctx, caller, transport.Request{Endpoint: to.Endpoint, Method: "mcp_message", Params: invitation(), Decode: decoded[protocol.GameJoinAck]})
		}, callResult{Result: joined}},
		{"a method is known by another name", func(mux protocol.Mux, stamp *protocol.Stamp) {
			protocol.ChooseParity.Handle(mux, stamp, func(_ context.Context, _ string, q *protocol.ChooseParityCall) (*protocol.ChooseParityResponse, error) {
				return nil, protocol.Fault(protocol.ErrMatchNotFound, "no match %s", q.MatchID)
			})
		}, func(ctx context.Context, caller protocol.Caller, to protocol.Peer) (any, error) {
			return call(ctx, caller, transport.Request{Endpoint: to.Endpoint, Method: "parity_choose", Params: &protocol.ChooseParityCall{
				Envelope: protocol.Envelope{Protocol: protocol.Name, MessageType: protocol.TypeChooseParityCall, Sender: "referee:REF01",
					Timestamp: "2025-01-15T10:15:00Z", ConversationID: "conv-r1m1"},
				MatchID: "R1M1", PlayerID: "P01", GameType: "even_odd", Deadline: "2025-01-15T10:15:30Z",
				Context: protocol.ChoiceContext{OpponentID: "P02", RoundID: 1, YourStandings: &protocol.Record{}},
			}, Decode: decoded[protocol.ChooseParityResponse]})
		}, callResult{Code: protocol.ErrMatchNotFound, RPC: 4003, Detail: "no match R1M1", Remote: true}},

		{"an error of the catalogue", ping(refuse(protocol.Fault(protocol.ErrNotAuthorized, "not your match").With("match_id", "R1M1"))), sendPing,
			callResult{Code: protocol.ErrNotAuthorized, RPC: 14, Detail: "not your match", Remote: true}},
		{"a wrapped error of the catalogue", ping(refuse(fmt.Errorf("refused: %w", protocol.Fault(protocol.ErrLeagueNotFound, "no such league")))), sendPing,
			callResult{Code: protocol.ErrLeagueNotFound, RPC: 6003, Detail: "no such league", Remote: true}},
		{"an error with a code of the method", func(mux protocol.Mux, stamp *protocol.Stamp) {
			protocol.GetStandings.Handle(mux, stamp, func(context.Context, string, *protocol.ToolRequest) (*protocol.LeagueQueryResponse, error) {
				return nil, protocol.Fault(protocol.ErrTokenInvalid, "not the token of P01")
			})
		}, func(ctx context.Context, caller protocol.Caller, to protocol.Peer) (any, error) {
			return protocol.GetStandings.Call(ctx, caller, to, &protocol.ToolRequest{})
		}, callResult{Code: protocol.ErrTokenInvalid, RPC: 6001, Detail: "not the token of P01", Remote: true}},
		{"an error of JSON-RPC", ping(refuse(&protocol.Error{RPC: -32602, Detail: "Invalid params", Remote: true})), sendPing,
			callResult{RPC: -32602, Detail: "Invalid params", Remote: true}},
		{"a panic", ping(func(context.Context, string, *protocol.ToolRequest) (*protocol.Pong, error) { panic("secret") }), sendPing,
			callResult{RPC: -32603, Detail: "Internal error", Remote: true}},
		{"an internal error", func(mux protocol.Mux, _ *protocol.Stamp) {
			mux.Handle(protocol.Ping.Name, func([]byte) (any, error) { return 0, nil },
				func(context.Context, string, any) (any, error) { return nil, errors.New("secret") })
		}, sendPing, callResult{RPC: -32603, Detail: "Internal error", Remote: true}},
		{"the end of a context inside the handler", func(mux protocol.Mux, _ *protocol.Stamp) {
			mux.Handle(protocol.Ping.Name, func([]byte) (any, error) { return 0, nil },
				func(context.Context, string, any) (any, error) { return nil, context.Canceled })
		}, sendPing, callResult{RPC: -32603, Detail: "Internal error", Remote: true}},
		{"an unknown method", invited, sendPing, callResult{RPC: -32601, Detail: "Method not found", Remote: true}},
		{"nobody listens", invited, func(ctx context.Context, caller protocol.Caller, to protocol.Peer) (any, error) {
			return sendPing(ctx, caller, protocol.Peer{Endpoint: strings.Replace(to.Endpoint, "agent", "nobody", 1), Bearer: to.Bearer})
		}, callResult{Code: protocol.ErrConnection, RPC: -2, Unreachable: true}},

		{"an answer at the last moment", ping(slowly(10*time.Second - 1)), sendPing, callResult{Result: pong("slow", 9), Took: 10*time.Second - 1}},
		{"an answer too late", ping(slowly(11 * time.Second)), sendPing,
			callResult{Code: protocol.ErrTimeout, RPC: -1, Detail: "no answer in time", Took: 10 * time.Second}},
		{"a caller with less time than the method", ping(slowly(11 * time.Second)), func(ctx context.Context, caller protocol.Caller, to protocol.Peer) (any, error) {
			pong, _, err := protocol.Ping.CallWithin(ctx, caller, to, &protocol.ToolRequest{}, 2*time.Second)
			return pong, err
		}, callResult{Code: protocol.ErrTimeout, RPC: -1, Detail: "no answer in time", Took: 2 * time.Second}},
		{"a canceled call", ping(slowly(11 * time.Second)), func(ctx context.Context, caller protocol.Caller, to protocol.Peer) (any, error) {
			ctx, cancel := context.WithCancel(ctx)
			defer time.AfterFunc(3*time.Second, cancel).Stop()
			return sendPing(ctx, caller, to)
		}, callResult{GaveUp: true, Took: 3 * time.Second}},
	} {
		var first *callResult
		for _, c := range carriers() {
			t.Run(tt.name+", over "+c.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					mux := transport.NewMux(zerolog.Nop())
					mux.Fallback(protocol.MethodFor)
					tt.serve(mux, protocol.NewStamp("player:P01", protocol.SystemClock()))
					caller, endpoint, stop := c.serve(t, mux)
					start := time.Now()
					result, err := tt.call(t.Context(), caller, protocol.Peer{Endpoint: endpoint, Bearer: "credential"})
					got := outcomeOf(t, result, err, time.Since(start))
					stop()

					want := tt.want
					want.Context = got.Context // the protocol's own business, but alike
					if want.Detail == "" {
						want.Detail = got.Detail
					}
					assert.Equal(t, want, got)
					if first == nil {
						first = &got
					}
					assert.Equal(t, *first, got, "as over %s", carriers()[0].name)
				})
			})
		}
	}
}

// slowly answers ping after some time.
func slowly(took time.Duration) pinged {
	return func(context.Context, string, *protocol.ToolRequest) (*protocol.Pong, error) {
		time.Sleep(took)
		return &protocol.Pong{Status: "slow"}, nil
	}
}

// decoded reads a result of a carrier of bytes.
func decoded[R any](raw []byte) (any, error) {
	r := new(R)
	return r, jsonv2.Unmarshal(raw, r)
}
