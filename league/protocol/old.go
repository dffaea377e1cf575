package protocol

import (
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// maxExamined is how many broken fields are enough: a message of 1 MB can have
// millions, and to name them all takes hundreds of times its size.

// Examine lists every broken field of a message of the given type, with the
// rule it breaks. It is the slow and exact judgement behind the fast check of
// a request. Members the type does not know are allowed. Where there are very
// many, it names those it met first.
func oldExamine(messageType string, raw []byte) []FieldError {
	var broken []FieldError
	body, known := bodies[messageType]
	if !known {
		return []FieldError{{Field: "message_type", Rule: "a message type of the protocol", Got: clip(messageType), kind: breachValue}}
	}
	members, problem := membersOf(raw)
	if problem != nil {
		return []FieldError{*problem}
	}
	broken = examineMembers(broken, "", envelopeFields(messageType), members)
	return examineMembers(broken, "", body, members)
}

func membersOf(raw []byte) (map[string]jsontext.Value, *FieldError) {
	members := map[string]jsontext.Value{}
	if len(raw) == 0 || jsontext.Value(raw).Kind() != '{' || json.Unmarshal(raw, &members) != nil {
		kind := breachValue
		if len(raw) == 0 || jsontext.Value(raw).Kind() == 'n' {
			kind = breachMissing
		}
		return nil, &FieldError{Field: "params", Rule: "an object that holds the message", Got: shown("params", raw), kind: kind}
	}
	return members, nil
}

func examineMembers(broken []FieldError, path string, fields []field, members map[string]jsontext.Value) []FieldError {
	for i := range fields {
		f := &fields[i]
		raw, present := members[f.name]
		broken = f.examine(broken, join(path, f.name), raw, present)
	}
	return broken
}

func (f *field) examine(broken []FieldError, path string, raw jsontext.Value, present bool) []FieldError {
	switch {
	case !present && f.optional:
		return broken
	case !present:
		return append(broken, FieldError{Field: path, Rule: "required", kind: breachMissing})
	case raw.Kind() == 'n' && (f.null || f.optional):
		return broken
	case raw.Kind() == 'n':
		return append(broken, FieldError{Field: path, Rule: "required, not null", Got: "null", kind: breachMissing})
	}
	if rule, kind := f.judge(raw); rule != "" {
		if path == "protocol" || f.name == "protocol_version" {
			kind = breachVersion
		}
		return append(broken, FieldError{Field: path, Rule: rule, Got: shown(f.name, raw), kind: kind})
	}
	switch {
	case f.kind == kindObject && f.items == nil && f.fields != nil:
		members := map[string]jsontext.Value{}
		_ = json.Unmarshal(raw, &members) // judged to be an object
		return examineMembers(broken, path, f.fields, members)
	case f.kind == kindObject && f.items != nil:
		var members Object
		_ = json.Unmarshal(raw, &members)
		for _, m := range members {
			if len(broken) >= maxExamined {
				break
			}
			broken = f.items.examine(broken, join(path, m.Name), m.Value, true)
		}
	case f.kind == kindArray:
		var elements []jsontext.Value
		_ = json.Unmarshal(raw, &elements)
		for i, e := range elements {
			if len(broken) >= maxExamined {
				break
			}
			broken = f.items.examine(broken, path+"["+strconv.Itoa(i)+"]", e, true)
		}
	}
	return broken
}

// judge checks a present, non-null value by itself; rule is "" when it holds.
func (f *field) judge(raw jsontext.Value) (rule string, _ breach) {
	switch f.kind {
	case kindString:
		var s string
		if raw.Kind() != '"' || json.Unmarshal(raw, &s) != nil {
			if f.form == timestampForm {
				return timestampForm.rule, breachTime
			}
			return "a string", breachValue
		}
		return f.judgeText(s)
	case kindInteger:
		return f.judgeInteger(raw), breachValue
	case kindNumber:
		n, err := strconv.ParseFloat(string(raw), 64)
		if raw.Kind() != '0' || err != nil || n < 0 || n > float64(f.max) {
			return fmt.Sprintf("a number from 0 to %d", f.max), breachValue
		}
	case kindBoolean:
		if k := raw.Kind(); k != 't' && k != 'f' {
			return "true or false", breachValue
		}
	case kindObject:
		if raw.Kind() != '{' {
			return "an object", breachValue
		}
	case kindArray:
		if raw.Kind() != '[' {
			return "an array", breachValue
		}
		var elements []jsontext.Value
		_ = json.Unmarshal(raw, &elements)
		if len(elements) < f.min {
			return fmt.Sprintf("an array of at least %d", f.min), breachValue
		}
	}
	return "", breachValue
}

// judgeInteger returns the rule that a value breaks; "" when it holds.
func (f *field) judgeInteger(raw jsontext.Value) string {
	if raw.Kind() == '"' && f.values != nil {
		var s string
		if json.Unmarshal(raw, &s) == nil && slices.Contains(f.values, s) {
			return ""
		}
	}
	instead := ""
	if f.values != nil {
		instead = " or " + oneOf(f.values)
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	switch {
	case raw.Kind() != '0' || err != nil:
		return "an integer" + instead
	case n >= int64(f.min) && n <= int64(f.max):
		return ""
	case f.rule != "":
		return f.rule
	}
	return fmt.Sprintf("an integer from %d to %d%s", f.min, f.max, instead)
}

func (f *field) judgeText(s string) (rule string, _ breach) {
	if f.values != nil {
		for _, v := range f.values {
			if s == v {
				return "", breachValue
			}
		}
		return oneOf(f.values), breachValue
	}
	if f.form != nil && !f.form.valid(s) {
		if f.form == timestampForm {
			return f.form.rule, breachTime
		}
		return f.form.rule, breachValue
	}
	if n := utf8.RuneCountInString(s); n < f.min || f.max > 0 && n > f.max {
		return fmt.Sprintf("a string of %d to %d characters", f.min, f.max), breachValue
	}
	return "", breachValue
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
