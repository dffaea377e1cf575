package cmd_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An agentCall is a JSON-RPC request, as the agents of a test read it.
type agentCall struct {
	Method string         `json:"method"`
	Params map[string]any `json:"params"`
}

func readCall(r *http.Request) (c agentCall) {
	_ = json.NewDecoder(r.Body).Decode(&c) // an empty call for anything else
	return c
}

func respond(w http.ResponseWriter, member string, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"jsonrpc": "2.0", "id": 1, member: value})
}

// hostileAnswers are answers to an invitation.
func hostileAnswers(trapped *atomic.Int64) map[string]http.HandlerFunc {
	raw := func(w http.ResponseWriter, text string) (net.Conn, *bufio.ReadWriter) {
		c, buffered, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		_, _ = c.Write([]byte(text))
		return c, buffered
	}
	return map[string]http.HandlerFunc{
		"garbage": func(w http.ResponseWriter, _ *http.Request) {
			c, _ := raw(w, "HELLO\r\n\r\n")
			_ = c.Close()
		},
		"nested": func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, strings.Repeat("[", 60_000)) },
		"large":  func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, strings.Repeat(" ", 80_000), "{}") },
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/trap", http.StatusTemporaryRedirect)
		},
		"found": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/trap", http.StatusFound) },
		"trap": func(w http.ResponseWriter, _ *http.Request) {
			trapped.Add(1)
			respond(w, "result", map[string]any{"accept": true})
		},
		"data": func(w http.ResponseWriter, _ *http.Request) {
			respond(w, "error", map[string]any{"code": 1, "message": "no", "data": "text"})
		},
		"drip": func(w http.ResponseWriter, _ *http.Request) {
			c, _ := raw(w, "HTTP/1.1 200 OK\r\nX: ")
			ticks := time.NewTicker(50 * time.Millisecond)
			defer ticks.Stop()
			for range ticks.C {
				if _, err := c.Write([]byte("x")); err != nil {
					return
				}
			}
		},
		// The entropy is too long for a report, which has 10 KB at most.
		"entropy": func(w http.ResponseWriter, _ *http.Request) {
			sum := sha256.Sum256([]byte("evenodd-entropy-v1" + "\x00\x07entropy" + "\x00\x03P02" + strings.Repeat("e", 9000)))
			respond(w, "result", map[string]any{"accept": true, "entropy_commitment": hex.EncodeToString(sum[:])})
		},
	}
}

// A hostile player loses its match, and stops neither the referee nor the match.
func (a *starterAgent) resistHostilePlayers(t *testing.T) {
	t.Helper()
	reports, trapped := make(chan agentCall, 10), atomic.Int64{}
	registered := make(chan struct{}) // closed when the referee has its token, which it needs for matches
	hasToken := sync.OnceFunc(func() { close(registered) })
	manager := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := readCall(r)
		switch c.Method {
		case "report_match_result":
			reports <- c
		case "league_query":
			hasToken()
		}
		respond(w, "result", map[string]any{"status": "ACCEPTED", "referee_id": "REF01", "auth_token": "tok", "league_id": "L"})
	}))
	t.Cleanup(manager.Close)
	hostile := hostileAnswers(&trapped)
	players := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, name := readCall(r), strings.TrimPrefix(r.URL.Path, "/")
		if attack := hostile[name]; attack != nil && (c.Method == "handle_game_invitation" || name == "trap") {
			attack(w, r)
			return
		}
		reply := map[string]any{"accept": true, "parity_choice": "even"}
		if name == "entropy" {
			reply["entropy"] = hex.EncodeToString([]byte(strings.Repeat("e", 9000)))
		}
		respond(w, "result", reply)
	}))
	t.Cleanup(players.Close)

	p := a.join(t, manager.URL+"/mcp")
	url := p.await(t, `listening at (\S+)\n`)[1]
	select {
	case <-registered:
	case <-p.done:
		require.Fail(t, "the referee ended")
	}
	assertRefusesNegativeLength(t, strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/mcp"))
	for name := range hostile {
		if name == "trap" {
			continue
		}
		assignment, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "start_match", "params": map[string]any{
			"protocol": "league.v2", "message_type": "MATCH_ASSIGNMENT", "sender": "league_manager", "timestamp": "2025-01-15T10:00:00Z",
			"conversation_id": "c", "league_id": "L", "round_id": 1, "match_id": name, "attempt": 1, "game_type": "even_odd",
			"player_A":     map[string]any{"player_id": "P01", "endpoint": players.URL + "/honest"},
			"player_B":     map[string]any{"player_id": "P02", "endpoint": players.URL + "/" + name},
			"timeouts":     map[string]any{"game_join_ack_timeout_sec": 1, "move_timeout_sec": 5},
			"retry_policy": map[string]any{"max_retries": 0, "delay_sec": 0}}})
		require.NoError(t, err)
		status, _ := fetch(t, http.MethodPost, url, bytes.NewReader(assignment))
		require.Equal(t, http.StatusOK, status)
		select {
		case report := <-reports:
			result := report.Params["result"].(map[string]any)
			assert.Equal(t, "P01", result["winner"], "%s: %v", name, result)
			assert.Equal(t, "TECHNICAL_LOSS", result["details"].(map[string]any)["status"], name)
		case <-time.After(20 * time.Second):
			t.Fatalf("%s: no report: %s", name, p.stderr.String())
		}
	}
	assert.Zero(t, trapped.Load(), "requests after a redirect")
	require.NoError(t, p.cmd.Process.Kill())
	p.awaitExit(t)
}

// assertRefusesNegativeLength sends a request whose body would have no end.
func assertRefusesNegativeLength(t *testing.T, address string) {
	t.Helper()
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	require.NoError(t, err)
	defer func() { _ = c.Close() }()
	require.NoError(t, c.SetDeadline(time.Now().Add(20*time.Second)))
	_, err = fmt.Fprint(c, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n{}")
	require.NoError(t, err)
	line, err := bufio.NewReader(c).ReadString('\n')
	require.NoError(t, err, "the agent waits for the end of the body")
	assert.Regexp(t, `^HTTP/1.1 4\d\d `, line)
}
