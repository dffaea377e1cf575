package dialect

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
)

// A ToolServer is an agent that is an MCP server, as its tools are called. The value is
// immutable after SetTools.
type ToolServer struct {
	session  string // it assigned at the beginning; "" for a server without sessions
	revision string // of MCP; "" for a server that knows only tools/list and tools/call
	tools    []*Tool
}

// lastRevision is the last revision of MCP that begins with initialize. A server may choose
// an earlier one.
const lastRevision = "2025-11-25"

// The methods of MCP that are called.
const (
	initialize  = "initialize"
	initialized = "notifications/initialized"
	toolsList   = "tools/list"
	toolsCall   = "tools/call"
)

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
	if s.revision != "" {
		header["Mcp-Protocol-Version"] = s.revision
	}
	return ToolRequest{header, CallBody(method, params.Append(nil), id)}
}

// Greeting is the request that begins. Most servers know it. A server that does not
// needs none.
func (s *ToolServer) Greeting(id jsontext.Value) ToolRequest {
	return s.request(initialize, protocol.Object{
		{Name: "protocolVersion", Value: protocol.Quote(lastRevision)},
		{Name: "capabilities", Value: jsontext.Value("{}")},
		{Name: "clientInfo", Value: encoded(map[string]string{"name": "evenodd", "version": protocol.Version})},
	}, id)
}

// Greeted reads the response to the greeting, and the session that the server assigned
// with it. It tells whether the server answered it.
func (s *ToolServer) Greeted(session string, response []byte) bool {
	revision := protocol.ParseObject(response).Object("result").Text("protocolVersion")
	if revision == "" {
		return false
	}
	s.session, s.revision = session, revision
	return true
}

// Confirmation is the notification after the greeting.
func (s *ToolServer) Confirmation() ToolRequest {
	return s.request(initialized, protocol.Object{}, nil)
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
	return s.request(toolsCall, toolParams(t.name, arguments), id), true
}

// toolParams are the params of tools/call.
func toolParams(name string, arguments jsontext.Value) protocol.Object {
	return protocol.Object{{Name: "name", Value: protocol.Quote(name)}, {Name: "arguments", Value: arguments}}
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
	field, _, _ := bytes.Cut(body[:min(len(body), len("event:"))], []byte(":"))
	if !slices.Contains([]string{"event", "data", "id", ""}, string(field)) {
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
