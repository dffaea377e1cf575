package bridge

import (
	"context"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
	"evenodd/transport/dialect"
)

// callTool calls the method as a tool of the agent, an MCP server. Sent is false if the
// agent is none, or has no tool for the method. If the session has expired, another one is
// opened, once.
func (c *call) callTool(ctx context.Context, f dialect.Form) (p posted, sent bool, err error) {
	method := c.method
	if f.Announces {
		method = dialect.MethodOf(protocol.NotifyRound.Name)
	}
	c.mu.Lock()
	at := c.remember(c.endpoint)
	c.mu.Unlock()
	var server *dialect.ToolServer
	for {
		expired := server
		if server, p, err = c.toolServer(ctx, at, expired); err != nil || server == nil {
			return p, p.Status != 0, err
		}
		request, fits := server.Call(method, c.message(f), at.nextID())
		if !fits {
			return posted{}, false, nil
		}
		p, err = c.post(ctx, c.endpoint, request.Header, request.Body)
		if err != nil || expired != nil || !server.Expired(p.Status) {
			return p, true, err
		}
	}
}

// nextID is the id of a request to the agent's MCP server. No two requests of a session
// share one.
func (at *peer) nextID() jsontext.Value {
	return jsontext.Value(strconv.FormatInt(at.lastID.Add(1), 10))
}

// noServerFor is how long an agent that is no MCP server is not taken for one again.
const noServerFor = time.Minute

// toolServer returns the MCP server that the agent is, other than an expired one; nil if the
// agent is none. One call at a time begins with the server, and the others wait for it:
// some servers have one session only. Busy is the response of an agent that asks to wait.
func (c *call) toolServer(ctx context.Context, at *peer, expired *dialect.ToolServer) (
	server *dialect.ToolServer, busy posted, err error,
) {
	select {
	case at.opening <- struct{}{}:
		defer func() { <-at.opening }()
	case <-ctx.Done():
		return nil, posted{}, ctx.Err()
	}
	now := c.options.Clock.Now()
	if at.server != nil && at.server != expired || at.server == nil && now.Sub(at.noServer) < noServerFor {
		return at.server, posted{}, nil
	}
	server, busy, err = c.openServer(ctx, at)
	switch {
	case err != nil || busy.Status != 0:
		return nil, busy, err
	case server != nil:
		if at.server == nil || at.server.String() != server.String() { // not for each session
			c.options.Log.Info().Str("endpoint", c.endpoint).Stringer("tools", server).
				Str("event_type", "MCP_TOOLS_LISTED").
				Msg("a third-party agent is an MCP server with tools for these methods")
		}
		at.server = server
	case expired == nil:
		at.noServer = now
	}
	return server, posted{}, nil
}

// openServer begins with the agent's MCP server and lists its tools. It returns nil if the
// agent is none, or no tool fits a method.
func (c *call) openServer(ctx context.Context, at *peer) (server *dialect.ToolServer, busy posted, err error) {
	server = &dialect.ToolServer{}
	greeting := server.Greeting(at.nextID())
	p, err := c.post(ctx, c.endpoint, greeting.Header, greeting.Body)
	if err != nil || dialect.AsksToWait(p.Status) {
		return nil, p, err
	}
	if server.Greeted(p.Session, dialect.FromEvents(p.Body)) {
		confirmation := server.Confirmation()
		if _, err := c.post(ctx, c.endpoint, confirmation.Header, confirmation.Body); err != nil {
			return nil, posted{}, err
		}
	}
	var tools []dialect.Tool
	cursor := ""
	for range maxToolPages {
		request := server.List(cursor, at.nextID())
		p, err := c.post(ctx, c.endpoint, request.Header, request.Body)
		if err != nil || dialect.AsksToWait(p.Status) {
			return nil, p, err
		}
		page, next, ok := dialect.ReadTools(dialect.FromEvents(p.Body))
		tools, cursor = append(tools, page...), next
		if !ok || next == "" {
			break
		}
	}
	if !server.SetTools(tools) {
		return nil, posted{}, nil
	}
	return server, posted{}, nil
}

// maxToolPages bounds the pages of a list of tools.
const maxToolPages = 10
