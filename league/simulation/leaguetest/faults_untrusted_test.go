package leaguetest_test

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	nethttp "net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	league "evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
)

// The hosts that untrusted callers call. They are our agents with the limits of the program.
const (
	somePlayer  = "p03"
	someReferee = "ref01"
)

// untrustedFaults are the faults of untrusted callers and of agents outside their matches.
func untrustedFaults() []*fault {
	// between does something while the league waits for its first round.
	between := func(name, description string, do func(w *hostileWorld)) *fault {
		return &fault{name: name, description: description, of: ofUntrusted,
			league: []func(*league.Options){func(o *league.Options) { o.Pace = 30 * leaguetest.Second }},
			during: func(w *hostileWorld) {
				w.WaitUntil(w.begun + leaguetest.Second)
				do(w)
			}}
	}
	// running does something during the first matches.
	running := func(name, description string, do func(w *hostileWorld)) *fault {
		return &fault{name: name, description: description, of: ofUntrusted, slowly: true, during: func(w *hostileWorld) {
			w.WaitUntil(w.begun + leaguetest.Second/2)
			do(w)
		}}
	}
	registering := func(name, description string, do func(w *hostileWorld)) *fault {
		return &fault{name: name, description: description, of: ofUntrusted, ownResults: allLost, last: do,
			// The window closes registration after 30 s, whether or not the applicant was
			// accepted.
			league: []func(*league.Options){func(o *league.Options) {
				o.Players, o.MaxPlayers, o.MinPlayers, o.RegistrationWindow = 0, 10, 4, 30*leaguetest.Second
			}}}
	}
	flooding := func(name, description string, slots int, do func(w *hostileWorld)) *fault {
		return &fault{name: name, description: description, of: ofUntrusted, last: do,
			league: []func(*league.Options){func(o *league.Options) { o.MaxPlayers = slots }},
			after: func(w *hostileWorld) {
				w.flooding.Wait()
				w.sortNotes()
				assert.LessOrEqual(w.T, w.waited, time.Minute, "P04 was registered")
			}}
	}
	each := func(do func(w *hostileWorld, host string)) func(w *hostileWorld) {
		return func(w *hostileWorld) {
			for _, host := range []string{leaguetest.ManagerHost, someReferee, somePlayer} {
				do(w, host)
			}
		}
	}
	applies := func(change func(*protocol.LeagueRegisterRequest)) func(w *hostileWorld) {
		return func(w *hostileWorld) {
			q := w.Application("Mallory")
			w.PingOnly("mallory")
			change(q)
			w.observe("register_player", w.applied(q))
		}
	}
	endpoint := func(url string) func(w *hostileWorld) {
		return applies(func(q *protocol.LeagueRegisterRequest) { q.PlayerMeta.ContactEndpoint = url })
	}
	return []*fault{
		// Tokens.
		between("query-with-a-forged-token", "queries the standings with forged tokens", func(w *hostileWorld) {
			for _, token := range []string{"", "tok-p01-forged", protocol.NoToken, strings.Repeat("t", 290)} {
				q := w.Query("P01", protocol.QueryStandings)
				q.AuthToken = token
				_, err := q.Send()
				w.observe("GET_STANDINGS", answerOf(err))
			}
		}),
		between("stolen-token", "queries with P01's token as P03, and as a referee", func(w *hostileWorld) {
			for _, id := range []string{"P03", "REF01"} {
				q := w.Query(id, protocol.QueryStatus)
				q.AuthToken = w.Token("P01")
				_, err := q.Send()
				w.observe("GET_STATUS as "+id, answerOf(err))
			}
		}),
		between("credential-as-token", "queries with the manager's credential, and with an access token", func(w *hostileWorld) {
			for _, token := range []string{w.ManagerCredential("P01"), w.AccessToken("P01", "R1M1", 1, "REF01")} {
				q := w.Query("P01", protocol.QueryStatus)
				q.AuthToken = token
				_, err := q.Send()
				w.observe("GET_STATUS", answerOf(err))
			}
		}),
		between("another-league", "queries another league with its token", func(w *hostileWorld) {
			q := w.Query("P01", protocol.QueryStatus)
			q.LeagueID = "another"
			r, err := q.Send()
			require.NoError(w.T, err)
			w.observe("GET_STATUS", "success false, "+r.Error.ErrorCode)
		}),
		between("registers-as-another", "registers again, with P01's token, as P03", func(w *hostileWorld) {
			q := w.Application("Agent P03")
			q.Sender, q.AuthToken = protocol.PlayerSender("P03"), w.Token("P01")
			q.PlayerMeta.ContactEndpoint = leaguetest.EndpointOf("mallory")
			w.observe("register_player", w.applied(q))
		}),
		between("moves-another-agent", "registers again, with P01's stolen token, at its own endpoint, while P01 is reachable", func(w *hostileWorld) {
			w.PingOnly("mallory")
			q := w.Application("Agent P01")
			q.Sender, q.AuthToken = protocol.PlayerSender("P01"), w.Token("P01")
			q.PlayerMeta.ContactEndpoint = leaguetest.EndpointOf("mallory")
			w.observe("register_player", w.applied(q))
		}),
		between("registers-too-late", "registers after the start of the league", func(w *hostileWorld) {
			w.PingOnly("mallory")
			w.observe("register_player", w.applied(w.Application("Mallory")))
		}),
		between("starts-the-league", "calls start_league without the admin token and with P01's", func(w *hostileWorld) {
			for _, token := range []string{"", w.Token("P01"), "adm-guess"} {
				w.observe("start_league", w.post(leaguetest.ManagerHost, body("start_league", map[string]string{"auth_token": token})))
			}
		}),

		// Reports.
		running("player-reports", "reports R1M1 with a player's token", func(w *hostileWorld) {
			q := w.WinReport("REF01")
			q.Sender, q.AuthToken = protocol.PlayerSender("P01"), w.Token("P01")
			_, err := w.Report(q)
			w.observe("report_match_result", answerOf(err))
		}),
		running("report-without-a-token", "reports R1M1 as REF01, without a token and with a forged one", func(w *hostileWorld) {
			for _, token := range []string{"", "tok-ref01-forged"} {
				q := w.WinReport("REF01")
				q.AuthToken = token
				_, err := w.Report(q)
				w.observe("report_match_result", answerOf(err))
			}
		}),

		// Impersonation.
		between("manager-to-a-player", "sends announcement, standings and end of the league to P03 as the manager, without a credential and with those of other agents", func(w *hostileWorld) {
			w.posesAsManager(somePlayer)
		}),
		between("manager-to-a-referee", "sends the ends of round and league and an assignment to REF01 as the manager, without a credential and with those of other agents", func(w *hostileWorld) {
			w.posesAsManager(someReferee)
			for _, bearer := range []string{"", w.ManagerCredential("P01"), w.Token("REF01")} {
				_, err := protocol.StartMatch.Call(w.Context, w.Untrusted, protocol.Peer{Endpoint: leaguetest.EndpointOf(someReferee), Bearer: bearer}, w.Assignment("R1M1", 1, "REF01"))
				w.observe("start_match", answerOf(err))
			}
		}),
		running("referee-in-a-match", "sends P03 an invitation, a CHOOSE_PARITY_CALL, a GAME_OVER and a GAME_ERROR as its referee during the match, without a token and with wrong ones", func(w *hostileWorld) {
			w.posesAsReferee(map[string]string{
				"without a token": "", "with the token none": protocol.NoToken, "with a forged token": "tok-ref01-x",
				"with the token of another match": w.AccessToken("P03", "R3M1", 1, "REF01"), "with the token of another player": w.AccessToken("P01", "R1M1", 1, "REF01"),
			})
		}),
		between("referee-before-the-match", "invites P03 to a match that is not announced yet", func(w *hostileWorld) {
			w.posesAsReferee(map[string]string{"without a token": "", "with a forged token": "tok-ref01-x"})
		}),
		between("state-with-a-wrong-token", "queries the state of a player and of a referee with the token of P01", func(w *hostileWorld) {
			w.observe("get_player_state", w.post(somePlayer, body("get_player_state", map[string]string{"auth_token": w.Token("P01")})))
			w.observe("get_match_state", w.post(someReferee, body("get_match_state", map[string]string{"auth_token": w.Token("P01"), "match_id": "R1M1"})))
			w.observe("ping", w.post(leaguetest.ManagerHost, body("ping", struct{}{})))
		}),

		// Bytes.
		between("request-of-2-MB", "sends 2 MB to each agent", each(func(w *hostileWorld, host string) {
			w.observe(host, w.post(host, body("ping", map[string]string{"x": strings.Repeat("x", 2<<20)})))
		})),
		between("request-of-11-KB", "sends 11 KB to each agent", each(func(w *hostileWorld, host string) {
			w.observe(host, w.post(host, body("ping", map[string]string{"x": strings.Repeat("x", 11<<10)})))
		})),
		between("request-of-900-KB-with-a-bearer", "sends 900 KB to each agent, with a forged bearer credential", each(func(w *hostileWorld, host string) {
			w.observe(host, w.post(host, body("notify_league_completed", map[string]string{"x": strings.Repeat("x", 900<<10)}), "Authorization", "Bearer guess"))
		})),
		between("request-of-unknown-length", "sends 2 MB of unknown length to each agent", each(func(w *hostileWorld, host string) {
			w.observe(host, w.request(nethttp.MethodPost, leaguetest.EndpointOf(host), io.MultiReader(strings.NewReader(strings.Repeat(" ", 2<<20)))))
		})),
		between("header-of-1-MB", "sends a header of 1 MB to each agent", each(func(w *hostileWorld, host string) {
			w.observe(host, w.post(host, body("ping", struct{}{}), "X-Big", strings.Repeat("x", 1<<20)))
		})),
		between("invalid-json", "sends invalid JSON to each agent", each(func(w *hostileWorld, host string) {
			for _, raw := range []string{"", "{", "hello", "{\"jsonrpc\":\"2.0\",\"method\":\"pi\xffng\"}", `{"jsonrpc":"2.0","jsonrpc":"2.0"}`} {
				w.observe(host, w.post(host, raw))
			}
		})),
		between("invalid-json-rpc", "sends invalid JSON-RPC requests to each agent", each(func(w *hostileWorld, host string) {
			for _, raw := range []string{"null", "7", `"ping"`, "{}", `{"jsonrpc":"1.0","method":"ping","id":1}`, `{"jsonrpc":"2.0","method":7,"id":1}`,
				`{"jsonrpc":"2.0","method":"ping","params":"x","id":1}`, `{"jsonrpc":"2.0","method":"ping","id":{}}`} {
				w.observe(host, w.post(host, raw))
			}
		})),
		between("unknown-method", "calls unknown methods of each agent", each(func(w *hostileWorld, host string) {
			for _, method := range []string{"shutdown", "__proto__", "rpc.discover", strings.Repeat("m", 5000), "\x1b[2J"} {
				w.observe(host, w.post(host, body(method, struct{}{})))
			}
		})),
		between("batch-of-1000", "sends batches of 1,000 calls, of 100 calls, and of 4,000 numbers", each(func(w *hostileWorld, host string) {
			one := `{"jsonrpc":"2.0","method":"ping","id":1},`
			w.observe("1,000 calls to "+host, w.post(host, "["+strings.TrimSuffix(strings.Repeat(one, 1000), ",")+"]"))
			w.observe("100 calls to "+host, w.post(host, "["+strings.TrimSuffix(strings.Repeat(one, 100), ",")+"]"))
			w.observe("4,000 empty calls to "+host, w.post(host, "["+strings.TrimSuffix(strings.Repeat("0,", 4000), ",")+"]"))
		})),
		between("deep-params", "sends params with 4,000 nested lists", each(func(w *hostileWorld, host string) {
			deep := strings.Repeat("[", 4000) + strings.Repeat("]", 4000)
			w.observe(host, w.post(host, `{"jsonrpc":"2.0","method":"league_query","params":`+deep+`,"id":1}`))
		})),
		between("200-invalid-fields", "registers with 200 invalid members", func(w *hostileWorld) {
			games := strings.TrimSuffix(strings.Repeat("7,", 200), ",")
			w.observe("register_player", w.post(leaguetest.ManagerHost, `{"jsonrpc":"2.0","method":"register_player","params":{"player_meta":{"game_types":[`+games+`]}},"id":1}`))
		}),
		between("other-http-methods", "sends GET, PUT, DELETE, OPTIONS and TRACE to each agent", each(func(w *hostileWorld, host string) {
			for _, verb := range []string{"GET", "PUT", "DELETE", "OPTIONS", "TRACE"} {
				w.observe(verb+" "+host, w.request(verb, leaguetest.EndpointOf(host), nil))
			}
		})),
		between("other-paths", "requests other paths of each agent", each(func(w *hostileWorld, host string) {
			for _, path := range []string{"/", "/../../etc/passwd", "/mcp/../private/key", "/debug/pprof/"} {
				w.observe(path, w.request("GET", "http://"+host+":8000"+path, nil))
			}
		})),
		between("browser-requests", "sends requests of a web page of another site: as text/plain, with an Origin, and for another Host", each(func(w *hostileWorld, host string) {
			call := body("ping", struct{}{})
			w.observe("text/plain to "+host, w.post(host, call, "Content-Type", "text/plain"))
			w.observe("with an Origin to "+host, w.post(host, call, "Origin", "http://evil.example"))
			w.observe("another Host to "+host, w.post(host, call, "Host", "evil.example"))
		})),
		between("slow-header", "opens 50 connections to each agent and sends one byte of a header per second", each(func(w *hostileWorld, host string) {
			w.slowly(host, 50, "POST /mcp HTTP/1.1\r\n")
		})),
		between("slow-body", "opens 50 connections to each agent and sends one byte of a body per second", each(func(w *hostileWorld, host string) {
			w.slowly(host, 50, "POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n")
		})),
		between("unread-responses", "sends 50 requests to each agent and does not read the responses", each(func(w *hostileWorld, host string) {
			call := body("ping", struct{}{})
			request := fmt.Sprintf("POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(call), call)
			for range 50 {
				c, err := w.hostile.dial(w.Context, "tcp", host+":8000")
				require.NoError(w.T, err)
				defer c.Close()
				_, err = io.WriteString(c, request)
				require.NoError(w.T, err)
			}
			w.observe("ping to "+host+" meanwhile", w.post(host, call))
		})),
		between("incomplete-request", "sends half a request and closes the connection", each(func(w *hostileWorld, host string) {
			c, err := w.hostile.dial(w.Context, "tcp", host+":8000")
			require.NoError(w.T, err)
			_, _ = io.WriteString(c, "POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{\"jsonrpc\"")
			require.NoError(w.T, c.Close())
			w.observe("ping to "+host+" afterwards", w.post(host, body("ping", struct{}{})))
		})),
		between("contradictory-lengths", "sends two Content-Lengths, and a Content-Length with chunks", each(func(w *hostileWorld, host string) {
			for _, lines := range []string{"Content-Length: 5\r\nContent-Length: 6\r\n", "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n", "Content-Length: -5\r\n"} {
				w.observe(host, w.raw(host, "POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"+lines+"\r\n{}"))
			}
		})),
		between("notifications", "sends 200 calls without an id to each agent", each(func(w *hostileWorld, host string) {
			for range 200 {
				w.observe(host, w.post(host, `{"jsonrpc":"2.0","method":"ping"}`))
			}
		})),
		between("query-flood", "sends 200 concurrent queries with a valid token", func(w *hostileWorld) {
			w.together(200, func(int) {
				_, err := w.Query("P01", protocol.QueryStandings).Send()
				w.observe("GET_STANDINGS", answerOf(err))
			})
		}),
		between("connection-flood", "opens 500 idle connections to each agent", each(func(w *hostileWorld, host string) {
			for range 500 {
				c, err := w.hostile.dial(w.Context, "tcp", host+":8000")
				require.NoError(w.T, err)
				defer c.Close()
			}
			w.observe("ping to "+host+" meanwhile", w.post(host, body("ping", struct{}{})))
		})),

		// Registration.
		registering("endpoint-of-the-manager", "registers with the manager's own endpoint", endpoint(leaguetest.EndpointOf(leaguetest.ManagerHost))),
		registering("endpoint-of-another", "registers with the endpoint of P01", endpoint(leaguetest.EndpointOf("p01"))),
		registering("endpoint-with-a-password", "registers with an endpoint that contains a user and a password", endpoint("http://user:secret@mallory:8000/mcp")),
		registering("endpoint-with-a-file-url", "registers with the endpoint file:///etc/passwd", endpoint("file:///etc/passwd")),
		registering("endpoint-of-another-scheme", "registers with the endpoint gopher://mallory/", endpoint("gopher://mallory:8000/")),
		registering("endpoint-is-no-url", `registers with the endpoint "mallory"`, endpoint("mallory")),
		registering("endpoint-unreachable", "registers with an endpoint that refuses connections", endpoint(leaguetest.EndpointOf("nowhere"))),
		registering("endpoint-never-accepts", "registers with an endpoint that never accepts connections", func(w *hostileWorld) {
			x := (&wire{connect: neverAccepts}).ready(w)
			x.bad.Store(true)
			w.hostile.wires.Store("mallory", x)
			w.observe("register_player", w.applied(w.Application("Mallory")))
		}),
		registering("endpoint-never-answers", "registers with an endpoint that accepts connections and never answers", func(w *hostileWorld) {
			x := (&wire{greet: hangs}).ready(w)
			w.hostile.wires.Store("mallory", x)
			x.bad.Store(true)
			a := leaguetest.NewAgent("mallory", nil)
			w.Open(a, w.ScriptMux(a.Script))
			w.observe("register_player", w.applied(w.Application("Mallory")))
		}),
		registering("endpoint-redirects", "registers with an endpoint that redirects every call to P01", func(w *hostileWorld) {
			x := (&wire{replies: map[string]reply{"": status("307 Temporary Redirect", "Location: "+leaguetest.EndpointOf("p01")+"\r\n")}}).ready(w)
			w.hostile.wires.Store("mallory", x)
			x.bad.Store(true)
			a := leaguetest.NewAgent("mallory", nil)
			w.Open(a, w.ScriptMux(a.Script))
			w.observe("register_player", w.applied(w.Application("Mallory")))
		}),
		registering("name-with-escape-characters", "registers with terminal escape characters in its display name", applies(func(q *protocol.LeagueRegisterRequest) {
			q.PlayerMeta.DisplayName = "\x1b[2J\x1b]0;owned\x07"
		})),
		registering("name-with-a-direction-mark", "registers with a right-to-left override in its display name", applies(func(q *protocol.LeagueRegisterRequest) {
			q.PlayerMeta.DisplayName = "Agent \u202e10P"
		})),
		registering("name-of-5000-letters", "registers with a display name of 5,000 letters", applies(func(q *protocol.LeagueRegisterRequest) {
			q.PlayerMeta.DisplayName = strings.Repeat("M", 5000)
		})),
		registering("name-of-another", "registers with the display name of P01", applies(func(q *protocol.LeagueRegisterRequest) { q.PlayerMeta.DisplayName = "Agent P01" })),
		registering("another-version", "registers with protocol version 9.9.9", applies(func(q *protocol.LeagueRegisterRequest) { q.PlayerMeta.ProtocolVersion = "9.9.9" })),
		registering("another-game", "registers for chess", applies(func(q *protocol.LeagueRegisterRequest) { q.PlayerMeta.GameTypes = []string{"chess"} })),
		registering("repeats-a-registration", "repeats the registration of P01 with another conversation_id", func(w *hostileWorld) {
			q := w.Application("Agent P01")
			q.ConversationID = "conv-p01"
			q.PlayerMeta.ContactEndpoint = leaguetest.EndpointOf("p01")
			w.observe("register_player", w.applied(q))
		}),
		flooding("registration-flood", "sends 200 concurrent applications with unreachable endpoints while P04 registers",
			1000, func(w *hostileWorld) { w.flood(200) }),
		flooding("registration-flood-for-one-slot", "sends 20 concurrent applications with unreachable endpoints for the last slot while P04 registers",
			4, func(w *hostileWorld) { w.flood(20) }),
		flooding("referee-flood", "sends 200 concurrent applications of referees with unreachable endpoints while P04 registers",
			4, func(w *hostileWorld) {
				w.beside(200, func(i int) {
					q := w.RefereeApplication(fmt.Sprintf("Flood%d", i))
					q.Sender = protocol.RefereeSender(protocol.RefereeID(100 + i))
					r, err := w.ApplyReferee(q)
					if err != nil {
						w.observe("register_referee", acceptedOrNot(answerOf(err)))
						return
					}
					w.observe("register_referee", acceptedOrNot(r.Status))
				})
			}),
	}
}

// applied sends a registration and returns its result.
func (w *hostileWorld) applied(q *protocol.LeagueRegisterRequest) string {
	r, err := w.Apply(q)
	if err != nil {
		return answerOf(err)
	}
	if r.Status == protocol.StatusAccepted {
		if q.AuthToken == "" {
			w.mu.Lock() // a flood sends many applications concurrently
			w.suspect = *r.PlayerID
			w.mu.Unlock()
		}
		return "ACCEPTED"
	}
	return r.Status + " " + r.ErrorCode
}

// acceptedOrNot omits the reason of a rejection, because it varies in a flood.
func acceptedOrNot(result string) string {
	if result != protocol.StatusAccepted {
		return "not registered before the start"
	}
	return result
}

// together calls do n times concurrently and waits for all calls.
func (w *hostileWorld) together(n int, do func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { do(i) })
	}
	all.Wait()
	w.sortNotes()
}

// beside calls do n times concurrently and does not wait.
func (w *hostileWorld) beside(n int, do func(i int)) {
	for i := range n {
		w.flooding.Go(func() { do(i) })
	}
}

// sortNotes sorts notes of concurrent calls.
func (w *hostileWorld) sortNotes() {
	w.mu.Lock()
	defer w.mu.Unlock()
	slices.SortFunc(w.notes, func(a, b note) int { return cmp.Or(cmp.Compare(a.result, b.result), cmp.Compare(a.what, b.what)) })
}

// flood sends concurrent applications and returns before they are decided. Their memory is
// limited.
func (w *hostileWorld) flood(n int) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	w.beside(n, func(i int) {
		q := w.Application(fmt.Sprintf("Flood%d", i))
		q.Sender = protocol.PlayerSender(protocol.PlayerID(100 + i)) // no id of an honest player
		w.observe("register_player", acceptedOrNot(w.applied(q)))
	})
	w.WaitUntil(w.Now() + leaguetest.Second)
	runtime.ReadMemStats(&after)
	assert.Less(w.T, int64(after.HeapAlloc)-int64(before.HeapAlloc), int64(200<<20), "bytes; other tests run concurrently")
}

// posesAsManager sends all messages of a manager to an agent, without the right credential.
func (w *hostileWorld) posesAsManager(host string) {
	for _, a := range w.Agents() {
		if a.Host != host {
			continue
		}
		for _, bearer := range []struct{ what, credential string }{
			{"without a credential", ""}, {"with that of another", w.ManagerCredential("P01")}, {"with the agent's own token", w.Token(a.ID)},
		} {
			calls := w.ManagerCalls(a, bearer.credential)
			for _, name := range []string{"notify_round", "update_standings", "notify_round_completed", "notify_league_completed"} {
				if a.Referee == nil || strings.HasSuffix(name, "completed") {
					w.observe(name+" "+bearer.what, answerOf(calls[name]()))
				}
			}
		}
	}
}

// posesAsReferee sends all messages of a referee to P03, with each of the tokens. The keys
// describe the tokens.
func (w *hostileWorld) posesAsReferee(tokens map[string]string) {
	var to *leaguetest.Agent
	for _, a := range w.Agents() {
		if a.Host == somePlayer {
			to = a
		}
	}
	for _, match := range []string{"R1M1", "R1M2"} {
		for what, token := range tokens {
			c := w.ScriptedReferee(to, match, 1)
			c.Token = token
			for name, call := range c.AllCalls() {
				w.observe(name+" "+what, answerOf(call()))
			}
		}
	}
	w.sortNotes()
}

// slowly opens connections, begins a request on each and sends one byte per second until the
// server closes them.
func (w *hostileWorld) slowly(host string, n int, begin string) {
	began := w.Now()
	var mu sync.Mutex
	var longest time.Duration
	w.together(n, func(int) {
		c, err := w.hostile.dial(w.Context, "tcp", host+":8000")
		require.NoError(w.T, err)
		defer c.Close()
		closed := make(chan struct{})
		go func() {
			defer close(closed)
			_, _ = io.Copy(io.Discard, c)
		}()
		_, err = io.WriteString(c, begin)
		for err == nil && w.Now()-began < 60*leaguetest.Second {
			pause()
			_, err = io.WriteString(c, "x")
		}
		mu.Lock()
		longest = max(longest, w.Now()-began)
		mu.Unlock()
		_ = c.Close()
		<-closed
	})
	w.observe(host, fmt.Sprintf("cut off after %d s", int(longest.Round(leaguetest.Second)/leaguetest.Second)))
}

// raw sends bytes and returns the status line of the response.
func (w *hostileWorld) raw(host, request string) string {
	c, err := w.hostile.dial(w.Context, "tcp", host+":8000")
	require.NoError(w.T, err)
	defer c.Close()
	go func() { _, _ = io.WriteString(c, request) }()
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil {
		return "the connection was closed"
	}
	_, line, _ = strings.Cut(strings.TrimSpace(line), " ")
	return "HTTP " + line
}
