package mcp_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/transport/mcp"
)

const initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},` +
	`"clientInfo":{"name":"test","version":"1"}}}`

// A session is a client on the standard streams of a server.
type session struct {
	t     *testing.T
	to    io.Writer
	lines *bufio.Scanner
}

func startSession(t *testing.T, begin string) *session {
	t.Helper()
	in, to := io.Pipe()
	from, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- mcp.NewServer(agent()).Run(context.WithoutCancel(t.Context()), in, out)
		_ = out.Close()
	}()
	s := &session{t: t, to: to, lines: bufio.NewScanner(from)}
	t.Cleanup(func() {
		require.NoError(t, to.Close())
		assert.NoError(t, <-ended, "the server ends with its input only")
	})
	assert.Contains(t, s.ask(begin), `"protocolVersion"`)
	s.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return s
}

func (s *session) send(line string) {
	s.t.Helper()
	_, err := io.WriteString(s.to, line+"\n")
	require.NoError(s.t, err)
}

// ask sends a line and returns the next line of the server.
func (s *session) ask(line string) string {
	s.t.Helper()
	s.send(line)
	require.True(s.t, s.lines.Scan(), "no answer to %.100s", line)
	return s.lines.Text()
}

// Each line that is no message of JSON-RPC is answered, and the next one is read.
func TestServerOfStreamsAnswersLinesThatAreNoMessages(t *testing.T) {
	s := startSession(t, initialize)
	for _, tt := range []struct{ name, line, want string }{
		{"garbage", "garbage", `"id":null,"error":{"code":-32700,`},
		{"a byte-order mark", "\ufeff" + `{"jsonrpc":"2.0","id":1,"method":"ping"}`, `"id":null,"error":{"code":-32700,`},
		{"no UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", `"id":null,"error":{"code":-32700,`},
		{"half a message", `{"jsonrpc":"2.0","id":1,`, `"id":null,"error":{"code":-32700,`},
		{"two messages", `{"jsonrpc":"2.0","id":1,"method":"ping"} {}`, `"id":null,"error":{"code":-32700,`},
		{"a repeated member", `{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, `"id":null,"error":{"code":-32700,`},
		{"deep nesting", strings.Repeat("[", 100_000), `"id":null,"error":{"code":-32700,`},
		{"deep nesting in params", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":` + strings.Repeat("[", 20_000) +
			strings.Repeat("]", 20_000) + `}}`, `"id":null,"error":{"code":-32700,`},
		{"no version", `{"id":1,"method":"ping"}`, `"id":1,"error":{"code":-32600,`},
		{"another version", `{"jsonrpc":"1.0","id":"a","method":"ping"}`, `"id":"a","error":{"code":-32600,`},
		{"an id that is null", `{"jsonrpc":"2.0","id":null,"method":"ping"}`, `"id":null,"error":{"code":-32600,`},
		{"an id that is an object", `{"jsonrpc":"2.0","id":{},"method":"ping"}`, `"id":null,"error":{"code":-32600,`},
		{"no method", `{"jsonrpc":"2.0","id":1}`, `"id":1,"error":{"code":-32600,`},
		{"a method that is a number", `{"jsonrpc":"2.0","id":1,"method":1}`, `"id":1,"error":{"code":-32600,`},
		{"params that are a number", `{"jsonrpc":"2.0","id":1,"method":"ping","params":1}`, `"id":1,"error":{"code":-32600,`},
		{"a value", `5`, `"id":null,"error":{"code":-32600,`},
		{"a batch", `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, `"id":null,"error":{"code":-32600,`},
		{"a line of more than 1 MB", `{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("a", 1<<20) + `"}`, `"id":null,"error":{"code":-32600,`},
		{"an unknown method", `{"jsonrpc":"2.0","id":1,"method":"nothing"}`, `"id":1,"error":{"code":-32601,`},
		{"a malformed initialize", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":5}}`, `"id":1,"error":{"code":-32602,`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := *s
			s.t = t
			assert.Contains(t, s.ask(tt.line), tt.want)
			s.send("")
			s.send(`{"jsonrpc":"2.0","method":"notifications/unknown"}`)
			assert.Equal(t, `{"jsonrpc":"2.0","id":7,"result":{}}`, s.ask(`{"jsonrpc":"2.0","id":7,"method":"ping"}`))
		})
	}
}

// Revisions before 2025-06-18 have batches.
func TestServerOfStreamsReadsBatchesOfOldRevisions(t *testing.T) {
	s := startSession(t, strings.Replace(initialize, "2025-06-18", "2025-03-26", 1))
	assert.JSONEq(t, `[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":2,"result":{}}]`,
		s.ask(`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]`))
	assert.Equal(t, `[{"jsonrpc":"2.0","id":1.5,"result":{}},{"jsonrpc":"2.0","id":9007199254740993,"result":{}}]`,
		s.ask(`[{"jsonrpc":"2.0","id":1.5,"method":"ping"},{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}]`))
	assert.Contains(t, s.ask(`[{"jsonrpc":"2.0","id":1,"method":"ping"},5]`), `"code":-32600`)
	assert.Contains(t, s.ask(`[]`), `"code":-32600`)
}

func TestIDsAreEchoedExactly(t *testing.T) {
	s := startSession(t, initialize)
	url := serve(t, mcp.NewServer(agent()))
	header := http.Header{"Mcp-Protocol-Version": {"2025-06-18"}}
	for _, id := range []string{`1`, `-1`, `0`, `-0`, `1.5`, `1.0`, `1e3`, `1E+3`, `9007199254740991`, `9007199254740993`, `-9007199254740993`,
		`123456789012345678901234567890`, `""`, `"a"`, `"1.5"`, `"\u0001"`, `"\u00011.5"`, `"ä\n"`} {
		request := `{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}`
		want := `{"jsonrpc":"2.0","id":` + id + `,"result":{}}`
		assert.Equal(t, want, s.ask(request), "standard streams")
		assert.Equal(t, want, strings.TrimSpace(post(t, url, request, header)), "HTTP")
	}
}

func TestCancellationOfAnUnusualID(t *testing.T) {
	o, began := agent(), make(chan struct{})
	o.Tools = append(o.Tools, waitingTool(began))
	in, to := io.Pipe()
	from, out := io.Pipe()
	go func() { _ = mcp.NewServer(o).Run(t.Context(), in, out); _ = out.Close() }()
	s := &session{t: t, to: to, lines: bufio.NewScanner(from)}
	s.ask(initialize)
	s.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	s.send(`{"jsonrpc":"2.0","id":1.5,"method":"tools/call","params":{"name":"wait"}}`)
	<-began
	s.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1.5}}`)
	<-began
	require.NoError(t, to.Close())
}

// Over HTTP every answer to a request is one of JSON-RPC, in all revisions, and a notification gets none.
func TestAnswersOverHTTPAreJSONRPC(t *testing.T) {
	url := serve(t, mcp.NewServer(agent()))
	for _, revision := range []string{"", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"} {
		for _, tt := range []struct {
			name, request, want string
			status              int // of revisions before 2026-07-28
		}{
			{"an unknown method", `{"jsonrpc":"2.0","id":1,"method":"resources/nothing"}`, `"id":1,"error":{"code":-32601,`, 200},
			{"an unknown notification", `{"jsonrpc":"2.0","method":"notifications/nothing"}`, "", 202},
			{"initialize without params", `{"jsonrpc":"2.0","id":1,"method":"initialize"}`, `"id":1,"error":{"code":-32602,`, 200},
			{"initialize with a list", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":[]}`, `"id":1,"error":{"code":-32602,`, 200},
			{"initialize with a number", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":5}}`, `"id":1,"error":{"code":-32602,`, 200},
			{"another version", `{"jsonrpc":"1.0","id":1,"method":"ping"}`, `"id":1,"error":{"code":-32600,`, 400},
			{"no JSON", `{`, `"id":null,"error":{"code":-32700,`, 400},
		} {
			t.Run(revision+" "+tt.name, func(t *testing.T) {
				q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(tt.request))
				require.NoError(t, err)
				q.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
				if revision != "" {
					q.Header.Set("Mcp-Protocol-Version", revision)
				}
				r, err := http.DefaultClient.Do(q)
				require.NoError(t, err)
				body, err := io.ReadAll(r.Body)
				require.NoError(t, err)
				require.NoError(t, r.Body.Close())
				assert.Contains(t, string(body), tt.want)
				if tt.want != "" {
					assert.Equal(t, "application/json", r.Header.Get("Content-Type"))
				}
				if revision < "2026" {
					assert.Equal(t, tt.status, r.StatusCode)
				}
			})
		}
	}
}

// waitingTool is a tool that waits for its cancellation, and tells when it begins and when it ends.
func waitingTool(step chan<- struct{}) mcp.Tool {
	return mcp.Tool{Name: "wait", Input: object, Call: func(ctx context.Context, _ string, _ []byte) (any, error) {
		step <- struct{}{}
		<-ctx.Done()
		step <- struct{}{}
		return nil, ctx.Err()
	}}
}
