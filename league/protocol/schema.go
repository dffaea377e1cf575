package protocol

import (
	"maps"
	"slices"
)

// MessageTypes returns all message types that have a schema, in alphabetical order.
func MessageTypes() []string { return slices.Sorted(maps.Keys(bodies)) }

// Schema returns the JSON Schema (draft 2020-12) of a message type as a value to encode;
// false for an unknown type. It allows additional members, because later versions may add
// some (002 §14.5).
func Schema(messageType string) (map[string]any, bool) {
	shape, ok := shapes[messageType]
	if !ok {
		return nil, false
	}
	s := objectSchema(shape.fields)
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["$id"] = "urn:league.v2:" + messageType
	s["title"] = messageType
	return s, true
}

func objectSchema(fields []field) map[string]any {
	properties := map[string]any{}
	required := []string{}
	for _, f := range fields {
		properties[f.name] = f.schema()
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

func (f *field) schema() map[string]any {
	s := map[string]any{}
	switch f.kind {
	case kindObject:
		if f.items != nil {
			s["additionalProperties"] = f.items.schema()
		} else if f.fields != nil {
			s = objectSchema(f.fields)
		}
	case kindArray:
		s["items"] = f.items.schema()
		if f.min > 0 {
			s["minItems"] = f.min
		}
	case kindInteger:
		if f.values != nil {
			return f.integerOrWord()
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

// integerOrWord returns the schema of an integer that certain strings may replace.
func (f *field) integerOrWord() map[string]any {
	integer, word := *f, *f
	integer.values, word.kind = nil, kindString
	return map[string]any{"anyOf": []any{integer.schema(), word.schema()}}
}

func (f *field) textSchema(s map[string]any) {
	if f.values != nil {
		values := make([]any, 0, len(f.values)+1)
		for _, v := range f.values {
			values = append(values, v)
		}
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
