package check_test

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"evenodd/league/inspect/check"
)

// A defect is one thing that a player does wrong.
type defect struct {
	name  string
	plant func(*model)
	finds []string // the requirements that must not pass
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
func wrapped(change func(response object)) func(*model) {
	return func(m *model) {
		m.wrap = func(response object) any {
			change(response)
			return response
		}
	}
}

// refuses has the player refuse messages of some types.
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

// replying answers some requests itself.
func replying(status int, kind, answer string, to func(body []byte) bool) func(*model) {
	return taken(func(_ *model, w http.ResponseWriter, _ *http.Request, body []byte) bool {
		if !to(body) {
			return false
		}
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		_, _ = w.Write([]byte(answer))
		return true
	})
}

// hangs gives no answer to requests with a text.
func hangs(text string) func(*model) {
	return taken(func(m *model, _ http.ResponseWriter, r *http.Request, body []byte) bool {
		if bytes.Contains(body, []byte(text)) {
			m.gone(r)
			return true
		}
		return false
	})
}

// once refuses a message whose member has come before.
func once(messageType, member string) func(*model) {
	return func(m *model) {
		seen := map[any]bool{}
		m.call = func(asked string, params object) (object, *refusal, bool) {
			m.mu.Lock()
			defer m.mu.Unlock()
			again := asked == messageType && seen[params[member]]
			seen[params[member]] = seen[params[member]] || asked == messageType
			return nil, &refusal{code: 4005, message: "again"}, again
		}
	}
}

// thinks answers messages of a type after a time; "" is any.
func thinks(messageType string, took time.Duration) func(*model) {
	return func(m *model) {
		m.amend = func(asked string, _, _ object) {
			if asked == messageType || messageType == "" {
				select {
				case <-time.After(took):
				case <-m.dead:
				}
			}
		}
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
	return slices.Concat(defectsOfRegistering(), defectsOfHTTP(), defectsOfResponses(), defectsOfRequests(),
		defectsOfEnvelopes(), defectsOfPlay(), defectsOfLasting())
}

func TestEveryDefectIsFound(t *testing.T) {
	t.Parallel()
	for _, d := range defects() {
		t.Run(d.name, func(t *testing.T) {
			inVirtualTime(t, func(n *network) {
				m := newModel(n)
				d.plant(m)
				r := examine(n, m, func(o *check.Options) { o.Selection.Only = d.finds })
				found := verdicts(r, check.Fail, check.Warn)
				for _, id := range d.finds {
					assert.Contains(n, found, id)
				}
				for _, f := range r.Findings {
					if f.Verdict == check.Fail || f.Verdict == check.Warn {
						assert.NotEmpty(n, f.Detail, f.ID)
						assert.True(n, len(f.Exchanges) > 0 || strings.HasPrefix(f.ID, "P-LAT"), f.ID)
					}
				}
			})
		})
	}
}

// A requirement that nothing breaks is none.
func TestEveryRequirementCanFail(t *testing.T) {
	found := map[string]bool{"P-REG-08": true, "P-REG-09": true} // TestPlayerThatRegisters…
	for _, d := range defects() {
		for _, id := range d.finds {
			found[id] = true
		}
	}
	for _, q := range check.Catalogue(check.Player) {
		assert.True(t, found[q.ID], "no defect shows that %s can fail", q.ID)
	}
}
