package protocol

import (
	"slices"
	"strings"
)

// A Tool describes a method to clients of the Model Context Protocol (spec 003 §1.2, §7.2).
// Every method but organise_league is idempotent: agents repeat calls whose answer is lost.
type Tool struct {
	MethodRow

	Input  map[string]any // JSON Schema of the params
	Output map[string]any // JSON Schema of the result
}

// Title names the tool for people.
func (t *Tool) Title() string {
	return strings.ToUpper(t.Name[:1]) + strings.ReplaceAll(t.Name[1:], "_", " ")
}

// Tools returns a tool for each method of the table, in the order of the table. Its input
// needs no envelope, because Handle completes it.
func Tools() []Tool {
	tools := make([]Tool, 0, len(methodRows))
	for _, m := range methodRows {
		fields := slices.Clone(m.request.fields)
		for i := range fields[:envelopeSize] {
			fields[i].optional = true
		}
		tools = append(tools, Tool{m, objectSchema(fields, false), objectSchema(m.result.fields, false)})
	}
	return tools
}

// NeedsAdminToken tells whether a method is for the organiser alone.
func NeedsAdminToken(method string) bool {
	return method == StartLeague.Name || method == OrganiseLeague.Name
}
