package dialect

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
)

// An incoming request is a call as its caller has put it.
type incoming struct {
	id      jsontext.Value // nil for a notification
	named   string         // the method, as the caller names it
	method  string         // the method, as the protocol names it
	kind    string         // the message type that is asked for; "" for a tool
	params  object
	wrapped wrapping
	foreign bool // it is in a form that the protocol does not have
	refused int  // the JSON-RPC code of the error that answered it; 0 for none
}

// A wrapping is what a caller has around the message, and wants around the
// answer.
type wrapping int

const (
	inCall     wrapping = iota // JSON-RPC
	inTool                     // JSON-RPC, as MCP calls tools
	inEnvelope                 // JSON-RPC, the message being one of the parameters
	inNothing                  // the message alone
)

// unwrapped reads a request that may be in another form than the protocol has; nil
// where there is nothing to translate: what is wrong then is for the codec to
// say, and so are batches.
func unwrapped(body []byte) *incoming {
	call := objectOf(bytes.TrimLeft(body, " \t\r\n"))
	if call == nil {
		return nil
	}
	q := &incoming{id: call.raw("id"), named: call.text("method"), params: call}
	switch {
	case !call.names("jsonrpc") && !call.names("method"):
		q.id, q.wrapped = jsontext.Value("1"), inNothing
	case string(call.get("jsonrpc")) != `"2.0"` || q.named == "" || !answerable(q.id):
		return nil
	case !q.unwrap(call.get("params")):
		return nil
	}
	return q
}

// answerable tells whether JSON-RPC has such ids.
func answerable(id jsontext.Value) bool {
	return id == nil || id.Kind() == '"' || id.Kind() == '0' || id.Kind() == 'n'
}

// toolsCall is the method of MCP that calls a tool.
const toolsCall = "tools/call"

// unwrap finds the message in the params of a call.
func (q *incoming) unwrap(params jsontext.Value) bool {
	p := objectOf(params)
	if p == nil {
		return false
	}
	q.params = p
	if q.named == toolsCall {
		q.named, q.wrapped = p.text("name"), inTool
		q.params = objectOf(p.get("arguments"))
		return q.params != nil && q.named != ""
	}
	if inner := objectOf(p.get("message")); inner != nil && !p.names("message_type") && typeNamed(q.named) == "" {
		q.params, q.wrapped = inner, inEnvelope
	}
	return true
}

// resolve finds out what is asked for: by the method, where it is one of the
// protocol's, else by the type of the message, else by what the method is like.
// False where there is nothing to translate.
func (q *incoming) resolve() bool {
	said := strings.ToUpper(q.params.text("message_type"))
	switch kind := typeNamed(q.named); {
	case kind != "" && spoken(q.named, kind):
		q.kind, q.method = kind, q.named
		q.foreign = q.wrapped != inCall
		return true
	case methodOf(said) != "":
		q.kind = said
	case kind != "":
		q.kind = kind
	case typeNamed(said) != "": // a message type of its own
		q.kind = typeNamed(said)
	default:
		if q.method = toolNamed(q.named); q.method == "" {
			q.method = toolNamed(said)
		}
		q.foreign = true
		return q.method != "" && (q.wrapped != inCall || q.method != q.named)
	}
	q.method, q.foreign = methodOf(q.kind), true
	return true
}

// canonical is the request as the protocol has it.
func (q *incoming) canonical() []byte {
	call := object{{"jsonrpc", jsontext.Value(`"2.0"`)}, {"method", quoted(q.method)}, {"params", q.params.appendTo(nil)}}
	if q.id != nil {
		call = append(call, member{"id", q.id})
	}
	return call.appendTo(nil)
}

// methodOf is the method of a message type, "" where there is no such request.
func methodOf(kind string) string {
	if i := slices.IndexFunc(questions, func(q question) bool { return q.request == kind }); i >= 0 {
		return questions[i].method
	}
	return ""
}

// spoken tells whether a method has the name that our agents call it by, or one of the
// specification's examples. A call by the message type is third-party, too: its message
// is completed.
func spoken(name, kind string) bool {
	return slices.ContainsFunc(protocol.Methods(), func(m protocol.MethodRow) bool {
		return m.Request == kind && (m.Name == name || slices.Contains(m.Aliases, name))
	})
}

// typeNamed is the message type that a method asks for by its name, in capitals or not;
// "" where none does. The message type itself is such a name.
func typeNamed(method string) string { return typesByName[strings.ToLower(method)] }

var typesByName = func() map[string]string {
	types := map[string]string{}
	for _, q := range questions {
		for _, name := range q.names() {
			types[strings.ToLower(name)] = q.request
		}
	}
	return types
}()

// toolNamed is the tool for debugging and control that a method names, in
// capitals or not.
func toolNamed(method string) string {
	name := strings.ToLower(method)
	for _, m := range protocol.Methods() {
		if m.Request == "" && m.Name == name {
			return name
		}
	}
	return ""
}

// plainRequest tells, from its head alone, whether a request is in the form in which
// agents of ours send theirs, and nothing in it or its answer needs translating.
func (o *own) plainRequest(body []byte) bool {
	rest, ok := bytes.CutPrefix(body, []byte(`{"jsonrpc":"2.0","method":"`))
	if !ok {
		return false
	}
	end := bytes.IndexByte(rest, '"')
	if end < 0 {
		return false
	}
	method := string(rest[:end])
	if toolNamed(method) == method {
		return true
	}
	kind := protocol.TypeMatchAssignment
	if q, known := questionOf(method); known {
		kind = q.request
	} else if method != protocol.StartMatch.Name {
		return false
	}
	if registers(method) || kind == protocol.TypeRoundAnnouncement && o.foreignManager() { // who says more in it than we do
		return false
	}
	conversation, ok := headed(rest[end:], kind)
	aboutMatch := ofMatch(kind) || kind == protocol.TypeMatchResultReport || kind == protocol.TypeMatchAssignment
	return ok && (!aboutMatch || attempted(conversation))
}

// foreignManager tells whether the agent is in a league whose manager is of another
// maker.
func (o *own) foreignManager() bool {
	p := o.place()
	return p != nil && !p.strict
}

// headed tells whether a call goes on with the envelope of a message, written as
// agents of ours write it, and returns its conversation.
func headed(rest []byte, kind string) (conversation []byte, ok bool) {
	const (
		opening = `","params":{"protocol":"` + protocol.Name + `","message_type":"`
		moment  = len("2025-01-15T10:30:00Z")
	)
	if rest, ok = bytes.CutPrefix(rest, []byte(opening)); !ok || len(rest) < len(kind) || string(rest[:len(kind)]) != kind {
		return nil, false
	}
	if rest, ok = bytes.CutPrefix(rest[len(kind):], []byte(`","sender":"`)); !ok {
		return nil, false
	}
	if _, rest, ok = bytes.Cut(rest, []byte(`"`)); !ok {
		return nil, false
	}
	if rest, ok = bytes.CutPrefix(rest, []byte(`,"timestamp":"`)); !ok || len(rest) < moment || rest[moment-1] != 'Z' {
		return nil, false
	}
	if rest, ok = bytes.CutPrefix(rest[moment:], []byte(`","conversation_id":"`)); !ok {
		return nil, false
	}
	conversation, _, ok = bytes.Cut(rest, []byte(`"`))
	return conversation, ok
}

// attempted tells whether a conversation is that of an attempt at a match, as
// referees of ours name it: conv-r1m1-a1.
func attempted(conversation []byte) bool {
	if !bytes.HasPrefix(conversation, []byte("conv-")) {
		return false
	}
	i := bytes.LastIndex(conversation, []byte("-a"))
	if i < 0 || i+2 == len(conversation) {
		return false
	}
	for _, c := range conversation[i+2:] {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}
