package nats_test

import (
	"bytes"
	"net/netip"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/transport/nats"
)

// patience is how long a test waits for what must happen.
const patience = 30 * time.Second

// startServer starts a server; port -1 is a free one.
func startServer(t testing.TB, o *server.Options) *server.Server {
	t.Helper()
	o.Host, o.NoLog, o.NoSigs = "127.0.0.1", true, true
	s, err := server.NewServer(o)
	require.NoError(t, err)
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	require.True(t, s.ReadyForConnections(patience))
	return s
}

func TestAConnectionIsMadeWhenTheServerIsThere(t *testing.T) {
	s := startServer(t, &server.Options{Port: -1})
	url, port := s.ClientURL(), s.Addr().(interface{ AddrPort() netip.AddrPort }).AddrPort().Port()
	s.Shutdown()
	var log bytes.Buffer
	conn, err := nats.Connect(nats.Options{URLs: []string{url}, Name: "anna", Log: zerolog.New(&log)})
	require.NoError(t, err)
	defer conn.Close()
	assert.False(t, conn.IsConnected())
	assert.Contains(t, log.String(), "NATS_SERVER_AWAITED")
	startServer(t, &server.Options{Port: int(port)})
	assert.Eventually(t, conn.IsConnected, patience, time.Millisecond)
}

func TestAUserThatTheServerRefusesIsAnError(t *testing.T) {
	pair, err := nkeys.CreateUser()
	require.NoError(t, err)
	public, err := pair.PublicKey()
	require.NoError(t, err)
	seed, err := pair.Seed()
	require.NoError(t, err)
	url := startServer(t, &server.Options{Port: -1, Nkeys: []*server.NkeyUser{{Nkey: public}}}).ClientURL()
	for name, tt := range map[string]struct{ creds, problem string }{
		"none":         {"", "Authorization"},
		"not a seed":   {"password", "neither the seed of an NKey"},
		"another user": {"SUAIBDPBAUTWCWBKIO6XHQNINK5FWJW4OHLXC3HQ2KFE4PEJUA44CNHTC4", "Authorization"},
		"this user":    {string(seed) + "\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := nats.Connect(nats.Options{URLs: []string{url}, Creds: []byte(tt.creds), Name: "anna", Log: zerolog.Nop()})
			if tt.problem != "" {
				require.ErrorContains(t, err, tt.problem)
				return
			}
			require.NoError(t, err)
			conn.Close()
		})
	}
}
