package cmd_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/cmd"
)

// A stream is a connection that listens to updates.
type stream struct{ net.Conn }

// listen opens a stream from an address of this machine, and returns the beginning of
// its response.
func listen(t *testing.T, from byte, endpoint, bearer string) (stream, string) {
	t.Helper()
	u, err := url.Parse(endpoint)
	require.NoError(t, err)
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, from)}}
	conn, err := dialer.DialContext(t.Context(), "tcp", u.Host)
	if err != nil {
		t.Skipf("NOT TESTED: this machine has no addresses beside 127.0.0.1: %v", err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	const body = `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["league://cup/standings"]},` +
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},` +
		`"io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"}}}}`
	_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n"+
		"Accept: application/json, text/event-stream\r\nMcp-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\n"+
		"Content-Length: %d\r\n\r\n%s", u.Path, u.Host, bearer, len(body), body)
	require.NoError(t, err)
	s := stream{conn}
	return s, s.until(t, `acknowledged|E01|HTTP/1.1 5`)
}

// until reads until the text matches, and returns the text.
func (s stream) until(t *testing.T, pattern string) string {
	t.Helper()
	require.NoError(t, s.SetDeadline(time.Now().Add(patience)))
	wanted := regexp.MustCompile(pattern)
	var text bytes.Buffer
	var part [512]byte
	for !wanted.Match(text.Bytes()) {
		n, err := s.Read(part[:])
		require.NoError(t, err, text.String())
		text.Write(part[:n])
	}
	return text.String()
}

// memory is the memory that this process uses, in bytes.
func memory() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc + m.StackInuse)
}

// A manager with 1,000 open streams has a bounded amount of memory for each, refuses an
// address more than its share, and plays its league in time. It runs in this process,
// and therefore not beside other tests.
func TestManagerHasAThousandListeners(t *testing.T) {
	longTest(t)
	const (
		addresses, perAddress = 4, 250
		share                 = 256       // streams of one address
		mostPerStream         = 128 << 10 // bytes; a stream needs about 50 KiB
	)
	m := &process{name: "manager", stderr: transcript{changed: make(chan struct{})}, done: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	code := -1
	go func() {
		defer close(m.done)
		code = cmd.Execute(ctx, "test", []string{"manager", "--port", "0", "--players", "2", "--legs", "4", "--strict", "--exit-when-done",
			"--league-id", "cup", "--data", "", "--log-level", "error"}, &m.stdout, &m.stderr)
	}()
	defer func() {
		cancel()
		<-m.done
	}()
	found := m.await(t, `(?s)at (http://\S+/mcp) waits.*start_league: (adm-\S+)\n`)
	endpoint, admin := found[1], found[2]

	_, refusal := listen(t, 2, endpoint, "wrong")
	require.Contains(t, refusal, "E012", "a stream needs a credential")
	before := memory()
	var streams []stream
	for i := range addresses * perAddress {
		s, response := listen(t, 2+byte(i%addresses), endpoint, admin)
		require.Contains(t, response, "acknowledged", i)
		streams = append(streams, s)
	}
	perStream := (memory() - before) / len(streams)
	t.Logf("%d bytes per stream", perStream)
	assert.Less(t, perStream, mostPerStream)
	for i := perAddress; i <= share; i++ {
		_, response := listen(t, 2, endpoint, admin)
		assert.Equal(t, i < share, !bytes.Contains([]byte(response), []byte("503 Service Unavailable")), "stream %d of one address", i+1)
	}

	for _, role := range []string{"referee", "player", "player"} {
		start(t, role, "--port", "0", "--manager", endpoint)
	}
	<-m.done
	assert.Zero(t, code, "a match missed its deadlines: %s", m.stderr.String())
	for _, s := range streams {
		s.until(t, "resources/updated")
	}
}
