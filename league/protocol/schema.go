package protocol

import (
	"maps"
	"regexp"
	"slices"
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
	s := objectSchema(shape.fields, true)
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

var markdown = regexp.MustCompile("`|\\[([^]]*)\\]\\([^)]*\\)")

// plainText returns Markdown without its marks and links.
func plainText(text string) string { return markdown.ReplaceAllString(text, "$1") }

// objectSchema returns the schema of an object, with the meanings of its members if it is described.
func objectSchema(fields []field, described bool) map[string]any {
	properties := map[string]any{}
	required := []string{}
	for i := range fields {
		f := &fields[i]
		property := f.schema(described)
		if described && f.meaning != "" {
			meaning := plainText(f.meaning)
			if rule, ok := property["description"].(string); ok {
				meaning += " (" + rule + ")"
			}
			property["description"] = meaning
		}
		properties[f.name] = property
		if !f.optional {
			required = append(required, f.name)
		}
	}
	s := map[string]any{"type": "object", "properties": properties}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

func (f *field) schema(described bool) map[string]any {
	s := map[string]any{}
	switch f.kind {
	case kindObject:
		if f.items != nil {
			s["additionalProperties"] = f.items.schema(described)
		} else if f.fields != nil {
			s = objectSchema(f.fields, described)
		}
	case kindArray:
		s["items"] = f.items.schema(described)
		if f.min > 0 {
			s["minItems"] = f.min
		}
	case kindInteger:
		if f.values != nil { // certain strings may replace it
			integer, word := *f, *f
			integer.values, word.kind = nil, kindString
			return map[string]any{"anyOf": []any{integer.schema(false), word.schema(false)}}
		}
		s["minimum"], s["maximum"] = f.min, f.max
	case kindNumber:
		s["minimum"], s["maximum"] = 0, f.max
	case kindString:
		f.textSchema(s)
	case kindBoolean:
	}
	s["type"] = f.kind.String()
	if f.null || f.optional {
		s["type"] = []string{f.kind.String(), "null"}
	}
	return s
}

func (f *field) textSchema(s map[string]any) {
	if f.values != nil {
		values := Each(f.values, func(v string) any { return v })
		if f.null || f.optional {
			values = append(values, nil)
		}
		s["enum"] = values
		return
	}
	if f.form != nil {
		s["description"] = f.form.rule
		if f.form.pattern != "" {
			s["pattern"] = f.form.pattern
		}
		if f.form.format != "" {
			s["format"] = f.form.format
		}
	}
	if f.min > 0 {
		s["minLength"] = f.min
	}
	if f.max > 0 {
		s["maxLength"] = f.max
	}
}
