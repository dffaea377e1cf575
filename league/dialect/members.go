package dialect

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// readObject reads a JSON object; false for anything else.
func readObject(raw []byte) (object, bool) {
	o := objectOf(raw)
	return o, o != nil
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

// number is the integer that a member holds; 0 for anything else.
func (o object) number(name string) int {
	var n int
	if v := o.get(name); v.Kind() != '0' || json.Unmarshal(v, &n) != nil {
		return 0
	}
	return n
}

// supply gives a member that is missing a value, and tells whether it did.
func (o *object) supply(name string, value jsontext.Value) bool {
	if o.names(name) {
		return false
	}
	o.set(name, value)
	return true
}

// encoded is a value as JSON. The values are messages of the protocol, or parts
// of such, which always encode.
func encoded(v any) jsontext.Value {
	b, _ := json.Marshal(v, json.Deterministic(true))
	return b
}
