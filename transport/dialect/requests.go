package dialect

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league"
	"evenodd/league/lists"
	"evenodd/league/protocol"
	"evenodd/league/words"
	"evenodd/transport"
)

// A Request is a request of another agent, in any form.
type Request struct {
	ID         jsontext.Value // nil for a notification
	Method     string         // as in the specification
	Kind       string         // the message type; "" for a tool
	Params     protocol.Object
	ThirdParty bool // it is in a form that the specification does not have

	name     string // the method, as the caller names it
	wrapping wrapping
}

// ReadRequest reads a request in any form. It returns nil if there is nothing to translate:
// the codec judges batches and broken requests.
func ReadRequest(body []byte) *Request {
	call := protocol.ParseObject(bytes.TrimLeft(body, " \t\r\n"))
	if call == nil {
		return nil
	}
	q := &Request{ID: call.Raw("id"), name: call.Text("method"), Params: call}
	switch {
	case !call.Has("jsonrpc") && !call.Has("method"):
		q.ID, q.wrapping = jsontext.Value("1"), inNothing
	case string(call.Get("jsonrpc")) != `"2.0"` || q.name == "" || !transport.ValidID(q.ID):
		return nil
	case !q.unwrap(call.Get("params")):
		return nil
	}
	return q
}

// RunMatchRequest is the request to run a match whose parameters were posted alone.
func RunMatchRequest(params protocol.Object) *Request {
	q := &Request{ID: jsontext.Value("1"), name: "run_match", Params: params, wrapping: inNothing}
	q.Resolve()
	return q
}

// unwrap finds the message in the params of a call.
func (q *Request) unwrap(params jsontext.Value) bool {
	p := protocol.ParseObject(params)
	if p == nil {
		return false
	}
	q.Params = p
	if q.name == ToolsCall {
		q.name, q.wrapping = p.Text("name"), inTool
		q.Params = protocol.ParseObject(p.Get("arguments"))
		// A model may call tools; the admin token must not be among its arguments.
		return q.Params != nil && q.name != "" && !protocol.NeedsAdminToken(q.name)
	}
	if inner := protocol.ParseObject(p.Get("message")); inner != nil && !p.Has("message_type") && named(q.name) == nil {
		q.Params, q.wrapping = inner, inEnvelope
	}
	return true
}

// named returns the method with any of its names, in capitals or not; nil for none.
func named(name string) *Method { return byAnyName[strings.ToLower(name)] }

// Resolve finds the method: by its name in the specification, then by the message type, then
// by another name. It reports false if there is nothing to translate.
func (q *Request) Resolve() bool {
	kind := strings.ToUpper(q.Params.Text("message_type"))
	m := named(q.name)
	if m != nil && (m.Name == q.name || slices.Contains(m.Aliases, q.name)) {
		q.Kind, q.Method = m.Request, m.Name
		q.ThirdParty = q.wrapping != inCall || q.isFlat()
		return true
	}
	q.ThirdParty = true
	for _, found := range []*Method{byType[kind], m, named(kind)} {
		if found != nil {
			q.Kind, q.Method = found.Request, found.Name
			return true
		}
	}
	for _, name := range []string{q.name, kind} {
		if name = strings.ToLower(name); tools[name] {
			q.Method = name
			return q.wrapping != inCall || q.Method != q.name
		}
	}
	return false
}

// Body is the request in the form of the specification.
func (q *Request) Body() []byte { return CallBody(q.Method, q.Params.Append(nil), q.ID) }

// Alone tells whether the message came without JSON-RPC.
func (q *Request) Alone() bool { return q.wrapping == inNothing }

// MatchID is the id of the match that the request is about; "" for none.
func (q *Request) MatchID() string {
	inner := q.Params.Object(byType[protocol.TypeGameInvitation].nested)
	return cmp.Or(q.Params.Text("match_id"), inner.Text("match_id"))
}

// PostsAnswer tells whether the request posts the answer to an earlier question.
func (q *Request) PostsAnswer() bool {
	answer := q.AnswerType()
	return slices.ContainsFunc(methods, func(m Method) bool { return m.Deferrable && m.Result == answer })
}

// AnswerType is the message type of a posted answer.
func (q *Request) AnswerType() string { return strings.ToUpper(q.Params.Text("message_type")) }

// TellsEverything tells whether a MATCH_ASSIGNMENT has members that only our manager sends.
func (q *Request) TellsEverything() bool {
	return !q.ThirdParty && (q.Params.Has("attempt") || q.Params.Has("timeouts") || q.Params.Has("scoring"))
}

// lowerCase tells whether the method was called by the message type in lower case.
func (q *Request) lowerCase() bool {
	lower := strings.ToLower(q.Kind)
	return q.wrapping == inCall && q.name == lower
}

// ourEnvelope matches the beginning of a message of one of our agents: compact, with the time
// in seconds, and with the conversation of an attempt at a match or of a round.
var ourEnvelope = words.Pattern(`^\{"protocol":"` + protocol.Name +
	`","message_type":"([A-Z_]+)","sender":"[^"]*",` +
	`"timestamp":"[^"]{20}","conversation_id":"conv-(?:round-|[^"]*-a[0-9]+")`)

// OurMethod returns the method of a request that one of our agents wrote. It looks only at
// the head of the request, up to the conversation_id. It returns "" for any other request, and
// for those that need a look in every form: registrations and announcements of rounds.
func OurMethod(body []byte) string {
	call, ok := CutCall(body)
	m := byName[call.Method]
	switch {
	case !ok:
		return ""
	case m == nil && tools[call.Method]:
		return call.Method
	case m == nil || m.Registers || m.Name == protocol.NotifyRound.Name:
		return ""
	}
	if head := ourEnvelope().FindSubmatch(call.Message); len(head) == 2 && string(head[1]) == m.Request {
		return m.Name
	}
	return ""
}

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

// only returns some members of an object.
func only(o protocol.Object, names ...string) protocol.Object {
	return lists.Filter(o, func(m member) bool { return slices.Contains(names, m.Name) })
}

// CallBody returns the body of a request in the form of the specification. A nil id is
// that of a notification.
func CallBody(method string, params, id jsontext.Value) []byte {
	body, _ := transport.RequestBody(method, params, id) // names of methods are UTF-8
	return body
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
