package nats_test

import (
	"context"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	natsgo "github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"evenodd/transport"
	"evenodd/transport/nats"
)

// Request and reply by this carrier and by the bare library: 16 calls at once over the same two connections, with bodies
// of the same size. EVENODD_NATS names a server of its own process; else one runs in this process.
func BenchmarkCall(b *testing.B) {
	url := os.Getenv("EVENODD_NATS")
	if url == "" {
		url = startServer(b, &server.Options{Port: -1}).ClientURL()
	}
	open := func(name string) *nats.Conn {
		conn, err := nats.Connect(nats.Options{URLs: []string{url}, Name: name, Log: zerolog.Nop()})
		require.NoError(b, err)
		b.Cleanup(conn.Close)
		return conn
	}
	from, to := open("manager"), open("ben")
	client := newClient(b, from, "manager")
	serve(b, to, agentSubject, echo(nil), transport.NoLimits())
	q := say(strings.Repeat("x", 400))
	body, err := transport.EncodeRequest(q.Method, q.Params, 1)
	require.NoError(b, err)
	_, err = to.Subscribe("bare", func(m *natsgo.Msg) { _ = m.Respond([]byte(`{"jsonrpc":"2.0","result":{"bearer":""},"id":1}`)) })
	require.NoError(b, err)
	require.NoError(b, to.Flush())
	for name, call := range map[string]func(ctx context.Context) error{
		"evenodd": func(ctx context.Context) error {
			_, _, err := client.Call(ctx, q)
			return err
		},
		"bare": func(ctx context.Context) error {
			_, err := from.RequestWithContext(ctx, "bare", body)
			return err
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetParallelism(16 / runtime.GOMAXPROCS(0))
			b.RunParallel(func(calls *testing.PB) {
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				for calls.Next() {
					if err := call(ctx); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}
