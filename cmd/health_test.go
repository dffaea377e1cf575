package cmd

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestHealthOfAnAgent(t *testing.T) {
	for name, c := range map[string]struct {
		status  int
		body    string
		problem string // "" for a healthy agent
	}{
		"ok":                       {200, `{"status":"ok"}`, ""},
		"disk almost full":         {200, `{"status":"warning"}`, ""},
		"another status":           {200, `{"status":"down"}`, `is not healthy: its status is "down"`},
		"no status":                {200, `{}`, `is not healthy: its status is ""`},
		"not JSON":                 {200, "<html>", "does not answer with the health of an agent"},
		"not there":                {404, `{"status":"ok"}`, "answers with the HTTP status 404"},
		"redirect to another host": {302, `{"status":"ok"}`, "answers with the HTTP status 302"},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "http://192.0.2.1/")
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.body))
			}))
			defer s.Close()
			_, err := askHealth(t.Context(), s.URL+"/healthz", "")
			if c.problem == "" {
				assert.NoError(t, err)
				return
			}
			assert.ErrorContains(t, err, c.problem)
		})
	}
}
