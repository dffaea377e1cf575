package thirdparty

import (
	"context"
	"fmt"
	nethttp "net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
	"evenodd/transport/dialect/bridge"
	"evenodd/transport/http"
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
	texts := strings.Repeat(`[`, 10_000) + strings.Repeat(`]`, 10_000)
	return map[string]func(out nethttp.ResponseWriter, in *nethttp.Request){
		"404 to everything":    saying(404, "text/plain", "not found"),
		"-32601 to everything": saying(200, "application/json", `{"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found"},"id":1}`),
		"unknown method":       saying(200, "application/json", `{"error":"Unknown method"}`),
		"hangs":                func(_ nethttp.ResponseWriter, in *nethttp.Request) { <-in.Context().Done() },
		"hangs after its headers": func(out nethttp.ResponseWriter, in *nethttp.Request) {
			out.WriteHeader(nethttp.StatusOK)
			flush(out)
			<-in.Context().Done()
		},
		"drips": func(out nethttp.ResponseWriter, in *nethttp.Request) {
			for in.Context().Err() == nil {
				_, _ = out.Write([]byte(" "))
				flush(out)
				select {
				case <-time.After(time.Second):
				case <-in.Context().Done():
				}
			}
		},
		"1 MB of nonsense":   saying(200, "application/json", strings.Repeat("nonsense ", 1<<20/9)),
		"1 MB of JSON":       saying(404, "application/json", `{"error":"`+strings.Repeat("x", 1<<20)+`"}`),
		"60 KB of events":    saying(200, "text/event-stream", strings.Repeat("data: {\n\n", 60<<10/9)),
		"10,000 deep":        saying(200, "application/json", nested),
		"10,000 arrays deep": saying(404, "application/json", texts),
		"text within text":   saying(200, "application/json", `{"result":{"content":[{"text":"{\"result\":{\"content\":[{\"text\":\"{\\\"result\\\":1}\"}]}}"}]}}`),
		"redirects": func(out nethttp.ResponseWriter, in *nethttp.Request) {
			nethttp.Redirect(out, in, at(elsewhere), nethttp.StatusTemporaryRedirect)
		},
		"redirects for ever": func(out nethttp.ResponseWriter, in *nethttp.Request) {
			nethttp.Redirect(out, in, in.URL.String(), nethttp.StatusPermanentRedirect)
		},
		"closes the connection": func(nethttp.ResponseWriter, *nethttp.Request) { panic(nethttp.ErrAbortHandler) },
		"null":                  saying(200, "application/json", "null"),
		"an empty body":         saying(200, "application/json", ""),
		"an error of null":      saying(200, "application/json", `{"jsonrpc":"2.0","error":null,"result":null,"id":null}`),
	}
}

func flush(out nethttp.ResponseWriter) {
	if f, ok := out.(nethttp.Flusher); ok {
		f.Flush()
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
				Timeouts: protocol.DefaultTimeouts(), RetryPolicy: protocol.DefaultRetryPolicy(), Scoring: protocol.Scoring{Win: 3, Draw: 1},
			})
			return err
		},
		"a registration": func(ctx context.Context, c protocol.Caller, v *protocol.Stamp) error {
			_, err := protocol.RegisterPlayer.Call(ctx, c, protocol.Peer{Endpoint: at(8101)}, &protocol.LeagueRegisterRequest{
				Envelope:   v.Envelope(protocol.TypeLeagueRegisterRequest, "conv-1"),
				PlayerMeta: protocol.PlayerMeta{DisplayName: "P", Version: "1.0.0", GameTypes: []string{"even_odd"}, ContactEndpoint: at(8103)},
			})
			return err
		},
	}
	// Answers that count as acknowledgements, and timeouts of a referee that answers after
	// its match.
	tolerated := map[string]bool{"an empty body": true, "an error of null": true, "text within text": true}
	late := map[string]bool{"hangs": true, "hangs after its headers": true, "drips": true}
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

// Each endpoint has its own forms, and the least recently used endpoints are evicted.
func TestTenThousandEndpointsUseBoundedMemory(t *testing.T) {
	d := bridge.New(bridge.Options{Clock: protocol.SystemClock(), Log: zerolog.Nop()})
	message := `{"jsonrpc":"2.0","method":"handle_game_invitation","params":{"protocol":"league.v2","message_type":"GAME_INVITATION",` +
		`"sender":"referee:REF01","timestamp":"2026-11-20T17:02:32Z","conversation_id":"conv-1","match_id":"R1M1"},"id":1}`
	var mu sync.Mutex
	strayed := 0
	call := func(n int) (tries int) {
		host := fmt.Sprintf("10.0.%d.%d:8101", n/250, n%250)
		status, _, _, err := d.Call(t.Context(), "http://"+host+"/mcp", "", "handle_game_invitation", []byte(message),
			func(_ context.Context, url string, _ map[string]string, body []byte) (http.Posted, error) {
				tries++
				if !strings.HasPrefix(url, "http://"+host+"/") {
					mu.Lock()
					strayed++
					mu.Unlock()
				}
				if !strings.Contains(string(body), `"method":"receive_game_invitation"`) {
					return http.Posted{Status: 404}, nil
				}
				return http.Posted{Status: 200, Body: []byte(`{"jsonrpc":"2.0","result":{"accept":true},"id":1}`)}, nil
			})
		require.NoError(t, err)
		require.Equal(t, 200, status)
		return tries
	}
	const many = 10_000
	call(0)
	before := inUse()
	for n := range many {
		require.LessOrEqual(t, call(n), mostForms)
	}
	assert.Equal(t, 1, call(many-1), "the last endpoint is remembered")
	used := inUse() - before
	assert.Less(t, used, int64(8<<20), "bytes for %d endpoints", many)
	for n := range many {
		call(many + n)
	}
	assert.Less(t, inUse()-before, used+used/2+1<<20, "memory does not grow with the endpoints")
	assert.Zero(t, strayed)
	runtime.KeepAlive(d)
}

func inUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// The bridge posts all forms to the host of the endpoint.
func TestCallAttemptsStayAtTheHost(t *testing.T) {
	inAWorld(t, func(w *world) {
		var mu sync.Mutex
		hosts := map[string]bool{}
		x := &trap{answer: func(out nethttp.ResponseWriter, in *nethttp.Request) {
			mu.Lock()
			hosts[in.Host] = true
			mu.Unlock()
			out.Header().Set("Location", at(elsewhere))
			out.WriteHeader(nethttp.StatusMethodNotAllowed)
		}}
		w.thirdPartyAgent(8101, x)
		_, c := w.edge("", usual)
		for _, endpoint := range []string{at(8101), "http://localhost:8101/a/b/c?x=http://localhost:8666/mcp", "http://localhost:8101/../mcp"} {
			_, err := protocol.StartMatch.Call(w.life, c, protocol.Peer{Endpoint: endpoint}, &protocol.MatchAssignment{
				Envelope: protocol.NewStamp(protocol.ManagerSender, w.clock).Envelope(protocol.TypeMatchAssignment, "conv-1"),
				LeagueID: leagueID, RoundID: 1, MatchID: "R1M1", Attempt: 1, GameType: "even_odd",
			})
			require.Error(t, err)
		}
		assert.Equal(t, map[string]bool{"localhost:8101": true}, hosts)
	})
}
