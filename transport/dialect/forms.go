package dialect

import (
	"cmp"
	"net/url"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
	"evenodd/transport"
)

// A Form is one way to send a call. Forms can be compared.
type Form struct {
	wrapping  wrapping
	name      string // of the method or the tool; "" for a message alone
	kind      int    // of the name: its position among the names of the method, at most byAlias
	path      string // where it is posted on the endpoint's host; "" for the endpoint itself
	Nested    bool   // the message has the members that Nest adds
	Flat      bool   // the message is a registration with the members that Flatten adds
	Announces bool   // the message is a ROUND_ANNOUNCEMENT that starts a match
}

// A wrapping is the structure around a message in a request, and around its answer.
type wrapping int

const (
	inCall     wrapping = iota // JSON-RPC
	inTool                     // JSON-RPC, as MCP calls tools
	inEnvelope                 // JSON-RPC; the message is the parameter `message`
	inNothing                  // the message alone
	onServer                   // a tool that an MCP server lists: see ToolServer
)

// Kinds of names.
const (
	byAlias    = 3 // after the specification's name and the message type, in capitals and in lower case
	byEnvelope = 4 // all messages share the name
)

// A shape is a row of the table of forms: a form without a name, and the names of the
// method with which it is combined.
type shape struct {
	form  Form
	names func(m *Method) []string // nil if the form has a name, or needs none
	only  string                   // the one method that has the form; "" for all
}

// shapes are all forms, likeliest first.
var shapes = [...]shape{
	{form: Form{}, names: (*Method).names},
	{form: Form{wrapping: inNothing, path: "/run_match"}, only: protocol.StartMatch.Name},
	{form: Form{wrapping: inEnvelope, name: "handle_message"}},
	{form: Form{name: "mcp_message", kind: byEnvelope}},
	{form: Form{wrapping: inNothing}},
	{form: Form{wrapping: onServer}},
	{form: Form{wrapping: inTool}, names: (*Method).toolNames},
	{form: Form{Nested: true}, names: (*Method).typeNames},
	{form: Form{Flat: true}, names: (*Method).names},
}

// SpecForm is the specification's form of a call, the first of all.
func SpecForm(method string) Form { return Form{name: method} }

// Forms returns the forms of the method, likeliest first. A match is started by its assignment,
// or by the announcement of a round that has only this match.
func (m *Method) Forms() (forms []Form) {
	for _, s := range &shapes {
		if s.only != "" && s.only != m.Name || s.form.Nested && m.nested == "" || s.form.Flat && !m.Registers {
			continue
		}
		forms = append(forms, s.forms(m)...)
		if m.Name == protocol.StartMatch.Name && s.only == "" {
			for _, f := range s.forms(MethodOf(protocol.NotifyRound.Name)) {
				f.Announces = true
				forms = append(forms, f)
			}
		}
	}
	return forms
}

// forms combines a row with the names of a method.
func (s *shape) forms(m *Method) []Form {
	if s.names == nil {
		return []Form{s.form}
	}
	var forms []Form
	for i, name := range s.names(m) {
		f := s.form
		f.name, f.kind = name, min(i, byAlias)
		forms = append(forms, f)
	}
	return forms
}

// OnServer tells whether the form is a tool that an MCP server lists. Then
// ToolServer.Call encodes the request.
func (f Form) OnServer() bool { return f.wrapping == onServer }

// Tool is the tool of MCP that the form calls without a look at the list of tools; "" for none.
func (f Form) Tool() string {
	if f.wrapping != inTool {
		return ""
	}
	return f.name
}

// SameWrapping tells whether two forms have the same structure around the message.
func (f Form) SameWrapping(other Form) bool { return f.wrapping == other.wrapping }

// Distance tells how much a form differs from one that an agent understands: most by
// the structure around the message, least by the message.
func (f Form) Distance(known Form) int {
	d := 0
	if f.wrapping != known.wrapping {
		d += 4
	}
	if f.kind != known.kind {
		d += 2
	}
	if f.Nested != known.Nested || f.Flat != known.Flat {
		d++
	}
	return d
}

// String names a form for people.
func (f Form) String() string {
	text := f.name
	switch f.wrapping {
	case inTool:
		text = ToolsCall + " " + f.name
	case inNothing:
		text = "the message without JSON-RPC"
	case onServer:
		text = "a tool that the MCP server lists"
	}
	if f.Nested {
		text += " with nested members"
	}
	if f.Flat {
		text += " with the members at the top level"
	}
	if f.path != "" {
		text += " at " + f.path
	}
	return text
}

// URL is where a request in this form is posted.
func (f Form) URL(endpoint string) string {
	if f.path == "" {
		return endpoint
	}
	u, err := url.Parse(endpoint)
	if err != nil {
		return endpoint
	}
	return (&url.URL{Scheme: u.Scheme, User: u.User, Host: u.Host, Path: f.path}).String()
}

// Encode returns the body of a request with a message in this form.
func (f Form) Encode(message, id []byte) []byte {
	switch f.wrapping {
	case inNothing:
		return slices.Clone(message)
	case inEnvelope:
		return CallBody(f.name, protocol.Object{{Name: "message", Value: message}}.Append(nil), id)
	case inTool:
		return CallBody(ToolsCall, toolParams(f.name, message).Append(nil), id)
	}
	return CallBody(f.name, message, id)
}

// A Call is a request of one of our agents, in three parts.
type Call struct {
	Method  string
	Message jsontext.Value // the params
	ID      jsontext.Value
}

// CutCall cuts a request of one of our agents, without reading its message. It
// reports false for a request that none of our agents writes.
func CutCall(body []byte) (c Call, ok bool) {
	method, message, id, ok := transport.CutRequest(body)
	return Call{string(method), message, id}, ok
}

// An edition of the exercise prints the messages of a match with other members:
// game_invitation holds members that the specification has at the top, parity_context is
// the specification's context, and all have league_id and round_id.

// nestedInvitation are the members of game_invitation.
var nestedInvitation = []string{"game_type", "match_id", "role_in_match", "opponent_id"}

// Nest returns a message with the members of that edition beside its own. League is the
// id of the league, if the message has none; "" if it is not known.
func Nest(message jsontext.Value, league string) jsontext.Value {
	m := protocol.ParseObject(message)
	switch kind := m.Text("message_type"); kind {
	case protocol.TypeGameInvitation:
		m.Set(byType[kind].nested, only(protocol.ParseObject(message), nestedInvitation...).Append(nil))
	case protocol.TypeChooseParityCall:
		context := m.Object("context")
		context.Fill("valid_options", jsontext.Value(`["even","odd"]`))
		m.Set(byType[kind].nested, context.Append(nil))
	}
	m.FillText("league_id", cmp.Or(league, UsualLeague))
	m.Fill("round_id", encoded(roundOf(m.Text("match_id"))))
	return m.Append(nil)
}
