package check_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

func defectsOfEnvelopes() []defect {
	const choice, join = "CHOOSE_PARITY_CALL", "GAME_INVITATION"
	return []defect{
		{"leaves the protocol out", everywhere(func(_, result object) { delete(result, "protocol") }), []string{"P-ENV-01"}},
		{"leaves the message type out", everywhere(func(_, result object) { delete(result, "message_type") }), []string{"P-ENV-01", "P-OVR-02"}},
		{"answers as another message", amended(choice, func(result object) { result["message_type"] = "CHOOSE_PARITY_CALL" }), []string{"P-CHO-01"}},
		{"is called by its bare id", everywhere(func(_, result object) { result["sender"] = "P01" }), []string{"P-ENV-03"}},
		{"answers in local time", everywhere(func(_, result object) { result["timestamp"] = time.Now().Format("2006-01-02T15:04:05.000000") }), []string{"P-ENV-04"}},
		{"calls local time UTC", everywhere(func(_, result object) {
			result["timestamp"] = time.Now().UTC().Add(2 * time.Hour).Format("2006-01-02T15:04:05Z")
		}), []string{"P-ENV-04"}},
		{"answers in another conversation", everywhere(func(_, result object) { result["conversation_id"] = "conv-mine" }), []string{"P-ENV-06"}},
		{"has another id than it was given", everywhere(func(_, result object) { result["player_id"] = "P07" }), []string{"P-ENV-07"}},
		{"leaves the match out", everywhere(func(_, result object) { delete(result, "match_id") }), []string{"P-ENV-08", "P-OVR-02"}},
		{"joins another match", amended(join, func(result object) { result["match_id"] = "R9M9" }), []string{"P-INV-02"}},
		{"chooses in another match", amended(choice, func(result object) { result["match_id"] = 7 }), []string{"P-CHO-02"}},
		{"writes conversations in ASCII", everywhere(func(params, result object) {
			text, _ := params["conversation_id"].(string)
			result["conversation_id"] = strings.Map(func(r rune) rune {
				if r > '~' {
					return '?'
				}
				return r
			}, text)
		}), []string{"P-ENV-06"}},
	}
}

func defectsOfPlay() []defect {
	const choice, join = "CHOOSE_PARITY_CALL", "GAME_INVITATION"
	return []defect{
		{"joins with an empty object", amended(join, func(result object) { clear(result) }), []string{"P-INV-01"}},
		{"accepts with a string", amended(join, func(result object) { result["accept"] = "true" }), []string{"P-INV-03"}},
		{"does not accept", amended(join, func(result object) { result["accept"] = false }), []string{"P-INV-04"}},
		{"has arrived at no time", amended(join, func(result object) { delete(result, "arrival_timestamp") }), []string{"P-INV-05"}},
		{"refuses to be invited again", once(join, "conversation_id"), []string{"P-INV-07"}},
		{"knows four players", when(func(messageType string, params object) bool {
			opponent, _ := params["opponent_id"].(string)
			return messageType == join && opponent > "P04"
		}, &refusal{code: 4002, message: "no such opponent"}), []string{"P-INV-08"}},
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
		}, []string{"P-INV-09"}},
		{"chooses with an empty object", amended(choice, func(result object) { clear(result) }), []string{"P-CHO-01"}},
		{"chooses Even", amended(choice, func(result object) { result["parity_choice"] = "Even" }), []string{"P-CHO-03"}},
		{"chooses under another name", amended(choice, func(result object) {
			result["choice"] = result["parity_choice"]
			delete(result, "parity_choice")
		}), []string{"P-FRM-02"}},
		{"thinks too long", hangs(choice), []string{"P-CHO-01", "P-CHO-04"}},
		{"thinks for half of the time", thinks(choice, 16*time.Second), []string{"P-LAT-02"}},
		{"joins after half of the time", thinks(join, 2600*time.Millisecond), []string{"P-LAT-02"}},
		{"thinks before each answer", thinks("", 600*time.Millisecond), []string{"P-LAT-03"}},
		{"chooses anew each time", func(m *model) { m.forgets = true }, []string{"P-CHO-05"}},
		{"refuses when it is late", when(func(messageType string, params object) bool {
			deadline, _ := params["deadline"].(string)
			at, err := time.Parse(time.RFC3339, deadline)
			return messageType == choice && err == nil && time.Until(at) <= 5*time.Second
		}, &refusal{code: -1, message: "too late"}), []string{"P-CHO-06"}},
		{"chooses in any match", func(m *model) { m.open = true }, []string{"P-CHO-07"}},
		{"does not know how matches end", refuses(-32603, "GAME_OVER"), []string{"P-OVR-01"}},
		{"says ok to the end of a match", amended("GAME_OVER", func(result object) {
			clear(result)
			result["status"] = "ok"
		}), []string{"P-OVR-02"}},
		{"takes the end of a match once", once("GAME_OVER", "match_id"), []string{"P-OVR-02"}},
		{"takes every match for won", when(func(_ string, params object) bool {
			end, ok := params["game_result"].(object)
			return ok && end["winner_player_id"] == nil
		}, &refusal{code: -32603, message: "'NoneType' object has no attribute 'upper'"}), []string{"P-OVR-04"}},
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
		}), []string{"P-UNI-01"}},
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
		}, []string{"P-LOAD-01"}},
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
		}, []string{"P-LOAD-02"}},
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
		}, []string{"P-STA-01"}},
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
		}, []string{"P-STA-02"}},
	}
}
