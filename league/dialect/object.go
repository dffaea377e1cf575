package dialect

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// An object is a JSON object whose members stand in the order, and hold what, was
// sent: what is not translated reaches the other side as it was.
type object []member

type member struct {
	name  string
	value jsontext.Value
}

// objectOf reads an object; nil for anything else.
func objectOf(raw []byte) object {
	var o object
	if jsontext.Value(raw).Kind() != '{' || json.Unmarshal(raw, &o) != nil {
		return nil
	}
	return o
}

// UnmarshalJSONFrom reads an object. One without members is not nil.
func (o *object) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	*o = object{}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return err
		}
		text := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			return err
		}
		*o = append(*o, member{text, value.Clone()})
	}
	_, err := dec.ReadToken()
	return err
}

// get is the value of a member; nil when there is none, or it is null.
func (o object) get(name string) jsontext.Value {
	for i := range o {
		if o[i].name == name && o[i].value.Kind() != 'n' {
			return o[i].value
		}
	}
	return nil
}

// holds tells whether there is a member of that name that is not null.
func (o object) holds(name string) bool { return o.get(name) != nil }

// raw is the value of a member as it stands there, null too; nil when there is
// none.
func (o object) raw(name string) jsontext.Value {
	for i := range o {
		if o[i].name == name {
			return o[i].value
		}
	}
	return nil
}

// names tells whether there is a member of that name, be it null.
func (o object) names(name string) bool { return o.raw(name) != nil }

// text is the string that a member holds; "" for anything else.
func (o object) text(name string) string { return textOf(o.get(name)) }

// number is the integer that a member holds; 0 for anything else.
func (o object) number(name string) int {
	var n int
	if v := o.get(name); v.Kind() != '0' || json.Unmarshal(v, &n) != nil {
		return 0
	}
	return n
}

// object is the object that a member holds, as such or as a string with the
// JSON of one; nil for anything else.
func (o object) object(name string) object {
	value := o.get(name)
	if value.Kind() == '"' {
		if text := strings.TrimSpace(textOf(value)); strings.HasPrefix(text, "{") {
			return objectOf([]byte(text))
		}
	}
	return objectOf(value)
}

// first is the first of some members that is there.
func (o object) first(names ...string) jsontext.Value {
	for _, name := range names {
		if v := o.get(name); v != nil {
			return v
		}
	}
	return nil
}

// firstText is the first text that some members hold; "" for none.
func (o object) firstText(names []string) string {
	for _, name := range names {
		if text := o.text(name); text != "" {
			return text
		}
	}
	return ""
}

// set gives a member a value, in its place or at the end.
func (o *object) set(name string, value jsontext.Value) {
	for i := range *o {
		if (*o)[i].name == name {
			(*o)[i].value = value
			return
		}
	}
	*o = append(*o, member{name, value})
}

// fill gives a member that is missing, null or empty a value.
func (o *object) fill(name string, value jsontext.Value) {
	if v := o.get(name); v == nil || string(v) == `""` {
		o.set(name, value)
	}
}

// supply gives a member that is missing a value, and tells whether it did.
func (o *object) supply(name string, value jsontext.Value) bool {
	if o.names(name) {
		return false
	}
	o.set(name, value)
	return true
}

// adopt gives a member that is missing or null a value, if there is one.
func (o *object) adopt(name string, value jsontext.Value) {
	if value != nil && o.get(name) == nil {
		o.set(name, value)
	}
}

// rename gives a member another name, in its position.
func (o *object) rename(from, to string) {
	for i := range *o {
		if (*o)[i].name == from {
			(*o)[i].name = to
			return
		}
	}
}

// drop takes a member away.
func (o *object) drop(name string) {
	for i := range *o {
		if (*o)[i].name == name {
			*o = append((*o)[:i:i], (*o)[i+1:]...)
			return
		}
	}
}

// appendTo appends the object's JSON.
func (o object) appendTo(b []byte) []byte {
	b = append(b, '{')
	for i := range o {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, quoted(o[i].name)...)
		b = append(b, ':')
		b = append(b, o[i].value...)
	}
	return append(b, '}')
}

// textOf is the string that a value is; "" for anything else.
func textOf(v jsontext.Value) string {
	var s string
	if v.Kind() != '"' || json.Unmarshal(v, &s) != nil {
		return ""
	}
	return s
}

// quoted is a string as JSON. Ours are valid UTF-8; what is not is mangled.
func quoted(s string) jsontext.Value {
	b, _ := jsontext.AppendQuote(nil, strings.ToValidUTF8(s, "\ufffd")) // fails for invalid UTF-8 alone
	return b
}

// encoded is a value as JSON. The values are messages of the protocol, or parts
// of such, which always encode.
func encoded(v any) jsontext.Value {
	b, _ := json.Marshal(v, json.Deterministic(true))
	return b
}
