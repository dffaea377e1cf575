package cmd

import (
	"fmt"
	"net"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/transport"
)

func TestUnknownLocalhostSuggestsTheAddress(t *testing.T) {
	t.Parallel()
	err := &net.OpError{Op: "listen", Net: "tcp", Err: &net.DNSError{Err: "connection refused", Name: "localhost"}}
	require.ErrorContains(t, listenError("localhost:8000", err), "does not know localhost")
	require.ErrorContains(t, listenError("localhost:8000", err), "use 127.0.0.1 instead")
	require.NotContains(t, fmt.Sprint(listenError("box:8000", &net.DNSError{Name: "box"})), "127.0.0.1")
	require.NoError(t, listenError("localhost:8000", nil))
}

// The numbers of errors are those of the system: this test also holds on Windows.
func TestPortOfAnotherListenerIsTaken(t *testing.T) {
	t.Parallel()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	_, err = listenAt(t.Context(), l.Addr().String())
	require.ErrorIs(t, err, errTaken)
	err = &net.OpError{Op: "listen", Err: os.NewSyscallError("bind", transport.ErrAddressInUse)}
	assert.ErrorIs(t, listenError("localhost:8000", err), errTaken)
}
