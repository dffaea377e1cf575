package cmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	stdhttp "net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/transport"
	"evenodd/transport/http"
)

// freeAddress returns an address where nothing listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return l.Addr().String()
}

// startHAProxy runs HAProxy with the configuration of docs/examples in front of a manager, beside one that is
// not there.
func startHAProxy(t *testing.T, manager string) (address string) {
	t.Helper()
	path := installed(t, "haproxy", "haproxy", "agents behind HAProxy")
	address = freeAddress(t)
	text := readFile(t, "../docs/examples/haproxy.cfg")
	for from, to := range map[string]string{"bind :80": "bind " + address, "192.0.2.7:8000": manager, "192.0.2.8:8000": freeAddress(t)} {
		require.Equal(t, 1, strings.Count(text, from), from)
		text = strings.Replace(text, from, to, 1)
	}
	file := writeFile(t, text, t.TempDir(), "haproxy.cfg")
	var output bytes.Buffer
	run := exec.CommandContext(t.Context(), path, "-db", "-f", file)
	run.Stdout, run.Stderr = &output, &output
	require.NoError(t, run.Start())
	t.Cleanup(func() {
		_ = run.Process.Kill()
		_ = run.Wait() // it was killed
		if t.Failed() {
			t.Log(output.String())
		}
	})
	return address
}

// postFrom sends a call from an address of this machine. The header is what a caller would send to hide it.
func postFrom(t *testing.T, from, to, method string, params any) (status int, answer string) {
	t.Helper()
	body, err := transport.EncodeRequest(method, params, 1)
	require.NoError(t, err)
	request, err := stdhttp.NewRequestWithContext(t.Context(), stdhttp.MethodPost, "http://"+to+"/mcp", bytes.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-Forwarded-For", fmt.Sprintf("203.0.113.%d", time.Now().UnixNano()%256))
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	carrier := &stdhttp.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		return dialer.DialContext(ctx, network, address)
	}}
	defer carrier.CloseIdleConnections()
	response, err := carrier.RoundTrip(request)
	if err != nil {
		return 0, err.Error() // the proxy does not listen yet
	}
	text, err := io.ReadAll(response.Body)
	require.NoError(t, errors.Join(err, response.Body.Close()))
	return response.StatusCode, string(text)
}

// One caller behind HAProxy that floods the manager keeps no other one from registering, if the manager trusts the
// proxy, and refusals have the address of the caller. Without trust all callers share the limits of the proxy.
func TestFloodBehindHAProxy(t *testing.T) {
	for _, trusted := range []bool{true, false} {
		t.Run(fmt.Sprint("trusted=", trusted), func(t *testing.T) {
			a := &address{host: "127.0.0.1"}
			if trusted {
				a.proxies = []string{"127.0.0.1"}
			}
			listener, err := a.listenLocally(t.Context())
			require.NoError(t, err)
			a.allowed = []string{"league.example.org"}
			n, err := newNode(nodeOptions{maxReply: maxReply, log: zerolog.Nop()})
			require.NoError(t, err)
			defer n.close()
			var log bytes.Buffer
			m, mux := waitingManager(t, zerolog.New(zerolog.SyncWriter(&log)))
			stop, err := n.serve(a, listener, "", mux, m.Stamp, http.Config{MaxBody: maxRequest, Identify: m.Identify,
				Limits: http.Limits{Rate: 1e-6, Burst: 20}, Mounts: []http.Mount{http.Ready(mux.Open)}})
			require.NoError(t, err)
			proxy := startHAProxy(t, listener.Addr().String())
			const flooding, honest = "127.0.0.2", "127.0.0.3"
			require.Eventually(t, func() bool {
				status, _ := postFrom(t, flooding, proxy, "ping", map[string]string{})
				return status == stdhttp.StatusOK
			}, time.Minute, 50*time.Millisecond, "HAProxy finds the manager that is ready")
			refused := 0
			for range 30 {
				if status, _ := postFrom(t, flooding, proxy, "ping", map[string]string{}); status == stdhttp.StatusTooManyRequests {
					refused++
				}
			}
			assert.Equal(t, 11, refused, "whatever address the caller makes up")
			status, answer := postFrom(t, honest, proxy, "register_player", application("honest"))
			malformed, _ := postFrom(t, honest, proxy, "register_player", map[string]string{})
			stop()
			if !trusted {
				assert.Equal(t, []int{stdhttp.StatusTooManyRequests, stdhttp.StatusTooManyRequests}, []int{status, malformed})
				return
			}
			assert.Equal(t, []int{stdhttp.StatusOK, stdhttp.StatusOK}, []int{status, malformed})
			assert.Contains(t, answer, `"status":"ACCEPTED"`)
			assert.Regexp(t, `"method":"register_player".*"address":"`+honest+`".*"event_type":"REQUEST_REFUSED"`, log.String())
		})
	}
}
