package conformance_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/conformance"
)

// examine has the kit examine a model that registers with it.
func examine(t *testing.T, m *model, options ...func(*conformance.Options)) *conformance.Report {
	t.Helper()
	server := httptest.NewServer(m)
	t.Cleanup(server.Close)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "localhost:0")
	require.NoError(t, err)
	o := conformance.Options{Role: conformance.Player, URL: server.URL + "/mcp", Listener: listener, Wait: time.Minute}
	for _, option := range options {
		option(&o)
	}
	registered := make(chan struct{})
	go func() {
		defer close(registered)
		m.register(t, "http://"+listener.Addr().String()+"/mcp", o.URL)
	}()
	r, err := conformance.Check(t.Context(), o)
	<-registered
	require.NoError(t, err)
	return r
}

// verdicts are the requirements of a report with a verdict.
func verdicts(r *conformance.Report, wanted ...conformance.Verdict) map[string]string {
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
	r := examine(t, newModel(t))
	assert.Empty(t, verdicts(r, conformance.Fail, conformance.Warn, conformance.Skipped))
	assert.Len(t, r.Findings, len(conformance.Catalogue(conformance.Player)))
	assert.True(t, r.Conforms())
}

// Every form that a league understands is understood here; the report says that it is not
// that of the specification.
func TestPlayerThatServesAnotherFormConforms(t *testing.T) {
	m := newModel(t)
	servesEnvelopes(m)
	m.apply = func(q object) {
		q["method"], q["params"] = "handle_message", object{"message": q["params"]}
	}
	r := examine(t, m)
	assert.True(t, r.Conforms())
	assert.Empty(t, verdicts(r, conformance.Fail))
	assert.Contains(t, finding(t, r, "P-FRM-01").Detail, "handle_message with the message in message")
	assert.Equal(t, `method "handle_message", with the message in params.message`, finding(t, r, "P-FRM-03").Detail)
	assert.Equal(t, conformance.Pass, finding(t, r, "P-CHO-03").Verdict)
}

// A server that serves nothing has shown nothing.
func TestServerThatAnswers501PassesNothing(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotImplemented)
	}))
	t.Cleanup(server.Close)
	for _, role := range []string{conformance.Player, conformance.Referee, conformance.Manager} {
		r, err := conformance.Check(t.Context(), conformance.Options{
			Role: role, URL: server.URL + "/mcp", Listener: openPort(t), Wait: 10 * time.Millisecond,
		})
		require.NoError(t, err)
		assert.Empty(t, verdicts(r, conformance.Pass), role)
		assert.NotEmpty(t, verdicts(r, conformance.Fail), role)
		assert.False(t, r.Conforms(), role)
	}
}

// An agent whose replies are not wrapped breaks many requirements by one defect.
func TestOneDefectIsOneCause(t *testing.T) {
	m := newModel(t)
	m.wrap = func(_, response object) any {
		if result, ok := response["result"]; ok {
			return result
		}
		return response
	}
	r := examine(t, m)
	assert.True(t, r.Conforms(), "a league understands it")
	i := slices.IndexFunc(r.Causes, func(c conformance.Cause) bool { return slices.Contains(c.Requirements, "P-RPC-02") })
	require.GreaterOrEqual(t, i, 0)
	assert.Equal(t, "Its replies are not wrapped as JSON-RPC responses.", r.Causes[i].Text)
	assert.Equal(t, conformance.Should, r.Causes[i].Level)
	for _, id := range []string{"P-FRM-02", "P-RPC-01", "P-RPC-02", "P-RPC-06"} {
		assert.Contains(t, r.Causes[i].Requirements, id)
		assert.Equal(t, r.Causes[i].ID, finding(t, r, id).Cause)
	}
	all := 0
	for _, c := range r.Causes {
		all += len(c.Requirements)
	}
	assert.Len(t, verdicts(r, conformance.Fail, conformance.Warn), all, "every requirement that does not hold has one cause")
}
