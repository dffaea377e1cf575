package check_test

import (
	"bytes"
	"maps"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

func defectsOfResponses() []defect {
	return []defect{
		{"leaves jsonrpc out", wrapped(func(response object) { delete(response, "jsonrpc") }), []string{"P-RPC-01"}},
		{"answers messages that are not wrapped", answersBare, []string{"P-RPC-01", "P-RPC-06"}},
		{"has an error beside every result", wrapped(func(response object) {
			if _, ok := response["result"]; ok {
				response["error"] = nil
			}
		}), []string{"P-RPC-01"}},
		{"answers errors that are text", wrapped(func(response object) {
			if _, ok := response["error"]; ok {
				response["error"] = "Unknown method"
			}
		}), []string{"P-RPC-01", "P-RPC-11"}},
		{"writes names twice", rewritten(func(_ http.ResponseWriter, _ *int, body []byte) []byte {
			return bytes.Replace(body, []byte(`"accept":true`), []byte(`"accept":true,"accept":true`), 1)
		}), []string{"P-RPC-15"}},
		{"shows its stack", wrapped(func(response object) {
			if e, ok := response["error"].(object); ok {
				e["data"] = "Traceback (most recent call last):\n  File \"player.py\", line 7"
			}
		}), []string{"P-RPC-16"}},
		{"answers always with the id 1", wrapped(func(response object) { response["id"] = 1 }),
			[]string{"P-RPC-06", "P-RPC-07"}},
	}
}

func defectsOfRequests() []defect {
	const emptyResult = `{"jsonrpc":"2.0","result":{},"id":null}`
	return []defect{
		{"answers notifications", replying(http.StatusOK, "application/json", emptyResult, func(body []byte) bool {
			return !bytes.HasPrefix(body, []byte("[")) && !bytes.Contains(body, []byte(`"id":`))
		}), []string{"P-RPC-10"}},
		{"has another code for unknown methods", wrapped(func(response object) {
			if e, ok := response["error"].(object); ok && e["code"] == -32601 {
				e["code"] = -32000
			}
		}), []string{"P-RPC-11"}},
		{"answers what is no JSON with HTTP 400", rewritten(func(w http.ResponseWriter, status *int, body []byte) []byte {
			if !isError(body, -32700) {
				return body
			}
			*status = http.StatusBadRequest
			w.Header().Set("Content-Type", "text/plain")
			return []byte("Bad Request")
		}), []string{"P-RPC-12"}},
		{"does not look at jsonrpc", func(m *model) { m.lax = true }, []string{"P-RPC-13", "P-REQ-01", "P-REQ-03", "P-REQ-05", "P-REQ-06"}},
		{"searches requests instead of reading them", replying(http.StatusOK, "application/json",
			`{"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error"},"id":null}`, func(body []byte) bool {
				return bytes.Contains(body, []byte(`"method": `))
			}), []string{"P-RPC-17"}},
		{"knows no choose_parity", refuses(-32601, "CHOOSE_PARITY_CALL"), []string{"P-CHO-01"}},
		{"knows three methods alone", refuses(-32601, "GAME_ERROR", "ROUND_ANNOUNCEMENT", "LEAGUE_STANDINGS_UPDATE", "ROUND_COMPLETED", "LEAGUE_COMPLETED"),
			[]string{"P-ERR-01", "P-NOT-01", "P-NOT-02", "P-NOT-03", "P-NOT-04"}},
		{"has codes of its own for what is missing", wrapped(func(response object) {
			if e, ok := response["error"].(object); ok && e["code"] == -32602 {
				e["code"] = -1
				delete(e, "data")
			}
		}), []string{"P-REQ-01"}},
		{"takes no members that it does not know", when(func(_ string, params object) bool { return params["future_field"] != nil },
			&refusal{code: -32602, message: "extra fields not permitted"}), []string{"P-REQ-07"}},
		{"serves handle_message only", servesEnvelopes, []string{"P-FRM-01"}},
	}
}

// answersBare has the player wrap no result.
func answersBare(m *model) {
	m.wrap = func(response object) any {
		if result, ok := response["result"]; ok {
			return result
		}
		return response
	}
}

// servesEnvelopes has the player serve one method, with the message in params.message.
func servesEnvelopes(m *model) {
	m.first = func(w http.ResponseWriter, _ *http.Request, body []byte) bool {
		var q struct {
			Method string         `json:"method"`
			ID     jsontext.Value `json:"id"`
			Params object         `json:"params"`
		}
		if json.Unmarshal(body, &q) != nil || q.Method == "" {
			return false
		}
		message, _ := q.Params["message"].(object)
		method := ""
		for name, messageType := range methods {
			if messageType == message["message_type"] {
				method = name
			}
		}
		answer := marshal(object{"jsonrpc": "2.0", "id": q.ID, "error": object{"code": -32601, "message": "Method not found"}})
		if q.Method == "handle_message" && message != nil {
			answer = m.answerOne(marshal(object{"jsonrpc": "2.0", "method": method, "params": message, "id": q.ID}))
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(answer)
		return true
	}
}

// registersByEnvelope has the player register in the form that servesEnvelopes understands.
func registersByEnvelope(m *model) {
	m.apply = func(q object) { q["method"], q["params"] = "handle_message", object{"message": q["params"]} }
}

func defectsOfRegistering() []defect {
	meta := func(name string, value any) func(*model) {
		return func(m *model) {
			m.apply = func(q object) { q["params"].(object)["player_meta"].(object)[name] = value }
		}
	}
	return []defect{
		{"registers with a bare message", func(m *model) {
			m.apply = func(q object) {
				params := q["params"].(object)
				clear(q)
				maps.Copy(q, params)
			}
		}, []string{"P-REG-01"}},
		{"registers by handle_message", registersByEnvelope, []string{"P-FRM-03", "P-REG-01"}},
		{"registers without an envelope", func(m *model) {
			m.apply = func(q object) { delete(q["params"].(object), "timestamp") }
		}, []string{"P-REG-03"}},
		{"registers in local time", func(m *model) {
			m.apply = func(q object) { q["params"].(object)["timestamp"] = "2025-01-15T10:30:00+02:00" }
		}, []string{"P-REG-04"}},
		{"has a long name", meta("display_name", strings.Repeat("א", 51)), []string{"P-REG-05"}},
		{"has half a version", meta("version", "1.0"), []string{"P-REG-06"}},
		{"plays chess", meta("game_types", []string{"chess"}), []string{"P-REG-07"}},
	}
}

func defectsOfHTTP() []defect {
	return []defect{
		{"hangs on everything", hangs(""), []string{"P-HTTP-01", "P-INV-06"}},
		{"answers unknown methods with 500", rewritten(func(_ http.ResponseWriter, status *int, body []byte) []byte {
			if isError(body, -32601) {
				*status = http.StatusInternalServerError
			}
			return body
		}), []string{"P-HTTP-02", "P-HTTP-03"}},
		{"says that it sends HTML", rewritten(func(w http.ResponseWriter, _ *int, body []byte) []byte {
			w.Header().Set("Content-Type", "text/html")
			return body
		}), []string{"P-HTTP-04"}},
		{"answers at great length", everywhere(func(_, result object) { result["log"] = strings.Repeat("x", 70<<10) }), []string{"P-HTTP-08"}},
		{"takes 4 KB at most", replying(http.StatusRequestEntityTooLarge, "text/plain", "too large",
			func(body []byte) bool { return len(body) >= 4<<10 },
		), []string{"P-HTTP-09", "P-UNI-01"}},
	}
}
