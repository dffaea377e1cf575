package bridge

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
	"evenodd/transport"
	"evenodd/transport/dialect"
)

// callTool calls the method as a tool of the agent, an MCP server. Unsent is why it does not: the
// agent is none, or has no tool for the method, or the message does not fit its schema. If the session has expired,
// another one is opened, once.
func (c *call) callTool(ctx context.Context, f dialect.Form) (p transport.Posted, unsent string, err error) {
	method := c.method.Name
	if f.Announces {
		method = protocol.NotifyRound.Name
	}
	c.mu.Lock()
	at := c.remember(c.Endpoint)
	c.mu.Unlock()
	var server *dialect.ToolServer
	for {
		expired := server
		if server, p, err = c.toolServer(ctx, at, expired); err != nil || server == nil {
			if p.Status == 0 {
				unsent = noTool
			}
			return p, unsent, err
		}
		params, misfit := server.Call(method, c.message(f))
		if params == nil {
			return transport.Posted{}, cmp.Or(misfit, noTool), nil
		}
		p, err = c.request(ctx, at, server, dialect.ToolsCall, params)
		if err != nil || expired != nil || !server.Expired(p.Status) {
			return p, "", err
		}
	}
}

// noTool is why an agent is not called by a tool that it does not have.
const noTool = "the agent has no MCP tool for this call"

// lists tells whether the agent, an MCP server, lists a tool of this name. Such a tool is called as its schema says, by
// callTool, and in no other form.
func (c *call) lists(tool string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Contains(c.find(c.Endpoint).listed, tool)
}

// request sends a request to the agent's MCP server. No two requests of a session share an id,
// and a notification has none.
func (c *call) request(ctx context.Context, at *peer, server *dialect.ToolServer, method string, params protocol.Object,
) (transport.Posted, error) {
	var id jsontext.Value
	if method != dialect.Initialized {
		id = strconv.AppendInt(nil, at.lastID.Add(1), 10)
	}
	return c.post(ctx, c.Endpoint, server.Header(), dialect.CallBody(method, params.Append(nil), id))
}

// noServerFor is how long an agent that is no MCP server is not taken for one again.
const noServerFor = time.Minute

// toolServer returns the MCP server that the agent is, other than an expired one; nil if the
// agent is none. One call at a time begins with the server, and the others wait for it:
// some servers have one session only. Busy is the response of an agent that asks to wait.
func (c *call) toolServer(ctx context.Context, at *peer, expired *dialect.ToolServer) (
	server *dialect.ToolServer, busy transport.Posted, err error,
) {
	select {
	case at.opening <- struct{}{}:
		defer func() { <-at.opening }()
	case <-ctx.Done():
		return nil, transport.Posted{}, ctx.Err()
	}
	now := c.options.Clock.Now()
	if at.server != nil && at.server != expired || at.server == nil && now.Sub(at.noServer) < noServerFor {
		return at.server, transport.Posted{}, nil
	}
	server, busy, err = c.openServer(ctx, at)
	switch {
	case err != nil || busy.Status != 0:
		return nil, busy, err
	case server != nil:
		if at.server == nil || at.server.String() != server.String() { // not for each session
			c.options.Log.Info().Str("endpoint", c.Endpoint).Stringer("tools", server).Str("event_type", "MCP_TOOLS_LISTED").
				Msg("a third-party agent is an MCP server with tools for these methods")
		}
		at.server = server
	case expired == nil:
		at.noServer = now
	}
	return server, transport.Posted{}, nil
}

// openServer begins with the agent's MCP server and lists its tools. It returns nil if the
// agent is none, or no tool fits a method.
func (c *call) openServer(ctx context.Context, at *peer) (server *dialect.ToolServer, busy transport.Posted, err error) {
	server = &dialect.ToolServer{}
	p, err := c.request(ctx, at, server, dialect.Initialize, dialect.Greeting())
	if err != nil || dialect.AsksToWait(p.Status) {
		return nil, p, err
	}
	if server.Greeted(p.Session, dialect.FromEvents(p.Body)) {
		if _, err := c.request(ctx, at, server, dialect.Initialized, nil); err != nil {
			return nil, transport.Posted{}, err
		}
	}
	var tools []dialect.Tool
	var params protocol.Object
	for range maxToolPages {
		p, err := c.request(ctx, at, server, dialect.ToolsList, params)
		if err != nil || dialect.AsksToWait(p.Status) {
			return nil, p, err
		}
		page, next := dialect.ReadTools(dialect.FromEvents(p.Body))
		tools = append(tools, page...)
		if next == "" {
			break
		}
		params.SetText("cursor", next)
	}
	c.mu.Lock()
	at.listed = dialect.NamesOf(tools)
	c.mu.Unlock()
	if !server.SetTools(tools) {
		return nil, transport.Posted{}, nil
	}
	return server, transport.Posted{}, nil
}

// maxToolPages bounds the pages of a list of tools.
const maxToolPages = 10
