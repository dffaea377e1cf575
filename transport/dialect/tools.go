package dialect

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
)

// A Tool is a tool that an MCP server lists.
type Tool struct {
	name                string
	arguments, required []string // the properties of its input schema
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
		t := Tool{name: name, required: protocol.Each(list(schema.Get("required")), protocol.Unquote)}
		for _, p := range schema.Object("properties") {
			t.arguments = append(t.arguments, p.Name)
		}
		tools = append(tools, t)
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
