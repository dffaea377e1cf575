package conformance_test

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/conformance"
	"evenodd/league/dialect"
	"evenodd/league/protocol"
	"evenodd/player"
	"evenodd/player/strategy"
	"evenodd/transport"
	"evenodd/transport/http"
)

// openPort opens a port that nobody has.
func openPort(t *testing.T) net.Listener {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "localhost:0")
	require.NoError(t, err)
	return l
}

// at is the URL of whoever listens.
func at(l net.Listener) string { return "http://" + l.Addr().String() + http.Path }

// Our own player, wired as the command wires it, at a real port.
func TestOurPlayerConforms(t *testing.T) {
	door, desk := openPort(t), openPort(t)
	speak := dialect.New(dialect.Options{Endpoint: at(door), Clock: protocol.SystemClock(), Log: zerolog.Nop()})
	client := http.NewClient(http.ClientConfig{MaxReply: 1 << 20, Dialect: speak})
	defer client.Close()
	decide, err := strategy.New("random")
	require.NoError(t, err)
	p, err := player.New(player.Options{
		Name: "Ours", Games: []string{"even_odd"}, Endpoint: at(door), Manager: at(desk), Strategy: decide,
		Caller: client, Clock: protocol.SystemClock(), Log: zerolog.Nop(),
	})
	require.NoError(t, err)
	mux := transport.NewMux(zerolog.Nop())
	p.Mount(mux)
	server := http.NewServer(mux, http.Config{MaxBody: 1 << 20, Trusts: p.KnowsManager, Dialect: speak})
	var running sync.WaitGroup
	running.Go(func() { assert.NoError(t, server.Serve(door)) })
	running.Go(func() { assert.NoError(t, p.Register(t.Context())) })

	r, err := conformance.Check(t.Context(), conformance.Options{
		Role: conformance.Player, URL: at(door), Listener: desk, Wait: time.Minute,
	})
	require.NoError(t, err)
	select {
	case <-p.Done():
	default:
		assert.Fail(t, "the examination ends the player's league")
	}
	require.NoError(t, server.Shutdown(context.WithoutCancel(t.Context())))
	running.Wait()
	assert.NoError(t, p.Close())

	assert.True(t, r.Conforms())
	assert.Empty(t, verdicts(r, conformance.Fail, conformance.Warn, conformance.Skipped))
}
