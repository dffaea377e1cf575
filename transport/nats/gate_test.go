package nats_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/transport"
	"evenodd/transport/nats"
)

// Two managers have subscribed to the same subject for a time: that which does not lead says nothing, also when
// it has lost the league while it worked.
func TestServerThatMayNotAnswerIsSilent(t *testing.T) {
	s := startServer(t, &server.Options{Port: -1})
	const subject = "evenodd.L.manager.anna"
	worked := make(chan struct{}, 10)
	var first, second atomic.Bool
	for name, leads := range map[string]*atomic.Bool{"first": &first, "second": &second} {
		conn, err := nats.Connect(nats.Options{URLs: []string{s.ClientURL()}, Name: name, Log: zerolog.Nop()})
		require.NoError(t, err)
		t.Cleanup(conn.Close)
		mux := transport.NewMux(zerolog.Nop())
		mux.Gate(leads.Load)
		mux.Handle("who", func(raw []byte) (any, error) { return raw, nil }, func(context.Context, string, any) (any, error) {
			if name == "first" {
				first.Store(false) // it was stopped for a long time, and does not know it yet
				worked <- struct{}{}
			}
			return name, nil
		})
		stop, err := nats.Serve(conn, subject, mux, nats.Config{MaxBody: 1000, Log: zerolog.Nop()})
		require.NoError(t, err)
		t.Cleanup(func() { stop(0) })
	}
	conn, err := nats.Connect(nats.Options{URLs: []string{s.ClientURL()}, Name: "anna", Log: zerolog.Nop()})
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	first.Store(true)
	answers, err := conn.SubscribeSync(nats.InboxOf("anna") + ".x")
	require.NoError(t, err)
	ask := func() {
		require.NoError(t, conn.PublishRequest(subject, answers.Subject, []byte(`{"jsonrpc":"2.0","method":"who","params":{},"id":1}`)))
	}
	ask()
	<-worked
	second.Store(true)
	ask()
	answer, err := answers.NextMsg(patience)
	require.NoError(t, err)
	assert.Contains(t, string(answer.Data), `"second"`)
	for more, _, _ := answers.Pending(); more > 0; more-- { // the second one may get the first request late
		answer, err := answers.NextMsg(patience)
		require.NoError(t, err)
		assert.Contains(t, string(answer.Data), `"second"`)
	}
}
