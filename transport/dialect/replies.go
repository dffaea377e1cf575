package dialect

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
	"evenodd/transport"
)

// A Verdict tells what a response says of the form of the request.
type Verdict int

const (
	// Understood is a readable reply.
	Understood Verdict = iota
	// Refused is an error of the protocol. The agent understood the form, but it may also answer
	// so to a form that it does not know.
	Refused
	// Deferred is RECEIVED. The agent understood the form, and posts its answer later.
	Deferred
	// Rejected is any other response, which may be due to the form.
	Rejected
	// Unavailable is HTTP 429, 502, 503 or 504, in every form.
	Unavailable
)

// A Reply is a response in the form of the specification.
type Reply struct {
	Verdict Verdict
	Status  int // of HTTP
	Body    []byte
	Message protocol.Object // the result; nil for an error
	Failure Failure
}

// The statuses of HTTP that have a meaning here.
const (
	StatusOK            = 200
	StatusBadRequest    = 400
	StatusNotFound      = 404
	StatusInternalError = 500
	httpTooManyRequests = 429
	httpBadGateway      = 502
	httpUnavailable     = 503
	httpGatewayTimeout  = 504
)

// internalError is the beginning of the response of one of our agents in which a call failed.
const internalError = `{"jsonrpc":"2.0","error":{"code":-32603,"message":"Internal error"},"id":`

// ReadReply translates a response to a call of the method. Id is that of the call.
func (m *Method) ReadReply(id []byte, status int, response []byte) Reply {
	as := Reply{Verdict: Rejected, Status: status, Body: response}
	if AsksToWait(status) {
		as.Verdict = Unavailable
		return as
	}
	o := protocol.ParseObject(bytes.TrimSpace(response))
	if o == nil {
		return as
	}
	succeeded := status/100 == 2
	message, failure := m.unwrap(o, maxDepth)
	switch {
	case failure.Present && (succeeded || failure.Code != 0 || failure.ErrorCode != "" || o.Get("error") != nil):
		return failure.reply(as, id, status == StatusOK && bytes.HasPrefix(response, []byte(internalError)))
	case !succeeded:
		return as
	}
	r := m.result(id, m.translate(message))
	isDeferred := strings.EqualFold(r.Message.Text("status"), "RECEIVED") && r.Message.Get(m.Essential) == nil
	if m.Deferrable && isDeferred { // the answer comes later
		body := transport.ResultBody(jsontext.Value(`{"status":"RECEIVED"}`), id)
		return Reply{Verdict: Deferred, Status: StatusOK, Body: body}
	}
	return r
}

// AsksToWait tells whether a status of HTTP asks to wait: it says nothing about the form.
func AsksToWait(status int) bool {
	return slices.Contains([]int{httpTooManyRequests, httpBadGateway, httpUnavailable, httpGatewayTimeout}, status)
}

// maxDepth is the largest number of structures around a message.
const maxDepth = 5

// unwrap finds the message in a response, or the failure that it reports.
func (m *Method) unwrap(o protocol.Object, depth int) (protocol.Object, Failure) {
	if f := m.failure(o); f.Present || depth == 0 {
		return o, f
	}
	if o.Text("message_type") != "" {
		return o, Failure{}
	}
	for _, inner := range []protocol.Object{o.Object("result"), o.Object("response"), firstContent(o)} {
		if inner != nil {
			return m.unwrap(inner, depth-1)
		}
	}
	result := o.Get("result")
	if inner := o.Object("params"); inner != nil && result == nil {
		return m.unwrap(inner, depth-1)
	}
	switch {
	case !o.Has("jsonrpc") && (result == nil || len(o) > 1):
		return o, Failure{}
	case result.Kind() == '"':
		return protocol.Object{{Name: "status", Value: result}}, Failure{}
	}
	return protocol.Object{}, Failure{}
}

// content is content[0].text in the result of a tool of MCP.
func content(o protocol.Object) jsontext.Value {
	if elements := list(o.Get("content")); len(elements) > 0 {
		return protocol.ParseObject(elements[0]).Get("text")
	}
	return nil
}

// firstContent is the message in the result of a tool of MCP: structured content, or the
// first text that is an object.
func firstContent(o protocol.Object) protocol.Object {
	if structured := o.Object("structuredContent"); len(structured) > 0 {
		return structured
	}
	for _, one := range list(o.Get("content")) {
		if inner := protocol.ParseObject(one).Object("text"); inner != nil {
			return inner
		}
	}
	return nil
}

// result returns the reply with a message. A message of another type that lacks the
// essential member may come from an agent that acknowledges any request.
func (m *Method) result(id []byte, message protocol.Object) Reply {
	r := Reply{Status: StatusOK, Body: transport.ResultBody(message.Append(nil), id), Message: message}
	if name := m.Essential; name != "" && message.Get(name) == nil && message.Text("message_type") != m.Result {
		r.Verdict = Rejected
	}
	return r
}

// same tells whether two objects are the same.
func same(a, b protocol.Object) bool {
	return slices.EqualFunc(a, b, func(x, y member) bool { return x.Name == y.Name && bytes.Equal(x.Value, y.Value) })
}

// PostedReply returns an answer that was posted later as the reply to the call.
func (m *Method) PostedReply(id []byte, answer protocol.Object) Reply {
	return m.result(id, m.translate(answer))
}

// translate renames the members of a reply as in the specification. It changes no value:
// the caller judges them. It adds nothing to the answer of a player.
func (m *Method) translate(reply protocol.Object) protocol.Object {
	message := slices.Clone(reply)
	switch m.Name {
	case protocol.ChooseParity.Name:
		if message.Get("choice").Kind() != '{' {
			rename(&message, "choice", "parity_choice")
		}
	case protocol.Invite.Name:
		message.Fill("accept", message.Get("accepted"))
		if slices.Contains([]string{"accepted", "joined", "ack"}, strings.ToLower(message.Text("status"))) {
			message.Fill("accept", jsontext.Value("true"))
		}
	case protocol.RegisterPlayer.Name, protocol.RegisterReferee.Name:
		admission(&message, m.From+"_id")
	}
	return message
}

// UsualLeague is the league of the specification's examples. Most third-party agents know
// no other.
const UsualLeague = "league_2025_even_odd"

// admission translates the answer of a manager to a registration. It is an acceptance if
// it has an id, or any status but REJECTED. A manager that gives no token asks for none.
func admission(m *protocol.Object, id string) {
	switch status := m.Text("status"); {
	case strings.EqualFold(status, protocol.StatusRejected):
		m.SetText("status", protocol.StatusRejected)
		return
	case status == "" && m.Get(id) == nil:
		return
	}
	m.SetText("status", protocol.StatusAccepted)
	m.FillText("auth_token", protocol.RefereeAuthNone)
	m.FillText("league_id", UsualLeague)
}
