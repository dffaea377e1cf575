package thirdparty

import (
	"context"
	nethttp "net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"evenodd/league"
	"evenodd/league/protocol"
)

// A trap is a hostile endpoint.
type trap struct {
	answer func(out nethttp.ResponseWriter, in *nethttp.Request)
	calls  atomic.Int64
}

func (x *trap) ServeHTTP(out nethttp.ResponseWriter, in *nethttp.Request) {
	x.calls.Add(1)
	readAll(in) // a server must read the body to notice that its caller has left
	x.answer(out, in)
}

// elsewhere is a port of no agent.
const elsewhere = 8666

// traps are attacks of an endpoint against the search for its form.
func traps() map[string]func(out nethttp.ResponseWriter, in *nethttp.Request) {
	saying := func(status int, kind, body string) func(nethttp.ResponseWriter, *nethttp.Request) {
		return func(out nethttp.ResponseWriter, _ *nethttp.Request) {
			out.Header().Set("Content-Type", kind)
			out.WriteHeader(status)
			_, _ = out.Write([]byte(body))
		}
	}
	nested := strings.Repeat(`{"result":`, 10_000) + "1" + strings.Repeat("}", 10_000)
	return map[string]func(out nethttp.ResponseWriter, in *nethttp.Request){
		"404 to everything":    saying(404, "text/plain", "not found"),
		"-32601 to everything": saying(200, "application/json", `{"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found"},"id":1}`),
		"unknown method":       saying(200, "application/json", `{"error":"Unknown method"}`),
		"hangs":                func(_ nethttp.ResponseWriter, in *nethttp.Request) { <-in.Context().Done() },
		"drips": func(out nethttp.ResponseWriter, in *nethttp.Request) {
			for in.Context().Err() == nil {
				_, _ = out.Write([]byte(" "))
				out.(nethttp.Flusher).Flush()
				select {
				case <-time.After(time.Second):
				case <-in.Context().Done():
				}
			}
		},
		"1 MB of nonsense": saying(200, "application/json", strings.Repeat("nonsense ", 1<<20/9)),
		"1 MB of JSON":     saying(404, "application/json", `{"error":"`+strings.Repeat("x", 1<<20)+`"}`),
		"60 KB of events":  saying(200, "text/event-stream", strings.Repeat("data: {\n\n", 60<<10/9)),
		"10,000 deep":      saying(200, "application/json", nested),
		"text within text": saying(200, "application/json", `{"result":{"content":[{"text":"{\"result\":{\"content\":[{\"text\":\"{\\\"result\\\":1}\"}]}}"}]}}`),
		"redirects": func(out nethttp.ResponseWriter, in *nethttp.Request) {
			nethttp.Redirect(out, in, at(elsewhere), nethttp.StatusTemporaryRedirect)
		},
		"closes the connection": func(nethttp.ResponseWriter, *nethttp.Request) { panic(nethttp.ErrAbortHandler) },
		"an empty body":         saying(200, "application/json", ""),
		"an error of null":      saying(200, "application/json", `{"jsonrpc":"2.0","error":null,"result":null,"id":null}`),
	}
}

// mostForms is the largest number of requests of one call.
const mostForms = 29

// A call to a trap ends in time, makes few requests, and reaches no other host.
func TestHostileEndpointCannotDelayOrMultiplyCalls(t *testing.T) {
	calls := map[string]func(ctx context.Context, c protocol.Caller, v *protocol.Stamp) error{
		"an invitation": func(ctx context.Context, c protocol.Caller, v *protocol.Stamp) error {
			_, err := protocol.Invite.Call(ctx, c, protocol.Peer{Endpoint: at(8101)}, &protocol.GameInvitation{
				Envelope: v.Envelope(protocol.TypeGameInvitation, "conv-1"), LeagueID: leagueID, RoundID: 1, MatchID: "R1M1",
				GameType: "even_odd", RoleInMatch: protocol.RolePlayerA, OpponentID: "P02",
			})
			return err
		},
		"a match": func(ctx context.Context, c protocol.Caller, v *protocol.Stamp) error {
			_, err := protocol.StartMatch.Call(ctx, c, protocol.Peer{Endpoint: at(8101), Bearer: "a credential"}, &protocol.MatchAssignment{
				Envelope: v.Envelope(protocol.TypeMatchAssignment, "conv-1"), LeagueID: leagueID, RoundID: 1, MatchID: "R1M1", Attempt: 1, GameType: "even_odd",
				PlayerA: protocol.AssignedPlayer{PlayerID: "P01", Endpoint: at(8101)}, PlayerB: protocol.AssignedPlayer{PlayerID: "P02", Endpoint: at(8102)},
				Timeouts: protocol.DefaultTimeouts(), RetryPolicy: protocol.DefaultRetryPolicy(), Scoring: league.MatchPoints{Win: 3, Draw: 1},
			})
			return err
		},
	}
	// Answers that count as acknowledgements, and timeouts of a referee that answers after
	// its match.
	tolerated := map[string]bool{"an empty body": true, "an error of null": true, "text within text": true}
	late := map[string]bool{"hangs": true, "drips": true}
	for name, answer := range traps() {
		for what, call := range calls {
			t.Run(name+"/"+what, func(t *testing.T) {
				t.Parallel()
				inAWorld(t, func(w *world) {
					x := &trap{answer: answer}
					w.thirdPartyAgent(8101, x)
					other := &trap{answer: func(out nethttp.ResponseWriter, _ *nethttp.Request) { out.WriteHeader(nethttp.StatusOK) }}
					w.thirdPartyAgent(elsewhere, other)
					w.thirdPartyAgent(8102, other)
					_, c := w.edge(at(8001), usual)
					const patience = 5 * time.Second
					for n := range 3 {
						x.calls.Store(0)
						began := time.Now()
						ctx, stop := context.WithTimeout(w.life, patience)
						err := call(ctx, c, protocol.NewStamp("referee:REF01", w.clock))
						stop()
						if !tolerated[name] && (what != "a match" || !late[name]) {
							assert.Error(t, err)
						}
						assert.LessOrEqual(t, time.Since(began), patience)
						assert.LessOrEqual(t, x.calls.Load(), int64(mostForms), "the %d-th call", n)
						assert.GreaterOrEqual(t, x.calls.Load(), int64(1))
					}
					assert.Zero(t, other.calls.Load(), "somebody else was called")
				})
			})
		}
	}
}
