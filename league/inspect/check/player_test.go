package check_test

import (
	"encoding/json"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/inspect/check"
	"evenodd/league/protocol"
)

// examine has the kit examine a model that registers with it.
func examine(n *network, m *model, options ...func(*check.Options)) *check.Report {
	n.Helper()
	listener := n.open()
	o := check.Options{Role: check.Player, URL: n.serve(m), Listener: listener, Wait: time.Minute}
	for _, option := range options {
		option(&o)
	}
	registered := make(chan struct{})
	go func() {
		defer close(registered)
		m.register(n, urlOf(listener), o.URL)
	}()
	defer func() { <-registered }()
	return n.check(o)
}

// verdicts are the requirements of a report with a verdict.
func verdicts(r *check.Report, wanted ...check.Verdict) map[string]string {
	found := map[string]string{}
	for _, f := range r.Findings {
		if slices.Contains(wanted, f.Verdict) {
			found[f.ID] = f.Detail
		}
	}
	return found
}

func TestGoodPlayerPassesEverything(t *testing.T) {
	inVirtualTime(t, func(n *network) {
		r := examine(n, newModel(n))
		assert.Empty(n, verdicts(r, check.Fail, check.Warn, check.Skipped))
		assert.Len(n, r.Findings, len(check.Catalogue(check.Player)))
		assert.True(n, r.Conforms())
	})
}

// Every form that a league understands is understood here; the report says that it is not
// that of the specification.
func TestPlayerThatServesAnotherFormConforms(t *testing.T) {
	inVirtualTime(t, func(n *network) {
		m := newModel(n)
		servesEnvelopes(m)
		registersByEnvelope(m)
		r := examine(n, m)
		assert.True(n, r.Conforms())
		assert.Empty(n, verdicts(r, check.Fail))
		assert.Contains(n, finding(n, r, "P-FRM-01").Detail, "handle_message with the message in message")
		assert.Equal(n, "handle_message with the message in message instead of register_player", finding(n, r, "P-FRM-03").Detail)
		assert.Equal(n, check.Pass, finding(n, r, "P-CHO-03").Verdict)
	})
}

// A server that serves nothing has shown nothing.
func TestServerThatAnswers501PassesNothing(t *testing.T) {
	inVirtualTime(t, func(n *network) {
		url := n.serve(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotImplemented) }))
		for _, role := range []string{check.Player, check.Referee, check.Manager} {
			r := n.check(check.Options{
				Role: role, URL: url, Listener: n.open(), Wait: 10 * time.Millisecond,
			})
			assert.Empty(n, verdicts(r, check.Pass), role)
			assert.NotEmpty(n, verdicts(r, check.Fail), role)
			assert.False(n, r.Conforms(), role)
		}
	})
}

// An agent whose replies are not wrapped breaks many requirements by one defect.
func TestOneDefectIsOneCause(t *testing.T) {
	inVirtualTime(t, func(n *network) {
		m := newModel(n)
		answersBare(m)
		r := examine(n, m)
		assert.True(n, r.Conforms(), "a league understands it")
		i := slices.IndexFunc(r.Causes, func(c check.Cause) bool { return slices.Contains(c.Requirements, "P-RPC-01") })
		require.GreaterOrEqual(n, i, 0)
		assert.Equal(n, "Its replies are not wrapped as JSON-RPC responses.", r.Causes[i].Text)
		assert.Equal(n, check.Should, r.Causes[i].Level)
		for _, id := range []string{"P-FRM-02", "P-RPC-01", "P-RPC-06"} {
			assert.Contains(n, r.Causes[i].Requirements, id)
			assert.Equal(n, r.Causes[i].ID, finding(n, r, id).Cause)
		}
	})
}

// Some referees answer the start of a match when the match is over.
func TestRefereeThatAnswersTheStartLateConductsMatches(t *testing.T) {
	inVirtualTime(t, func(n *network) {
		over := make(chan struct{})
		defer close(over)
		late := &tamper{response: func(method string, _, _ object) {
			if method == protocol.StartMatch.Name {
				<-over
			}
		}}
		l := n.open()
		requirePasses(n, n.check(check.Options{
			Role: check.Referee, URL: ownReferee(n, l, 1, late), Listener: l,
			Selection: check.Selection{Only: []string{"R-STA-01"}},
		}))
	})
}

func finding(n *network, r *check.Report, id string) check.Finding {
	n.Helper()
	i := slices.IndexFunc(r.Findings, func(f check.Finding) bool { return f.ID == id })
	require.GreaterOrEqual(n, i, 0, id)
	return r.Findings[i]
}

// This is the sample player of the specification (003 §5.3.2) in Go, with the behaviour of
// FastAPI around it: it answers bare messages, returns no id, and writes local time.

// A sampleRequest is MCPRequest: jsonrpc, params and id may be missing.
type sampleRequest struct {
	JSONRPC string         `json:"jsonrpc"`
	Method  *string        `json:"method"`
	Params  map[string]any `json:"params"`
	ID      any            `json:"id"`
}

// serveSample is the framework: what it does not understand never reaches the player.
func serveSample(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		answer(w, http.StatusMethodNotAllowed, map[string]any{"detail": "Method Not Allowed"})
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, 16<<20))
	if err != nil {
		return
	}
	var q sampleRequest
	if err := json.Unmarshal(body, &q); err != nil || q.Method == nil || !integer(q.ID) {
		answer(w, http.StatusUnprocessableEntity, map[string]any{"detail": []any{"Input should be valid"}})
		return
	}
	answer(w, http.StatusOK, mcpEndpoint(*q.Method, q.Params))
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a caller that has gone is its own loss
}

// integer tells whether pydantic takes an id: none, a number without a fraction, or a string of digits.
func integer(v any) bool {
	if text, ok := v.(string); ok {
		_, err := strconv.Atoi(text)
		return err == nil
	}
	n, ok := v.(float64)
	return v == nil || ok && n == math.Trunc(n)
}

// mcpEndpoint is mcp_endpoint, with the three functions that it calls.
func mcpEndpoint(method string, params map[string]any) map[string]any {
	switch method {
	case "handle_game_invitation":
		return map[string]any{
			"message_type": "GAME_JOIN_ACK", "match_id": params["match_id"], "accept": true,
			"arrival_timestamp": time.Now().Format("2006-01-02T15:04:05.000000"),
		}
	case "choose_parity":
		return map[string]any{
			"message_type": "CHOOSE_PARITY_RESPONSE", "match_id": params["match_id"], "player_id": params["player_id"],
			"parity_choice": []string{"even", "odd"}[rand.IntN(2)],
		}
	case "notify_match_result":
		return map[string]any{"status": "ok"}
	}
	return map[string]any{"error": "Unknown method"}
}

// The sample player of the specification plays in a league: its replies are not wrapped
// as JSON-RPC, its times have no zone, and it keeps nothing in mind.
func TestSamplePlayerGetsAUsefulReport(t *testing.T) {
	inVirtualTime(t, func(n *network) {
		r := n.check(check.Options{Role: check.Player, URL: n.serve(http.HandlerFunc(serveSample))})
		assert.True(n, r.Conforms())
		assert.Empty(n, verdicts(r, check.Fail))

		warned, skips := verdicts(r, check.Warn), verdicts(r, check.Skipped)
		for _, id := range []string{"P-CHO-05", "P-LOAD-02"} { // it chooses by chance each time
			delete(warned, id)
			delete(skips, id)
		}
		for id, detail := range map[string]string{
			"P-RPC-01": `jsonrpc is missing, not "2.0"`,
			"P-RPC-06": "the id of the request, 1, is missing in the answer",
			"P-RPC-11": `answered with the error "Unknown method", not -32601`,
			"P-RPC-13": `the body "{\"jsonrpc\": \"2.0\", \"id\": 1, \"params\": {}}": answered with HTTP status 422 and neither result nor error`,
			"P-REQ-01": "GAME_INVITATION without match_id: answered without an error",
		} {
			assert.Equal(n, detail, warned[id], id)
		}
		assert.Equal(n, []string{
			"P-CHO-07", "P-ENV-01", "P-ENV-03", "P-ENV-04", "P-ENV-06", "P-ENV-07", "P-ERR-01", "P-FRM-02", "P-HTTP-03", "P-INV-05",
			"P-NOT-01", "P-NOT-02", "P-NOT-03", "P-OVR-02",
			"P-REQ-01", "P-REQ-03", "P-REQ-05", "P-REQ-06",
			"P-RPC-01", "P-RPC-06", "P-RPC-07", "P-RPC-10", "P-RPC-11", "P-RPC-12", "P-RPC-13",
		}, slices.Sorted(maps.Keys(warned)))
		assert.Equal(n, []string{
			"P-FRM-03", "P-NOT-04",
			"P-REG-01", "P-REG-03", "P-REG-04", "P-REG-05", "P-REG-06", "P-REG-07", "P-REG-08", "P-REG-09",
		}, slices.Sorted(maps.Keys(skips)))

		wrap := finding(n, r, "P-RPC-01")
		assert.Contains(n, wrap.Hint, `"result": the message, an object`)
		assert.Contains(n, wrap.Exchanges[0].Request, "GAME_INVITATION")
		assert.Contains(n, finding(n, r, "P-INV-05").Detail, "arrival_timestamp: a UTC time")
		assert.Contains(n, finding(n, r, "P-INV-05").Exchanges[0].Response, `"arrival_timestamp"`)
	})
}
