package http_test

import (
	nethttp "net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"evenodd/transport"
	carrier "evenodd/transport/http"
)

// The costs of the limits for untrusted callers, of an MCP server at the same path, and of
// the timing of calls.
func BenchmarkCall(b *testing.B) {
	open := carrier.Config{MaxBody: maxBody, Limits: transport.NoLimits()}
	bounded := carrier.Config{MaxBody: maxBody, Hosts: []string{"localhost"}, Limits: carrier.Limits{Rate: 1e9, Burst: 1e9}}
	withMCP := bounded
	withMCP.MCP = nethttp.NotFoundHandler()
	for _, bb := range []struct {
		name   string
		config carrier.Config
		limit  time.Duration
	}{
		{"open", open, 0},
		{"bounded", bounded, 0},
		{"beside MCP", withMCP, 0},
		{"timed", bounded, time.Minute},
	} {
		b.Run(bb.name, func(b *testing.B) {
			base, _ := start(b, serving(nil), bb.config)
			client := newClient(b, nil)
			q := transport.Request{
				Endpoint: base + carrier.Path, Method: "echo", Params: &text{"hi"}, Decode: textOf, Limit: bb.limit,
			}
			b.ReportAllocs()
			for b.Loop() {
				_, _, err := client.Call(b.Context(), q)
				require.NoError(b, err)
			}
		})
	}
}
