package conformance_test

import (
	"net"
	"net/http/httptest"
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
