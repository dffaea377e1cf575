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
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	conformance "evenodd/league/inspect/check"
)

// This is the sample player of the specification (003 §5.3.2) in Go, with the behaviour of
// FastAPI around it: it answers bare messages, returns no id, and writes local time.

// A sampleRequest is MCPRequest: jsonrpc, params and id may be missing.
type sampleRequest struct {
	method string
	params map[string]any
}

// serveSample is the framework: what it does not understand never reaches the player.
func serveSample(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path != "/mcp":
		answer(w, http.StatusNotFound, map[string]any{"detail": "Not Found"})
		return
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", "POST")
		answer(w, http.StatusMethodNotAllowed, map[string]any{"detail": "Method Not Allowed"})
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, 16<<20))
	if err != nil {
		return
	}
	if deep(body) { // Python gives up at a thousand levels
		answer(w, http.StatusBadRequest, map[string]any{"detail": "There was an error parsing the body"})
		return
	}
	q, problem := read(body)
	if problem != nil {
		answer(w, http.StatusUnprocessableEntity, map[string]any{"detail": []any{problem}})
		return
	}
	answer(w, http.StatusOK, mcpEndpoint(q))
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a caller that has gone is its own loss
}

func deep(body []byte) bool {
	depth := 0
	for _, c := range body {
		switch c {
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		}
		if depth > 990 {
			return true
		}
	}
	return false
}

// read is what pydantic makes of a body: the request, or what is wrong with it.
func read(body []byte) (sampleRequest, map[string]any) {
	var raw any
	if err := json.Unmarshal(body, &raw); err != nil {
		return sampleRequest{}, complaint("json_invalid", "JSON decode error", "body")
	}
	object, ok := raw.(map[string]any)
	if !ok {
		return sampleRequest{}, complaint("model_attributes_type", "Input should be a valid dictionary or object to extract fields from", "body")
	}
	q := sampleRequest{params: map[string]any{}}
	method, there := object["method"]
	switch q.method, ok = method.(string); {
	case !there:
		return q, complaint("missing", "Field required", "body", "method")
	case !ok:
		return q, complaint("string_type", "Input should be a valid string", "body", "method")
	}
	if version, there := object["jsonrpc"]; there {
		if _, ok := version.(string); !ok {
			return q, complaint("string_type", "Input should be a valid string", "body", "jsonrpc")
		}
	}
	if params, there := object["params"]; there {
		if q.params, ok = params.(map[string]any); !ok {
			return q, complaint("dict_type", "Input should be a valid dictionary", "body", "params")
		}
	}
	if id, there := object["id"]; there && !integer(id) {
		return q, complaint("int_parsing", "Input should be a valid integer", "body", "id")
	}
	return q, nil
}

func complaint(kind, message string, where ...string) map[string]any {
	return map[string]any{"type": kind, "loc": where, "msg": message}
}

// integer tells whether pydantic takes a value for an int: also a string of
// digits, and a number without a fraction.
func integer(v any) bool {
	switch v := v.(type) {
	case float64:
		return v == math.Trunc(v)
	case string:
		_, err := strconv.Atoi(strings.TrimSpace(v))
		return err == nil
	case bool:
		return true
	}
	return false
}

// mcpEndpoint is mcp_endpoint.
func mcpEndpoint(q sampleRequest) map[string]any {
	switch q.method {
	case "handle_game_invitation":
		return handleInvitation(q.params)
	case "choose_parity":
		return handleChooseParity(q.params)
	case "notify_match_result":
		return handleResult()
	}
	return map[string]any{"error": "Unknown method"}
}

// handleInvitation is handle_invitation.
func handleInvitation(params map[string]any) map[string]any {
	return map[string]any{
		"message_type":      "GAME_JOIN_ACK",
		"match_id":          params["match_id"],
		"arrival_timestamp": time.Now().Format("2006-01-02T15:04:05.000000"),
		"accept":            true,
	}
}

// handleChooseParity is handle_choose_parity.
func handleChooseParity(params map[string]any) map[string]any {
	return map[string]any{
		"message_type":  "CHOOSE_PARITY_RESPONSE",
		"match_id":      params["match_id"],
		"player_id":     params["player_id"],
		"parity_choice": []string{"even", "odd"}[rand.IntN(2)],
	}
}

// handleResult is handle_result.
func handleResult() map[string]any {
	return map[string]any{"status": "ok"}
}

// The sample player of the specification plays in a league: its replies are not wrapped
// as JSON-RPC, its times have no zone, and it keeps nothing in mind.
func TestSamplePlayerGetsAUsefulReport(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, func(n *network) {
		r := n.check(conformance.Options{Role: conformance.Player, URL: n.serve(http.HandlerFunc(serveSample))})
		assert.True(n, r.Conforms())
		assert.Empty(n, verdicts(r, conformance.Fail))

		warned, skips := verdicts(r, conformance.Warn), verdicts(r, conformance.Skipped)
		for _, id := range []string{"P-CHO-05", "P-LOAD-02"} { // it chooses by chance each time
			delete(warned, id)
			delete(skips, id)
		}
		for id, detail := range map[string]string{
			"P-RPC-01": `jsonrpc is missing, not "2.0"`,
			"P-RPC-02": "the answer has neither result nor error",
			"P-RPC-05": "error is a string",
			"P-RPC-06": "the id of the request, 1, is missing in the answer",
			"P-RPC-07": `the id of the request, "req-007", is missing in the answer`,
			"P-RPC-08": "the id of the request, 0, is missing in the answer",
			"P-RPC-10": "a notification of handle_game_invitation: the answer has a body",
			"P-RPC-11": `answered with the error "Unknown method", not -32601`,
			"P-RPC-12": "half an object: answered with HTTP status 422 and neither result nor error",
			"P-RPC-13": `{"method": "ping", "id": 1, "params": {}}: answered with the error "Unknown method", not -32600`,
			"P-REQ-01": "answered without an error",
			"P-REQ-03": `params ["R1M1", "P01"]: answered with HTTP status 422 and neither result nor error`,
		} {
			assert.Equal(n, detail, warned[id], id)
		}
		assert.Equal(n, []string{
			"P-CHO-07", "P-CHO-08", "P-ENV-01", "P-ENV-03", "P-ENV-04", "P-ENV-06", "P-ENV-07", "P-ERR-01", "P-FRM-02", "P-HTTP-03", "P-INV-05",
			"P-MET-02", "P-MET-03", "P-MET-04", "P-NOT-01", "P-NOT-02", "P-NOT-03", "P-OVR-02",
			"P-REQ-01", "P-REQ-02", "P-REQ-03", "P-REQ-04", "P-REQ-05", "P-REQ-06",
			"P-RPC-01", "P-RPC-02", "P-RPC-05", "P-RPC-06", "P-RPC-07", "P-RPC-08", "P-RPC-09", "P-RPC-10", "P-RPC-11", "P-RPC-12", "P-RPC-13", "P-RPC-14", "P-UNI-03",
		}, slices.Sorted(maps.Keys(warned)))
		assert.Equal(n, []string{
			"P-CHO-09", "P-ENV-05", "P-FRM-03", "P-NOT-04", "P-OVR-03",
			"P-REG-01", "P-REG-02", "P-REG-03", "P-REG-04", "P-REG-05", "P-REG-06", "P-REG-07", "P-REG-08", "P-REG-09", "P-RPC-04", "P-UNI-02",
		}, slices.Sorted(maps.Keys(skips)))

		wrap := finding(n, r, "P-RPC-02")
		assert.Contains(n, wrap.Hint, `Put the message into "result"`)
		assert.Contains(n, wrap.Exchanges[0].Request, "GAME_INVITATION")
		assert.Contains(n, finding(n, r, "P-INV-05").Hint, "datetime.now().isoformat() is local time")
		assert.Contains(n, finding(n, r, "P-INV-05").Exchanges[0].Response, `"arrival_timestamp"`)
	})
}
