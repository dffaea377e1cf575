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
	at := c.remember(c.endpoint, false)
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

// noTool is the reply of an agent that has no tool for the call.
func (c *call) noTool(f dialect.Form) reply {
	failure := dialect.Failure{Present: true, Code: dialect.MethodNotFound, Text: "the agent has no MCP tool for this call"}
	return reply{
		Reply: dialect.Reply{Verdict: dialect.Rejected, Status: httpOK, Failure: failure, Body: failure.Body(c.asked.ID)},
		form:  f, unsent: true, excerpt: failure.Text,
	}
}

// nextID is the id of a request to the agent's MCP server. No two requests of a session
// share one.
func (at *peer) nextID() jsontext.Value {
	return jsontext.Value(strconv.FormatInt(at.lastID.Add(1), 10))
}

// toolServer returns the MCP server that the agent is, other than an expired one; nil if the
// agent is none. One call at a time begins with the server, and the others wait for it:
// some servers have one session only. Busy is the response of an agent that asks to wait.
func (c *call) toolServer(ctx context.Context, at *peer, expired *dialect.ToolServer) (server *dialect.ToolServer, busy posted, err error) {
	if server, known := c.knownServer(at, expired); known {
		return server, posted{}, nil
	}
	select {
	case at.opening <- struct{}{}:
		defer func() { <-at.opening }()
	case <-ctx.Done():
		return nil, posted{}, ctx.Err()
	}
	if server, known := c.knownServer(at, expired); known {
		return server, posted{}, nil
	}
	server, busy, err = c.openServer(ctx, at)
	if err != nil || busy.Status != 0 {
		return nil, busy, err
	}
	at.mu.Lock()
	defer at.mu.Unlock()
	switch {
	case server != nil:
		if at.server == nil || at.server.String() != server.String() { // not for each session
			c.options.Log.Info().Str("endpoint", c.endpoint).Stringer("tools", server).
				Str("event_type", protocol.EventToolsListed).Msg("a third-party agent is an MCP server with tools for these methods")
		}
		at.server = server
	case expired == nil:
		at.noServer = c.options.Clock.Now()
	}
	return server, posted{}, nil
}

// noServerFor is how long an agent that is no MCP server is not taken for one again.
const noServerFor = time.Minute

// knownServer is what is known about the agent, if that is enough.
func (c *call) knownServer(at *peer, expired *dialect.ToolServer) (server *dialect.ToolServer, known bool) {
	at.mu.Lock()
	defer at.mu.Unlock()
	if at.server != nil {
		return at.server, at.server != expired
	}
	return nil, !at.noServer.IsZero() && c.options.Clock.Now().Sub(at.noServer) < noServerFor
}

// openServer begins with the agent's MCP server and lists its tools. It returns nil if the
// agent is none, or no tool fits a method.
func (c *call) openServer(ctx context.Context, at *peer) (server *dialect.ToolServer, busy posted, err error) {
	for _, s := range dialect.ToolServers() {
		if greeting, ok := s.Greeting(at.nextID()); ok {
			p, err := c.post(ctx, c.endpoint, greeting.Header, greeting.Body)
			if err != nil || dialect.AsksToWait(p.Status) {
				return nil, p, err
			}
			if !s.Greeted(p.Session, dialect.FromEvents(p.Body)) {
				continue
			}
		}
		if confirmation, ok := s.Confirmation(); ok {
			if _, err := c.post(ctx, c.endpoint, confirmation.Header, confirmation.Body); err != nil {
				return nil, posted{}, err
			}
		}
		tools, busy, err := c.listTools(ctx, at, &s)
		if err != nil || busy.Status != 0 || !s.SetTools(tools) {
			return nil, busy, err
		}
		return &s, posted{}, nil
	}
	return nil, posted{}, nil
}

// maxToolPages bounds the pages of a list of tools.
const maxToolPages = 10

// listTools lists the tools of a server that fit a method.
func (c *call) listTools(ctx context.Context, at *peer, s *dialect.ToolServer) (tools []dialect.Tool, busy posted, err error) {
	cursor := ""
	for range maxToolPages {
		request := s.List(cursor, at.nextID())
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
	return tools, posted{}, nil
}
