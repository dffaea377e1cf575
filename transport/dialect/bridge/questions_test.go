package bridge_test

import (
	"bytes"
	"context"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/transport"
	"evenodd/transport/dialect/bridge"
)

// A poster is a third-party player that may post its answers to the referee.
type poster struct {
	id, token string
	w         *world
	// reply makes the HTTP response to a question from the right answer; nil returns the
	// right answer.
	reply func(p *poster, messageType string, answer object) (status int, body string)

	mu    sync.Mutex
	asked map[string]int // by message type
	posts []object       // what the referee answered to its posts
}

var (
	localhost = netip.MustParseAddr("127.0.0.1")
	elsewhere = netip.MustParseAddr("192.0.2.7")
)

// serve answers a request.
func (p *poster) serve(body []byte) (int, string) {
	q := read(p.w.t, body)
	params, _ := q["params"].(object)
	messageType, _ := params["message_type"].(string)
	p.mu.Lock()
	p.asked[messageType]++
	p.mu.Unlock()
	answer := object{"protocol": "league.v2", "sender": "player:" + p.id, "timestamp": "2026-11-20T17:02:32Z",
		"conversation_id": params["conversation_id"], "match_id": params["match_id"], "player_id": p.id, "auth_token": params["auth_token"]}
	switch messageType {
	case "GAME_INVITATION":
		answer["message_type"], answer["accept"] = "GAME_JOIN_ACK", true
	case "CHOOSE_PARITY_CALL":
		answer["message_type"], answer["parity_choice"] = "CHOOSE_PARITY_RESPONSE", "odd"
	default:
		return 200, `{"jsonrpc":"2.0","result":{"status":"ok"},"id":1}`
	}
	if p.reply != nil {
		return p.reply(p, messageType, answer)
	}
	return 200, text(p.w.t, object{"jsonrpc": "2.0", "result": answer, "id": q["id"]})
}

// post posts an answer to the referee from an address.
func (p *poster) post(from netip.Addr, answer object) object {
	return p.postBody(from, call(answer["message_type"].(string), text(p.w.t, answer)))
}

// answers are the responses of the referee to the posts.
func (p *poster) answers() []object {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.posts)
}

func (p *poster) postBody(from netip.Addr, body string) object {
	_, response := p.w.agents["localhost:8001"].serveFrom(p.w.t.Context(), from, "", "/mcp", body)
	if response == nil {
		return nil
	}
	answered := read(p.w.t, response)
	p.mu.Lock()
	p.posts = append(p.posts, answered)
	p.mu.Unlock()
	return answered
}

// match plays R1M1 between two posters, and returns the report.
func (w *world) match(lenient bool, a, b *poster) object {
	w.t.Helper()
	w.thirdPartyAgents = map[string]func([]byte) (int, string){"localhost:8101": a.serve, "localhost:8102": b.serve}
	ref := w.referee(ourReferee, "REF01", 2)
	auth := ""
	if lenient {
		auth = `,"auth":"lenient","referee_id":"REF01"`
	}
	entrant := func(p *poster, port int) string {
		return fmt.Sprintf(`{"player_id":%q,"endpoint":"http://localhost:%d/mcp","display_name":"x","standings":{"wins":0,"losses":0,"draws":0},"access_token":%q}`, p.id, port, p.token)
	}
	ack := ask(w.t, ref, "/mcp", `{"jsonrpc":"2.0","method":"start_match","params":{"protocol":"league.v2","message_type":"MATCH_ASSIGNMENT","sender":"league_manager",`+
		`"timestamp":"2026-11-20T17:02:32Z","conversation_id":"conv-r1m1-a1","league_id":"league_of_others","round_id":1,"match_id":"R1M1","attempt":1,"game_type":"even_odd",`+
		`"player_A":`+entrant(a, 8101)+`,"player_B":`+entrant(b, 8102)+`,`+
		`"timeouts":{"game_join_ack_timeout_sec":5,"move_timeout_sec":30,"game_over_timeout_sec":5,"generic_response_timeout_sec":10},`+
		`"retry_policy":{"max_retries":0,"delay_sec":2},"scoring":{"win_points":3,"draw_points":1,"loss_points":0,"technical_loss_points":0}`+auth+`},"id":1}`)
	require.Equal(w.t, "ACCEPTED", ack["result"].(object)["status"])
	w.finish()
	synctest.Wait()
	require.Len(w.t, w.reports, 1)
	return w.reports[0]["result"].(object)["details"].(object)
}

func (w *world) posters(reply func(p *poster, messageType string, answer object) (int, string)) (a, b *poster) {
	return &poster{id: "P01", token: "token-of-P01", w: w, reply: reply, asked: map[string]int{}},
		&poster{id: "P02", token: "token-of-P02", w: w, asked: map[string]int{}}
}

const receivedReply = `{"jsonrpc":"2.0","result":{"status":"RECEIVED"},"id":1}`

// later replies RECEIVED, and posts the answer after a second.
func later(status int, reply string, post func(p *poster, answer object)) func(*poster, string, object) (int, string) {
	return func(p *poster, _ string, answer object) (int, string) {
		time.AfterFunc(time.Second, func() { post(p, answer) })
		return status, reply
	}
}

// inVirtualTime runs a test with its own world in virtual time.
func inVirtualTime(t *testing.T, story func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		story(t, w)
		time.Sleep(2 * time.Second) // posts that are on their way
	})
}

func TestAnswerPostedAfterReceivedIsTheReply(t *testing.T) {
	for name, reply := range map[string]struct {
		status int
		body   string
	}{
		"RECEIVED":         {200, receivedReply},
		"without JSON-RPC": {200, `{"status":"RECEIVED"}`},
	} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, w *world) {
				a, b := w.posters(later(reply.status, reply.body, func(p *poster, answer object) { p.post(elsewhere, answer) }))
				details := w.match(false, a, b)
				assert.NotEqual(t, "TECHNICAL_LOSS", details["status"], details["reason"])
				assert.Equal(t, object{"P01": "odd", "P02": "odd"}, details["choices"])
				assert.Equal(t, 1, a.asked["GAME_INVITATION"], "no other form is tried")
				assert.Equal(t, 1, a.asked["CHOOSE_PARITY_CALL"])
				require.Len(t, a.answers(), 2)
				for _, answer := range a.answers() {
					assert.Equal(t, object{"status": "RECEIVED", "match_id": "R1M1"}, answer["result"])
				}
			})
		})
	}
}

func TestAnswerPostedBeforeReceivedIsRead(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		a, b := w.posters(func(p *poster, _ string, answer object) (int, string) {
			p.post(elsewhere, answer)
			return 200, receivedReply
		})
		assert.Equal(t, object{"P01": "odd", "P02": "odd"}, w.match(false, a, b)["choices"])
	})
}

func TestAnswerThatIsNeverPostedIsATimeout(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		began := time.Now()
		a, b := w.posters(func(*poster, string, object) (int, string) { return 200, receivedReply })
		details := w.match(false, a, b)
		assert.Equal(t, "P01 did not send GAME_JOIN_ACK in time - P02 wins by default", details["reason"])
		assert.Equal(t, 5*time.Second, time.Since(began))
	})
}

func TestAnswerPostedAfterTheDeadlineIsRejected(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		a, b := w.posters(func(p *poster, _ string, answer object) (int, string) {
			time.AfterFunc(6*time.Second, func() { p.post(elsewhere, answer) })
			return 200, receivedReply
		})
		assert.Equal(t, "TECHNICAL_LOSS", w.match(false, a, b)["status"])
		time.Sleep(2 * time.Second)
		synctest.Wait()
		assert.Equal(t, "E006", codeOf(a.answers()[0]))
	})
}

// codeOf is the error code of an answer; "" for a result.
func codeOf(answer object) string {
	failure, _ := answer["error"].(object)
	data, _ := failure["data"].(object)
	code, _ := data["error_code"].(string)
	return code
}

func TestPostedAnswerOfAnotherCallerIsRejected(t *testing.T) {
	for _, test := range []struct {
		name    string
		lenient bool
		from    netip.Addr
		change  func(answer object)
		code    string // "" where the answer counts
	}{
		{"the access token", false, elsewhere, func(object) {}, ""},
		{"no token", false, localhost, func(a object) { delete(a, "auth_token") }, "E014"},
		{"token none", false, localhost, func(a object) { a["auth_token"] = "none" }, "E014"},
		{"a wrong token", false, localhost, func(a object) { a["auth_token"] = "token-of-P03" }, "E012"},
		{"the opponent's token", false, localhost, func(a object) { a["auth_token"] = "token-of-P02" }, "E012"},
		{"another match", false, localhost, func(a object) { a["match_id"] = "R7M7" }, "E006"},
		{"no match", false, localhost, func(a object) { delete(a, "match_id") }, "E006"},
		{"the answer to another question", false, localhost, func(a object) { a["message_type"] = "GAME_MOVE_RESPONSE" }, "E014"},
		{"no token, in a lenient league, from the player's host", true, localhost, func(a object) { delete(a, "auth_token") }, ""},
		{"a token of its own, in a lenient league, from the player's host", true, localhost, func(a object) { a["auth_token"] = "tok-p01" }, ""},
		{"no token, in a lenient league, from another loopback address", true, netip.IPv6Loopback(), func(a object) { delete(a, "auth_token") }, ""},
		{"no token, in a lenient league, from another host", true, elsewhere, func(a object) { delete(a, "auth_token") }, "E014"},
		{"no token, in a lenient league, from no address", true, netip.Addr{}, func(a object) { delete(a, "auth_token") }, "E014"},
		{"no token, in a lenient league, from the opponent at the same host", true, localhost, func(a object) {
			delete(a, "auth_token")
			a["player_id"] = "P02"
		}, "E014"},
	} {
		t.Run(test.name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, w *world) {
				a, b := w.posters(later(200, receivedReply, func(p *poster, answer object) {
					test.change(answer)
					p.post(test.from, answer)
				}))
				details := w.match(test.lenient, a, b)
				require.NotEmpty(t, a.answers())
				for _, answer := range a.answers() {
					assert.Equal(t, test.code, codeOf(answer), "%v", answer)
				}
				assert.Equal(t, test.code != "", details["status"] == "TECHNICAL_LOSS")
				if test.code == "E012" {
					assert.Contains(t, text(t, a.answers()[0]), `"code":4001`)
				}
			})
		})
	}
}

// Posted answers without credential do not fill the log: it has some lines a minute, and counts the others.
func TestRefusedPostedAnswersInTheLogAreBounded(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		var log bytes.Buffer
		w.log = zerolog.New(zerolog.SyncWriter(&log))
		a, b := w.posters(func(p *poster, _ string, answer object) (int, string) {
			answer["auth_token"] = "wrong"
			for range 500 {
				p.post(elsewhere, answer)
			}
			answer["auth_token"] = p.token
			p.post(elsewhere, answer)
			return 200, receivedReply
		})
		w.match(false, a, b)
		assert.Equal(t, 20, strings.Count(log.String(), "DEFERRED_ANSWER_REFUSED"))
	})
}

func TestOnlyTheFirstPostedAnswerCounts(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		a, b := w.posters(func(p *poster, messageType string, answer object) (int, string) {
			p.post(elsewhere, answer)
			if messageType == "CHOOSE_PARITY_CALL" {
				answer["parity_choice"] = "even"
			}
			p.post(elsewhere, answer)
			return 200, receivedReply
		})
		assert.Equal(t, object{"P01": "odd", "P02": "odd"}, w.match(false, a, b)["choices"])
		require.Len(t, a.answers(), 4)
		assert.Equal(t, []string{"", "E014", "", "E014"}, []string{codeOf(a.answers()[0]), codeOf(a.answers()[1]), codeOf(a.answers()[2]), codeOf(a.answers()[3])})
	})
}

// between are players P01 to P04, at the ports that the specification gives them.
func between(w *world) {
	for n := 1; n <= 4; n++ {
		w.player(fmt.Sprintf("http://localhost:81%02d/mcp", n), league.PlayerID(n))
	}
}

// Our referee conducts a match that a third-party manager assigns in any form.
func TestMatchIsStartedInEachForm(t *testing.T) {
	for _, test := range []struct{ name, path, body, status string }{
		{"assign_match", "/mcp", call("assign_match", `{"match_id":"M","player1_id":"P01","player1_endpoint":"http://localhost:8101/mcp",
			"player2_id":"P02","player2_endpoint":"http://localhost:8102/mcp"}`), "ACCEPTED"},
		{"start_match_command", "/mcp", call("start_match_command", `{"match_id":"M","player_a":"P01","player_a_url":"http://localhost:8101/mcp",
			"player_b":"P02","player_b_url":"http://localhost:8102/mcp"}`), "ACCEPTED"},
		{"START_MATCH", "/mcp", call("START_MATCH", `{"match_id":"M","player_A_id":"P01","player_A_endpoint":"http://localhost:8101/mcp",
			"player_B_id":"P02","player_B_endpoint":"http://localhost:8102/mcp"}`), "ACCEPTED"},
		{"a round with a word", "/mcp", call("START_MATCH", `{"protocol":"league.v2","message_type":"START_MATCH","sender":"league_manager:MANAGER","timestamp":"2026-11-22T04:22:19Z",
			"conversation_id":"c","match_id":"R1M1","round_id":"ROUND_1","player_a":"P01","player_b":"P02","player_a_endpoint":"http://localhost:8101/mcp",
			"player_b_endpoint":"http://localhost:8102/mcp"}`), "ACCEPTED"},
		{"start_match", "/mcp", call("start_match", `{"message_type":"START_MATCH","match_id":"M","player_a":"P01","player_a_url":"http://localhost:8101/mcp",
			"player_b":"P02","player_b_url":"http://localhost:8102/mcp"}`), "ACCEPTED"},
		{"run_match", "/mcp", call("run_match", `{"match_id":"M","round_id":2,"player_a_id":"P01","player_b_id":"P02"}`), "ACCEPTED"},
		{"RUN_MATCH", "/mcp", call("RUN_MATCH", `{"match_id":"M","player_a":"P01","player_b":"P02"}`), "ACCEPTED"},
		{"the message type", "/mcp", call("MATCH_ASSIGNMENT", `{"message_type":"MATCH_ASSIGNMENT","timestamp":"20261120T170342Z","league_id":"another","match_id":"M","player1":"P01","player2":"P02"}`), "ACCEPTED"},
		{"mcp_message", "/mcp", call("mcp_message", `{"message_type":"MATCH_ASSIGNMENT","match_id":"M","player1":"P01","player2":"P02"}`), "ACCEPTED"},
		{"a tool", "/mcp", call("tools/call", `{"name":"start_match","arguments":{"match_id":"M","player_A_id":"P01","player_B_id":"P02"}}`), "ACCEPTED"},
		{"alone", "/mcp", `{"message_type":"MATCH_ASSIGNMENT","match_id":"M","player1":"P01","player2":"P02"}`, "ACCEPTED"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			between(w)
			reported := make(chan struct{})
			w.onReport = func() { close(reported) }
			a := w.referee(ourReferee, "REF01", 1)
			answer := ask(t, a, test.path, test.body)
			message := answer
			switch {
			case strings.Contains(test.body, "tools/call"):
				message = read(t, []byte(contentOf(t, answer, false)))
			case strings.Contains(test.body, "jsonrpc"):
				require.Contains(t, answer, "result", "%v", answer)
				message = answer["result"].(object)
			}
			assert.Equal(t, test.status, message["status"], "%v", answer)
			assert.Equal(t, "MATCH_ASSIGNMENT_ACK", message["message_type"])
			<-reported
		})
	}
}

// A start without match or player is rejected, and so is one without the credential of a
// manager that proves itself.
func TestInvalidOrUnauthenticatedStartIsRejected(t *testing.T) {
	full := call("assign_match", `{"match_id":"R1M1","player1_id":"P01","player1_endpoint":"http://localhost:8101/mcp","player2_id":"P02","player2_endpoint":"http://localhost:8102/mcp"}`)
	announced := call("notify_round", `{"protocol":"league.v2","message_type":"ROUND_ANNOUNCEMENT","sender":"league_manager","timestamp":"2026-11-20T17:02:32Z","conversation_id":"c",
		"league_id":"league_of_others","round_id":1,"matches":[{"match_id":"R1M1","game_type":"even_odd","player_A_id":"P01","player_B_id":"P02","referee_id":"REF01","referee_endpoint":"http://localhost:8001/mcp"}]}`)
	for _, test := range []struct {
		name, body string
		strict     bool
		code       int
	}{
		{"a player without endpoint", call("assign_match", `{"match_id":"M","player1_id":"someone","player2_id":"P02"}`), false, -32602},
		{"no match", call("assign_match", `{"player1_id":"P01","player2_id":"P02"}`), false, -32602},
		{"no player", call("START_MATCH", `{"match_id":"M"}`), false, -32602},
		{"the manager proves itself", full, true, 3001},
		{"the manager proves itself, as a tool", call("tools/call", `{"name":"start_match","arguments":{"match_id":"M","player_A_id":"P01","player_B_id":"P02","player_A_endpoint":"http://a","player_B_endpoint":"http://b"}}`), true, 3001},
		{"the manager proves itself, endpoints are not guessed", call("assign_match", `{"match_id":"M","player1_id":"P01","player2_id":"P02"}`), true, -32602},
		{"the manager proves itself, announcements are for players", announced, true, -32601},
		{"an announcement without matches", call("notify_round", `{"round_id":1}`), false, -32601},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			w.strict = test.strict
			answer := ask(t, w.referee(ourReferee, "REF01", 1), "/mcp", test.body)
			if result, isTool := answer["result"].(object); isTool {
				require.Contains(t, result, "content")
				assert.Equal(t, "E011", read(t, []byte(contentOf(t, answer, true)))["error_code"])
				return
			}
			assert.EqualValues(t, test.code, answer["error"].(object)["code"], "%v", answer)
		})
	}
}

// A referee conducts the matches of an announced round that name its id or its endpoint,
// later if it has no free slot. Its manager may call it within a report.
func TestRefereeStartsItsMatchesOfAnAnnouncedRound(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		between(w)
		a := w.referee(ourReferee, "REF01", 1)
		w.onReport = func() { // while the referee reports
			assert.Equal(t, "ok", ask(t, a, "/mcp", call("ping", `{}`))["result"].(object)["status"])
		}
		answer := ask(t, a, "/mcp", call("ROUND_ANNOUNCEMENT", `{"protocol":"league.v2","message_type":"ROUND_ANNOUNCEMENT","sender":"league_manager",
			"timestamp":"2026-11-20T17:02:32Z","conversation_id":"c-9","league_id":"league_of_others","round_id":2,"matches":[
			{"match_id":"a","game_type":"even_odd","player_A_id":"P01","player_B_id":"P02","referee_endpoint":"http://127.0.0.1:8001/mcp"},
			{"match_id":"other","game_type":"even_odd","player_A_id":"P03","player_B_id":"P04","referee_endpoint":"http://localhost:8002/mcp","referee_id":"REF02"},
			{"match_id":"b","player_A_id":"x","player_A_endpoint":"http://localhost:8101/mcp","player_B_id":"y","player_B_endpoint":"http://localhost:8103/mcp","referee_id":"REF01"},
			{"match_id":"gone","player_A_id":"P03","player_B_id":"P04","referee_id":"REF01","forfeited_by":["P03"]},
			{"match_id":"c","player_A_id":"P03","player_B_id":"P04","referee_id":"REF01","forfeited_by":[]}]}`))
		ack := answer["result"].(object)
		assert.Equal(t, "ROUND_ANNOUNCEMENT_ACK", ack["message_type"])
		assert.Equal(t, "referee:REF01", ack["sender"])
		assert.Equal(t, "c-9", ack["conversation_id"])
		assert.Equal(t, "ACKNOWLEDGED", ack["status"])
		assert.EqualValues(t, 2, ack["round_id"])
		assert.Equal(t, "x-1", answer["id"])
		synctest.Wait()
		assert.ElementsMatch(t, []string{"a", "b", "c"}, w.reported())
		for _, r := range w.reports {
			assert.EqualValues(t, 2, r["round_id"])
		}
	})
}

// Waiting matches start even if the report of the match before is refused.
func TestMatchesWaitForAFreeSlot(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		w.refuses = true
		between(w)
		a := w.referee(ourReferee, "REF01", 1)
		for _, id := range []string{"a", "b", "b", "c"} {
			answer := ask(t, a, "/mcp", call("assign_match", `{"match_id":"`+id+`","player1_id":"P01","player2_id":"P02"}`))
			assert.Equal(t, "ACCEPTED", answer["result"].(object)["status"])
		}
		synctest.Wait()
		assert.Subset(t, w.reported(), []string{"a", "b", "c"}) // in whatever form, and as often as it takes
	})
}

// Our manager gets BUSY from a referee without a free slot, and finds another.
func TestStartOfOurManagerNeverWaits(t *testing.T) {
	busy := `{"jsonrpc":"2.0","result":{"message_type":"MATCH_ASSIGNMENT_ACK","status":"BUSY","match_id":"M"},"id":1}`
	w := newWorld(t)
	w.strict = true
	a, calls := w.enter(ourReferee)
	register(t, calls, "register_referee")
	served := 0
	_, answer := a.dialect.ServeText(t.Context(), netip.Addr{}, "/mcp", []byte(call("run_match", `{"match_id":"M","player_A_id":"P01","player_B_id":"P02"}`)),
		func(context.Context, []byte) []byte { served++; return []byte(busy) })
	assert.Equal(t, "BUSY", read(t, answer)["result"].(object)["status"])
	assert.Equal(t, 1, served)
}

// register makes the registration call of an agent.
func register(t *testing.T, calls caller, method string) {
	t.Helper()
	_, _, err := calls.Call(t.Context(), transport.Request{
		Endpoint: managerURL, Method: method, Params: object{"sender": "referee:REF01"}, Decode: func(b []byte) (any, error) { return b, nil },
	})
	require.NoError(t, err)
}

// The answer to /run_match is the result, even if the manager accepts the report only
// afterwards.
func TestRunMatchAnswersWithTheResult(t *testing.T) {
	body := `{"match_id":"R1M1","round_id":1,"player_a_id":"P01","player_b_id":"P02","player_a_endpoint":"http://localhost:8101/mcp","player_b_endpoint":"http://localhost:8102/mcp"}`
	t.Run("the manager answers the report meanwhile", func(t *testing.T) {
		inVirtualTime(t, func(t *testing.T, w *world) {
			between(w)
			a := w.referee(ourReferee, "REF01", 1)
			began := time.Now()
			answer := ask(t, a, "/run_match", body)
			assert.Zero(t, time.Since(began))
			synctest.Wait() // until the manager has the report
			assert.Equal(t, []string{"R1M1"}, w.reported())
			result := w.reports[0]["result"].(object)
			assert.Equal(t, result["winner"], answer["winner"])
			assert.Equal(t, result["details"].(object)["drawn_number"], answer["result"].(object)["drawn_number"])
			assert.Equal(t, result["details"].(object)["choices"], answer["result"].(object)["choices"])
			number := int(answer["result"].(object)["drawn_number"].(float64))
			assert.Equal(t, map[int]string{0: "even", 1: "odd"}[number%2], answer["result"].(object)["number_parity"])
		})
	})
	t.Run("the manager serves one request at a time", func(t *testing.T) {
		inVirtualTime(t, func(t *testing.T, w *world) {
			between(w)
			answered := make(chan struct{})
			w.onReport = func() { <-answered }
			answer := ask(t, w.referee(ourReferee, "REF01", 1), "/run_match", body)
			assert.Equal(t, "R1M1", answer["match_id"])
			assert.Contains(t, answer, "result")
			close(answered)
			synctest.Wait()
			assert.Equal(t, []string{"R1M1"}, w.reported())
		})
	})
	t.Run("the match takes longer than an answer may", func(t *testing.T) {
		inVirtualTime(t, func(t *testing.T, w *world) { // without players: each is tried for a while
			a := w.referee(ourReferee, "REF01", 1)
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			status, answer := a.serve(ctx, "", "/run_match", body)
			assert.Equal(t, 200, status)
			assert.Equal(t, "ACCEPTED", read(t, answer)["status"], "it was begun")
		})
	})
}

// A manager may begin its league before it answers the last registration.
func TestStartBeforeTheRegistrationIsReadIsServed(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		between(w)
		a, calls := w.enter(ourReferee)
		a.mux.Handle("start_match", func(b []byte) (any, error) { return b, nil }, func(_ context.Context, _ string, params any) (any, error) {
			return object{"status": "ACCEPTED", "league": read(t, params.([]byte))["league_id"]}, nil
		})
		began := make(chan []byte, 1)
		w.onRegister = func() {
			go func() { // the test ends after it: it reads what this sends
				_, answer := a.serve(context.Background(), "", "/mcp", call("run_match", `{"match_id":"M","player_a_id":"P01","player_b_id":"P02"}`))
				began <- answer
			}()
			synctest.Wait() // it waits for the answer
		}
		register(t, calls, "register_referee")
		assert.Equal(t, leagueID, read(t, <-began)["result"].(object)["league"])
	})
}

// Third-party ids name files, rounds and conversations, as our ids do.
func TestMatchWithThirdPartyIdsIsPlayed(t *testing.T) {
	for _, ids := range []struct{ match, a, b string }{
		{"match_63f3cb53", "player_d403b162", "player_95e1cf11"},
		{"M1", "P1", "P2"},
		{"6b1f7c2e-8f9e-4bd4-a12a-a99999999999", "agent.one", "agent-two"},
		{"round 1 / match 1", "Agent Alpha", "../P02"},
	} {
		t.Run(ids.match, func(t *testing.T) {
			w := newWorld(t)
			w.folder = t.TempDir()
			_, one := w.player("http://localhost:8101/mcp", ids.a)
			_, two := w.player("http://localhost:8102/mcp", ids.b)
			reported := make(chan struct{})
			w.onReport = func() { close(reported) }
			a := w.referee(ourReferee, "ref_b4a7cebf", 1)
			ask(t, a, "/mcp", call("assign_match", text(t, object{"match_id": ids.match, "player1_id": ids.a, "player2_id": ids.b,
				"player1_endpoint": "http://localhost:8101/mcp", "player2_endpoint": "http://localhost:8102/mcp"})))
			<-reported
			w.finish()
			assert.Equal(t, []string{ids.match}, w.reported())
			assert.Equal(t, 1, one.Record().Stats.TotalMatches)
			assert.Equal(t, 1, two.Record().Stats.TotalMatches)
			_, err := os.Stat(store.In(w.folder).Match(leagueID, ids.match))
			assert.Equal(t, protocol.ValidLeagueID(ids.match), err == nil, "its file: %v", err)
			details := w.reports[0]["result"].(object)["details"].(object)
			assert.NotContains(t, details["status"], "TECHNICAL", "%v", details)
		})
	}
}

// The answer to /create_schedule has all rounds, from one query each.
func TestCreateScheduleReturnsAllRounds(t *testing.T) {
	d := bridge.New(bridge.Options{League: "L", Clock: protocol.SystemClock(), Log: zerolog.Nop()})
	mux, lenient := transport.NewMux(zerolog.Nop()), false
	stamp := protocol.NewStamp("league_manager", protocol.SystemClock())
	protocol.Query.Handle(mux, stamp, func(_ context.Context, bearer string, q *protocol.LeagueQuery) (*protocol.LeagueQueryResponse, error) {
		if lenient && bearer == "" && q.Sender == "player:P01" {
			return &protocol.LeagueQueryResponse{Data: protocol.ScheduleData{RoundID: 1, Rounds: 1, Matches: []protocol.ScheduledMatch{{MatchID: "R1M1", RoundID: 1, PlayerAID: "P01", PlayerBID: "P02"}}}}, nil
		}
		if bearer != "tok-p01" {
			return nil, protocol.Fault(protocol.ErrTokenMissing, "no token")
		}
		assert.Equal(t, "L", q.LeagueID)
		assert.Equal(t, "GET_SCHEDULE", q.QueryType)
		assert.True(t, q.NamelessSender(), "the token identifies the caller")
		if q.QueryParams.RoundID == 3 {
			return &protocol.LeagueQueryResponse{Error: &protocol.QueryError{ErrorCode: "E006", ErrorName: "MATCH_NOT_FOUND"}}, nil
		}
		r := int(q.QueryParams.RoundID)
		return &protocol.LeagueQueryResponse{Data: protocol.ScheduleData{RoundID: q.QueryParams.RoundID, Rounds: 2, Matches: []protocol.ScheduledMatch{
			{MatchID: league.MatchID{Round: r, Number: 1}.String(), RoundID: r, PlayerAID: "P01", PlayerBID: "P02"}, {MatchID: league.MatchID{Round: r, Number: 2}.String(), RoundID: r, PlayerAID: "P03", PlayerBID: "P04"},
		}}}, nil
	})
	manager := &agent{dialect: d, mux: mux}
	status, answer := manager.serve(t.Context(), "tok-p01", "/create_schedule", "")
	require.Equal(t, 200, status, string(answer))
	assert.JSONEq(t, `{"schedule":[
		{"match_id":"R1M1","round_id":1,"player_A_id":"P01","player_B_id":"P02"},{"match_id":"R1M2","round_id":1,"player_A_id":"P03","player_B_id":"P04"},
		{"match_id":"R2M1","round_id":2,"player_A_id":"P01","player_B_id":"P02"},{"match_id":"R2M2","round_id":2,"player_A_id":"P03","player_B_id":"P04"}]}`, string(answer))
	status, answer = manager.serve(t.Context(), "", "/create_schedule", "")
	assert.Equal(t, 400, status)
	assert.Equal(t, "AUTH_TOKEN_MISSING", read(t, answer)["error"])

	lenient = true
	status, answer = manager.serve(t.Context(), "", "/create_schedule", "")
	assert.Equal(t, 200, status, string(answer))
	assert.Len(t, read(t, answer)["schedule"], 1)

	player, _ := newWorld(t).player(ourPlayer, "P01")
	status, _ = player.serve(t.Context(), "", "/create_schedule", "")
	assert.Equal(t, 400, status, "a player has none")
}
