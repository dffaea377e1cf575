package check_test

import (
	"net/http"
	"slices"
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
		for _, v := range wanted {
			if f.Verdict == v {
				found[f.ID] = f.Detail
			}
		}
	}
	return found
}

func TestGoodPlayerPassesEverything(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
	inVirtualTime(t, func(n *network) {
		m := newModel(n)
		servesEnvelopes(m)
		m.apply = func(q object) {
			q["method"], q["params"] = "handle_message", object{"message": q["params"]}
		}
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
	t.Parallel()
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
	t.Parallel()
	inVirtualTime(t, func(n *network) {
		m := newModel(n)
		m.wrap = func(_, response object) any {
			if result, ok := response["result"]; ok {
				return result
			}
			return response
		}
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
	t.Parallel()
	inVirtualTime(t, func(n *network) {
		over := make(chan struct{})
		defer close(over)
		late := &tamper{response: func(method string, _, _ object) {
			if method == protocol.StartMatch.Name {
				<-over
			}
		}}
		l := n.open()
		r := n.check(check.Options{
			Role: check.Referee, URL: ownReferee(n, l, 1, late), Listener: l, Selection: check.Selection{Only: []string{"R-STA-01"}},
		})
		requirePasses(n, r)
	})
}

func finding(n *network, r *check.Report, id string) check.Finding {
	n.Helper()
	i := slices.IndexFunc(r.Findings, func(f check.Finding) bool { return f.ID == id })
	require.GreaterOrEqual(n, i, 0, id)
	return r.Findings[i]
}
