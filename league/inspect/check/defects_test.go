package check_test

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	conformance "evenodd/league/inspect/check"
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

// wrapped changes all responses, and knows what they answer.
func wrapped(change func(request, response object)) func(*model) {
	return func(m *model) {
		m.wrap = func(request, response object) any {
			change(request, response)
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

func TestEveryDefectIsFound(t *testing.T) {
	t.Parallel()
	for _, d := range defects() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			inVirtualTime(t, func(n *network) {
				m := newModel(n)
				d.plant(m)
				r := examine(n, m, func(o *conformance.Options) { o.Selection.Only = d.finds })
				found := verdicts(r, conformance.Fail, conformance.Warn)
				for _, id := range d.finds {
					assert.Contains(n, found, id)
				}
				for _, f := range r.Findings {
					if f.Verdict == conformance.Fail || f.Verdict == conformance.Warn {
						assert.NotEmpty(n, f.Detail, f.ID)
						assert.NotEmpty(n, f.Exchanges, f.ID)
					}
				}
			})
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
