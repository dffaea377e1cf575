package external

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"evenodd/league/program"
	"evenodd/league/protocol"
	"evenodd/league/words"
	"evenodd/player/strategy"
)

// Asked is the strategy that asks an MCP server for its choice.
const Asked = "mcp"

const commandFlag = "--mcp-command "

// MCP configures the server. It has a command or a URL.
type MCP struct {
	Command string // command line of a program that speaks MCP on standard input and output
	URL     string // of a server that speaks MCP over HTTP
	Tool    string // "" for the server's only tool, or for the one called choose
}

func (o *MCP) check(programs *program.Programs) error {
	switch {
	case (o.Command == "") == (o.URL == ""):
		return errors.New("strategy mcp: set --mcp-command or --mcp-url")
	case o.Command != "":
		_, _, err := programs.Find(commandFlag, o.Command)
		return err
	case !protocol.ValidHTTP(o.URL):
		return errors.New("--mcp-url: must be a URL such as http://localhost:3000/mcp")
	}
	return nil
}

// An asker decides with a tool of an MCP server, which receives one question at a time.
type asker struct {
	*timely

	options  MCP
	programs program.Programs
	turn     chan struct{} // a semaphore for session, program and tool; full while free

	closing sync.WaitGroup // of the sessions that are over

	session *mcp.ClientSession // nil before the first question, and after a failure
	program *program.Child     // nil for a server with a URL
	tool    *mcp.Tool
}

func newAsker(t Tools) (*asker, error) {
	base, err := newTimely(t, Asked, "the MCP server", "MCP_SERVER_CHOICE", "MCP_SERVER_FAILED", modelTimeout)
	if err != nil {
		return nil, err
	}
	a := &asker{timely: base, options: t.MCP, programs: t.Programs, turn: make(chan struct{}, 1)}
	a.turn <- struct{}{}
	return a, nil
}

// Choose asks the server.
func (a *asker) Choose(ctx context.Context, v strategy.View) (string, error) {
	return a.choose(ctx, v, func(ctx context.Context, limit time.Duration) (string, error) {
		return a.ask(ctx, &v, limit)
	})
}

// ask asks the server. It connects first if there is no session.
func (a *asker) ask(ctx context.Context, v *strategy.View, limit time.Duration) (string, error) {
	select {
	case <-a.turn:
		defer func() { a.turn <- struct{}{} }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if a.session == nil {
		if err := a.connect(ctx); err != nil {
			a.disconnect()
			return "", err
		}
	}
	question, err := questionFor(a.tool, requestOf(v, limit))
	if err != nil {
		return "", err
	}
	result, err := a.session.CallTool(ctx, &mcp.CallToolParams{Name: a.tool.Name, Arguments: question})
	if err != nil { // the next question opens a new session
		a.disconnect()
		return "", err
	}
	return choiceFrom(result, legalOf(v))
}

// maxTools is how many tools of a server are read.
const maxTools = 1000

// connect opens a session and finds the tool.
func (a *asker) connect(ctx context.Context) (err error) {
	var server mcp.Transport
	if a.options.Command != "" {
		path, args, err := a.programs.Find(commandFlag, a.options.Command)
		if err != nil {
			return err
		}
		if a.program, err = a.programs.Start(path, args, 2); err != nil {
			return err
		}
		server = &mcp.IOTransport{Reader: a.program.Pipes[1], Writer: a.program.Pipes[0]}
	} else {
		server = &mcp.StreamableClientTransport{Endpoint: a.options.URL,
			HTTPClient:           &http.Client{Transport: limitedBodies{http.DefaultTransport}, CheckRedirect: withinHost},
			DisableStandaloneSSE: true, MaxRetries: -1}
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "evenodd-player", Version: "1"},
		&mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
	if err := a.open(ctx, client, server); err != nil {
		return err
	}
	var tools []*mcp.Tool
	for t, err := range a.session.Tools(ctx, nil) { // of all pages
		if err != nil {
			return err
		}
		if tools = append(tools, t); len(tools) == maxTools {
			break
		}
	}
	a.tool, err = toolFor(a.options.Tool, tools)
	return err
}

// open opens a session. It does not wait for the library after the end of ctx: the library ends a
// session that it could not open, which takes seconds if the server hangs.
func (a *asker) open(ctx context.Context, client *mcp.Client, server mcp.Transport) error {
	failed := make(chan error) // nil when the session is open
	var session *mcp.ClientSession
	a.closing.Go(func() {
		var err error
		session, err = client.Connect(ctx, server, nil)
		select {
		case failed <- err:
		case <-ctx.Done():
			if session != nil {
				_ = session.Close()
			}
		}
	})
	select {
	case err := <-failed:
		a.session = session
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// disconnect ends the session in the background, because a server that hangs can take
// seconds to end, and the fallback strategy must choose in time. It ends the program with
// all processes that it has started.
func (a *asker) disconnect() {
	session, server := a.session, a.program
	a.session, a.program, a.tool = nil, nil, nil
	a.closing.Go(func() {
		if server != nil {
			server.Stop(true) // the end of its input is the end of the session
			defer server.ClosePipes()
		}
		if session != nil {
			_ = session.Close() // the session is of no use any more
		}
	})
}

// toolFor finds the tool that chooses.
func toolFor(name string, tools []*mcp.Tool) (*mcp.Tool, error) {
	if name == "" && len(tools) == 1 {
		return tools[0], nil
	}
	var names []string
	for _, t := range tools {
		if t.Name == cmp.Or(name, "choose") {
			return t, nil
		}
		names = append(names, t.Name)
	}
	return nil, fmt.Errorf("the server has no tool %q; set --mcp-tool to one of: %s", cmp.Or(name, "choose"),
		strings.Join(names, ", "))
}

// questionFor returns the members of a question that the tool's input schema names; all
// of them if it names none.
func questionFor(tool *mcp.Tool, q *request) (map[string]json.RawMessage, error) {
	text, err := encodeRequest(q)
	if err != nil {
		return nil, err
	}
	var members map[string]json.RawMessage
	_ = json.Unmarshal(text, &members)             // an object
	schema, _ := tool.InputSchema.(map[string]any) // as the library decodes it
	if named, _ := schema["properties"].(map[string]any); len(named) > 0 {
		maps.DeleteFunc(members, func(name string, _ json.RawMessage) bool { return named[name] == nil })
	}
	return members, nil
}

// choiceFrom reads the choice from a result: from its text, else from its structure.
func choiceFrom(r *mcp.CallToolResult, legal legal) (string, error) {
	text := ""
	for _, c := range slices.Backward(r.Content) {
		if t, ok := c.(*mcp.TextContent); ok {
			text = t.Text
		}
	}
	if text == "" && r.StructuredContent != nil {
		encoded, _ := json.Marshal(r.StructuredContent) // it was decoded from JSON
		text = string(encoded)
	}
	if r.IsError {
		return "", fmt.Errorf("the tool failed: %s", text)
	}
	choice, _, err := choiceIn(text, legal)
	if errors.Is(err, program.ErrChatter) {
		return "", program.Wrong("the tool answered %q, which is not a choice; the legal choices are %s",
			words.Clip(text, 200), legal)
	}
	return choice, err
}

// Close ends the session.
func (a *asker) Close() {
	<-a.turn
	a.disconnect()
	a.closing.Wait()
}

// withinHost refuses redirects to other hosts, because the server could lead this process to
// an internal address (SSRF), and redirects after the tenth.
func withinHost(r *http.Request, via []*http.Request) error {
	switch {
	case r.URL.Host != via[0].URL.Host:
		return fmt.Errorf("%s redirects to another host", via[0].URL.Host)
	case len(via) > 10:
		return errors.New("too many redirects")
	}
	return nil
}

// limitedBodies limits the size of responses, which the library does not.
type limitedBodies struct{ next http.RoundTripper }

func (l limitedBodies) RoundTrip(r *http.Request) (*http.Response, error) {
	reply, err := l.next.RoundTrip(r)
	if err == nil {
		reply.Body = http.MaxBytesReader(nil, reply.Body, maxReply)
	}
	return reply, err
}
