package dialect

import (
	"cmp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
	"evenodd/league/words"
)

// A Failure is a response that is no result.
type Failure struct {
	Present   bool
	Code      int    // of JSON-RPC; 0 for none
	Text      string // for people
	ErrorCode string // of the catalogue, such as E012; "" for none
	Data      jsontext.Value
}

// serverError is the code of JSON-RPC for a failure without a code.
const serverError = -32000

// failure is what an object reports as an error of JSON-RPC or of MCP, or by a status.
func (m *Method) failure(o protocol.Object) Failure {
	messageType := o.Text("message_type")
	if messageType == protocol.Query.Result || m.Name == protocol.Query.Name && o.Get("success") != nil {
		return Failure{} // has errors of its own
	}
	if messageType == protocol.TypeLeagueError || messageType == protocol.TypeGameError {
		f := described(o.Text("error_description"), o)
		f.Data = o.Append(nil)
		return f
	}
	if e := o.Get("error"); e != nil && e.Kind() != 'f' {
		return readError(e)
	}
	words := cmp.Or(o.Text("message"), o.Text("reason"), o.Text("detail"), o.Text("error_description"))
	switch {
	case o.Get("isError").Kind() == 't':
		inner, text := firstContent(o), protocol.Unquote(content(o))
		reason, data, _ := strings.Cut(text, "\n")
		switch lastLine := protocol.ParseObject([]byte(data)); {
		case protocol.ParseObject([]byte(text)) != nil:
			text = ""
		case inner == nil && lastLine != nil: // as our agents answer
			inner, text = lastLine, reason
		}
		return described(cmp.Or(inner.Text("message"), inner.Text("error"), text, words), inner)
	case messageType != "" && !m.Registers:
		return Failure{}
	case o.Get("success").Kind() == 'f', failedStatus().MatchString(o.Text("status")):
		return described(cmp.Or(words, "status "+o.Text("status")), o)
	case len(o) == 1 && o.Get("detail") != nil: // of FastAPI
		return described(cmp.Or(o.Text("detail"), string(o.Get("detail"))), nil)
	}
	return Failure{}
}

// failedStatus matches a status that reports a failure.
var failedStatus = words.Pattern(`(?i)^(error|failed|failure|unknown.*)$`)

// described is a failure with a text. The code of the catalogue is a member of o, or in the
// text.
func described(text string, o protocol.Object) Failure {
	return Failure{Present: true, Text: text}.named(o)
}

// readError reads a member error.
func readError(e jsontext.Value) Failure {
	o := protocol.ParseObject(e)
	if o == nil {
		return described(protocol.Unquote(e), nil)
	}
	f := Failure{
		Present: true, Code: o.Integer("code"),
		Text: cmp.Or(o.Text("message"), o.Text("error_description"), o.Text("detail")), Data: o.Get("data"),
	}
	return f.named(protocol.ParseObject(f.Data), o)
}

var errorCode = words.Pattern(`\bE0[0-9]{2}\b`)

// named finds the code of the catalogue in the objects of an error, or in its text.
func (f Failure) named(objects ...protocol.Object) Failure {
	var said []string
	for _, o := range objects {
		said = append(said, o.Text("error_code"), o.Text("code"))
	}
	said = append(said, errorCode().FindString(f.Text))
	if i := slices.IndexFunc(said, inCatalogue); i >= 0 {
		f.ErrorCode = said[i]
	}
	return f
}

func inCatalogue(code string) bool { return code != "" && protocol.Code(code).Name() != "" }

// ofProtocol tells whether a failure is about the content of the call, not its form.
func (f Failure) ofProtocol() bool { return f.ErrorCode != "" || protocol.IsErrorCode(f.Code) }

// unknownMethod matches a text that says only that the method is unknown.
var unknownMethod = words.Pattern(
	`(?i)(unknown|unsupported|unrecogni[sz]ed|invalid|no such|unexpected|unhandled|not (supported|implemented))` +
		`.{0,12}(method|message|tool|action|command|request)|` +
		`(method|message.?type|tool|action|command)` +
		`.{0,60}(unknown|unsupported|not (found|supported|implemented|allowed|recogni[sz]ed))|` +
		`^(not found|method not allowed)$`)

// UnknownMethod tells whether the failure says only that the method is unknown.
func (f Failure) UnknownMethod() bool { return unknownMethod().MatchString(f.Text) }

// reply returns the reply of a failure. Internal is set for one of our agents whose
// strategy failed: that is about the content of the call, too.
func (f Failure) reply(as Reply, id []byte, internal bool) Reply {
	r := Reply{Verdict: Rejected, Status: as.Status, Failure: f}
	switch {
	case f.ofProtocol() || internal:
		r.Verdict, r.Status = Refused, StatusOK
	case f.Data != nil: // details become part of the text
		r.Failure.Text, r.Failure.Data = strings.TrimPrefix(f.Text+": "+string(f.Data), ": "), nil
	}
	r.Body = r.Failure.Body(id)
	return r
}

// Body returns the response of a failure in the form of the specification. If the failure
// names a code of the catalogue, data has it.
func (f Failure) Body(id []byte) []byte {
	code := cmp.Or(f.Code, protocol.Fault(protocol.Code(f.ErrorCode), "").RPC, serverError)
	failure := protocol.Object{
		{Name: "code", Value: encoded(code)},
		{Name: "message", Value: protocol.Quote(cmp.Or(f.Text, f.ErrorCode, "an error without a message"))},
	}
	data := f.Data
	if f.ErrorCode != "" && protocol.ParseObject(data).Text("error_code") != f.ErrorCode {
		data = protocol.Object{ // no member protocol: its catalogue may be another
			{Name: "error_code", Value: protocol.Quote(f.ErrorCode)}, {Name: "error_description", Value: protocol.Quote(f.Text)},
		}.Append(nil)
	}
	if data != nil {
		failure.Set("data", data)
	}
	head, tail := []byte(`{"jsonrpc":"2.0","error":`), []byte(`,"id":`)
	return slices.Concat(head, failure.Append(nil), tail, id, []byte("}"))
}
