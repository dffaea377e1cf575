package bridge_test

import (
	"bytes"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
