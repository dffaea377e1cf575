package dialect

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
)

// An object is a JSON object as it was sent: its members, in their order.
type object []member

type member struct {
	name  string
	value jsontext.Value
}

// readObject reads a JSON object that has every name once.
func readObject(raw []byte) (object, bool) {
	var o protocol.PerPlayer[jsontext.Value]
	if jsontext.Value(raw).Kind() != '{' || json.Unmarshal(raw, &o) != nil {
		return nil, false
	}
	members := make(object, len(o))
	for i, m := range o {
		members[i] = member{m.ID, m.Value}
	}
	return members, true
}

// get is the value of a member, nil when there is none.
func (o object) get(name string) jsontext.Value {
	for i := range o {
		if o[i].name == name {
			return o[i].value
		}
	}
	return nil
}

// has tells whether there is a member of that name that is not null.
func (o object) has(name string) bool {
	v := o.get(name)
	return v != nil && v.Kind() != 'n'
}

// text is the value of a member that is a string; "" for any other.
func (o object) text(name string) string { return textOf(o.get(name)) }

func textOf(v jsontext.Value) string {
	var s string
	if v.Kind() != '"' || json.Unmarshal(v, &s) != nil {
		return ""
	}
	return s
}

// number is the value of a member that is an integer; 0 for any other.
func (o object) number(name string) int {
	var n int
	if v := o.get(name); v.Kind() != '0' || json.Unmarshal(v, &n) != nil {
		return 0
	}
	return n
}

// set gives a member a value; a new one comes last.
func (o *object) set(name string, value jsontext.Value) {
	for i := range *o {
		if (*o)[i].name == name {
			(*o)[i].value = value
			return
		}
	}
	*o = append(*o, member{name, value})
}

// fill gives a member a value that it lacks, and tells whether it did.
func (o *object) fill(name string, value jsontext.Value) bool {
	if o.get(name) != nil {
		return false
	}
	*o = append(*o, member{name, value})
	return true
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

// encode is the object as JSON.
func (o object) encode() jsontext.Value {
	b := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, quoted(m.name)...), ':'), m.value...)
	}
	return append(b, '}')
}

// quoted is a string as JSON.
func quoted(s string) jsontext.Value {
	b, _ := jsontext.AppendQuote(nil, s) // fails only for invalid UTF-8, which it mends
	return b
}

// encoded is a value as JSON. The values are messages of the protocol, or parts
// of such, which always encode.
func encoded(v any) jsontext.Value {
	b, _ := json.Marshal(v, json.Deterministic(true))
	return b
}
