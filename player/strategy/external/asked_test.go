package external

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// chooser is an MCP server with one tool that chooses, and maybe others.
func chooser(answer func(question map[string]any) *mcp.CallToolResult, schema map[string]any, others ...string) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "chooser", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "choose", InputSchema: schema}, func(_ context.Context, q *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var question map[string]any
		if err := json.Unmarshal(q.Params.Arguments, &question); err != nil {
			return nil, err
		}
		return answer(question), nil
	})
	for _, name := range others {
		s.AddTool(&mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}}, nil)
	}
	return s
}

func saysText(text string) func(map[string]any) *mcp.CallToolResult {
	return func(map[string]any) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
	}
}

// anything is the schema of a tool that names no members.
var anything = map[string]any{"type": "object"}

// ask asks the strategy once, with the fallback even.
func ask(t *testing.T, server *mcp.Server, stateless bool, o MCP) (choice, account, log string) {
	t.Helper()
	h := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: stateless, JSONResponse: stateless}))
	t.Cleanup(h.Close)
	o.URL = h.URL
	return askAt(t, o)
}

func askAt(t *testing.T, o MCP) (choice, account, logged string) {
	t.Helper()
	s, l := open(t, Asked, func(tools *Tools) {
		tools.MCP, tools.Fallback, tools.Timeout = o, "even", 5*time.Second
		tools.Programs.Env = append(tools.Programs.Env, serveVariable)
	})
	choice, err := s.Choose(t.Context(), view("R1M1"))
	require.NoError(t, err)
	return choice, Account(s), l.String()
}

func TestServerChooses(t *testing.T) {
	structured := func(map[string]any) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{}, StructuredContent: map[string]any{"choice": "odd", "reason": "seven"}}
	}
	for _, tt := range []struct {
		name   string
		answer func(map[string]any) *mcp.CallToolResult
		others []string
	}{
		{"a word", saysText("odd"), nil},
		{"JSON", saysText(`{"choice":"odd"}`), nil},
		{"a structure", structured, nil},
		{"the tool called choose among others", saysText("odd"), []string{"explain", "resign"}},
	} {
		for _, stateless := range []bool{false, true} {
			choice, account, log := ask(t, chooser(tt.answer, anything, tt.others...), stateless, MCP{})
			assert.Equal(t, "odd", choice, tt.name)
			assert.Equal(t, "mcp: 1 question, 0 answered by the fallback strategy even", account, tt.name)
			assert.Contains(t, log, `"event_type":"MCP_SERVER_CHOICE"`)
		}
	}
}

func TestToolGetsTheMembersThatItNames(t *testing.T) {
	var got map[string]any
	answer := func(q map[string]any) *mcp.CallToolResult {
		got = q
		return saysText("odd")(q)
	}
	ask(t, chooser(answer, map[string]any{"type": "object", "properties": map[string]any{"valid_options": anything, "opponent_id": anything, "mood": anything}}), true, MCP{})
	assert.Equal(t, map[string]any{"valid_options": []any{"even", "odd"}, "opponent_id": "P02"}, got)
	ask(t, chooser(answer, anything), true, MCP{})
	assert.Equal(t, "R1M1", got["match_id"], "a tool that names none gets all")
}

func TestFallbackChoosesForAServerThatFails(t *testing.T) {
	failed := func(map[string]any) *mcp.CallToolResult {
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "no idea"}}}
	}
	for _, tt := range []struct {
		name   string
		server *mcp.Server
		tool   string
		want   string
	}{
		{"an illegal choice", chooser(saysText("seven"), anything), "", "seven"},
		{"a sentence", chooser(saysText("I would take odd."), anything), "", "which is not a choice"},
		{"an error", chooser(failed, anything), "", "the tool failed: no idea"},
		{"no such tool", chooser(saysText("odd"), anything, "explain"), "decide", "set --mcp-tool to one of: choose, explain"},
	} {
		choice, account, log := ask(t, tt.server, true, MCP{Tool: tt.tool})
		assert.Equal(t, "even", choice, tt.name)
		assert.Equal(t, "mcp: 1 question, 1 answered by the fallback strategy even", account, tt.name)
		assert.Contains(t, log, tt.want, tt.name)
	}
	choice, _, log := askAt(t, MCP{URL: "http://127.0.0.1:1/mcp"})
	assert.Equal(t, "even", choice, "no server")
	assert.Contains(t, log, "MCP_SERVER_FAILED")
}

// TestMain of this package makes this binary an MCP server if the variable is set.
const serveVariable = "EVENODD_TEST_MCP_SERVER"

// hang is the value of serveVariable for a server that never answers and never ends.
const hang = "hang"

func serveStdio() {
	answer := saysText("odd")
	if os.Getenv(serveVariable) == hang {
		signal.Ignore(syscall.SIGTERM)
		answer = func(map[string]any) *mcp.CallToolResult { select {} }
	}
	_ = chooser(answer, anything).Run(context.Background(), &mcp.StdioTransport{})
	if os.Getenv(serveVariable) == hang {
		select {}
	}
}

func TestProgramOnStandardInputThatHangsIsKilled(t *testing.T) {
	t.Parallel()
	s, _ := open(t, Asked, func(tools *Tools) {
		tools.MCP, tools.Fallback, tools.Timeout = MCP{Command: "'" + os.Args[0] + "'"}, "even", time.Second
		tools.Programs.Env = append(tools.Programs.Env, serveVariable)
		tools.Programs.Environ = append(os.Environ(), serveVariable+"="+hang)
	})
	choice, err := s.Choose(t.Context(), view("R1M1"))
	require.NoError(t, err)
	assert.Equal(t, "even", choice)
	// The end of the test closes the strategy, which returns when the program has ended.
}

func TestProgramOnStandardInputChooses(t *testing.T) {
	t.Setenv(serveVariable, "1")
	choice, account, _ := askAt(t, MCP{Command: "'" + os.Args[0] + "'"})
	assert.Equal(t, "odd", choice)
	assert.True(t, strings.HasPrefix(account, "mcp: 1 question, 0 answered"), account)
}

func TestSettingsOfMCPServer(t *testing.T) {
	for _, tt := range []struct {
		o    Tools
		want string
	}{
		{Tools{}, "strategy mcp: set --mcp-command or --mcp-url"},
		{Tools{MCP: MCP{Command: "true", URL: "http://localhost:1"}}, "set --mcp-command or --mcp-url"},
		{Tools{MCP: MCP{URL: "localhost"}}, "--mcp-url: must be a URL"},
		{Tools{MCP: MCP{Command: "./nothing"}}, "--mcp-command ./nothing: program ./nothing not found"},
		{Tools{MCP: MCP{URL: "http://localhost:1"}, Fallback: "luck"}, `unknown strategy "luck" for --fallback`},
	} {
		require.ErrorContains(t, Check(Asked, tt.o), tt.want)
	}
}

// A server that hangs, also when its session ends, must not delay the fallback strategy.
func TestServerThatHangsDelaysNoChoice(t *testing.T) {
	for _, hangs := range []string{"notifications/initialized", "tools/list", "tools/call"} {
		t.Run(hangs, func(t *testing.T) {
			t.Parallel()
			hang := make(chan struct{})
			sdk := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return chooser(saysText("odd"), anything) }, nil)
			h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if r.Method == http.MethodDelete || err != nil || bytes.Contains(body, []byte(hangs)) {
					<-hang
				}
				r.Body = io.NopCloser(bytes.NewReader(body))
				sdk.ServeHTTP(w, r)
			}))
			t.Cleanup(h.Close)
			s, _ := open(t, Asked, func(tools *Tools) {
				tools.MCP, tools.Fallback, tools.Timeout = MCP{URL: h.URL}, "even", 500*time.Millisecond
			})
			t.Cleanup(func() { close(hang) })
			select {
			case chosen := <-choose(t.Context(), s, "R1M1"):
				assert.Equal(t, outcome{"even", nil}, chosen)
			case <-time.After(4 * time.Second): // less than the library waits for a session's end
				require.Fail(t, "the choice waits for the end of the session")
			}
		})
	}
}

// An MCP server may redirect within its host, and not to another service (SSRF).
func TestServerRedirectsOnlyWithinItsHost(t *testing.T) {
	sdk := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return chooser(saysText("odd"), anything) }, nil)
	var calls atomic.Int64
	victim := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		sdk.ServeHTTP(w, r)
	}))
	t.Cleanup(victim.Close)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/elsewhere":
			http.Redirect(w, r, victim.URL+"/mcp/", http.StatusTemporaryRedirect)
		case "/mcp":
			http.Redirect(w, r, "/mcp/", http.StatusTemporaryRedirect)
		default:
			sdk.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	t.Run("elsewhere", func(t *testing.T) {
		choice, _, logged := askAt(t, MCP{URL: server.URL + "/elsewhere"})
		assert.Equal(t, "even", choice, "the fallback")
		assert.Contains(t, logged, "to another host")
	}) // its end closes the strategy, which waits for its requests
	assert.Zero(t, calls.Load(), "the server led the player to another service")
	choice, _, _ := askAt(t, MCP{URL: server.URL + "/mcp"})
	assert.Equal(t, "odd", choice)
}

// openHost opens the strategy with a fallback that always chooses even.
func openHost(t *testing.T) (*Host, *log) {
	t.Helper()
	s, l := open(t, HostName, func(tools *Tools) { tools.Hosted, tools.Fallback = true, "even" })
	return s.(*Host), l
}

func TestHostAnswersAQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, _ := openHost(t)
		waited := make(chan []Question)
		go func() {
			questions, _ := h.Wait(t.Context())
			waited <- questions
		}()
		synctest.Wait()
		answer := choose(t.Context(), h, "R1M1")
		pending := <-waited
		require.Len(t, pending, 1)
		q := pending[0]
		assert.Equal(t, []string{"even", "odd"}, q.ValidOptions)
		assert.Equal(t, "P02", q.OpponentID)
		assert.Equal(t, time.Now().Add(hostTimeout).UTC().Format(time.RFC3339), q.Deadline)

		require.EqualError(t, h.Answer(q.ChoiceID, "seven"), `choice "seven": must be one of even, odd`)
		require.ErrorContains(t, h.Answer("R9M9-1", "odd"), `choice_id "R9M9-1": no such question waits`)
		require.NoError(t, h.Answer(q.ChoiceID, "odd"))
		assert.Empty(t, h.Pending(), "an answered question does not wait")
		assert.Equal(t, outcome{"odd", nil}, <-answer)
		require.ErrorContains(t, h.Answer(q.ChoiceID, "even"), "no such question waits", "an answer is final")
		assert.Equal(t, "mcp-host: 1 question, 0 answered by the fallback strategy even", h.Account())
	})
}

func TestWaitingHostIsToldThatNoQuestionComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, _ := openHost(t)
		told := make(chan string)
		go func() {
			questions, end := h.Wait(t.Context())
			assert.Empty(t, questions)
			told <- end
		}()
		synctest.Wait()
		h.End("the league is over")
		assert.Equal(t, "the league is over", <-told)
		_, end := h.Wait(t.Context())
		assert.Equal(t, "the league is over", end, "from then on, at once")
	})
}

func TestFallbackChoosesAtTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, l := openHost(t)
		v := view("R1M1")
		v.Within = 30 * time.Second
		began := time.Now()
		choice, err := h.Choose(t.Context(), v)
		require.NoError(t, err)
		assert.Equal(t, "even", choice)
		assert.Equal(t, 24*time.Second, time.Since(began), "the answer must arrive before the referee's deadline")
		assert.Empty(t, h.Pending())
		assert.Equal(t, "mcp-host: 1 question, 1 answered by the fallback strategy even", h.Account())
		assert.Contains(t, l.String(), `"event_type":"HOST_TIMEOUT"`)
	})
}

func TestQuestionOfACanceledCallDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, _ := openHost(t)
		ctx, cancel := context.WithCancel(t.Context())
		answer := choose(ctx, h, "R1M1")
		synctest.Wait()
		require.Len(t, h.Pending(), 1)
		cancel()
		assert.ErrorIs(t, (<-answer).err, context.Canceled)
		assert.Empty(t, h.Pending())
	})
}

func TestHostNeedsAServer(t *testing.T) {
	require.ErrorContains(t, Check(HostName, Tools{}), "only 'evenodd player'")
	require.ErrorContains(t, Check(HostName, Tools{Hosted: true, Fallback: "best"}), `unknown strategy "best" for --fallback`)
}
