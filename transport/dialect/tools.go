package dialect

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
)

// A Tool is a tool that an MCP server lists, and whose name fits a method.
type Tool struct {
	name      string
	arguments []argument
	closed    bool // it accepts no other arguments
}

// An argument is a property of a tool's input schema.
type argument struct {
	name     string
	required bool
	object   bool // it can hold an object
}

// Bounds of what a server lists.
const (
	maxToolName  = 128 // bytes
	maxArguments = 64
)

// ReadTools reads a page of the tools that a server lists. It returns those whose name
// fits a method, and the cursor of the next page. Ok is false for any other response.
func ReadTools(response []byte) (fitting []Tool, cursor string, ok bool) {
	result := protocol.ParseObject(response).Object("result")
	if result.Get("tools").Kind() != '[' {
		return nil, "", false
	}
	for _, one := range list(result.Get("tools")) {
		o := protocol.ParseObject(one)
		name, schema := o.Text("name"), o.Object("inputSchema")
		properties := schema.Object("properties")
		if !toolNames[toolName(name)] || len(name) > maxToolName || len(properties) > maxArguments {
			continue
		}
		t := Tool{name: name, closed: schema.Get("additionalProperties").Kind() == 'f'}
		required := protocol.Each(list(schema.Get("required")), protocol.Unquote)
		for _, p := range properties {
			t.arguments = append(t.arguments, argument{p.Name, slices.Contains(required, p.Name), holdsObject(protocol.ParseObject(p.Value).Get("type"))})
		}
		fitting = append(fitting, t)
	}
	return fitting, result.Text("nextCursor"), true
}

// holdsObject tells whether a value with this type in its schema can be an object. Without
// a type it can.
func holdsObject(kind jsontext.Value) bool {
	return kind == nil || protocol.Unquote(kind) == "object" ||
		slices.ContainsFunc(list(kind), func(one jsontext.Value) bool { return protocol.Unquote(one) == "object" })
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

// toolNames are the names of all methods, as toolName spells them. No two methods share one.
var toolNames = func() map[string]bool {
	all := map[string]bool{}
	for i := range methods {
		for _, name := range methods[i].namesOfTool() {
			all[name] = true
		}
	}
	return all
}()

// namesOfTool are the names of a method, as toolName spells them.
func (m *Method) namesOfTool() (names []string) {
	for _, name := range append(m.names(), m.toolAlias) {
		if name != "" {
			names = append(names, toolName(name))
		}
	}
	return names
}

// tool returns the tool for the method: the one with its name in the specification, else
// the only one whose name fits; nil for none. The program never guesses between two.
func (m *Method) tool(all []Tool) *Tool {
	names := m.namesOfTool()
	var fitting []*Tool
	for i := range all {
		switch t := &all[i]; {
		case t.name == m.Name:
			return t
		case slices.Contains(names, toolName(t.name)):
			fitting = append(fitting, t)
		}
	}
	if len(fitting) != 1 {
		return nil
	}
	return fitting[0]
}

// argumentsFor returns the arguments of the tool that hold a message: its members, or one
// object. Ok is false if they cannot.
func (t *Tool) argumentsFor(message jsontext.Value) (arguments jsontext.Value, ok bool) {
	members := protocol.ParseObject(message)
	named, complete := len(t.arguments) == 0 && !t.closed, true
	for _, a := range t.arguments {
		has := members.Has(a.name)
		named = named || has
		complete = complete && (has || !a.required)
	}
	switch {
	case named && complete && t.closed:
		members = slices.DeleteFunc(members, func(m member) bool {
			return !slices.ContainsFunc(t.arguments, func(a argument) bool { return a.name == m.Name })
		})
		return members.Append(nil), true
	case named && complete:
		return message, true
	}
	if only := t.onlyArgument(); only != nil && only.object && !members.Has(only.name) {
		return protocol.Object{{Name: only.name, Value: message}}.Append(nil), true
	}
	return nil, false
}

// onlyArgument is the only required argument, or the only one; nil for none.
func (t *Tool) onlyArgument() (only *argument) {
	if len(t.arguments) == 1 {
		return &t.arguments[0]
	}
	for i, a := range t.arguments {
		switch {
		case !a.required:
		case only != nil:
			return nil
		default:
			only = &t.arguments[i]
		}
	}
	return only
}
