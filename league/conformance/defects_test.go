package conformance_test

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"

	"evenodd/league/conformance"
)

// A defect is one thing that a player does wrong.
type defect struct {
	name  string
	plant func(*model)
	finds []string // the requirements that must not pass
	short bool     // it does not answer: the kit waits a shorter time
}

// amended changes the results of one message.
func amended(messageType string, change func(result object)) func(*model) {
	return func(m *model) {
		m.amend = func(asked string, _, result object) {
			if asked == messageType {
				change(result)
			}
		}
	}
}

// everywhere changes all results.
func everywhere(change func(params, result object)) func(*model) {
	return func(m *model) { m.amend = func(_ string, params, result object) { change(params, result) } }
}

// wrapped changes all responses.
func wrapped(change func(request, response object)) func(*model) {
	return func(m *model) {
		m.wrap = func(request, response object) any {
			change(request, response)
			return response
		}
	}
}

// unknown has the player refuse messages of some types.
func refuses(code int, messageTypes ...string) func(*model) {
	return func(m *model) {
		m.call = func(messageType string, _ object) (object, *refusal, bool) {
			return nil, &refusal{code: code, message: "no"}, slices.Contains(messageTypes, messageType)
		}
	}
}

// when has the player fail on some calls in its own way.
func when(broken func(messageType string, params object) bool, then *refusal) func(*model) {
	return func(m *model) {
		m.call = func(messageType string, params object) (object, *refusal, bool) {
			return nil, then, broken(messageType, params)
		}
	}
}

// rewritten changes the bytes that are sent.
func rewritten(change func(w http.ResponseWriter, status *int, body []byte) []byte) func(*model) {
	return func(m *model) { m.bytes = change }
}

// taken sees calls first.
func taken(first func(m *model, w http.ResponseWriter, r *http.Request, body []byte) bool) func(*model) {
	return func(m *model) {
		m.first = func(w http.ResponseWriter, r *http.Request, body []byte) bool { return first(m, w, r, body) }
	}
}

// gone waits until the caller has given up, or the test ends.
func (m *model) gone(r *http.Request) {
	select {
	case <-r.Context().Done():
	case <-m.dead:
	}
}

func hangUp(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		_ = conn.Close()
	}
}

func isError(body []byte, code int) bool {
	return bytes.Contains(body, fmt.Appendf(nil, `"code":%d`, code))
}

func defects() []defect {
	return slices.Concat(defectsOfRegistering(), defectsOfHTTP(), defectsOfRPC(), defectsOfEnvelopes(), defectsOfPlay(), defectsOfLasting())
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
		}, []string{"P-REG-01", "P-REG-02"}, false},
		{"registers as its message type", func(m *model) {
			m.apply = func(q object) { q["method"] = "LEAGUE_REGISTER_REQUEST" }
		}, []string{"P-REG-02"}, false},
		{"registers without an envelope", func(m *model) {
			m.apply = func(q object) { delete(q["params"].(object), "timestamp") }
		}, []string{"P-REG-03"}, false},
		{"registers in local time", func(m *model) {
			m.apply = func(q object) { q["params"].(object)["timestamp"] = "2025-01-15T10:30:00+02:00" }
		}, []string{"P-REG-04"}, false},
		{"has a long name", meta("display_name", strings.Repeat("א", 51)), []string{"P-REG-05"}, false},
		{"has half a version", meta("version", "1.0"), []string{"P-REG-06"}, false},
		{"plays chess", meta("game_types", []string{"chess"}), []string{"P-REG-07"}, false},
		{"has one game that is no list", meta("game_types", "even_odd"), []string{"P-REG-07"}, false},
	}
}

func defectsOfHTTP() []defect {
	return []defect{
		{"hangs on everything", taken(func(m *model, _ http.ResponseWriter, r *http.Request, _ []byte) bool {
			m.gone(r)
			return true
		}), []string{"P-HTTP-01", "P-INV-06"}, true},
		{"begins an answer and hangs", taken(func(m *model, w http.ResponseWriter, r *http.Request, _ []byte) bool {
			w.WriteHeader(http.StatusOK)
			_, _ = w.Write([]byte(`{"jsonrpc`))
			_ = http.NewResponseController(w).Flush()
			m.gone(r)
			return true
		}), []string{"P-INV-06"}, true},
		{"answers unknown methods with HTTP 500", rewritten(func(_ http.ResponseWriter, status *int, body []byte) []byte {
			if isError(body, -32601) {
				*status = http.StatusInternalServerError
			}
			return body
		}), []string{"P-HTTP-02", "P-HTTP-03"}, false},
		{"answers unknown methods with HTTP 404", rewritten(func(_ http.ResponseWriter, status *int, body []byte) []byte {
			if isError(body, -32601) {
				*status = http.StatusNotFound
			}
			return body
		}), []string{"P-HTTP-03"}, false},
		{"says that it sends HTML", rewritten(func(w http.ResponseWriter, _ *int, body []byte) []byte {
			w.Header().Set("Content-Type", "text/html")
			return body
		}), []string{"P-HTTP-04"}, false},
		{"takes no charset", taken(func(_ *model, w http.ResponseWriter, r *http.Request, _ []byte) bool {
			if r.Method != http.MethodPost || r.Header.Get("Content-Type") == "application/json" {
				return false
			}
			http.Error(w, "what is that?", http.StatusUnsupportedMediaType)
			return true
		}), []string{"P-HTTP-05"}, false},
		{"answers GET with a page", taken(func(_ *model, w http.ResponseWriter, r *http.Request, _ []byte) bool {
			if r.Method == http.MethodPost {
				return false
			}
			_, _ = w.Write([]byte("<html>"))
			return true
		}), []string{"P-HTTP-06"}, false},
		{"ends every connection", taken(func(_ *model, w http.ResponseWriter, _ *http.Request, _ []byte) bool {
			w.Header().Set("Connection", "close")
			return false
		}), []string{"P-HTTP-07"}, false},
		{"answers at great length", everywhere(func(_, result object) { result["log"] = strings.Repeat("x", 70<<10) }), []string{"P-HTTP-08"}, false},
		{"answers with two megabytes", everywhere(func(_, result object) { result["log"] = strings.Repeat("x", 2<<20) }), []string{"P-INV-01"}, false},
		{"takes 4 KB at most", taken(func(_ *model, w http.ResponseWriter, _ *http.Request, body []byte) bool {
			if len(body) < 4<<10 {
				return false
			}
			http.Error(w, "too large", http.StatusRequestEntityTooLarge)
			return true
		}), []string{"P-HTTP-09", "P-UNI-03"}, false},
		{"takes 16 KB at most", taken(func(_ *model, w http.ResponseWriter, _ *http.Request, body []byte) bool {
			if len(body) < 16<<10 {
				return false
			}
			http.Error(w, "too large", http.StatusRequestEntityTooLarge)
			return true
		}), []string{"P-UNI-03"}, false},
	}
}

func defectsOfRPC() []defect {
	return slices.Concat(defectsOfResponses(), defectsOfIDs(), defectsOfRequests())
}

func defectsOfResponses() []defect {
	return []defect{
		{"leaves jsonrpc out", wrapped(func(_, response object) { delete(response, "jsonrpc") }), []string{"P-RPC-01"}, false},
		{"answers messages that are not wrapped", func(m *model) {
			m.wrap = func(_, response object) any {
				if result, ok := response["result"]; ok {
					return result
				}
				return response
			}
		}, []string{"P-RPC-01", "P-RPC-02", "P-RPC-06"}, false},
		{"has an error beside every result", wrapped(func(_, response object) {
			if _, ok := response["result"]; ok {
				response["error"] = nil
			}
		}), []string{"P-RPC-03"}, false},
		{"answers null", wrapped(func(_, response object) {
			if _, ok := response["result"]; ok {
				response["result"] = nil
			}
		}), []string{"P-RPC-04", "P-INV-01", "P-CHO-01"}, false},
		{"answers a string of JSON", wrapped(func(_, response object) {
			if result, ok := response["result"]; ok {
				response["result"] = string(marshal(result))
			}
		}), []string{"P-RPC-04", "P-INV-01"}, false},
		{"answers errors that are text", wrapped(func(_, response object) {
			if _, ok := response["error"]; ok {
				response["error"] = "Unknown method"
			}
		}), []string{"P-RPC-05", "P-RPC-11"}, false},
		{"writes what is no text", rewritten(func(_ http.ResponseWriter, _ *int, body []byte) []byte {
			return bytes.Replace(body, []byte("GAME_JOIN_ACK"), []byte("GAME_JOIN_ACK\xff"), 1)
		}), []string{"P-RPC-15"}, false},
		{"writes names twice", rewritten(func(_ http.ResponseWriter, _ *int, body []byte) []byte {
			return bytes.Replace(body, []byte(`"accept":true`), []byte(`"accept":true,"accept":true`), 1)
		}), []string{"P-RPC-15"}, false},
		{"writes two values", rewritten(func(_ http.ResponseWriter, _ *int, body []byte) []byte {
			if body == nil {
				return nil
			}
			return append(body, "{}"...)
		}), []string{"P-RPC-15"}, false},
		{"shows its stack", wrapped(func(_, response object) {
			if e, ok := response["error"].(object); ok {
				e["data"] = "Traceback (most recent call last):\n  File \"player.py\", line 7"
			}
		}), []string{"P-RPC-16"}, false},
	}
}

func defectsOfIDs() []defect {
	return []defect{
		{"answers always with the id 1", wrapped(func(_, response object) { response["id"] = 1 }), []string{"P-RPC-06", "P-RPC-07", "P-RPC-08", "P-RPC-09"}, false},
		{"makes strings of ids", wrapped(func(_, response object) {
			if id, ok := response["id"].(jsontext.Value); ok && id.Kind() == '0' {
				response["id"] = string(id)
			}
		}), []string{"P-RPC-06"}, false},
		{"leaves ids out", wrapped(func(_, response object) { delete(response, "id") }), []string{"P-RPC-06", "P-RPC-07"}, false},
		{"takes no ids that are strings", taken(func(_ *model, w http.ResponseWriter, _ *http.Request, body []byte) bool {
			if !bytes.Contains(body, []byte(`"id":"`)) {
				return false
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusUnprocessableEntity)
			_, _ = w.Write([]byte(`{"detail":"value is not a valid integer"}`))
			return true
		}), []string{"P-RPC-07", "P-HTTP-03"}, false},
		{"takes the id 0 for none", func(m *model) {
			m.wrap = func(_, response object) any {
				if id, ok := response["id"].(jsontext.Value); ok && string(id) == "0" {
					response["id"] = nil
				}
				return response
			}
		}, []string{"P-RPC-08"}, false},
		{"reads ids as floats", wrapped(func(_, response object) {
			if id, ok := response["id"].(jsontext.Value); ok && string(id) == "9007199254740993" {
				response["id"] = 9007199254740992
			}
		}), []string{"P-RPC-09"}, false},
	}
}

func defectsOfRequests() []defect {
	return []defect{
		{"answers notifications", taken(func(m *model, w http.ResponseWriter, _ *http.Request, body []byte) bool {
			if bytes.HasPrefix(body, []byte("[")) || bytes.Contains(body, []byte(`"id":`)) {
				return false
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"jsonrpc":"2.0","result":{},"id":null}`))
			return true
		}), []string{"P-RPC-10"}, false},
		{"has another code for unknown methods", wrapped(func(_, response object) {
			if e, ok := response["error"].(object); ok && e["code"] == -32601 {
				e["code"] = -32000
			}
		}), []string{"P-RPC-11"}, false},
		{"answers unknown methods with a result", func(m *model) {
			m.wrap = func(_, response object) any {
				if e, ok := response["error"].(object); ok && e["code"] == -32601 {
					delete(response, "error")
					response["result"] = object{"error": "Unknown method"}
				}
				return response
			}
		}, []string{"P-RPC-11"}, false},
		{"answers what is no JSON with HTTP 400", rewritten(func(w http.ResponseWriter, status *int, body []byte) []byte {
			if !isError(body, -32700) {
				return body
			}
			*status = http.StatusBadRequest
			w.Header().Set("Content-Type", "text/plain")
			return []byte("Bad Request")
		}), []string{"P-RPC-12"}, false},
		{"does not look at jsonrpc", func(m *model) { m.lax = true }, []string{"P-RPC-13", "P-REQ-01", "P-REQ-02", "P-REQ-03", "P-REQ-04", "P-REQ-05", "P-REQ-06"}, false},
		{"answers a batch with one object", taken(func(_ *model, w http.ResponseWriter, _ *http.Request, body []byte) bool {
			if !bytes.HasPrefix(body, []byte(`[{`)) {
				return false
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"jsonrpc":"2.0","result":{},"id":901}`))
			return true
		}), []string{"P-RPC-14"}, false},
		{"answers an empty batch with an empty batch", taken(func(_ *model, w http.ResponseWriter, _ *http.Request, body []byte) bool {
			if string(body) != "[]" {
				return false
			}
			_, _ = w.Write(body)
			return true
		}), []string{"P-RPC-14"}, false},
		{"searches requests instead of reading them", taken(func(_ *model, w http.ResponseWriter, _ *http.Request, body []byte) bool {
			if !bytes.Contains(body, []byte(`"method": `)) {
				return false
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error"},"id":null}`))
			return true
		}), []string{"P-RPC-17"}, false},
		{"knows no choose_parity", refuses(-32601, "CHOOSE_PARITY_CALL"), []string{"P-MET-01", "P-CHO-01"}, false},
		{"knows three methods alone", func(m *model) { m.knowsLittle = true },
			[]string{"P-MET-02", "P-MET-03", "P-MET-04", "P-ERR-01", "P-NOT-01", "P-NOT-02", "P-NOT-03", "P-NOT-04"}, false},
		{"has codes of its own for what is missing", wrapped(func(_, response object) {
			if e, ok := response["error"].(object); ok && e["code"] == -32602 {
				e["code"] = -1
				delete(e, "data")
			}
		}), []string{"P-REQ-02"}, false},
		{"takes no members that it does not know", when(func(_ string, params object) bool { return params["future_field"] != nil },
			&refusal{code: -32602, message: "extra fields not permitted"}), []string{"P-REQ-07"}, false},
	}
}

func defectsOfEnvelopes() []defect {
	const choice, join = "CHOOSE_PARITY_CALL", "GAME_INVITATION"
	return []defect{
		{"leaves the protocol out", everywhere(func(_, result object) { delete(result, "protocol") }), []string{"P-ENV-01"}, false},
		{"leaves the message type out", everywhere(func(_, result object) { delete(result, "message_type") }), []string{"P-ENV-01", "P-OVR-02"}, false},
		{"answers as another message", amended(choice, func(result object) { result["message_type"] = "CHOOSE_PARITY_CALL" }), []string{"P-ENV-02"}, false},
		{"is called by its bare id", everywhere(func(_, result object) { result["sender"] = "P01" }), []string{"P-ENV-03"}, false},
		{"answers in local time", everywhere(func(_, result object) { result["timestamp"] = time.Now().Format("2006-01-02T15:04:05.000000") }), []string{"P-ENV-04"}, false},
		{"calls local time UTC", everywhere(func(_, result object) {
			result["timestamp"] = time.Now().UTC().Add(2 * time.Hour).Format("2006-01-02T15:04:05Z")
		}), []string{"P-ENV-05"}, false},
		{"answers in another conversation", everywhere(func(_, result object) { result["conversation_id"] = "conv-mine" }), []string{"P-ENV-06", "P-UNI-02"}, false},
		{"has another id than it was given", everywhere(func(_, result object) { result["player_id"] = "P07" }), []string{"P-ENV-07"}, false},
		{"leaves the match out", everywhere(func(_, result object) { delete(result, "match_id") }), []string{"P-ENV-08", "P-OVR-02"}, false},
		{"joins another match", amended(join, func(result object) { result["match_id"] = "R9M9" }), []string{"P-INV-02"}, false},
		{"chooses in another match", amended(choice, func(result object) { result["match_id"] = 7 }), []string{"P-CHO-02"}, false},
		{"writes conversations in ASCII", everywhere(func(params, result object) {
			text, _ := params["conversation_id"].(string)
			result["conversation_id"] = strings.Map(func(r rune) rune {
				if r > '~' {
					return '?'
				}
				return r
			}, text)
		}), []string{"P-UNI-02"}, false},
	}
}

func defectsOfPlay() []defect {
	const choice, join = "CHOOSE_PARITY_CALL", "GAME_INVITATION"
	return []defect{
		{"joins with an empty object", amended(join, func(result object) { clear(result) }), []string{"P-INV-01"}, false},
		{"accepts with a string", amended(join, func(result object) { result["accept"] = "true" }), []string{"P-INV-03"}, false},
		{"does not accept", amended(join, func(result object) { result["accept"] = false }), []string{"P-INV-04"}, false},
		{"has arrived at no time", amended(join, func(result object) { delete(result, "arrival_timestamp") }), []string{"P-INV-05"}, false},
		{"refuses to be invited again", func(m *model) {
			seen := map[string]bool{}
			m.call = func(messageType string, params object) (object, *refusal, bool) {
				m.mu.Lock()
				defer m.mu.Unlock()
				conversation, _ := params["conversation_id"].(string)
				again := messageType == join && seen[conversation]
				seen[conversation] = seen[conversation] || messageType == join
				return nil, &refusal{code: 4005, message: "already invited"}, again
			}
		}, []string{"P-INV-07"}, false},
		{"knows four players", when(func(messageType string, params object) bool {
			opponent, _ := params["opponent_id"].(string)
			return messageType == join && opponent > "P04"
		}, &refusal{code: 4002, message: "no such opponent"}), []string{"P-INV-08"}, false},
		{"plays a match once", func(m *model) {
			seen := map[string]any{}
			m.call = func(messageType string, params object) (object, *refusal, bool) {
				match, _ := params["match_id"].(string)
				m.mu.Lock()
				defer m.mu.Unlock()
				if messageType == join && seen[match] == nil {
					seen[match] = params["conversation_id"]
				}
				return nil, &refusal{code: 4005, message: "played already"}, messageType == join && seen[match] != params["conversation_id"]
			}
		}, []string{"P-INV-09"}, false},
		{"chooses with an empty object", amended(choice, func(result object) { clear(result) }), []string{"P-CHO-01"}, false},
		{"chooses Even", amended(choice, func(result object) { result["parity_choice"] = "Even" }), []string{"P-CHO-03"}, false},
		{"chooses 1", amended(choice, func(result object) { result["parity_choice"] = 1 }), []string{"P-CHO-03"}, false},
		{"chooses under another name", amended(choice, func(result object) {
			result["choice"] = result["parity_choice"]
			delete(result, "parity_choice")
		}), []string{"P-CHO-03"}, false},
		{"thinks too long", taken(func(m *model, _ http.ResponseWriter, r *http.Request, body []byte) bool {
			if !bytes.Contains(body, []byte(choice)) {
				return false
			}
			m.gone(r)
			return true
		}), []string{"P-CHO-01", "P-CHO-04"}, true},
		{"chooses anew each time", func(m *model) { m.forgets = true }, []string{"P-CHO-05", "P-LOAD-02"}, false},
		{"refuses when it is late", when(func(messageType string, params object) bool {
			deadline, _ := params["deadline"].(string)
			at, err := time.Parse(time.RFC3339, deadline)
			return messageType == choice && err == nil && time.Until(at) <= 5*time.Second
		}, &refusal{code: -1, message: "too late"}), []string{"P-CHO-06"}, false},
		{"chooses in any match", func(m *model) { m.open = true }, []string{"P-CHO-07", "P-CHO-08"}, false},
		{"reveals another entropy", amended(choice, func(result object) { result["entropy"] = strings.Repeat("00", 32) }), []string{"P-CHO-09"}, false},
		{"does not know how matches end", refuses(-32603, "GAME_OVER"), []string{"P-OVR-01", "P-OVR-03"}, false},
		{"says ok to the end of a match", amended("GAME_OVER", func(result object) {
			clear(result)
			result["status"] = "ok"
		}), []string{"P-OVR-02", "P-OVR-03"}, false},
		{"takes every match for won", when(func(_ string, params object) bool {
			end, ok := params["game_result"].(object)
			return ok && end["winner_player_id"] == nil
		}, &refusal{code: -32603, message: "'NoneType' object has no attribute 'upper'"}), []string{"P-OVR-04"}, false},
	}
}

func defectsOfLasting() []defect {
	return []defect{
		{"hangs up on other scripts", taken(func(_ *model, w http.ResponseWriter, _ *http.Request, body []byte) bool {
			if !strings.Contains(string(body), "भ") && !strings.Contains(string(body), "न") {
				return false
			}
			hangUp(w)
			return true
		}), []string{"P-UNI-01"}, false},
		{"plays three matches at once", func(m *model) {
			open := map[string]bool{}
			m.call = func(messageType string, params object) (object, *refusal, bool) {
				m.mu.Lock()
				defer m.mu.Unlock()
				match, _ := params["match_id"].(string)
				switch messageType {
				case "GAME_OVER":
					delete(open, match)
				case "GAME_INVITATION":
					open[match] = true
				}
				return nil, &refusal{code: 22, message: "busy"}, len(open) > 3 && messageType == "GAME_INVITATION"
			}
		}, []string{"P-LOAD-01"}, false},
		{"mixes matches up", func(m *model) {
			var last atomic.Value
			last.Store("")
			m.amend = func(messageType string, _, result object) {
				switch messageType {
				case "GAME_INVITATION":
					last.Store(result["match_id"])
				case "CHOOSE_PARITY_CALL":
					result["match_id"] = last.Load()
				}
			}
		}, []string{"P-LOAD-02"}, false},
		{"breaks with broken JSON", func(m *model) {
			var broken atomic.Bool
			m.bytes = func(_ http.ResponseWriter, _ *int, body []byte) []byte {
				if isError(body, -32700) {
					broken.Store(true)
				}
				return body
			}
			m.first = func(w http.ResponseWriter, _ *http.Request, _ []byte) bool {
				if broken.Load() {
					hangUp(w)
				}
				return broken.Load()
			}
		}, []string{"P-STA-01"}, false},
		{"breaks with a number for a request", func(m *model) {
			var broken atomic.Bool
			m.first = func(w http.ResponseWriter, _ *http.Request, body []byte) bool {
				if broken.Load() || string(body) == "17" {
					broken.Store(true)
					hangUp(w)
				}
				return broken.Load()
			}
		}, []string{"P-RPC-13", "P-STA-01"}, false},
		{"is tired in the end", func(m *model) {
			var ended atomic.Bool
			m.amend = func(messageType string, _, _ object) {
				if messageType == "ROUND_COMPLETED" {
					ended.Store(true)
				}
			}
			m.call = func(messageType string, _ object) (object, *refusal, bool) {
				return nil, &refusal{code: -32603, message: "out of memory"}, ended.Load() && messageType == "CHOOSE_PARITY_CALL"
			}
		}, []string{"P-STA-02"}, false},
		{"serves one connection after the other", func(m *model) {
			turn := make(chan struct{}, 1)
			m.gate = func(r *http.Request) (leave func()) {
				select {
				case turn <- struct{}{}:
					return func() { <-turn }
				case <-r.Context().Done():
				case <-m.dead:
				}
				return func() {}
			}
		}, []string{"P-HTTP-10"}, true},
	}
}

// quick is how long the kit waits for those that do not answer.
const quick = 400 * time.Millisecond

func TestEveryDefectIsFound(t *testing.T) {
	for _, d := range defects() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			m := newModel(t)
			d.plant(m)
			r := examine(t, m, func(o *conformance.Options) {
				if d.short {
					o.Patience = quick
				}
			})
			found := verdicts(r, conformance.Fail, conformance.Warn)
			for _, id := range d.finds {
				assert.Contains(t, found, id)
			}
			for _, f := range r.Findings {
				if f.Verdict == conformance.Fail || f.Verdict == conformance.Warn {
					assert.NotEmpty(t, f.Detail, f.ID)
					assert.NotEmpty(t, f.Exchanges, f.ID)
				}
			}
		})
	}
}

// A requirement that nothing breaks is none.
func TestEveryRequirementCanFail(t *testing.T) {
	apart := []string{
		"P-LAT-01", "P-LAT-02", "P-LAT-03", // TestLatency
		"P-REG-08", "P-REG-09", // TestRegistersElsewhere, TestRegistersTwice
	}
	found := map[string]bool{}
	for _, d := range defects() {
		for _, id := range d.finds {
			found[id] = true
		}
	}
	for _, id := range apart {
		found[id] = true
	}
	for _, q := range conformance.Catalogue(conformance.Player) {
		assert.True(t, found[q.ID], "no defect shows that %s can fail", q.ID)
	}
}
