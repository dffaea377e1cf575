package dialect

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
)

// A ToolServer is an agent that is an MCP server, as its tools are called. The value is
// immutable after SetTools.
type ToolServer struct {
	session  string // it assigned at the beginning; "" for a server without sessions
	greeting string // the method that begins; "" for none
	revision string // of MCP; "" for a server that knows only tools/list and tools/call
	tools    []*Tool
}

// The revisions of MCP that are spoken: the last one that begins with initialize, and the
// first one without sessions. A server may choose an earlier one than the first of these.
const (
	revisionWithSessions    = "2025-11-25"
	revisionWithoutSessions = "2026-07-28"
)

// The methods of MCP that are called.
const (
	initialize  = "initialize"
	initialized = "notifications/initialized"
	discover    = "server/discover"
	toolsList   = "tools/list"
	toolsCall   = "tools/call"
)

// ToolServers are the ways to begin with an MCP server, likeliest first. Most servers know
// initialize, and a server that knows no beginning needs none.
func ToolServers() []ToolServer {
	return []ToolServer{
		{greeting: initialize, revision: revisionWithSessions},
		{greeting: discover, revision: revisionWithoutSessions},
		{},
	}
}

// A ToolRequest is a request to an MCP server.
type ToolRequest struct {
	Header map[string]string
	Body   []byte
}

// request makes a request. A nil id is that of a notification.
func (s *ToolServer) request(method string, params protocol.Object, id jsontext.Value) ToolRequest {
	header := map[string]string{"Accept": "application/json, text/event-stream"}
	if s.session != "" {
		header["Mcp-Session-Id"] = s.session
	}
	if s.revision != "" && method != initialize {
		header["Mcp-Protocol-Version"] = s.revision
	}
	if s.revision == revisionWithoutSessions {
		header["Mcp-Method"] = method
		if name := params.Text("name"); name != "" {
			header["Mcp-Name"] = name
		}
		params.Set("_meta", encoded(map[string]any{
			"io.modelcontextprotocol/protocolVersion":    s.revision,
			"io.modelcontextprotocol/clientInfo":         client,
			"io.modelcontextprotocol/clientCapabilities": struct{}{},
		}))
	}
	return ToolRequest{header, CallBody(method, params.Append(nil), id)}
}

// client is how this program introduces itself.
var client = map[string]string{"name": "evenodd", "version": protocol.Version}

// Greeting is the request that begins; ok is false for a server that needs none.
func (s *ToolServer) Greeting(id jsontext.Value) (r ToolRequest, ok bool) {
	params := protocol.Object{}
	if s.greeting == initialize {
		params = protocol.Object{
			{Name: "protocolVersion", Value: protocol.Quote(s.revision)}, {Name: "capabilities", Value: jsontext.Value("{}")}, {Name: "clientInfo", Value: encoded(client)},
		}
	}
	return s.request(s.greeting, params, id), s.greeting != ""
}

// Bounds of what a server chooses, in bytes.
const (
	maxSession  = 1024
	maxRevision = 32
)

// Greeted reads the response to the greeting, and the session that the server assigned
// with it. It tells whether the server answered it.
func (s *ToolServer) Greeted(session string, response []byte) bool {
	result := protocol.ParseObject(response).Object("result")
	if s.greeting == discover {
		for _, v := range list(result.Get("supportedVersions")) {
			if protocol.Unquote(v) == s.revision {
				return true
			}
		}
		return false
	}
	s.session, s.revision = session, result.Text("protocolVersion")
	return s.revision != "" && len(s.revision) <= maxRevision && len(session) <= maxSession
}

// Confirmation is the notification after the greeting; ok is false if there is none.
func (s *ToolServer) Confirmation() (r ToolRequest, ok bool) {
	return s.request(initialized, protocol.Object{}, nil), s.greeting == initialize
}

// List is the request for a page of the tools; cursor is "" for the first page.
func (s *ToolServer) List(cursor string, id jsontext.Value) ToolRequest {
	params := protocol.Object{}
	if cursor != "" {
		params.Set("cursor", protocol.Quote(cursor))
	}
	return s.request(toolsList, params, id)
}

// SetTools sets the tools that the server lists, and tells whether any fits a method.
func (s *ToolServer) SetTools(all []Tool) bool {
	s.tools = make([]*Tool, len(methods))
	found := false
	for i := range methods {
		if t := methods[i].tool(all); t != nil {
			own := *t // all may hold thousands of others
			s.tools[i], found = &own, true
		}
	}
	return found
}

// Call is the request that calls the tool of a method with a message. Ok is false if the
// server has no such tool, or its arguments cannot hold the message.
func (s *ToolServer) Call(m *Method, message jsontext.Value, id jsontext.Value) (r ToolRequest, ok bool) {
	t := s.tools[m.Index]
	if t == nil {
		return ToolRequest{}, false
	}
	arguments, ok := t.argumentsFor(message)
	if !ok {
		return ToolRequest{}, false
	}
	return s.request(toolsCall, protocol.Object{{Name: "name", Value: protocol.Quote(t.name)}, {Name: "arguments", Value: arguments}}, id), true
}

// Expired tells whether a response with this status says that the session is over. The
// examples of the SDK for TypeScript answer 400 where MCP demands 404.
func (s *ToolServer) Expired(status int) bool {
	return s.session != "" && (status == httpNotFound || status == httpBadRequest)
}

// String lists the tools for people, as method=tool.
func (s *ToolServer) String() string {
	var pairs []string
	for i, t := range s.tools {
		if t != nil {
			pairs = append(pairs, methods[i].Name+"="+t.name)
		}
	}
	return strings.Join(pairs, " ")
}

// FromEvents returns the response in a stream of server-sent events, in which a server
// of MCP may send it after notifications. It returns any other body unchanged.
func FromEvents(body []byte) []byte {
	text := string(body[:min(len(body), len("event:"))])
	if !strings.HasPrefix(text, "event:") && !strings.HasPrefix(text, "data:") && !strings.HasPrefix(text, "id:") && !strings.HasPrefix(text, ":") {
		return body
	}
	var data strings.Builder
	for line := range strings.Lines(string(body) + "\n\n") {
		line = strings.TrimRight(line, "\r\n")
		if value, ok := strings.CutPrefix(line, "data:"); ok {
			data.WriteString(value + "\n")
		}
		if line != "" {
			continue
		}
		if o := protocol.ParseObject([]byte(strings.TrimSpace(data.String()))); o.Has("result") || o.Has("error") {
			return []byte(strings.TrimSpace(data.String()))
		}
		data.Reset()
	}
	return body
}
