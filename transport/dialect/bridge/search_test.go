package bridge

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
	"evenodd/transport"
	"evenodd/transport/dialect"
)

// An asked question, and the members by which an agent recognizes it.
type askedQuestion struct {
	method, messageType, other, message, answer string
}

var askedQuestions = []askedQuestion{
	{"handle_game_invitation", "GAME_INVITATION", "receive_game_invitation", invitation, `{"accept":true}`},
	{"choose_parity", "CHOOSE_PARITY_CALL", "receive_parity_call", strings.Replace(choiceCall, "}", `,"attempt":1}`, 1), `{"parity_choice":"even"}`},
	{"make_move", "GAME_MOVE_CALL", "make_move", strings.Replace(choiceCall, "CHOOSE_PARITY", "GAME_MOVE", 1), `{"move_data":{"choice":"rock"}}`},
	{"notify_match_result", "GAME_OVER", "receive_game_over", gameOver, `{"status":"received"}`},
	{"start_match", "MATCH_ASSIGNMENT", "assign_match", theAssignment, `{"status":"accepted"}`},
}

// recognitions return the message of a request, by kind of server; nil for a request that
// the server does not understand.
func recognitions() map[string]func(q askedQuestion, asked protocol.Object) protocol.Object {
	params := func(asked protocol.Object) protocol.Object { return asked.Object("params") }
	byMethod := func(name func(askedQuestion) string, within func(protocol.Object) protocol.Object) func(askedQuestion, protocol.Object) protocol.Object {
		return func(q askedQuestion, asked protocol.Object) protocol.Object {
			if asked.Text("method") != name(q) {
				return nil
			}
			return within(asked)
		}
	}
	byTool := func(name func(askedQuestion) string, argument string) func(askedQuestion, protocol.Object) protocol.Object {
		return func(q askedQuestion, asked protocol.Object) protocol.Object {
			arguments := params(asked).Object("arguments")
			switch {
			case asked.Text("method") != "tools/call" || params(asked).Text("name") != name(q):
				return nil
			case argument != "":
				return arguments.Object(argument)
			}
			return arguments
		}
	}
	method := func(q askedQuestion) string { return q.method }
	messageType := func(q askedQuestion) string { return q.messageType }
	lower := func(q askedQuestion) string { return strings.ToLower(q.messageType) }
	other := func(q askedQuestion) string { return q.other }
	always := func(name string) func(askedQuestion) string { return func(askedQuestion) string { return name } }
	member := func(name string) func(protocol.Object) protocol.Object {
		return func(asked protocol.Object) protocol.Object { return params(asked).Object(name) }
	}
	return map[string]func(askedQuestion, protocol.Object) protocol.Object{
		"the method":                            byMethod(method, params),
		"the message type as the method":        byMethod(messageType, params),
		"the type in lower case":                byMethod(lower, params),
		"another name":                          byMethod(other, params),
		"handle_message with message":           byMethod(always("handle_message"), member("message")),
		"mcp_message":                           byMethod(always("mcp_message"), params),
		"a tool by the method":                  byTool(method, ""),
		"a tool by another name":                byTool(other, ""),
		"the message alone":                     func(_ askedQuestion, asked protocol.Object) protocol.Object { return asked },
		"the message type, whatever the method": func(_ askedQuestion, asked protocol.Object) protocol.Object { return params(asked) },
		"the method and the message type":       byMethod(lower, params),
		"the method, and JSON-RPC by its schema": byMethod(other, func(asked protocol.Object) protocol.Object {
			message := params(asked)
			message.Drop("attempt")
			message.Drop("draw_commitment")
			return message
		}),
	}
}

// rejections are the answers of servers to requests that they do not understand.
func rejections() map[string]struct {
	status int
	answer string
} {
	return map[string]struct {
		status int
		answer string
	}{
		"JSON-RPC: method not found":       {200, notFound},
		"a dispatcher that misses a field": {200, `{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"Missing required fields"}}`},
		"FastMCP":                          {200, `{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"Unknown tool: x"}],"isError":true}}`},
		"FastAPI: validation":              {422, `{"detail":[{"type":"missing","loc":["body","params","message"],"msg":"Field required","input":{}}]}`},
		"FastAPI: no such path":            {404, `{"detail":"Not Found"}`},
		"Starlette: an exception":          {500, "Internal Server Error"},
		"a page for people under HTTP 200": {200, "<html>"},
		"an error that is a text":          {200, `{"error":"Unknown method"}`},
		"an error by status":               {200, `{"status":"error","message":"Unknown message type"}`},
		"a result of null":                 {200, `{"jsonrpc":"2.0","result":null,"id":7}`},
		"ok to anything, in a result":      {200, `{"jsonrpc":"2.0","result":{"status":"ok"},"id":7}`},
	}
}

// One call finds the form of each kind of server. Another question takes few attempts, and
// a repeated question one.
func TestEachKindOfServerIsUnderstoodInOneCall(t *testing.T) {
	for how, recognize := range recognitions() {
		for what, rejection := range rejections() {
			t.Run(how+"; "+what, func(t *testing.T) {
				p := newTestPeers(zerolog.Nop())
				var asking1 askedQuestion
				s := &thirdPartyAgent{answer: func(_ string, asked protocol.Object) (int, string) {
					id, whole := asked.Get("id"), true
					if id != nil {
						whole = id.Kind() == '0'
					}
					message := recognize(asking1, asked)
					known := message.Text("message_type") == asking1.messageType && message.Text("match_id") == "R1M1"
					if how == "the method, and JSON-RPC by its schema" {
						known = known && asked.Text("jsonrpc") == "2.0" && asked.Has("id")
					}
					if !whole || !known {
						return rejection.status, rejection.answer
					}
					return 200, `{"jsonrpc":"2.0","id":7,"result":` + asking1.answer + `}`
				}}
				acknowledges := rejection.status/100 == 2 && strings.Contains(strings.ToLower(what), "anything") || strings.Contains(what, "null")
				for n, q := range askedQuestions {
					if acknowledges && (q.method == "notify_match_result" || q.method == "start_match") {
						continue // whatever form it acknowledges is taken
					}
					asking1 = q
					said := []string{`"accept":true`, `"parity_choice":"even"`, `"move_data":{"choice":"rock"}`, `"status":"received"`, `"status":"ACCEPTED"`}[n]
					for range 2 {
						p.served(asking("report_match_result", `{"match_id":"R1M1"}`), []byte(resultHead+`{},"id":1}`)) // a start is proven by a report
						s.tries()
						status, answer := responseOf(t, p, s.post, q.method, q.message)
						require.Equal(t, 200, status, "%s: %s", q.method, answer)
						assert.Contains(t, answer, said, q.method)
						most := formsOf(q.method)
						if n > 0 && q.method != "start_match" { // it is known how the agent wants to be asked
							most = 6
						}
						assert.LessOrEqual(t, len(s.bodies), most, "%s\n%s", q.method, strings.Join(s.bodies, "\n"))
					}
					assert.Len(t, s.bodies, 1, q.method)
				}
			})
		}
	}
}

// delayed answers in virtual time.
func delayed(s *thirdPartyAgent, delay func(asked protocol.Object) time.Duration) transport.Post {
	return func(ctx context.Context, url string, header map[string]string, body []byte) (transport.Posted, error) {
		select {
		case <-time.After(delay(protocol.ParseObject(body))):
			return s.post(ctx, url, header, body)
		case <-ctx.Done():
			s.bodies = append(s.bodies, string(body))
			return transport.Posted{}, ctx.Err()
		}
	}
}

func limited(t *testing.T, p *Bridge, length time.Duration, method, message string, post transport.Post) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), length)
	defer cancel()
	_, answer, err := p.call(ctx, there, "", method, asking(method, message), post)
	return string(answer), err
}

// A search takes at most half of the window, and the next call goes on with the forms that
// are left.
func TestSearchEndsAfterHalfOfTheWindowAndGoesOnInTheNextCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newTestPeers(zerolog.Nop())
		s := &thirdPartyAgent{answer: func(_ string, asked protocol.Object) (int, string) {
			if asked.Object("params").Text("name") == "receive_game_invitation" {
				return 200, joins
			}
			return 200, notFound
		}}
		post := delayed(s, func(protocol.Object) time.Duration { return 400 * time.Millisecond })
		var calls []int
		for range 6 {
			began := time.Now()
			answer, err := limited(t, p, 5*time.Second, "handle_game_invitation", invitation, post)
			require.NoError(t, err)
			assert.LessOrEqual(t, time.Since(began), 5*time.Second/2+400*time.Millisecond)
			calls = append(calls, s.tries())
			if answer == joins {
				break
			}
			assert.JSONEq(t, notFound, answer)
		}
		assert.Equal(t, []int{7, 3}, calls)
	})
}

// A slow player has the whole window in the specification's form. If it does not answer,
// the bridge tries no other form.
func TestTimeoutIsNoRejection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newTestPeers(zerolog.Nop())
		s := always(200, chooses)
		answer, err := limited(t, p, 30*time.Second, "choose_parity", choiceCall, delayed(s, func(protocol.Object) time.Duration { return 29 * time.Second }))
		require.NoError(t, err)
		assert.Equal(t, chooses, answer)
		s.tries()
		_, err = limited(t, p, 30*time.Second, "choose_parity", choiceCall, delayed(s, func(protocol.Object) time.Duration { return time.Minute }))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, 1, s.tries())
	})
}

// A later form has a quarter of the window. A player that needs longer gets that form first
// in the next call, with the whole window.
func TestSlowPlayerIsUnderstoodInTheNextCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newTestPeers(zerolog.Nop())
		s := &thirdPartyAgent{answer: func(_ string, asked protocol.Object) (int, string) {
			if asked.Text("method") == "parity_choose" {
				return 200, chooses
			}
			return 404, ""
		}}
		post := delayed(s, func(asked protocol.Object) time.Duration {
			if asked.Text("method") == "parity_choose" {
				return 20 * time.Second
			}
			return 0
		})
		_, err := limited(t, p, 30*time.Second, "choose_parity", choiceCall, post)
		require.ErrorIs(t, err, context.DeadlineExceeded, "it may have been the right form")
		assert.Equal(t, 5, s.tries())
		for range 2 {
			answer, err := limited(t, p, 30*time.Second, "choose_parity", choiceCall, post)
			require.NoError(t, err)
			assert.Equal(t, chooses, answer)
			assert.Equal(t, 1, s.tries())
		}
	})
}

// After HTTP 429, 502, 503 or 504 no other form is tried, and the call returns this status.
// The next call begins with the same form.
func TestUnavailableAgentIsNotAskedInOtherForms(t *testing.T) {
	for _, status := range []int{429, 502, 503, 504} {
		p, waits := newTestPeers(zerolog.Nop()), true
		s := &thirdPartyAgent{answer: func(_ string, asked protocol.Object) (int, string) {
			switch {
			case asked.Text("method") == "choose_parity":
				return 404, ""
			case waits:
				return status, `{"jsonrpc":"2.0","error":{"code":22,"message":"RATE_LIMITED"},"id":7}`
			}
			return 200, chooses
		}}
		got, answer := responseOf(t, p, s.post, "choose_parity", choiceCall)
		assert.Equal(t, status, got)
		assert.Contains(t, answer, "RATE_LIMITED")
		assert.Equal(t, 2, s.tries())
		waits = false
		assert.Equal(t, chooses, callOf(t, p, s, "choose_parity", choiceCall))
		assert.Equal(t, 2, s.tries())
	}
}

// The call returns the most informative rejection, in any order, with its HTTP status and
// its JSON-RPC code.
func TestMostInformativeRejectionIsReturned(t *testing.T) {
	type answered struct {
		status int
		answer string
	}
	ranking := []answered{
		{200, `{"jsonrpc":"2.0","error":{"code":-32602,"message":"Invalid params","data":"match_id must be a number"},"id":7}`},
		{500, `{"error":"the strategy has no model"}`},
		{400, `{"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found"},"id":7}`},
		{422, `{"detail":[{"loc":["body","method"]}]}`},
		{404, `404: Not Found`},
		{200, `<html>`},
	}
	wanted := []string{
		`{"jsonrpc":"2.0","error":{"code":-32602,"message":"Invalid params: \"match_id must be a number\""},"id":7}`,
		`{"jsonrpc":"2.0","error":{"code":-32000,"message":"the strategy has no model"},"id":7}`,
		ranking[2].answer, ranking[3].answer, ranking[4].answer,
	}
	for best := range wanted {
		for at := range formsOf("choose_parity") {
			p, n := newTestPeers(zerolog.Nop()), 0
			s := &thirdPartyAgent{answer: func(string, protocol.Object) (int, string) {
				r := ranking[best+1+n%(len(ranking)-best-1)]
				switch n {
				case at:
					r = ranking[best]
				case 0:
					r = answered{404, "404: Not Found"}
				}
				n++
				return r.status, r.answer
			}}
			status, answer := responseOf(t, p, s.post, "choose_parity", choiceCall)
			assert.Equal(t, []any{ranking[best].status, wanted[best]}, []any{status, answer}, at)
		}
	}
}

// If an agent fails in the likeliest form and does not know the others, the failure is the
// most informative rejection.
func TestFailureInTheLikeliestFormIsMoreThanAnUnknownMethod(t *testing.T) {
	for answer, status := range map[string]int{"Internal Server Error": 500, "<html>": 200, `{"jsonrpc":"2.0","result":{"status":"ok"},"id":7}`: 200} {
		p := newTestPeers(zerolog.Nop())
		s := &thirdPartyAgent{answer: func(_ string, asked protocol.Object) (int, string) {
			if asked.Text("method") == "choose_parity" && asked.Object("params").Text("match_id") == "R1M1" && asked.Object("params").Get("MatchId") == nil {
				return status, answer
			}
			return 200, notFound
		}}
		for n := range 3 {
			got, said := responseOf(t, p, s.post, "choose_parity", choiceCall)
			assert.Equal(t, []any{status, answer}, []any{got, said})
			assert.Equal(t, string(asking("choose_parity", choiceCall)), s.bodies[0], "the %d-th call begins with it", n)
			s.tries()
		}
	}
}

// When all forms failed, the log has one line with the decisive rejection, escaped and
// without tokens of the call, even if the agent echoes the request.
func TestRejectionIsLoggedOnceWithoutTokens(t *testing.T) {
	const bearer, token, access = "the-bearer-of-the-manager", "a-token-of-another-manager", "an-access-token-of-the-player"
	message := strings.Replace(choiceCall, "}", `,"auth_token":"`+token+`","player_A":{"access_token":"`+access+`"}}`, 1)
	var log bytes.Buffer
	p := newTestPeers(zerolog.New(&log))
	rejection := "\x1b[2J" + `{"headers":"Bearer ` + bearer + `","tok-p01-0123456789012345678901234567890123456789012":1,"body":` + message
	status := 500
	s := &thirdPartyAgent{answer: func(string, protocol.Object) (int, string) { return status, rejection }}
	for range 3 {
		_, answer, err := p.call(t.Context(), there, bearer, "choose_parity", asking("choose_parity", message), s.post)
		require.NoError(t, err)
		for _, secret := range []string{bearer, token, access, "tok-p01"} {
			assert.NotContains(t, log.String(), secret)
			assert.NotContains(t, string(answer), secret)
		}
	}
	require.Equal(t, 1, strings.Count(log.String(), "\n"), "%s", log.String())
	line := protocol.ParseObject(log.Bytes())
	assert.Equal(t, "warn", line.Text("level"))
	assert.Equal(t, there, line.Text("endpoint"))
	assert.Equal(t, "choose_parity", line.Text("method"))
	assert.Equal(t, 500, line.Integer("http_status"))
	assert.False(t, line.Has("jsonrpc_code"))
	assert.True(t, strings.HasPrefix(line.Text("body"), `"\x1b[2J{\"headers\":\"Bearer ***\",\"***\":1,\"body\":{`), line.Text("body"))
	assert.NotContains(t, line.Text("body"), "\x1b")

	log.Reset()
	status, rejection = 400, `{"error":{"code":-32000,"message":"bad token `+token[:12]+`"}}`
	responseOf(t, p, s.post, "choose_parity", message)
	responseOf(t, p, s.post, "choose_parity", message)
	require.Equal(t, 1, strings.Count(log.String(), "\n"), "another rejection is news: %s", log.String())
	line = protocol.ParseObject(log.Bytes())
	assert.Equal(t, []int{400, -32000}, []int{line.Integer("http_status"), line.Integer("jsonrpc_code")})
	assert.Equal(t, `"{\"error\":{\"code\":-32000,\"message\":\"bad token ***\"}}"`, line.Text("body"))

	log.Reset()
	long := strings.Repeat("é", 1000)
	c := call{Request: &transport.Request{}, method: dialect.MethodOf("choose_parity"), asked: dialect.Call{Message: []byte(choiceCall), ID: []byte("7")}}
	r := c.read(dialect.SpecForm("choose_parity"), 404, []byte(long))
	assert.Equal(t, `"`+strings.Repeat(`\u00e9`, 100)+`"`, r.excerpt, "of a long one the first 200 bytes")
}

// RECEIVED announces a later answer. It is no acceptance and no choice.
func TestReceivedIsNoAnswer(t *testing.T) {
	for _, c := range []struct {
		status int
		answer string
		want   dialect.Verdict
	}{
		{200, `{"status":"RECEIVED"}`, dialect.Deferred},
		{200, `{"jsonrpc":"2.0","result":{"status":"received","match_id":"R1M1"},"id":7}`, dialect.Deferred},
		{200, `{"jsonrpc":"2.0","result":"RECEIVED","id":7}`, dialect.Deferred},
		{200, `{"message_type":"ACK","sender":"player:P01","status":"received"}`, dialect.Deferred},
		{200, `{"message_type":"GAME_JOIN_ACK","status":"RECEIVED"}`, dialect.Deferred},
		{202, `{"jsonrpc":"2.0","result":{"accept":true,"parity_choice":"even","move_data":{"choice":"even"}},"id":7}`, dialect.Understood},
		{200, `{"status":"queued"}`, dialect.Rejected},
		{200, ``, dialect.Rejected},
	} {
		for _, method := range []string{"handle_game_invitation", "choose_parity", "make_move"} {
			q := dialect.MethodOf(method)
			assert.Equal(t, c.want, q.ReadReply([]byte("7"), c.status, []byte(c.answer)).Verdict, "%s: %d %s", method, c.status, c.answer)
		}
	}
	for _, method := range []string{"notify_match_result", "start_match", "report_match_result"} {
		q := dialect.MethodOf(method)
		assert.Equal(t, dialect.Understood, q.ReadReply([]byte("7"), 200, []byte(`{"status":"RECEIVED"}`)).Verdict, method)
	}
}

// An error of the protocol ends the search, but proves no form: an agent may answer so to a
// form that it does not know.
func TestErrorOfTheProtocolTeachesNoForm(t *testing.T) {
	p, knows := newTestPeers(zerolog.Nop()), false
	s := &thirdPartyAgent{answer: func(_ string, asked protocol.Object) (int, string) {
		switch {
		case asked.Text("method") != "choose_parity" && knows:
			return 200, chooses
		case asked.Text("method") == "choose_parity" && knows:
			return 404, ""
		}
		return 200, `{"jsonrpc":"2.0","error":{"code":4005,"message":"INVALID_MATCH_STATE"},"id":7}`
	}}
	callOf(t, p, s, "choose_parity", choiceCall)
	assert.Equal(t, 1, s.tries())
	knows = true
	assert.Equal(t, chooses, callOf(t, p, s, "choose_parity", choiceCall))
	assert.Equal(t, 2, s.tries())
}

// An agent that rejects a notice in every form has received it: the result is an error of
// JSON-RPC that names the HTTP status. After a form is learned, an HTTP error stays one.
func TestRejectedNoticeIsAnErrorOfJSONRPC(t *testing.T) {
	for answer, status := range map[string]int{`{"detail":"Not Found"}`: 404, "<html>": 500, "<html lang=en>": 200} {
		p, rejects := newTestPeers(zerolog.Nop()), true
		s := &thirdPartyAgent{answer: func(string, protocol.Object) (int, string) {
			if rejects {
				return status, answer
			}
			return 200, `{"jsonrpc":"2.0","result":{"status":"received"},"id":7}`
		}}
		call := func() (int, string) { return responseOf(t, p, s.post, "notify_match_result", gameOver) }
		for range 3 {
			got, said := call()
			assert.Equal(t, status, got)
			assert.JSONEq(t, fmt.Sprintf(`{"jsonrpc":"2.0","error":{"code":-32601,"message":"HTTP %d"},"id":7}`, status), said)
		}
		assert.Equal(t, formsOf("notify_match_result")+2, s.tries(), "one call tries all forms")
		rejects = false
		call()
		rejects = true
		got, said := call()
		assert.Equal(t, []any{status, answer}, []any{got, said})
	}
}

// The transcript of a match shows the arrived response beside the error.
func TestArrivedResponseIsThatOfTheReturnedError(t *testing.T) {
	const failed = `{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"Internal error"}}`
	agent := &thirdPartyAgent{answer: func(_ string, asked protocol.Object) (int, string) {
		if asked.Text("method") == "choose_parity" {
			return 200, failed
		}
		return 200, `{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"Method not found"}}`
	}}
	q := &transport.Request{Endpoint: there, Method: "choose_parity"}
	answer, err := newTestPeers(zerolog.Nop()).Call(t.Context(), q, asking("choose_parity", choiceCall), agent.post)
	require.NoError(t, err)
	require.Greater(t, agent.tries(), 1, "it searches for another method")
	assert.Contains(t, string(answer.Body), "-32603")
	assert.JSONEq(t, failed, string(answer.Arrived))
}

// The player of 003 §5.3.2 has three tools, and no broadcasts. A manager whose process has no referee knows only
// that the player rejects all forms of a broadcast.
func TestBroadcastThatAnAgentDoesNotWantIsNotSearched(t *testing.T) {
	const question, broadcasts = 3, 10
	for name, test := range map[string]struct {
		inMatch bool
		most    int // requests in a league of three rounds
	}{
		"an agent that plays in its process": {true, 3*question + broadcasts},
		"an agent of another process":        {false, broadcasts + 20},
	} {
		t.Run(name, func(t *testing.T) {
			p := newTestPeers(zerolog.Nop())
			replies := map[string]string{"handle_game_invitation": joins, "choose_parity": chooses, "notify_match_result": noted}
			s := &thirdPartyAgent{answer: func(_ string, asked protocol.Object) (int, string) {
				if reply := replies[asked.Text("method")]; reply != "" {
					return 200, reply
				}
				return 200, `{"error": "Unknown method"}`
			}}
			call := func(method, messageType string) (requests int) {
				before := len(s.bodies)
				body := asking(method, `{"message_type":"`+messageType+`","sender":"league_manager"}`)
				_, err := p.Call(t.Context(), &transport.Request{Endpoint: there, Method: method}, body, s.post)
				require.NoError(t, err)
				return len(s.bodies) - before
			}
			for range 3 {
				assert.Equal(t, 1, call("notify_round", "ROUND_ANNOUNCEMENT"), "a match waits for it")
				if test.inMatch {
					for _, q := range askedQuestions[:2] {
						call(q.method, q.messageType)
					}
					call("notify_match_result", "GAME_OVER")
				}
				call("update_standings", "LEAGUE_STANDINGS_UPDATE")
				call("notify_round_completed", "ROUND_COMPLETED")
			}
			call("notify_league_completed", "LEAGUE_COMPLETED")
			assert.LessOrEqual(t, len(s.bodies), test.most)
		})
	}
}

// An agent with names of its own gets the first announcement late, when it has understood a question. A manager whose
// process has no referee asks no questions: from it the agent misses the first announcement alone.
func TestBroadcastsAreSearchedAtAnAgentWithOtherNames(t *testing.T) {
	const round, standings, completed = "receive_round_announcement R1", "receive_standings_update R1", "receive_round_completed R1"
	for name, test := range map[string]struct {
		inMatch  bool
		received []string
	}{
		"an agent that plays in its process": {true, []string{"receive_game_invitation R1", round, standings, completed, "receive_round_announcement R2"}},
		"an agent of another process":        {false, []string{standings, completed, "receive_round_announcement R2"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newTestPeers(zerolog.Nop())
			var received []string
			s := &thirdPartyAgent{answer: func(_ string, asked protocol.Object) (int, string) {
				method, answer := asked.Text("method"), noted
				if !strings.HasPrefix(method, "receive_") {
					return 200, notFound
				}
				if method == "receive_game_invitation" {
					answer = joins
				}
				received = append(received, method+" "+asked.Object("params").Text("round_id"))
				return 200, answer
			}}
			call := func(method, messageType, round string) (requests int) {
				before := len(s.bodies)
				body := asking(method, `{"message_type":"`+messageType+`","sender":"league_manager","round_id":"`+round+`"}`)
				ctx, stop := context.WithCancel(t.Context())
				_, err := p.Call(ctx, &transport.Request{Endpoint: there, Method: method}, body, s.post)
				stop()
				require.NoError(t, err)
				p.late.Wait()
				return len(s.bodies) - before
			}
			assert.Equal(t, 1, call("notify_round", "ROUND_ANNOUNCEMENT", "R1"), "a match waits for it")
			if test.inMatch {
				call("handle_game_invitation", "GAME_INVITATION", "R1")
			}
			call("update_standings", "LEAGUE_STANDINGS_UPDATE", "R1")
			call("notify_round_completed", "ROUND_COMPLETED", "R1")
			call("notify_round", "ROUND_ANNOUNCEMENT", "R2")
			if test.inMatch {
				assert.Equal(t, 1, call("handle_game_invitation", "GAME_INVITATION", "R2"), "the announcement is not sent again")
				test.received = append(test.received, "receive_game_invitation R2")
			}
			assert.Equal(t, test.received, received)
		})
	}
}

// The late announcement delays no question, and ends with the bridge.
func TestLateAnnouncementIsSentInTheBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newTestPeers(zerolog.Nop())
		var ended []error
		post := func(ctx context.Context, _ string, _ map[string]string, body []byte) (transport.Posted, error) {
			switch asked := protocol.ParseObject(body); asked.Text("method") {
			case "receive_round_announcement":
				<-ctx.Done()
				ended = append(ended, ctx.Err())
				return transport.Posted{}, ctx.Err()
			case "receive_game_invitation":
				return transport.Posted{Status: 200, Body: []byte(joins)}, nil
			}
			return transport.Posted{Status: 200, Body: []byte(notFound)}, nil
		}
		for _, method := range []string{"notify_round", "handle_game_invitation"} {
			began := time.Now()
			q := &transport.Request{Endpoint: there, Method: method}
			_, err := p.Call(t.Context(), q, asking(method, invitation), post)
			require.NoError(t, err)
			assert.Zero(t, time.Since(began), method)
		}
		synctest.Wait()
		assert.Empty(t, ended)
		p.Close()
		assert.Equal(t, []error{context.Canceled}, ended)
	})
}
