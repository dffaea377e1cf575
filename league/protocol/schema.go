package protocol

import (
	_ "embed" // of the examples
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/lists"
	"evenodd/league/words"
)

// MessageTypes returns all message types that have a schema, in alphabetical order.
func MessageTypes() []string { return slices.Sorted(maps.Keys(shapes)) }

// IsMessageType tells whether a message type is one of the protocol.
func IsMessageType(text string) bool { return shapes[text] != nil }

// Schema returns the JSON Schema (draft 2020-12) of a message type as a value to encode;
// false for an unknown type. It allows additional members, because later versions may add
// some (002 §14.5). The members that begin with x- tell the method of the message; validators
// ignore them.
func Schema(messageType string) (map[string]any, bool) {
	shape, ok := shapes[messageType]
	if !ok {
		return nil, false
	}
	s := objectSchema(shape().Fields, true)
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["$id"] = "urn:league.v2:" + messageType
	s["title"] = messageType
	i := slices.IndexFunc(methodRows, func(m MethodRow) bool { return m.Request == messageType || m.Result == messageType })
	if i < 0 { // an error
		return s, true
	}
	m := &methodRows[i]
	s["description"] = m.About
	if m.Result == messageType {
		s["description"] = "The result of " + m.Name + "."
	}
	s["x-method"], s["x-request"], s["x-result"] = m.Name, m.Request, m.Result
	s["x-caller"], s["x-receiver"], s["x-timeout-sec"] = m.From, m.To, m.Timeout.Seconds()
	return s, true
}

var markdown = words.Pattern("`|\\[([^]]*)\\]\\([^)]*\\)")

// plainText returns Markdown without its marks and links.
func plainText(text string) string { return markdown().ReplaceAllString(text, "$1") }

// objectSchema returns the schema of an object, with the meanings of its members if it is described.
func objectSchema(fields []Field, described bool) map[string]any {
	properties := map[string]any{}
	required := []string{}
	for i := range fields {
		f := &fields[i]
		property := f.schema(described)
		if meaning := plainText(f.meaning(comments())); described && meaning != "" {
			if rule, ok := property["description"].(string); ok {
				meaning += " (" + rule + ")"
			}
			property["description"] = meaning
		}
		properties[f.Name] = property
		if !f.Optional {
			required = append(required, f.Name)
		}
	}
	s := map[string]any{"type": "object", "properties": properties}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

func (f *Field) schema(described bool) map[string]any {
	s := map[string]any{}
	switch f.Kind {
	case KindObject:
		if f.Items != nil {
			s["additionalProperties"] = f.Items.schema(described)
		} else if f.Fields != nil {
			s = objectSchema(f.Fields, described)
		}
	case KindArray:
		s["items"] = f.Items.schema(described)
		if f.Min > 0 {
			s["minItems"] = f.Min
		}
	case KindInteger:
		if f.Values != nil { // certain strings may replace it
			integer, word := *f, *f
			integer.Values, word.Kind = nil, KindString
			return map[string]any{"anyOf": []any{integer.schema(false), word.schema(false)}}
		}
		s["minimum"], s["maximum"] = f.Min, f.Max
	case KindNumber:
		s["minimum"], s["maximum"] = 0, f.Max
	case KindString:
		f.textSchema(s)
	case KindBoolean:
	}
	s["type"] = f.Kind.String()
	if f.null || f.Optional {
		s["type"] = []string{f.Kind.String(), "null"}
	}
	return s
}

func (f *Field) textSchema(s map[string]any) {
	if f.Values != nil {
		values := lists.Map(f.Values, func(v string) any { return v })
		if f.null || f.Optional {
			values = append(values, nil)
		}
		s["enum"] = values
		return
	}
	if f.Form != nil {
		s["description"] = f.Form.Rule
		if f.Form.pattern != "" {
			s["pattern"] = f.Form.pattern
		}
		if f.Form.format != "" {
			s["format"] = f.Form.format
		}
	}
	if f.Min > 0 {
		s["minLength"] = f.Min
	}
	if f.Max > 0 {
		s["maxLength"] = f.Max
	}
}

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
		fields := slices.Clone(m.request().Fields)
		for i := range fields[:envelopeSize] {
			fields[i].Optional = true
		}
		tools = append(tools, Tool{m, objectSchema(fields, false), objectSchema(m.result().Fields, false)})
	}
	return tools
}

// NeedsAdminToken tells whether a method is for the organiser alone.
func NeedsAdminToken(method string) bool {
	return method == StartLeague.Name || method == OrganiseLeague.Name
}

// examplesJSON holds messages of a simulated league by type. A test of league/simulation/leaguetest writes
// the file.
//
//go:embed examples.json
var examplesJSON []byte

var examples = sync.OnceValue(func() Object { return ParseObject(examplesJSON) })

// Example returns an indented message of a type, as agents of this program send it: of all
// message types, and of most results of tools; false for other types. The messages are from one
// league, so that its commitments, tokens and results belong together.
func Example(messageType string) (jsontext.Value, bool) {
	value := examples().Raw(messageType)
	if value == nil {
		return nil, false
	}
	text := value.Clone()
	return text, text.Indent(jsontext.WithIndent("  ")) == nil
}
