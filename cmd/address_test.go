package cmd_test

import (
	"io"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An agent accepts the host names that its operator has configured. An agent on a
// loopback address accepts also the names of this machine.
func TestServerRefusesUnknownHostNames(t *testing.T) {
	t.Parallel()
	m := startManager(t, "--allowed-host", "league.example", "--allowed-host", "other.example")
	manager, err := url.Parse(m.url)
	require.NoError(t, err)
	tests := []struct {
		host string
		want int
	}{
		{manager.Host, http.StatusOK},
		{"localhost:8000", http.StatusOK},
		{"[::1]:8000", http.StatusOK},
		{"league.example", http.StatusOK},
		{"OTHER.example:443", http.StatusOK},
		{"manager", http.StatusMisdirectedRequest},
		{"evil.example", http.StatusMisdirectedRequest},
		{"192.0.2.1:8000", http.StatusOK}, // behind a port that is passed on
	}
	for _, tt := range tests {
		t.Run(tt.host, func(t *testing.T) {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+manager.Host+"/healthz", nil)
			require.NoError(t, err)
			request.Host = tt.host
			response, err := http.DefaultClient.Do(request)
			require.NoError(t, err)
			defer func() { _ = response.Body.Close() }()
			_, err = io.Copy(io.Discard, response.Body)
			require.NoError(t, err)
			assert.Equal(t, tt.want, response.StatusCode)
		})
	}
}
