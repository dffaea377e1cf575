package leaguetest_test

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/manager"
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
			league: []func(*manager.Options){func(o *manager.Options) { o.Pace = 30 }},
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
			league: []func(*manager.Options){func(o *manager.Options) {
				o.Players, o.MaxPlayers, o.MinPlayers, o.RegistrationWindow = 0, 10, 4, 30
			}}}
	}
	flooding := func(name, description string, slots int, do func(w *hostileWorld)) *fault {
		return &fault{name: name, description: description, of: ofUntrusted, last: do,
			league: []func(*manager.Options){func(o *manager.Options) { o.MaxPlayers = slots }},
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
	// onWire registers with an endpoint whose connections or replies are broken.
	onWire := func(name, does string, x *wire) *fault {
		return registering(name, "registers with an endpoint that "+does, func(w *hostileWorld) {
			w.hostile.wires.Store("mallory", x.ready(w))
			x.bad.Store(true)
			a := leaguetest.NewAgent("mallory", nil)
			w.Open(a, w.ScriptMux(a.Script))
			w.observe("register_player", w.applied(w.Application("Mallory")))
		})
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
			registersAgain(w, "P03")
		}),
		between("moves-another-agent", "registers again, with P01's stolen token, at its own endpoint, while P01 is reachable", func(w *hostileWorld) {
			w.PingOnly("mallory")
			registersAgain(w, "P01")
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
		between("200-invalid-fields", "registers with 200 invalid members", func(w *hostileWorld) {
			games := strings.TrimSuffix(strings.Repeat("7,", 200), ",")
			w.observe("register_player", w.post(leaguetest.ManagerHost, `{"jsonrpc":"2.0","method":"register_player","params":{"player_meta":{"game_types":[`+games+`]}},"id":1}`))
		}),
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
		registering("endpoint-is-no-url", `registers with the endpoint "mallory"`, endpoint("mallory")),
		registering("endpoint-unreachable", "registers with an endpoint that refuses connections", endpoint(leaguetest.EndpointOf("nowhere"))),
		onWire("endpoint-never-accepts", "never accepts connections", &wire{connect: neverAccepts}),
		onWire("endpoint-never-answers", "accepts connections and never answers", &wire{greet: hangs}),
		onWire("endpoint-redirects", "redirects every call to P01", &wire{replies: map[string]reply{
			"": status("307 Temporary Redirect", "Location: "+leaguetest.EndpointOf("p01")+"\r\n"),
		}}),
		registering("name-with-escape-characters", "registers with terminal escape characters in its display name", applies(func(q *protocol.LeagueRegisterRequest) {
			q.PlayerMeta.DisplayName = "\x1b[2J\x1b]0;owned\x07"
		})),
		registering("name-of-5000-letters", "registers with a display name of 5,000 letters", applies(func(q *protocol.LeagueRegisterRequest) {
			q.PlayerMeta.DisplayName = strings.Repeat("M", 5000)
		})),
		registering("name-of-another", "registers with the display name of P01", applies(func(q *protocol.LeagueRegisterRequest) { q.PlayerMeta.DisplayName = "Agent P01" })),
		registering("another-version", "registers with protocol version 9.9.9", applies(func(q *protocol.LeagueRegisterRequest) { q.PlayerMeta.ProtocolVersion = "9.9.9" })),
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
					q.Sender = protocol.RefereeSender(league.RefereeID(100 + i))
					_, _ = w.ApplyReferee(q)
					w.observe("register_referee", floodAnswer)
				})
			}),
	}
}

// registersAgain registers a player at another endpoint, with P01's token.
func registersAgain(w *hostileWorld, id string) {
	q := w.Application("Agent " + id)
	q.Sender, q.AuthToken = protocol.PlayerSender(id), w.Token("P01")
	q.PlayerMeta.ContactEndpoint = leaguetest.EndpointOf("mallory")
	w.observe("register_player", w.applied(q))
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

// floodAnswer is the answer to an application of a flood. Whether one is accepted before the start
// depends on the moment, and so does the reason of a rejection.
const floodAnswer = "accepted, or not registered before the start"

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
	runtime.GC()
	runtime.ReadMemStats(&before)
	w.beside(n, func(i int) {
		q := w.Application(fmt.Sprintf("Flood%d", i))
		q.Sender = protocol.PlayerSender(league.PlayerID(100 + i)) // no id of an honest player
		w.applied(q)
		w.observe("register_player", floodAnswer)
	})
	w.WaitUntil(w.Now() + leaguetest.Second)
	runtime.GC()
	runtime.ReadMemStats(&after)
	assert.Less(w.T, int64(after.HeapAlloc)-int64(before.HeapAlloc), int64(200<<20), "bytes; other tests run concurrently")
}

// posesAsManager sends all messages of a manager to an agent, without the right credential.
func (w *hostileWorld) posesAsManager(host string) {
	a := w.agentAt(host)
	names := []string{"notify_round", "update_standings", "notify_round_completed", "notify_league_completed"}
	for _, bearer := range []struct{ what, credential string }{
		{"without a credential", ""},
		{"with that of another", w.ManagerCredential("P01")},
		{"with the agent's own token", w.Token(a.ID)},
	} {
		calls := w.ManagerCalls(a, bearer.credential)
		for _, name := range names {
			if a.Referee == nil || strings.HasSuffix(name, "completed") {
				w.observe(name+" "+bearer.what, answerOf(calls[name]()))
			}
		}
	}
}

// posesAsReferee sends all messages of a referee to P03, with each of the tokens. The keys
// describe the tokens.
func (w *hostileWorld) posesAsReferee(tokens map[string]string) {
	to := w.agentAt(somePlayer)
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
