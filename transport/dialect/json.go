package dialect

import (
	"cmp"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/transport"
)

type member = league.Member[jsontext.Value]

// encoded returns a value as JSON. The values are parts of messages, which always encode.
func encoded(v any) jsontext.Value {
	b, _ := json.Marshal(v, json.Deterministic(true))
	return b
}

// list returns the elements of an array; nil for anything else.
func list(v jsontext.Value) (elements []jsontext.Value) {
	if v.Kind() != '[' || json.Unmarshal(v, &elements) != nil {
		return nil
	}
	return elements
}

// rename gives a member another name, unless there is one of that name. Null counts as no
// member.
func rename(o *protocol.Object, from, to string) {
	if v := o.Get(from); v != nil && o.Get(to) == nil {
		o.Drop(from)
		o.Set(to, v)
	}
}

// firstText returns the first text that some members hold; "" for none.
func firstText(o protocol.Object, names []string) string {
	for _, name := range names {
		if text := o.Text(name); text != "" {
			return text
		}
	}
	return ""
}

// only returns some members of an object. It changes the object.
func only(o protocol.Object, names ...string) protocol.Object {
	return slices.DeleteFunc(o, func(m member) bool { return !slices.Contains(names, m.Name) })
}

// CallBody returns the body of a request in the form of the specification. A nil id is
// that of a notification.
func CallBody(method string, params, id jsontext.Value) []byte {
	body, _ := transport.RequestBody(method, params, id) // names of methods are UTF-8
	return body
}

// errorBody returns the body of a response with an error.
func errorBody(id, failure jsontext.Value) []byte {
	return slices.Concat([]byte(`{"jsonrpc":"2.0","error":`), failure, []byte(`,"id":`), id, []byte("}"))
}

// Short returns the printable ASCII of an id, at most 50 bytes, for names and logs.
func Short(id string) string {
	printable := make([]byte, 0, 50)
	for i := 0; i < len(id) && len(printable) < cap(printable); i++ {
		if id[i] >= ' ' && id[i] <= '~' {
			printable = append(printable, id[i])
		}
	}
	return cmp.Or(string(printable), Unknown)
}

// Unknown is the id in the sender of an agent that gives none.
const Unknown = "unknown"
