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
		}, []string{"P-REG-01", "P-REG-02"}},
		{"registers as its message type", func(m *model) {
			m.apply = func(q object) { q["method"] = "LEAGUE_REGISTER_REQUEST" }
		}, []string{"P-REG-02"}},
		{"registers by handle_message", func(m *model) {
			m.apply = func(q object) {
				q["method"], q["params"] = "handle_message", object{"message": q["params"]}
			}
		}, []string{"P-FRM-03", "P-REG-02"}},
		{"registers without an envelope", func(m *model) {
			m.apply = func(q object) { delete(q["params"].(object), "timestamp") }
		}, []string{"P-REG-03"}},
		{"registers in local time", func(m *model) {
			m.apply = func(q object) { q["params"].(object)["timestamp"] = "2025-01-15T10:30:00+02:00" }
		}, []string{"P-REG-04"}},
		{"has a long name", meta("display_name", strings.Repeat("א", 51)), []string{"P-REG-05"}},
		{"has half a version", meta("version", "1.0"), []string{"P-REG-06"}},
		{"plays chess", meta("game_types", []string{"chess"}), []string{"P-REG-07"}},
		{"has one game that is no list", meta("game_types", "even_odd"), []string{"P-REG-07"}},
	}
}

func defectsOfHTTP() []defect {
	return []defect{
		{"hangs on everything", taken(func(m *model, _ http.ResponseWriter, r *http.Request, _ []byte) bool {
			m.gone(r)
			return true
		}), []string{"P-HTTP-01", "P-INV-06"}},
		{"begins an answer and hangs", taken(func(m *model, w http.ResponseWriter, r *http.Request, _ []byte) bool {
			w.WriteHeader(http.StatusOK)
			_, _ = w.Write([]byte(`{"jsonrpc`))
			_ = http.NewResponseController(w).Flush()
			m.gone(r)
			return true
		}), []string{"P-INV-06"}},
		{"answers unknown methods with HTTP 500", rewritten(func(_ http.ResponseWriter, status *int, body []byte) []byte {
			if isError(body, -32601) {
				*status = http.StatusInternalServerError
			}
			return body
		}), []string{"P-HTTP-02", "P-HTTP-03"}},
		{"answers unknown methods with HTTP 404", rewritten(func(_ http.ResponseWriter, status *int, body []byte) []byte {
			if isError(body, -32601) {
				*status = http.StatusNotFound
			}
			return body
		}), []string{"P-HTTP-03"}},
		{"says that it sends HTML", rewritten(func(w http.ResponseWriter, _ *int, body []byte) []byte {
			w.Header().Set("Content-Type", "text/html")
			return body
		}), []string{"P-HTTP-04"}},
		{"takes no charset", taken(func(_ *model, w http.ResponseWriter, r *http.Request, _ []byte) bool {
			if r.Method != http.MethodPost || r.Header.Get("Content-Type") == "application/json" {
				return false
			}
			http.Error(w, "what is that?", http.StatusUnsupportedMediaType)
			return true
		}), []string{"P-HTTP-05"}},
		{"answers GET with a page", taken(func(_ *model, w http.ResponseWriter, r *http.Request, _ []byte) bool {
			if r.Method == http.MethodPost {
				return false
			}
			_, _ = w.Write([]byte("<html>"))
			return true
		}), []string{"P-HTTP-06"}},
		{"ends every connection", taken(func(_ *model, w http.ResponseWriter, _ *http.Request, _ []byte) bool {
			w.Header().Set("Connection", "close")
			return false
		}), []string{"P-HTTP-07"}},
		{"answers at great length", everywhere(func(_, result object) { result["log"] = strings.Repeat("x", 70<<10) }), []string{"P-HTTP-08"}},
		{"answers with two megabytes", everywhere(func(_, result object) { result["log"] = strings.Repeat("x", 2<<20) }), []string{"P-INV-01"}},
		{"takes 4 KB at most", taken(func(_ *model, w http.ResponseWriter, _ *http.Request, body []byte) bool {
			if len(body) < 4<<10 {
				return false
			}
			http.Error(w, "too large", http.StatusRequestEntityTooLarge)
			return true
		}), []string{"P-HTTP-09", "P-UNI-03"}},
		{"takes 16 KB at most", taken(func(_ *model, w http.ResponseWriter, _ *http.Request, body []byte) bool {
			if len(body) < 16<<10 {
				return false
			}
			http.Error(w, "too large", http.StatusRequestEntityTooLarge)
			return true
		}), []string{"P-UNI-03"}},
	}
}
