package dialect

import (
	"bytes"
	"iter"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
)

// A question is a method that our agents call with a message: its messages and its
// names.
type question struct {
	method  string
	request string   // message type of the request
	answer  string   // message type of the result
	others  []string // further names of the method, as the method table has them
	tools   []string // those of them that only third-party agents use
	notice  bool     // nothing depends on the answer
}

// questionOf returns the question of a method; false for the tools, which have no
// messages.
func questionOf(method string) (question, bool) {
	if n := indexOf(method); n >= 0 {
		return questions[n], true
	}
	return question{}, false
}

// indexOf is the place of a method in questions; -1 for the tools.
func indexOf(method string) int {
	for i := range questions {
		if questions[i].method == method {
			return i
		}
	}
	return -1
}

// questions are the methods that have messages, in the order of the method table.
var questions = func() (all []question) {
	for _, m := range protocol.Methods() {
		if m.Request == "" {
			continue
		}
		all = append(all, question{m.Name, m.Request, m.Result, slices.Concat(m.ThirdParty, m.Aliases), m.ThirdParty, isNotice(m.Name)})
	}
	return all
}()

// isNotice tells whether nothing depends on the answer to a method.
func isNotice(method string) bool {
	switch method {
	case protocol.NotifyMatchResult.Name, protocol.NotifyGameError.Name, protocol.NotifyRound.Name, protocol.UpdateStandings.Name,
		protocol.NotifyRoundCompleted.Name, protocol.NotifyLeagueCompleted.Name:
		return true
	}
	return false
}

// names are the names of the method, likeliest first. No agent was seen to call an
// assignment by its message type in capitals, so the types are the last there.
func (q *question) names() []string {
	types := q.typeNames()[1:]
	if q.method == protocol.StartMatch.Name {
		return slices.Concat([]string{q.method}, q.others, types)
	}
	return slices.Concat([]string{q.method}, types, q.others)
}

// typeNames are the names without the aliases: the method, and the message type in
// capitals and not.
func (q *question) typeNames() []string {
	names := []string{q.method, q.request}
	if lower := strings.ToLower(q.request); lower != q.method {
		names = append(names, lower)
	}
	return names
}

// toolNames are the names of the method that agents have for their tools.
func (q *question) toolNames() []string { return append([]string{q.method}, q.tools...) }

// A naming is a kind of name.
type naming int

const (
	byMethod   naming = iota // the protocol's name
	byType                   // the message type
	byLower                  // the message type in lower case
	byOther                  // one of the other names
	byEnvelope               // a name that all messages share, such as handle_message
)

// naming is the kind of a name.
func (q *question) naming(name string) naming {
	switch name {
	case q.method:
		return byMethod
	case q.request:
		return byType
	case strings.ToLower(q.request):
		return byLower
	}
	return byOther
}

// A form is one way to put one question to an agent. The zero values are the
// specification's own.
type form struct {
	wrapping  wrapping // what stands around the message
	name      string   // of the method or the tool; "" for a message alone
	naming    naming
	nested    bool   // with the members that nest adds
	path      string // where it is posted on the endpoint's host; "" for the endpoint itself
	announces bool   // the message is a ROUND_ANNOUNCEMENT that starts a match
}

// Names of methods that carry any message.
const (
	mcpMessage    = "mcp_message"
	handleMessage = "handle_message"
)

// A shape is a row of the product of forms: a form that lacks a name, and the names
// of the question that it is combined with.
type shape struct {
	form  form
	names func(q *question) []string // nil where the form has a name, or needs none
	only  string                     // the one method for which the shape was observed; "" for all
}

// shapes are the rows of the product, likeliest first.
var shapes = [...]shape{
	{form: form{}, names: (*question).names},
	{form: form{wrapping: inNothing, path: "/run_match"}, only: protocol.StartMatch.Name},
	{form: form{wrapping: inEnvelope, name: handleMessage}},
	{form: form{name: mcpMessage}},
	{form: form{wrapping: inNothing}},
	{form: form{wrapping: inTool}, names: (*question).toolNames},
	{form: form{nested: true}, names: (*question).typeNames},
}

// own is the protocol's form of the question.
func (q *question) own() form { return form{name: q.method} }

// forms yields the forms of the question, likeliest first, with their places: the
// product of shapes and names. There are at most 64.
func (q *question) forms() iter.Seq2[int, form] {
	return func(yield func(int, form) bool) {
		n := 0
		for i := range shapes {
			for _, f := range shapes[i].forms(q) {
				if !yield(n, f) {
					return
				}
				n++
			}
		}
	}
}

// forms is a row of the product. A match is started by its assignment, or by the
// announcement of a round with this one match in it.
func (s *shape) forms(q *question) []form {
	starts := q.method == protocol.StartMatch.Name
	if s.only != "" && s.only != q.method || s.form.nested && nested[q.request] == "" {
		return nil
	}
	forms := s.named(q)
	if starts && s.only == "" {
		round, _ := questionOf(protocol.NotifyRound.Name)
		for _, f := range s.named(&round) {
			f.announces = true
			forms = append(forms, f)
		}
	}
	return forms
}

// named is the shape with each of its names of a question.
func (s *shape) named(q *question) []form {
	if s.names == nil {
		f := s.form
		if f.name != "" {
			f.naming = byEnvelope
		}
		return []form{f}
	}
	var forms []form
	for _, name := range s.names(q) {
		f := s.form
		f.name, f.naming = name, q.naming(name)
		forms = append(forms, f)
	}
	return forms
}

// distance tells how much a form differs from another one that an agent is known to
// understand: most by what stands around the message, least by the message.
func (f form) distance(known form) int {
	d := 0
	if f.wrapping != known.wrapping {
		d += 4
	}
	if f.naming != known.naming {
		d += 2
	}
	if f.nested != known.nested {
		d++
	}
	return d
}

// String names a form for people.
func (f form) String() string {
	text := f.name
	switch f.wrapping {
	case inTool:
		text = toolsCall + " " + f.name
	case inNothing:
		text = "the message without JSON-RPC"
	}
	if f.nested {
		text += " with nested members"
	}
	if f.announces && f.naming == byEnvelope || f.announces && f.wrapping == inNothing {
		text += ", " + protocol.TypeRoundAnnouncement
	}
	if f.path != "" {
		text += " at " + f.path
	}
	return text
}

// encode puts a message into the form of a request.
func (f form) encode(message, id []byte) []byte {
	method, before, after := f.name, "", ""
	switch f.wrapping {
	case inNothing:
		return slices.Clone(message)
	case inEnvelope:
		before, after = `{"message":`, "}"
	case inTool:
		method, before, after = toolsCall, `{"name":`+string(quoted(f.name))+`,"arguments":`, "}"
	}
	b := make([]byte, 0, len(message)+len(before)+128)
	b = append(append(b, `{"jsonrpc":"2.0","method":`...), quoted(method)...)
	b = append(append(append(append(b, `,"params":`...), before...), message...), after...)
	return append(append(append(b, idHead...), id...), '}')
}

// A request is one that goes out in the form of the protocol, taken apart.
type request struct {
	method  string
	message jsontext.Value // the params
	id      []byte
}

// cutRequest takes a request in the plain form of the protocol apart, without
// reading its message: whether that is JSON shows when it is read.
func cutRequest(body []byte) (q request, ok bool) {
	rest, ok := bytes.CutPrefix(body, []byte(requestHead))
	if !ok || !bytes.HasSuffix(rest, []byte("}")) {
		return request{}, false
	}
	method, rest, ok := bytes.Cut(rest[:len(rest)-1], []byte(paramsHead))
	end := bytes.LastIndex(rest, []byte(idHead))
	if !ok || end < 0 {
		return request{}, false
	}
	return request{method: string(method), message: rest[:end], id: rest[end+len(idHead):]}, true
}

// How a request in plain form begins and ends.
const (
	requestHead = `{"jsonrpc":"2.0","method":"`
	paramsHead  = `","params":`
	idHead      = `,"id":`
)
