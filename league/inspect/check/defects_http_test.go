package check_test

import (
	"maps"
	"net/http"
	"strings"
)

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
		{"registers by handle_message", func(m *model) {
			m.apply = func(q object) {
				q["method"], q["params"] = "handle_message", object{"message": q["params"]}
			}
		}, []string{"P-FRM-03", "P-REG-01"}},
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
		{"answers unknown methods with HTTP 500", unknownMethodsWith(http.StatusInternalServerError), []string{"P-HTTP-02", "P-HTTP-03"}},
		{"says that it sends HTML", rewritten(func(w http.ResponseWriter, _ *int, body []byte) []byte {
			w.Header().Set("Content-Type", "text/html")
			return body
		}), []string{"P-HTTP-04"}},
		{"answers at great length", everywhere(func(_, result object) { result["log"] = strings.Repeat("x", 70<<10) }), []string{"P-HTTP-08"}},
		{"takes 4 KB at most", takesAtMost(4 << 10), []string{"P-HTTP-09", "P-UNI-01"}},
	}
}

func takesAtMost(size int) func(*model) {
	return replying(http.StatusRequestEntityTooLarge, "text/plain", "too large", func(_ *http.Request, body []byte) bool { return len(body) >= size })
}

func unknownMethodsWith(code int) func(*model) {
	return rewritten(func(_ http.ResponseWriter, status *int, body []byte) []byte {
		if isError(body, -32601) {
			*status = code
		}
		return body
	})
}
