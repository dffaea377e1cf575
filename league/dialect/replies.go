package dialect

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
)

// A verdict is what an answer says of the form in which it was asked.
type verdict int

const (
	understood verdict = iota // it answers what was asked, with a result or an error of the protocol
	unknown                   // nobody knows the method there
	puzzled                   // an error of another kind: it may be the form
	unreadable                // no answer of an agent: what it means is the carrier's to say
	deferred                  // the answer comes later, as a request
)

// A reply is an answer in the form of the protocol.
type reply struct {
	verdict verdict
	status  int
	body    []byte
	message object // the result; nil for an error
	failed  failure
}

// A failure is what an answer that is no result says.
type failure struct {
	there   bool
	code    int    // of JSON-RPC; 0 when it names none
	text    string // for people
	named   string // the code of the catalogue, such as E012; "" for none
	name    string // that stands beside the code; "" for none
	data    jsontext.Value
	foreign bool // it does not stand as the protocol has it
}

// The beginning of an answer in our own form, and the answer to a call that failed
// for a reason of its own.
const (
	resultHead    = `{"jsonrpc":"2.0","result":`
	plainHead     = resultHead + `{"protocol":"` + protocol.Name + `","message_type":"`
	internalError = `{"jsonrpc":"2.0","error":{"code":-32603,"message":"Internal error"},"id":`
)

// plainAnswer tells at a glance whether an answer needs no translation: it begins as ours
// do, and has the one member that makers call otherwise.
func plainAnswer(method string, answer []byte) bool {
	message, ok := bytes.CutPrefix(answer, []byte(plainHead))
	if !ok {
		return false
	}
	typed := func(messageType string) bool { return bytes.HasPrefix(message, []byte(messageType+`"`)) }
	switch method {
	case protocol.ChooseParity.Name:
		return typed(protocol.TypeChooseParityResponse) && bytes.Contains(message, []byte(`"parity_choice":`))
	case protocol.Invite.Name:
		return typed(protocol.TypeGameJoinAck) && bytes.Contains(message, []byte(`"accept":`))
	case protocol.MakeMove.Name:
		return typed(protocol.TypeGameMoveResponse) && bytes.Contains(message, []byte(`"move_data":`))
	case protocol.StartMatch.Name:
		return bytes.Contains(answer, []byte(`"status":"`+protocol.StatusAccepted+`"`))
	case protocol.RegisterPlayer.Name, protocol.RegisterReferee.Name:
		return bytes.Contains(answer, []byte(`"status":"`+protocol.StatusAccepted+`"`)) &&
			bytes.Contains(answer, []byte(`"auth_token":"`)) && bytes.Contains(answer, []byte(`"league_id":"`))
	}
	return true
}

// read translates an answer to a question.
func (q *question) read(id []byte, status int, answer []byte) reply {
	as := reply{verdict: unreadable, status: status, body: answer}
	refused := formStatus(status)
	if !refused && status/100 != 2 && status != httpUnauthorized && status != httpForbidden && status != httpConflict {
		return as
	}
	body := eventData(bytes.TrimSpace(answer))
	o := objectOf(body)
	switch {
	case o == nil && refused:
		return q.turnedDown(as, id)
	case o == nil && status == httpAccepted && deferrable(q.answer):
		return received(id)
	case o == nil && len(body) == 0 && (q.notice || q.method == protocol.ReportMatchResult.Name): // it was taken
		return q.result(id, object{})
	case o == nil:
		return as
	}
	message, failed := q.unwrap(o, depth)
	switch {
	case status/100 != 2 && !failed.there && refused:
		return q.turnedDown(as, id)
	case status/100 != 2 && failed.named == "" && !refused:
		return as
	case failed.there:
		return q.failed(as, id, failed, bytes.HasPrefix(answer, []byte(internalError)))
	}
	r := q.result(id, q.translate(message))
	if q.defers(status, r.message) {
		return received(id)
	}
	if bytes.HasPrefix(answer, []byte(resultHead)) && o.get("result").Kind() == '{' && same(r.message, o.object("result")) {
		r.body = answer // as it stands
	}
	return r
}

// The statuses of HTTP that say something here.
const (
	httpOK               = 200
	httpAccepted         = 202
	httpBadRequest       = 400
	httpUnauthorized     = 401
	httpForbidden        = 403
	httpNotFound         = 404
	httpMethodNotAllowed = 405
	httpConflict         = 409
	httpUnprocessable    = 422
	httpInternalError    = 500
	httpNotImplemented   = 501
)

// turnedDown is the reply of an HTTP status that says no. Who turns a notice down so
// is there, and well: that is all that there is to know.
func (q *question) turnedDown(as reply, id []byte) reply {
	as.verdict = unknown
	if q.notice {
		as.status, as.body = httpOK, failure{code: methodNotFound, text: "HTTP " + strconv.Itoa(as.status)}.encode(id)
	}
	return as
}

// formStatus tells whether an HTTP status says that a request was not understood.
func formStatus(status int) bool {
	switch status {
	case httpBadRequest, httpNotFound, httpMethodNotAllowed, httpUnprocessable, httpNotImplemented:
		return true
	}
	return false
}

// depth is how deep a message may be wrapped.
const depth = 5

// unwrap finds the message in an answer, or what it says went wrong.
func (q *question) unwrap(o object, deep int) (object, failure) {
	if typed := o.snaked(); typed.text("message_type") != "" {
		o = typed
	}
	if f := q.failure(o); f.there || deep == 0 {
		return o, f
	}
	if o.text("message_type") != "" {
		return o, failure{}
	}
	for _, name := range []string{"result", "structuredContent", "response"} {
		if inner := o.object(name); inner != nil {
			return q.unwrap(inner, deep-1)
		}
	}
	if inner := firstContent(o); inner != nil {
		return q.unwrap(inner, deep-1)
	}
	if inner := o.object("params"); inner != nil && o.get("result") == nil {
		return q.unwrap(inner, deep-1)
	}
	for _, name := range []string{"message", "data", "payload", "body"} {
		if inner := o.object(name); inner.snaked().text("message_type") != "" || !q.answeredBy(o) && q.answeredBy(inner) {
			return q.unwrap(inner, deep-1)
		}
	}
	if o.get("jsonrpc") != nil {
		return q.bare(o.get("result")), failure{}
	}
	return o, failure{}
}

// answeredBy tells whether a message says what was asked, by whatever name. A
// registration is answered by an id; or by a no.
func (q *question) answeredBy(message object) bool {
	m := q.translate(message)
	switch q.method {
	case protocol.RegisterPlayer.Name:
		return m.get("player_id") != nil || m.text("status") == protocol.StatusRejected
	case protocol.RegisterReferee.Name:
		return m.get("referee_id") != nil || m.text("status") == protocol.StatusRejected
	}
	member := q.essential()
	return member != "" && m.get(member) != nil
}

// firstContent is the message in a result of MCP: in content[0].text.
func firstContent(o object) object {
	var content []struct {
		Text jsontext.Value `json:"text"`
	}
	if v := o.get("content"); v.Kind() != '[' || decode(v, &content) != nil || len(content) == 0 {
		return nil
	}
	return object{{"text", content[0].Text}}.object("text")
}

// bare makes a message of a result that is no object.
func (q *question) bare(value jsontext.Value) object {
	switch {
	case q.method == protocol.ChooseParity.Name && value.Kind() == '"':
		return object{{"parity_choice", value}}
	case q.method == protocol.Invite.Name && (value.Kind() == 't' || value.Kind() == 'f'):
		return object{{"accept", value}}
	case value.Kind() == '"':
		return object{{"status", value}}
	}
	return object{}
}

// failure is what an object says went wrong: as an error of JSON-RPC, of MCP, or
// by a status.
func (q *question) failure(o object) failure {
	messageType := o.text("message_type")
	if messageType == protocol.TypeLeagueQueryResponse || q.method == protocol.Query.Name && o.get("success") != nil {
		return failure{} // has errors of its own
	}
	if messageType == protocol.TypeLeagueError || messageType == protocol.TypeGameError {
		return named(failure{there: true, text: o.text("error_description"), data: o.appendTo(nil), foreign: true}, o)
	}
	if e := o.get("error"); e != nil && e.Kind() != 'f' {
		return failureOf(e)
	}
	words := cmp.Or(o.text("message"), o.text("reason"), o.text("detail"), o.text("error_description"))
	switch {
	case o.get("isError").Kind() == 't':
		text := words
		if inner := firstContent(o); inner != nil {
			return named(failure{there: true, text: cmp.Or(inner.text("message"), inner.text("error")), foreign: true}, inner)
		}
		var content []struct {
			Text string `json:"text"`
		}
		if decode(o.get("content"), &content) == nil && len(content) > 0 {
			text = content[0].Text
		}
		return named(failure{there: true, text: text, foreign: true}, nil)
	case messageType != "" && !registers(q.method):
		return failure{}
	case o.get("success").Kind() == 'f', slices.Contains(failures, strings.ToLower(o.text("status"))):
		return named(failure{there: true, text: cmp.Or(words, "status "+o.text("status")), foreign: true}, o)
	}
	return failure{}
}

// failures are the statuses that say that something went wrong.
var failures = []string{"error", "failed", "failure", "unknown"}

// failureOf reads a member error.
func failureOf(e jsontext.Value) failure {
	f := failure{there: true}
	o := objectOf(e)
	if o == nil {
		f.text, f.foreign = textOf(e), true
		return named(f, nil)
	}
	code, err := strconv.Atoi(string(o.get("code")))
	f.code, f.foreign = code, err != nil || o.get("message").Kind() != '"'
	f.text, f.data = cmp.Or(o.text("message"), o.text("error_description"), o.text("detail")), o.get("data")
	inner := objectOf(f.data)
	if known(inner.text("error_code")) {
		f.named = inner.text("error_code")
		return f
	}
	f = named(f, o)
	if f.named == "" && inner != nil {
		f = named(f, inner)
	}
	return f
}

var catalogued = regexp.MustCompile(`\bE0[0-9]{2}\b`)

// named finds the code of the catalogue in an error that is not as the protocol has
// it.
func named(f failure, o object) failure {
	for _, said := range []string{o.text("error_code"), o.text("code"), o.text("errorCode"), catalogued.FindString(f.text)} {
		if known(said) {
			f.named, f.name, f.foreign = said, o.text("error_name"), true
			return f
		}
	}
	return f
}

// known tells whether a code is one of the catalogue.
func known(code string) bool { return code != "" && protocol.Code(code).Name() != "" }

// ofProtocol tells whether a failure is about what was said, and not about how.
func (f failure) ofProtocol() bool {
	c := f.code
	return f.named != "" || c == -1 || c == -2 || c >= 1 && c <= 31 || c >= 1000 && c < 7000
}

var strange = regexp.MustCompile(`(?i)(unknown|unsupported|unrecogni[sz]ed|invalid|no such|unexpected|unhandled|not (supported|implemented)).{0,12}(method|message|tool|action|command|request)|` +
	`(method|message.?type|tool|action|command).{0,60}(unknown|unsupported|not (found|supported|implemented|allowed|recogni[sz]ed))`)

// The errors of JSON-RPC that may be about the form.
const (
	invalidRequest = -32600
	methodNotFound = -32601
	invalidParams  = -32602
)

// failed is the reply of a failure. Ours is one that is about neither.
func (q *question) failed(as reply, id []byte, f failure, internal bool) reply {
	r := reply{status: httpOK, failed: f, body: as.body}
	switch {
	case f.ofProtocol(), internal:
		r.verdict = understood
	case f.code == methodNotFound, formStatus(as.status), strange.MatchString(f.text):
		r.verdict = unknown
	case !f.foreign && f.code != invalidRequest && f.code != invalidParams && q.method != protocol.StartMatch.Name:
		r.verdict = understood // it has its reasons, and says so as JSON-RPC has it; to ask in other words would be to insist
	default:
		r.verdict = puzzled
	}
	if !f.foreign && as.status == httpOK && bytes.HasPrefix(as.body, []byte(`{"jsonrpc":"2.0","error":{`)) {
		return r // as it stands
	}
	r.body = f.encode(id)
	return r
}

// encode makes the response of a failure. One that names a code of the catalogue
// gets data that says so.
func (f failure) encode(id []byte) []byte {
	const serverError = -32000
	b := append([]byte(nil), `{"jsonrpc":"2.0","error":{"code":`...)
	code := cmp.Or(f.code, serverError)
	if f.code == 0 && f.named != "" {
		code = protocol.Fault(protocol.Code(f.named), "").RPC
	}
	b = strconv.AppendInt(b, int64(code), 10)
	b = append(append(b, `,"message":`...), quoted(cmp.Or(f.text, f.named, "an error without a message"))...)
	data := f.data
	if f.named != "" && objectOf(data).text("error_code") != f.named { // no protocol: its catalogue may be another
		data = object{
			{"error_code", quoted(f.named)}, {"error_name", quoted(f.name)}, {"error_description", quoted(f.text)},
		}.appendTo(nil)
	}
	if data != nil {
		b = append(append(b, `,"data":`...), data...)
	}
	b = append(append(b, `},"id":`...), id...)
	return append(b, '}')
}

// result is the reply with a message. One that is not of the type that was to be
// expected, and says nothing of what was asked, may come from an agent that
// acknowledges whatever it does not know.
func (q *question) result(id []byte, message object) reply {
	b := message.appendTo([]byte(resultHead))
	b = append(append(b, idHead...), id...)
	r := reply{status: httpOK, body: append(b, '}'), message: message}
	if member := q.essential(); member != "" && message.get(member) == nil && message.text("message_type") != q.answer {
		r.verdict = puzzled
	}
	return r
}

// essential is the member without which a reply does not answer the question.
func (q *question) essential() string {
	switch q.method {
	case protocol.ChooseParity.Name:
		return "parity_choice"
	case protocol.Invite.Name:
		return "accept"
	case protocol.MakeMove.Name:
		return "move_data"
	case protocol.RegisterPlayer.Name, protocol.RegisterReferee.Name:
		return "status"
	}
	return ""
}

// eventData is the JSON in an event stream, as MCP may answer with: of the first
// event that holds an answer. Any other body is itself.
func eventData(body []byte) []byte {
	if len(body) == 0 || body[0] == '{' || body[0] == '[' {
		return body
	}
	var event []byte
	for line := range bytes.Lines(append(body, "\n\n"...)) {
		line = bytes.TrimRight(line, "\r\n")
		data, is := bytes.CutPrefix(line, []byte("data:"))
		switch {
		case is:
			event = append(append(event, bytes.TrimPrefix(data, []byte(" "))...), '\n')
		case len(line) == 0 && len(event) > 0:
			if o := objectOf(event); o != nil && (o.get("result") != nil || o.get("error") != nil || o.get("method") == nil) {
				return event
			}
			event = nil
		}
	}
	return body
}

// same tells whether two objects are the same.
func same(a, b object) bool {
	return slices.EqualFunc(a, b, func(x, y member) bool { return x.name == y.name && bytes.Equal(x.value, y.value) })
}

// aboutIdentity finds the reasons that speak of who somebody is.
var aboutIdentity = regexp.MustCompile(`(?i)\b(sender|ids?|identifier|identity|player_?id|referee_?id|agent_?id|not (known|recogni[sz]ed|configured|listed)|unknown (player|referee|agent))\b`)
