package dialect

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/lists"
	"evenodd/league/protocol"
)

// A ToolServer is an agent that is an MCP server, as its tools are called. The value is
// immutable after SetTools.
type ToolServer struct {
	session  string          // it assigned at the beginning; "" for a server without sessions
	revision string          // of MCP; "" for a server that knows only tools/list and tools/call
	tools    map[string]Tool // by the method that they fit
}

// lastRevision is the last revision of MCP that begins with initialize. A server may choose
// an earlier one.
const lastRevision = "2025-11-25"

// The methods of MCP that are called.
const (
	Initialize  = "initialize"
	Initialized = "notifications/initialized"
	ToolsList   = "tools/list"
	ToolsCall   = "tools/call"
)

// Header returns the header of a request to the server.
func (s *ToolServer) Header() map[string]string {
	header := map[string]string{"Accept": "application/json, text/event-stream"}
	if s.session != "" {
		header["Mcp-Session-Id"] = s.session
	}
	if s.revision != "" {
		header["Mcp-Protocol-Version"] = s.revision
	}
	return header
}

// Greeting returns the params of Initialize, which begins. Most servers know it. A server
// that does not needs none.
func Greeting() protocol.Object {
	return protocol.Object{
		{Name: "protocolVersion", Value: protocol.Quote(lastRevision)},
		{Name: "capabilities", Value: jsontext.Value("{}")},
		{Name: "clientInfo", Value: encoded(map[string]string{"name": "evenodd", "version": protocol.Version})},
	}
}

// Greeted reads the response to Initialize, and the session that the server assigned
// with it. It tells whether the server answered it.
func (s *ToolServer) Greeted(session string, response []byte) bool {
	revision := protocol.ParseObject(response).Object("result").Text("protocolVersion")
	if revision == "" {
		return false
	}
	s.session, s.revision = session, revision
	return true
}

// SetTools sets the tools that the server lists, and tells whether any fits a method.
func (s *ToolServer) SetTools(all []Tool) bool {
	s.tools = map[string]Tool{}
	for i := range methods {
		if t := methods[i].tool(all); t != nil {
			s.tools[methods[i].Name] = *t
		}
	}
	return len(s.tools) > 0
}

// Call returns the params of ToolsCall that call the tool of a method with a message; nil
// if the server has no such tool, or its arguments cannot hold the message. Misfit is why they cannot.
func (s *ToolServer) Call(method string, message jsontext.Value) (params protocol.Object, misfit string) {
	t, ok := s.tools[method]
	if !ok {
		return nil, ""
	}
	arguments, ok := t.argumentsFor(message)
	if !ok {
		has := protocol.ParseObject(message).Has
		lacking := slices.DeleteFunc(slices.Clone(t.required), has)
		return nil, fmt.Sprintf("the MCP tool %s takes %s, and requires %s, which the message of %s does not have", t.name,
			strings.Join(t.arguments, ", "), cmp.Or(strings.Join(lacking, ", "), "another argument"), method)
	}
	return toolParams(t.name, arguments), ""
}

// toolParams are the params of ToolsCall.
func toolParams(name string, arguments jsontext.Value) protocol.Object {
	return protocol.Object{{Name: "name", Value: protocol.Quote(name)}, {Name: "arguments", Value: arguments}}
}

// Expired tells whether a response with this status says that the session is over. The
// examples of the SDK for TypeScript answer 400 where MCP demands 404.
func (s *ToolServer) Expired(status int) bool {
	return s.session != "" && (status == StatusNotFound || status == StatusBadRequest)
}

// String lists the tools for people, as method=tool.
func (s *ToolServer) String() string {
	pair := func(method string) string { return method + "=" + s.tools[method].name }
	return strings.Join(lists.Map(slices.Sorted(maps.Keys(s.tools)), pair), " ")
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

// A Tool is a tool that an MCP server lists.
type Tool struct {
	name                string
	arguments, required []string // the properties of its input schema
}

// NamesOf are the names of tools.
func NamesOf(tools []Tool) []string {
	return lists.Map(tools, func(t Tool) string { return t.name })
}

// maxToolName is the longest name of a tool in bytes: the log has it.
const maxToolName = 128

// ReadTools reads a page of the tools that a server lists, and the cursor of the next page; "" for none.
func ReadTools(response []byte) (tools []Tool, cursor string) {
	result := protocol.ParseObject(response).Object("result")
	for _, one := range list(result.Get("tools")) {
		o := protocol.ParseObject(one)
		name, schema := o.Text("name"), o.Object("inputSchema")
		if len(name) > maxToolName {
			continue
		}
		arguments := lists.Map(schema.Object("properties"), func(p member) string { return p.Name })
		tools = append(tools, Tool{name, arguments, lists.Map(list(schema.Get("required")), protocol.Unquote)})
	}
	return tools, result.Text("nextCursor")
}

// toolPrefixes are the beginnings of names that say only that a method is called.
var toolPrefixes = []string{
	"handle",  // handle_game_invitation, of the specification
	"notify",  // notify_round, of the specification
	"make",    // make_move, of the specification
	"receive", // receive_game_invitation, of third-party agents
	"on",      // onGameOver: the usual name of a handler in JavaScript
}

// toolName is the name of a tool or a method without its spelling: in lower case, and
// without separators and prefixes. make_parity_choice and parityChoice are the same.
func toolName(name string) string {
	name = strings.Map(func(r rune) rune {
		if strings.ContainsRune("_-./ ", r) {
			return -1
		}
		return r
	}, strings.ToLower(name))
	for i := 0; i < len(toolPrefixes); i++ {
		if rest, ok := strings.CutPrefix(name, toolPrefixes[i]); ok && rest != "" {
			name, i = rest, -1 // from the first prefix
		}
	}
	return name
}

// namesOfTool are the names of a method, as toolName spells them.
func (m *Method) namesOfTool() []string {
	return lists.Map(append(m.names(), m.toolAliases...), toolName)
}

// tool returns the tool for the method: the one with its name in the specification, else
// the only one whose name fits; nil for none. The program never guesses between two.
func (m *Method) tool(all []Tool) *Tool {
	names, fitting := m.namesOfTool(), 0
	var found *Tool
	for i := range all {
		switch t := &all[i]; {
		case t.name == m.Name:
			return t
		case slices.Contains(names, toolName(t.name)):
			found = t
			fitting++
		}
	}
	if fitting > 1 {
		return nil
	}
	return found
}

// argumentsFor returns the arguments of the tool that hold a message: those of its members that
// the schema names, or all of it as the only argument. Ok is false if they cannot.
func (t *Tool) argumentsFor(message jsontext.Value) (arguments jsontext.Value, ok bool) {
	members := protocol.ParseObject(message)
	named := only(members, t.arguments...)
	complete := !slices.ContainsFunc(t.required, func(name string) bool { return !members.Has(name) })
	switch {
	case len(t.arguments) == 0:
		return message, true
	case len(named) > 0 && complete:
		return named.Append(nil), true
	}
	single := t.required
	if len(t.arguments) == 1 {
		single = t.arguments
	}
	if len(single) != 1 || members.Has(single[0]) {
		return nil, false
	}
	return protocol.Object{{Name: single[0], Value: message}}.Append(nil), true
}
