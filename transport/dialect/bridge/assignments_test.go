package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
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

const (
	theReferee    = "http://localhost:8001/mcp"
	theAssignment = `{"protocol":"league.v2","message_type":"MATCH_ASSIGNMENT","sender":"league_manager","timestamp":"2026-11-20T17:02:30Z","conversation_id":"conv-r1m1-a1",` +
		`"league_id":"l","round_id":1,"match_id":"R1M1","attempt":1,"game_type":"even_odd",` +
		`"player_A":{"player_id":"P01","endpoint":"http://localhost:8101/mcp"},"player_B":{"player_id":"P02","endpoint":"http://localhost:8102/mcp"},` +
		`"timeouts":{},"retry_policy":{},"scoring":{"win_points":3,"draw_points":1,"loss_points":0},"referee_id":"REF01"}`
)

// assigned assigns a match, and returns the acknowledgement that the manager gets.
func assigned(t *testing.T, p *Bridge, post transport.Post, assignment string) protocol.Object {
	t.Helper()
	status, answer, err := p.call(t.Context(), theReferee, "", "start_match", asking("start_match", assignment), post)
	require.NoError(t, err)
	require.Equal(t, 200, status, "%s", answer)
	return protocol.ParseObject(answer).Object("result")
}

// A referee that answers a ping as it answers the start of a match has shown no form. The manager learns that.
func TestRefereeThatAcknowledgesEverythingHasLearnedNoForm(t *testing.T) {
	const other = "any other answer"
	for name, test := range map[string]struct {
		answers map[string]string // to a method
		obliges bool
	}{
		"one body for all":                  {map[string]string{other: `{"status":"ok"}`}, true},
		"one result for all":                {map[string]string{other: `{"jsonrpc":"2.0","id":7,"result":{"status":"ok"}}`}, true},
		"ping is an error":                  {map[string]string{"ping": notFound, other: `{"status":"ok"}`}, false},
		"ping has another answer":           {map[string]string{"ping": `{"status":"alive"}`, other: `{"status":"ok"}`}, false},
		"the answer says what it is about":  {map[string]string{other: `{"status":"ok","match_id":"R1M1"}`}, false},
		"only another method is understood": {map[string]string{"start_match": notFound, "ping": notFound, other: `{"status":"ok"}`}, false},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			p := newTestPeers(zerolog.New(&log))
			post := func(_ context.Context, _ string, _ map[string]string, body []byte) (transport.Posted, error) {
				answer, ok := test.answers[protocol.ParseObject(body).Text("method")]
				if !ok {
					answer = test.answers[other]
				}
				return transport.Posted{Status: 200, Body: []byte(answer)}, nil
			}
			_, _, err := p.call(t.Context(), theReferee, "", "ping", asking("ping", "{}"), post)
			require.NoError(t, err)
			for attempt := range 2 { // the second one is in the next form
				ack := assigned(t, p, post, strings.Replace(theAssignment, `"attempt":1`, fmt.Sprintf(`"attempt":%d`, attempt+1), 1))
				assert.Equal(t, "ACCEPTED", ack.Text("status"))
				assert.Equal(t, test.obliges, ack.Text("reason") == protocol.AcknowledgesAll)
			}
			assert.Equal(t, !test.obliges, strings.Contains(log.String(), "FORM_LEARNED"), log.String())
		})
	}
}

func assignmentOf(matchID, a, b string) string {
	return strings.NewReplacer(`"R1M1"`, `"`+matchID+`"`, `"P01"`, `"`+a+`"`, `"P02"`, `"`+b+`"`).Replace(theAssignment)
}

func reportOf(t *testing.T, p *Bridge, report string) string {
	t.Helper()
	body := p.completed(asking("report_match_result", report))
	p.served(body, []byte(resultHead+`{"status":"ACCEPTED"},"id":7}`))
	asked, ok := dialect.CutCall(body)
	require.True(t, ok)
	return string(asked.Message)
}

// The leagues of package thirdparty have the forms in which a referee accepts a match, and
// TestEachKindOfServerIsUnderstoodInOneCall has other rejections.
func TestRefereeGetsTheNextFormAfterARejection(t *testing.T) {
	for name, referee := range map[string]struct {
		first, of, answer, wanted string // the answers to start_match, and to another method
	}{
		"an error of the protocol": {`{"jsonrpc":"2.0","error":{"code":-32602,"message":"E003: message_type"},"id":1}`,
			"assign_match", `{"result":{"status":"ok"}}`, "ACCEPTED"},
		"busy": {notFound, "START_MATCH", `{"result":{"status":"busy"}}`, "BUSY"},
		"refused": {notFound, "START_MATCH",
			`{"result":{"status":"Rejected","reason":"no"}}`, "REJECTED"},
	} {
		t.Run(name, func(t *testing.T) {
			p, s := newTestPeers(zerolog.Nop()), &thirdPartyAgent{answer: func(_ string, asked protocol.Object) (int, string) {
				if asked.Text("method") == referee.of {
					return 200, referee.answer
				}
				return 200, referee.first
			}}
			ack := assigned(t, p, s.post, theAssignment)
			assert.Equal(t, referee.wanted, ack.Text("status"))
			assert.Equal(t, "R1M1", ack.Text("match_id"))
			assert.LessOrEqual(t, s.tries(), formsOf("start_match"))
		})
	}
}

// Our referee gets the assignment unchanged, with the access tokens. No other referee gets
// access tokens.
func TestOnlyOurRefereesGetAccessTokens(t *testing.T) {
	withToken := strings.Replace(theAssignment, `"player_id":"P01",`, `"player_id":"P01","access_token":"secret",`, 1)
	p := newTestPeers(zerolog.Nop())
	ack := resultHead + `{"protocol":"league.v2","message_type":"MATCH_ASSIGNMENT_ACK","status":"ACCEPTED","match_id":"R1M1","draw_commitment":"` + strings.Repeat("a", 64) + `"},"id":7}`
	s := always(200, ack)
	assert.Equal(t, strings.Repeat("a", 64), assigned(t, p, s.post, withToken).Text("draw_commitment"))
	assert.Equal(t, []string{string(asking("start_match", withToken))}, s.bodies)
	assert.Empty(t, p.assigned.values)

	s = &thirdPartyAgent{answer: func(_ string, asked protocol.Object) (int, string) {
		if asked.Text("method") == "assign_match" {
			return 200, `{"result":{"status":"accepted"}}`
		}
		return 200, notFound
	}}
	assigned(t, p, s.post, withToken)
	require.Len(t, s.bodies, 3)
	for _, body := range s.bodies[1:] {
		assert.NotContains(t, body, "secret")
	}
}

func TestBusyRefereeGetsNoOtherForm(t *testing.T) {
	withToken := strings.Replace(theAssignment, `"player_id":"P01",`, `"player_id":"P01","access_token":"secret",`, 1)
	p := newTestPeers(zerolog.Nop())
	s := always(200,
		resultHead+`{"protocol":"league.v2","message_type":"MATCH_ASSIGNMENT_ACK",`+
			`"status":"BUSY","reason":"full"},"id":7}`)
	for _, assignment := range []string{withToken, theAssignment, theAssignment} {
		ack := assigned(t, p, s.post, assignment)
		assert.Equal(t, []string{"BUSY", "full"}, []string{ack.Text("status"), ack.Text("reason")})
		assert.Equal(t, 1, s.tries())
	}
}

// A referee that answers only after the match has accepted it, as soon as its time to
// answer is nearly over.
func TestRefereeThatAnswersAfterTheMatchHasAcceptedIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newTestPeers(zerolog.Nop())
		ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
		defer stop()
		began := time.Now()
		status, answer, err := p.call(ctx, theReferee, "", "start_match", asking("start_match", theAssignment), func(ctx context.Context, _ string, _ map[string]string, _ []byte) (transport.Posted, error) {
			<-ctx.Done()
			return transport.Posted{}, ctx.Err()
		})
		require.NoError(t, err)
		assert.Equal(t, 200, status)
		assert.Equal(t, "ACCEPTED", protocol.ParseObject(answer).Object("result").Text("status"))
		assert.Equal(t, 9500*time.Millisecond, time.Since(began))
		require.NoError(t, ctx.Err())
	})
}

// A referee that acknowledges every form gets the next form if no report follows.
func TestRefereeThatReportsNothingGetsTheNextForm(t *testing.T) {
	var log bytes.Buffer
	p := newTestPeers(zerolog.New(&log))
	s := always(200, `{"jsonrpc":"2.0","result":{"status":"ok"},"id":1}`)
	forms := formsOf("start_match")
	var methods []string
	for range forms + 1 {
		assigned(t, p, s.post, theAssignment)
		methods = append(methods, protocol.ParseObject([]byte(s.bodies[0])).Text("method"))
		require.Equal(t, 1, s.tries())
	}
	assert.Equal(t, []string{"start_match", "assign_match", "start_match_command", "START_MATCH", "run_match"}, methods[:5])
	assert.Equal(t, "start_match", methods[forms], "and from the beginning")
	assigned(t, p, s.post, theAssignment)
	s.tries()
	p.served(asking("report_match_result", `{"match_id":"R1M1"}`), []byte(resultHead+`{},"id":1}`))
	for range 2 {
		assigned(t, p, s.post, assignmentOf("R2M1", "P01", "P02"))
		assert.Contains(t, s.bodies[0], `"assign_match"`, "what brought a report is kept")
		s.tries()
	}
	assert.Equal(t, 1, strings.Count(log.String(), theReferee), "the log has it once")
}

// startedBy answers as a referee that knows one method, and conducts the match before it answers.
func startedBy(method string, conduct func(asked protocol.Object) (int, string)) *thirdPartyAgent {
	return &thirdPartyAgent{answer: func(_ string, asked protocol.Object) (int, string) {
		if asked.Text("method") != method {
			return 200, `{"result":{"error":"Method not found"},"error":null,"id":1}`
		}
		return conduct(asked)
	}}
}

// A referee that reports a match before it answers the start has shown that the form starts
// matches: it is not called in others when it fails later.
func TestReportBeforeTheAnswerProvesTheForm(t *testing.T) {
	for name, report := range map[string]string{
		"that names the match": `{"match_id":"R1M1","result":{"winner":"DRAW"}}`,
		"without a match":      `{"result":{"winner":"DRAW"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			p, fails := newTestPeers(zerolog.Nop()), false
			s := startedBy("start_match_command", func(protocol.Object) (int, string) {
				if fails {
					return 500, "Internal Server Error"
				}
				reportOf(t, p, report)
				return 200, `{"result":{"status":"STARTED"},"error":null,"id":1}`
			})
			assigned(t, p, s.post, theAssignment)
			s.tries()
			fails = true
			status, _, err := p.call(t.Context(), theReferee, "", "start_match", asking("start_match", assignmentOf("R2M1", "P01", "P02")), s.post)
			require.NoError(t, err)
			assert.Equal(t, []int{500, 1}, []int{status, s.tries()})
		})
	}
}

// The report of another referee proves no form.
func TestReportOfAnotherRefereeBeforeTheAnswerProvesNoForm(t *testing.T) {
	p := newTestPeers(zerolog.Nop())
	s := &thirdPartyAgent{answer: func(string, protocol.Object) (int, string) {
		p.served(asking("report_match_result", `{"sender":"referee:REF02","match_id":"R1M1"}`), []byte(resultHead+`{},"id":1}`))
		return 200, `{"result":{"status":"ok"}}`
	}}
	assigned(t, p, s.post, theAssignment)
	assert.False(t, p.find(theReferee).route("start_match").proven)
}

// A referee whose first match ends in HTTP 500 gets the next one in the same form, whether or not it
// closes its connection after that.
func TestRefereeThatFailsInItsFirstMatchGetsTheNextInTheSameForm(t *testing.T) {
	for name, breaks := range map[string]bool{"and answers": false, "and closes the connection": true} {
		t.Run(name, func(t *testing.T) {
			p, failed := newTestPeers(zerolog.Nop()), false
			s := startedBy("start_match_command", func(asked protocol.Object) (int, string) {
				if asked.Object("params").Text("match_id") == "R1M1" {
					failed = true
					return 500, "Internal Server Error"
				}
				return 200, `{"result":{"status":"STARTED"},"error":null,"id":1}`
			})
			post := func(ctx context.Context, url string, header map[string]string, body []byte) (transport.Posted, error) {
				if failed && breaks {
					failed = false
					return transport.Posted{}, io.ErrUnexpectedEOF
				}
				return s.post(ctx, url, header, body)
			}
			_, _, err := p.call(t.Context(), theReferee, "", "start_match", asking("start_match", theAssignment), post)
			assert.Equal(t, breaks, err != nil)
			assert.Equal(t, "ACCEPTED", assigned(t, p, post, assignmentOf("R2M1", "P01", "P02")).Text("status"))
		})
	}
}

// A match that its referee did not accept is not open: the next report of the same players without a
// match is about the next match.
func TestReportWithoutMatchIsNotAboutAMatchThatFailed(t *testing.T) {
	for name, answer := range map[string]struct {
		status int
		body   string
	}{
		"HTTP 500": {500, "Internal Server Error"}, "busy": {200, `{"result":{"status":"BUSY"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			p := newTestPeers(zerolog.Nop())
			s := &thirdPartyAgent{answer: func(_ string, asked protocol.Object) (int, string) {
				if strings.Contains(string(asked.Append(nil)), "R1M1") {
					return answer.status, answer.body
				}
				return 200, `{"result":{"status":"STARTED"}}`
			}}
			_, _, err := p.call(t.Context(), theReferee, "", "start_match", asking("start_match", theAssignment), s.post)
			require.NoError(t, err)
			assigned(t, p, s.post, assignmentOf("R4M1", "P02", "P01"))
			said := reportOf(t, p, `{"result":{"winner":"DRAW","score":{"P01":"even","P02":"even"}}}`)
			assert.Equal(t, "R4M1", protocol.ParseObject([]byte(said)).Text("match_id"))
		})
	}
}

// openMatches assigns two matches to a referee that accepts them: R1M1 of P01 and P02, R1M2
// of P03 and P04.
func openMatches(t *testing.T) *Bridge {
	t.Helper()
	p := newTestPeers(zerolog.Nop())
	s := always(200, `{"result":{"status":"ok"}}`)
	assigned(t, p, s.post, theAssignment)
	assigned(t, p, s.post, assignmentOf("R1M2", "P03", "P04"))
	return p
}

const complete = `"match_id":"R1M1","round_id":1,"league_id":"l","game_type":"even_odd","sender":"referee:REF01"`

const flat = `"player_a_id":"P01","player_b_id":"P02",`

func TestReportIsCompleted(t *testing.T) {
	for _, c := range []struct{ name, report, want string }{
		{"agent A", `{"sender":"referee:REF01","league_id":"l","round_id":1,"match_id":"R1M1","game_type":"even_odd","result":{"winner":"P01","score":{"P01":3,"P02":0},"details":{"drawn_number":10,"choices":{"P01":"even","P02":"odd"}}}}`,
			`{` + complete + `,"result":{"winner":"P01","score":{"P01":3,"P02":0},"details":{"drawn_number":10,"choices":{"P01":"even","P02":"odd"}}}}`},
		{"agent D, without particulars", `{"sender":"referee:REF01","league_id":"l","round_id":1,"match_id":"R1M1","game_type":"even_odd","result":{"winner":null,"score":{"P01":0,"P02":0},"details":{"drawn_number":0,"choices":{}}}}`,
			`{` + complete + `,"result":{"winner":null,"score":{"P01":0,"P02":0}}}`},
		{"agent E, a draw", `{"result":{"winner":"DRAW","score":{"P01":"even","P02":"even"}}}`,
			`{` + complete + `,"result":{"winner":"DRAW","score":{"P01":1,"P02":1},"details":{"choices":{"P01":"even","P02":"even"},"status":"DRAW"}}}`},
		{"agent E, won", `{"result":{"winner":"P01","score":{"P01":"odd","P02":"even"}}}`,
			`{` + complete + `,"result":{"winner":"P01","score":{"P01":3,"P02":0},"details":{"choices":{"P01":"odd","P02":"even"},"status":"WIN"}}}`},
		{"player_choices", `{"match_id":"R1M1","result":{"winner":"P02","score":{"P01":0,"P02":3},"details":{"drawn_number":3,"player_choices":{"P01":"even","P02":"odd"}}}}`,
			`{` + complete + `,"result":{"winner":"P02","score":{"P01":0,"P02":3},"details":{"drawn_number":3,"choices":{"P01":"even","P02":"odd"}}}}`},
		{"the second match, by its players", `{"result":{"winner":"P03","score":{"P03":3,"P04":0}}}`,
			`{"match_id":"R1M2","round_id":1,"league_id":"l","game_type":"even_odd","sender":"referee:REF01","result":{"winner":"P03","score":{"P03":3,"P04":0}}}`},
		{"an unknown sender", `{"sender":"referee:unknown","match_id":"R1M1","result":{"winner":null,"score":{"P01":1,"P02":1}}}`,
			`{` + complete + `,"result":{"winner":null,"score":{"P01":1,"P02":1}}}`},
		{"flat, a draw", `{"sender":"referee:REF01","match_id":"R1M1","round_id":1,"player_a_id":"P01","player_b_id":"P02","player_a_choice":"even","player_b_choice":"even","drawn_number":3,"winner_id":null,"player_a_result":"DRAW","player_b_result":"DRAW"}`,
			`{` + complete + `,` + flat + `"player_a_choice":"even","player_b_choice":"even","drawn_number":3,"winner_id":null,"player_a_result":"DRAW","player_b_result":"DRAW",` +
				`"result":{"winner":"DRAW","score":{"P01":1,"P02":1},"details":{"drawn_number":3,"choices":{"P01":"even","P02":"even"},"status":"DRAW"}}}`},
		{"flat, a double loss", `{"sender":"referee:REF01","match_id":"R1M1","round_id":1,"player_a_id":"P01","player_b_id":"P02","error":"join_timeout","player_a_result":"TECHNICAL_LOSS","player_b_result":"TECHNICAL_LOSS"}`,
			`{` + complete + `,` + flat + `"error":"join_timeout","player_a_result":"TECHNICAL_LOSS","player_b_result":"TECHNICAL_LOSS",` +
				`"result":{"winner":null,"score":{"P01":0,"P02":0},"details":{"status":"TECHNICAL_LOSS"}}}`},
		{"flat, won", `{"sender":"referee:REF01","match_id":"R1M1","round_id":1,"player_a_id":"P01","player_b_id":"P02","player_a_choice":"odd","player_b_choice":"even","drawn_number":8,"winner_id":"P02","player_a_result":"LOSS","player_b_result":"WIN"}`,
			`{` + complete + `,` + flat + `"player_a_choice":"odd","player_b_choice":"even","drawn_number":8,"winner_id":"P02","player_a_result":"LOSS","player_b_result":"WIN",` +
				`"result":{"winner":"P02","score":{"P01":0,"P02":3},"details":{"drawn_number":8,"choices":{"P01":"odd","P02":"even"},"status":"WIN"}}}`},
		{"a winner that is null", `{"match_id":"R1M1","winner_id":null,"score":{"P01":1,"P02":1}}`,
			`{` + complete + `,"winner_id":null,"score":{"P01":1,"P02":1},"result":{"winner":null,"score":{"P01":1,"P02":1}}}`},

		{"a draw without players", `{"result":{"winner":"DRAW"}}`, `{"result":{"winner":"DRAW"}}`},
		{"players that do not meet", `{"result":{"winner":"P01","score":{"P01":3,"P04":0}}}`, `{"result":{"winner":"P01","score":{"P01":3,"P04":0}}}`},
		{"another referee", `{"sender":"referee:REF09","result":{"winner":"P01"}}`, `{"sender":"referee:REF09","result":{"winner":"P01"}}`},
		{"a match that was not assigned", `{"match_id":"R7M1","result":{"winner":"P01"}}`, `{"match_id":"R7M1","result":{"winner":"P01"}}`},
		{"a winner that did not play stays wrong", `{"match_id":"R1M1","result":{"winner":"P09","score":{"P01":3,"P02":0}}}`,
			`{` + complete + `,"result":{"winner":"P09","score":{"P01":3,"P02":0}}}`},
		{"a missing winner stays missing", `{"match_id":"R1M1","result":{"score":{"P01":3,"P02":0}}}`,
			`{` + complete + `,"result":{"score":{"P01":3,"P02":0}}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.JSONEq(t, c.want, reportOf(t, openMatches(t), c.report))
		})
	}
}

// With two legs a pair meets twice. A repeated report is about the same match as before.
func TestReportWithoutMatchIsAboutTheOpenMatchOfThePair(t *testing.T) {
	p := newTestPeers(zerolog.Nop())
	s := always(200, `{"result":{"status":"ok"}}`)
	report := `{"result":{"winner":"DRAW","score":{"P01":"even","P02":"even"}}}`
	matchOf := func() string { return protocol.ParseObject([]byte(reportOf(t, p, report))).Text("match_id") }
	assigned(t, p, s.post, theAssignment)
	assert.Equal(t, "R1M1", matchOf())
	assert.Equal(t, "R1M1", matchOf(), "its acknowledgement was lost")
	assigned(t, p, s.post, assignmentOf("R4M1", "P02", "P01"))
	assert.Equal(t, "R4M1", matchOf())
	assert.Equal(t, "R4M1", matchOf())
	assigned(t, p, s.post, assignmentOf("R5M1", "P02", "P01"))
	assigned(t, p, s.post, assignmentOf("R6M1", "P02", "P01"))
	assert.Empty(t, matchOf(), "two are open: the bridge does not guess")
}

// Reports of our referees and broken requests stay unchanged.
func TestOtherReportsStayUnchanged(t *testing.T) {
	ours := string(asking("report_match_result", `{"match_id":"R1M1","result":{"winner":"P01"}}`))
	assert.Equal(t, ours, string(newTestPeers(zerolog.Nop()).completed([]byte(ours))), "no match was assigned to a third-party referee")
	p := openMatches(t)
	for _, body := range []string{
		`{"jsonrpc":"2.0","method":"report_match_result"`, `[]`, ``, `{"jsonrpc":"2.0","method":"`,
		string(asking("report_match_result", `[]`)), string(asking("report_match_result", `{"result":`)),
	} {
		assert.Equal(t, body, string(p.completed([]byte(body))))
		p.served([]byte(body), []byte(resultHead+`{},"id":1}`))
	}
}

// After a match was assigned to another referee, its report proves no form of the first
// referee.
func TestReassignedMatchBelongsToTheNewReferee(t *testing.T) {
	p := newTestPeers(zerolog.Nop())
	s := always(200, `{"result":{"status":"ok"}}`)
	assigned(t, p, s.post, theAssignment)
	report := `{"sender":"referee:REF02","match_id":"R1M1","result":{"winner":null,"score":{"P01":1,"P02":1},"details":{"status":"DRAW"}}}`
	assert.Equal(t, report, reportOf(t, p, report), "it stays unchanged")

	// The first referee acknowledges anything, so its form is not proven.
	s.tries()
	assigned(t, p, s.post, assignmentOf("R2M1", "P01", "P03"))
	assigned(t, p, s.post, assignmentOf("R2M1", "P01", "P03"))
	assert.Contains(t, s.bodies[1], `"assign_match"`)

	// A report without match is about another match.
	assert.Equal(t, "R2M1", protocol.ParseObject([]byte(reportOf(t, p, `{"sender":"referee:REF01","result":{"winner":"DRAW"}}`))).Text("match_id"))
}

// resultHead is the beginning of a response of one of our agents.
const resultHead = `{"jsonrpc":"2.0","result":`

// call makes a call without the bridge of an agent.
func (p *Bridge) call(ctx context.Context, endpoint, bearer, method string, body []byte, post transport.Post) (status int, response []byte, err error) {
	c := p.newCall(&transport.Request{Endpoint: endpoint, Bearer: bearer, Method: method}, body, post)
	r, err := c.make(ctx)
	return r.Status, r.Body, err
}

// completed returns a report as the manager gets it.
func (p *Bridge) completed(body []byte) (completed []byte) {
	s := server{p, func(_ context.Context, body []byte) transport.Answer {
		completed = body
		return transport.Answer{}
	}}
	s.serveReport(context.Background(), body)
	return completed
}

// served serves a report with a response.
func (p *Bridge) served(body, response []byte) {
	s := server{p, func(context.Context, []byte) transport.Answer { return answering(response) }}
	s.serveReport(context.Background(), body)
}

// ServeText is Serve with the texts of responses in place of answers.
func (p *Bridge) ServeText(ctx context.Context, from netip.Addr, path string, body []byte, next func(ctx context.Context, body []byte) []byte) (int, []byte) {
	status, answer := p.Serve(ctx, from, path, body, func(ctx context.Context, body []byte) transport.Answer { return answering(next(ctx, body)) })
	return status, answer.Body
}

// answering is the answer of an agent with the text of a response.
func answering(response []byte) transport.Answer {
	if response == nil {
		return transport.Answer{}
	}
	ack := &protocol.MatchAssignmentAck{}
	result, err := transport.DecodeResponse(response, func(result []byte) (any, error) {
		_ = json.Unmarshal(result, ack) // a result of another method
		return ack, nil
	})
	return transport.Answer{Body: response, Result: result, Err: err}
}

// formsOf is the number of forms of a method, without the tools of MCP servers.
func formsOf(method string) (n int) {
	for _, f := range dialect.MethodOf(method).Forms() {
		if !f.OnServer() {
			n++
		}
	}
	return n
}
