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
	// understood: a readable reply. Its form is learned.
	understood verdict = iota
	// refused: an error of the protocol. The agent has understood, so no other form is
	// tried; but an agent may answer so to what it does not know, so nothing is learned.
	refused
	// deferred: RECEIVED. The agent posts its answer later; see deferrals. Its form is
	// learned.
	deferred
	// rejected: anything else, which may be due to the form.
	rejected
	// unavailable: HTTP 429, 502, 503 or 504. No form changes that.
	unavailable
)

// A reply is an answer in the form of the protocol.
type reply struct {
	verdict verdict
	status  int
	body    []byte
	message object // the result; nil for an error
	failed  failure
	form    form   // that was answered
	place   int    // of form in the product; only of a rejection
	first   bool   // form was the likeliest one
	raw     string // how the answer began, for the log; only where it was not understood
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
	errorHead     = `{"jsonrpc":"2.0","error":{`
	internalError = errorHead + `"code":-32603,"message":"Internal error"},"id":`
)

// plainAnswer tells at a glance whether an answer needs no translation: it begins as ours
// do, and has the one member that makers call otherwise.
func plainAnswer(method string, answer []byte) bool {
	message, ok := bytes.CutPrefix(answer, []byte(plainHead))
	if !ok {
		return false
	}
	switch method {
	case protocol.ChooseParity.Name:
		return bytes.HasPrefix(message, []byte(protocol.TypeChooseParityResponse+`"`)) && bytes.Contains(message, []byte(`"parity_choice":`))
	case protocol.Invite.Name:
		return bytes.HasPrefix(message, []byte(protocol.TypeGameJoinAck+`"`)) && bytes.Contains(message, []byte(`"accept":`))
	case protocol.MakeMove.Name:
		return bytes.HasPrefix(message, []byte(protocol.TypeGameMoveResponse+`"`)) && bytes.Contains(message, []byte(`"move_data":`))
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
	as := reply{verdict: rejected, status: status, body: answer}
	switch status {
	case httpTooManyRequests, httpBadGateway, httpUnavailable, httpGatewayTimeout:
		as.verdict = unavailable
		return as
	}
	succeeded := status/100 == 2
	o := objectOf(bytes.TrimSpace(answer))
	if o == nil {
		return as
	}
	message, failed := q.unwrap(o, depth)
	switch {
	case failed.there && (succeeded || failed.code != 0 || failed.named != "" || o.holds("error")):
		return q.failed(as, id, failed, status == httpOK && bytes.HasPrefix(answer, []byte(internalError)))
	case !succeeded:
		return as
	}
	r := q.result(id, q.translate(message))
	if q.defers(r.message) {
		return received(id)
	}
	if bytes.HasPrefix(answer, []byte(resultHead)) && o.get("result").Kind() == '{' && same(r.message, o.object("result")) {
		r.body = answer // as it stands
	}
	return r
}

// The statuses of HTTP that say something here.
const (
	httpOK              = 200
	httpBadRequest      = 400
	httpUnauthorized    = 401
	httpNotFound        = 404
	httpTooManyRequests = 429
	httpInternalError   = 500
	httpBadGateway      = 502
	httpUnavailable     = 503
	httpGatewayTimeout  = 504
)

// depth is how deep a message may be wrapped.
const depth = 5

// unwrap finds the message in an answer, or what it says went wrong.
func (q *question) unwrap(o object, deep int) (object, failure) {
	if f := q.failure(o); f.there || deep == 0 {
		return o, f
	}
	if o.text("message_type") != "" {
		return o, failure{}
	}
	for _, inner := range []object{o.object("result"), o.object("response"), firstContent(o)} {
		if inner != nil {
			return q.unwrap(inner, deep-1)
		}
	}
	if inner := o.object("params"); inner != nil && o.get("result") == nil {
		return q.unwrap(inner, deep-1)
	}
	if v := o.get("result"); o.names("jsonrpc") || v != nil && len(o) == 1 {
		return bare(v), failure{}
	}
	return o, failure{}
}

// contentOf is what a result of MCP holds: content[0].text.
func contentOf(o object) jsontext.Value {
	var content []struct {
		Text jsontext.Value `json:"text"`
	}
	if v := o.get("content"); v.Kind() != '[' || decode(v, &content) != nil || len(content) == 0 {
		return nil
	}
	return content[0].Text
}

// firstContent is the message in there.
func firstContent(o object) object { return object{{"text", contentOf(o)}}.object("text") }

// bare makes a message of a result that is no object.
func bare(value jsontext.Value) object {
	if value.Kind() == '"' {
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
		if inner := firstContent(o); inner != nil {
			return named(failure{there: true, text: cmp.Or(inner.text("message"), inner.text("error")), foreign: true}, inner)
		}
		return named(failure{there: true, text: cmp.Or(textOf(contentOf(o)), words), foreign: true}, nil)
	case messageType != "" && !registers(q.method):
		return failure{}
	case o.get("success").Kind() == 'f', failures.MatchString(o.text("status")):
		return named(failure{there: true, text: cmp.Or(words, "status "+o.text("status")), foreign: true}, o)
	case len(o) == 1 && o.holds("detail"): // as FastAPI has it
		return named(failure{there: true, text: cmp.Or(o.text("detail"), string(o.get("detail"))), foreign: true}, nil)
	}
	return failure{}
}

// failures finds the statuses that say that something went wrong.
var failures = regexp.MustCompile(`(?i)^(error|failed|failure|unknown.*)$`)

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
	for _, said := range []string{o.text("error_code"), o.text("code"), catalogued.FindString(f.text)} {
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
func (f failure) ofProtocol() bool { return f.named != "" || protocol.IsErrorCode(f.code) }

// unknownMethod finds the texts that say no more than that a method is unknown.
var unknownMethod = regexp.MustCompile(`(?i)(unknown|unsupported|unrecogni[sz]ed|invalid|no such|unexpected|unhandled|not (supported|implemented)).{0,12}(method|message|tool|action|command|request)|` +
	`(method|message.?type|tool|action|command).{0,60}(unknown|unsupported|not (found|supported|implemented|allowed|recogni[sz]ed))|^(not found|method not allowed)$`)

// The errors of JSON-RPC that say something here.
const (
	methodNotFound = -32601
	invalidParams  = -32602
)

// failed is the reply of a failure. Internal is set for one of our agents whose
// strategy failed: that is about the content of the call, as an error of the protocol
// is.
func (q *question) failed(as reply, id []byte, f failure, internal bool) reply {
	r := reply{verdict: rejected, status: as.status, failed: f, body: as.body}
	stands := !f.foreign && bytes.HasPrefix(as.body, []byte(errorHead))
	switch {
	case f.ofProtocol() || internal:
		r.verdict, r.status = refused, httpOK
	case f.data != nil: // details are part of what is told
		r.failed.text, r.failed.data, stands = strings.TrimPrefix(f.text+": "+string(f.data), ": "), nil, false
	}
	if !stands {
		r.body = r.failed.encode(id)
	}
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
// acknowledges anything.
func (q *question) result(id []byte, message object) reply {
	b := message.appendTo([]byte(resultHead))
	b = append(append(b, idHead...), id...)
	r := reply{status: httpOK, body: append(b, '}'), message: message}
	if member := q.essential(); member != "" && message.get(member) == nil && message.text("message_type") != q.answer {
		r.verdict = rejected
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

// same tells whether two objects are the same.
func same(a, b object) bool {
	return slices.EqualFunc(a, b, func(x, y member) bool { return x.name == y.name && bytes.Equal(x.value, y.value) })
}

// aboutIdentity finds the reasons that speak of who somebody is.
var aboutIdentity = regexp.MustCompile(`(?i)\b(sender|ids?|identifier|identity|player_?id|referee_?id|agent_?id|not (known|recogni[sz]ed|configured|listed)|unknown (player|referee|agent))\b`)
