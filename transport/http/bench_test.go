package http_test

import (
	"context"
	"net"
	nethttp "net/http"
	"sync"
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
			l, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(b, err)
			server := carrier.NewServer(serving(nil), bb.config)
			var running sync.WaitGroup
			running.Go(func() { _ = server.Serve(l) })
			client := carrier.NewClient(carrier.ClientConfig{MaxReply: maxReply})
			endpoint := "http://" + l.Addr().String() + carrier.Path
			b.ReportAllocs()
			for b.Loop() {
				_, _, err := client.Call(b.Context(), transport.Request{Endpoint: endpoint, Method: "echo", Params: &text{"hi"}, Decode: textOf, Limit: bb.limit})
				require.NoError(b, err)
			}
			client.Close()
			require.NoError(b, server.Shutdown(context.Background()))
			running.Wait()
		})
	}
}
