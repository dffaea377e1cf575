package check

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
	"evenodd/transport/dialect"
)

// members are the members of a JSON object, as received.
type members map[string]jsontext.Value

// A reply is the answer to a call: its bytes, and the message as far as it can be read. The
// kit judges its parts separately, so that the report on an agent that does not wrap its
// messages also shows the faults of the messages.
type reply struct {
	Exchange

	method string  // that it answers; "" for a body that is no call
	asked  members // the message that it answers, with the names of the specification; nil for none
	header http.Header
	took   time.Duration
	closed bool // the connection was refused: no process listens

	object  members          // the body; nil when it is no JSON object
	result  members          // the message, with the names of the specification if a league finds it; nil for none
	failure *dialect.Failure // nil when there is none
	bare    bool             // the message is not wrapped as a JSON-RPC response

	form string // in which the agent understood the call; "" for that of the specification
}

// read parses the body. It finds the message only in "result", or as the whole body.
func (r *reply) read() *reply {
	r.object = objectOf(r.response)
	r.result = objectOf(r.object["result"])
	r.failure = failureOf(r.object)
	wrapped := r.object["jsonrpc"] != nil || r.object["result"] != nil || r.object["error"] != nil
	if r.bare = r.object != nil && !wrapped && r.Status < 400; r.bare {
		r.result = r.object
	}
	r.defect = diagnose(r)
	return r
}

// newReply is the reply to a request, while there is none.
func newReply(q request) *reply {
	return &reply{Exchange: Exchange{To: q.url, request: q.body}, method: q.method, asked: q.asked}
}

// notSent is the reply to a call that is not made.
func notSent(q request, why string) *reply {
	r := newReply(q)
	r.Error, r.unasked = why, true
	return r.read()
}

// failureOf reads the error of a response; nil when there is none.
func failureOf(object members) *dialect.Failure {
	raw := object["error"]
	if raw == nil || raw.Kind() == 'n' {
		return nil
	}
	e := objectOf(raw)
	f := &dialect.Failure{ErrorCode: objectOf(e["data"]).text("error_code"), Text: e.text("message")}
	f.Code, _ = e.integer("code")
	if e == nil {
		f.Text = object.text("error") // as in 003 §5.2
	}
	return f
}

// objectOf parses an object; nil if it is none. It accepts duplicate names and invalid
// UTF-8, which have a requirement of their own.
func objectOf(raw []byte) members {
	var m members
	if json.Unmarshal(raw, &m, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) != nil {
		return nil
	}
	return m
}

// trouble returns why there is no result; "" if there is one.
func (r *reply) trouble() string {
	switch {
	case r.Error != "":
		return r.Error
	case r.result != nil && r.failure == nil:
		return ""
	case r.failure != nil:
		return "answered with the error " + when(r.failure.Code != 0, "%d ", r.failure.Code) + quoted(r.failure.Text)
	case r.object["result"] != nil:
		return "answered with a result that is " + jsonKind(r.object["result"]) + ", not an object"
	}
	body := cmp.Or(when(len(r.response) == 0, "no body"), when(r.object == nil, "a body that is no JSON object"),
		"neither result nor error")
	return fmt.Sprintf("answered with HTTP status %d and %s", r.Status, body)
}

// hasCode tells whether the answer is the error of JSON-RPC with this code.
func (r *reply) hasCode(code int) bool { return r.failure != nil && r.failure.Code == code }

// timedOut tells whether the agent had its whole time, and gave no answer.
func (r *reply) timedOut() bool { return strings.HasPrefix(r.Error, "no answer within") }

// text is a member that is a string; "" for any other.
func (m members) text(name string) string {
	var s string
	_ = json.Unmarshal(m[name], &s, jsontext.AllowInvalidUTF8(true))
	return s
}

// integer is a member that is a whole number.
func (m members) integer(name string) (int, bool) {
	n, err := strconv.Atoi(string(m[name]))
	return n, err == nil
}

// has returns what is wrong with a member that must be this string.
func (m members) has(name, want string) string {
	got := m.text(name)
	return cmp.Or(m.filled(name), when(got != want, "%s is %s, not %s", name, quoted(got), quoted(want)))
}

// hasNoOther returns what is wrong with a member that must be this string, if it is there.
func (m members) hasNoOther(name, want string) string {
	if m[name] == nil {
		return ""
	}
	return m.has(name, want)
}

// filled returns what is wrong with a member that must be a string that is not empty.
func (m members) filled(name string) string {
	switch {
	case m[name] == nil:
		return name + " is missing"
	case m[name].Kind() != '"':
		return name + " is " + jsonKind(m[name]) + ", not a string"
	case m.text(name) == "":
		return name + " is empty"
	}
	return ""
}

// jsonKind names a value's JSON type.
func jsonKind(v jsontext.Value) string {
	kinds := map[jsontext.Kind]string{
		'n': "null", 't': "a boolean", 'f': "a boolean", '"': "a string", '0': "a number", '[': "an array", '{': "an object",
	}
	return cmp.Or(kinds[v.Kind()], "missing")
}

// quoted shows a text of the agent, shortened and without control characters.
func quoted(s string) string {
	const limit = 80
	if len(s) > limit {
		s = s[:limit] + "…"
	}
	return strconv.QuoteToGraphic(s)
}

// plain is quoted without the quotation marks.
func plain(s string) string {
	q := quoted(s)
	return q[1 : len(q)-1]
}

// valueOf shows a member as it is in the message, without control characters.
func valueOf(m members, name string) string {
	if m[name] == nil {
		return "missing"
	}
	return shown(string(m[name]))
}

// shown shows JSON of the agent, shortened and without control characters.
func shown(text string) string {
	return strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(plain(text))
}

// sameJSON tells whether two values are equal. Numbers must have the same digits: an agent
// that reads a number as a float loses some.
func sameJSON(a, b jsontext.Value) bool {
	if a.Kind() == '"' && b.Kind() == '"' {
		return protocol.Unquote(a) == protocol.Unquote(b)
	}
	return bytes.Equal(bytes.TrimSpace(a), bytes.TrimSpace(b))
}

// jsonProblem returns why a body is not valid JSON.
func jsonProblem(body []byte) string {
	d := jsontext.NewDecoder(bytes.NewReader(body))
	err := d.SkipValue()
	switch {
	case err != nil:
		return "the body is no JSON: " + strings.TrimPrefix(err.Error(), "jsontext: ")
	case len(bytes.TrimSpace(body[d.InputOffset():])) > 0:
		return "something stands behind the JSON value"
	}
	return ""
}

// traces are texts in the stack traces of several languages.
var traces = [...]string{
	"Traceback (most recent call last)", "\ngoroutine ", `\ngoroutine `, "panic: ", "\n    at ", `\n    at `, "\n\tat ",
	`\n\tat `, "stack backtrace:", `.py\", line `, `.py", line `, "node_modules",
}

// when returns a problem, or a defect, if there is one.
func when(broken bool, format string, args ...any) string {
	if !broken {
		return ""
	}
	return fmt.Sprintf(format, args...)
}
