package http_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	carrier "evenodd/transport/http"
)

// echoing is a handler that returns the body of the request.
func echoing(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		return
	}
	_, _ = w.Write(body)
}

func TestMountsHaveTheGuardsOfTheServer(t *testing.T) {
	t.Run("with the limits of calls", func(t *testing.T) { checkGuards(t, nil) })
	t.Run("with a quota", func(t *testing.T) { checkGuards(t, carrier.NewQuota(carrier.Limits{}, streamLimits)) })
}

// checkGuards checks the guards of a mount.
func checkGuards(t *testing.T, quota *carrier.Quota) {
	t.Helper()
	base, _ := start(t, serving(nil), carrier.Config{
		MaxBody: maxBody, Hosts: []string{"agent.example"},
		Mounts: []carrier.Mount{{Pattern: "/page/", Handler: http.HandlerFunc(echoing), Quota: quota}},
	})
	json := http.Header{"Content-Type": {"application/json"}}
	with := func(name, value string) http.Header {
		h := json.Clone()
		h.Set(name, value)
		return h
	}
	for _, tt := range []struct {
		name, method, body string
		header             http.Header
		want               int
	}{
		{"a page", http.MethodGet, "", nil, http.StatusOK},
		{"JSON", http.MethodPost, `{"a":1}`, json, http.StatusOK},
		{"a form", http.MethodPost, "a=1", with("Content-Type", "application/x-www-form-urlencoded"), http.StatusUnsupportedMediaType},
		{"a large body", http.MethodPost, strings.Repeat(" ", maxBody+1), json, http.StatusRequestEntityTooLarge},
		{"another host (DNS rebinding)", http.MethodGet, "", http.Header{"Host": {"evil.example"}}, http.StatusMisdirectedRequest},
		{"a page of another site", http.MethodPost, "{}", with("Sec-Fetch-Site", "cross-site"), http.StatusForbidden},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := send(t, tt.method, base+"/page/x", strings.NewReader(tt.body), tt.header)
			assert.Equal(t, tt.want, got.status)
			if tt.want == http.StatusOK {
				assert.Equal(t, tt.body, got.body)
			}
		})
	}
	assert.Equal(t, http.StatusOK, send(t, http.MethodPost, base+carrier.Path, strings.NewReader(say1), json).status, "calls still work")
}

func TestMountsShareTheLimitsOfCalls(t *testing.T) {
	for _, unlimited := range []bool{false, true} {
		base, _ := start(t, serving(nil), carrier.Config{
			MaxBody: maxBody, Limits: carrier.Limits{Rate: 0.001, Burst: 1},
			Mounts: []carrier.Mount{{Pattern: "GET /page", Handler: http.HandlerFunc(echoing), Unlimited: unlimited}},
		})
		assert.Equal(t, http.StatusOK, send(t, http.MethodPost, base+carrier.Path, strings.NewReader(say1), nil).status)
		want := http.StatusTooManyRequests
		if unlimited {
			want = http.StatusOK
		}
		assert.Equal(t, want, send(t, http.MethodGet, base+"/page", nil, nil).status)
	}
}

// The server tells of requests that look like calls but reach no handler, and of nothing else.
func TestServerTellsOfMisdirectedRequests(t *testing.T) {
	var told []string
	base, _ := start(t, serving(nil), carrier.Config{
		MaxBody: maxBody, Mounts: []carrier.Mount{{Pattern: "GET /page", Handler: http.HandlerFunc(echoing)}},
		Misdirected: func(_ context.Context, method, path string) { told = append(told, method+" "+path) },
	})
	for _, tt := range []struct{ method, path, body, kind string }{
		{http.MethodPost, "/register", say1, "application/json"},
		{http.MethodPost, "/register", "a=1", "application/x-www-form-urlencoded"},
		{http.MethodPost, "/empty", "", ""},
		{http.MethodPost, "/page", say1, "application/json"},
		{http.MethodPut, carrier.Path, say1, "application/json"},
		{http.MethodPost, carrier.Path, say1, "application/json"}, // a call
		{http.MethodGet, "/page", "", "application/json"},         // a page
		{http.MethodGet, "/favicon.ico", "", ""},
		{http.MethodGet, carrier.Path, "", ""},
		{http.MethodDelete, "/", "", ""},
	} {
		send(t, tt.method, base+tt.path, strings.NewReader(tt.body), http.Header{"Content-Type": {tt.kind}})
	}
	assert.Equal(t, []string{"POST /register", "POST /register", "POST /empty", "POST /page", "PUT /mcp"}, told)
}
