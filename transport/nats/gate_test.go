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
	worked := make(chan struct{}, 10)
	var first, second atomic.Bool
	for name, leads := range map[string]*atomic.Bool{"first": &first, "second": &second} {
		mux := transport.NewMux(zerolog.Nop())
		mux.Gate(leads.Load)
		mux.Handle("who", func(raw []byte) (any, error) { return raw, nil }, func(context.Context, string, any) (any, error) {
			if name == "first" {
				first.Store(false) // it was stopped for a long time, and does not know it yet
				worked <- struct{}{}
			}
			return name, nil
		})
		serve(t, connect(t, s, name), managerSubject, mux, transport.Limits{})
	}
	conn := connect(t, s, "anna")
	first.Store(true)
	answers, err := conn.SubscribeSync(nats.InboxOf("anna") + ".x")
	require.NoError(t, err)
	ask := func() {
		who := []byte(`{"jsonrpc":"2.0","method":"who","params":{},"id":1}`)
		require.NoError(t, conn.PublishRequest(managerSubject, answers.Subject, who))
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
