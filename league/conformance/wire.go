package conformance

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
)

// The codes of JSON-RPC 2.0 §5.1.
const (
	codeParse          = -32700
	codeInvalidRequest = -32600
	codeUnknownMethod  = -32601
	codeInvalidParams  = -32602
)

const maxReply = 64 << 10 // bytes of an answer that a referee reads

// unknownMethod is one that no agent has.
const unknownMethod = "no_such_method"

// send posts a call of a method as it is, with this id, and judges what holds of every
// answer; a nil id is that of a notification.
func (x *client) send(ctx context.Context, method string, id jsontext.Value, body []byte) *reply {
	return x.sendTo(ctx, x.options.URL, method, id, body, otherLimit)
}

func (x *client) sendTo(ctx context.Context, url, method string, id jsontext.Value, body []byte, limit time.Duration) *reply {
	r := read(x.post(ctx, url, body, nil, x.patience(limit)))
	if hasMessages(method) && id != nil {
		understoodBy(ctx, method, x.encode(jsontext.Value("1"), method, map[string]any{}), r)
	}
	x.inspect(r, id)
	return r
}

// raw posts a body that is no call, and judges what holds of every answer.
func (x *client) raw(ctx context.Context, body []byte) *reply {
	return x.send(ctx, "", nil, body)
}

// inspect judges what holds of every answer to a call with this id; nil for a body
// that wants no answer, or not one with an id.
func (x *client) inspect(r *reply, id jsontext.Value) {
	if r.Status == 0 || r.unasked {
		return // the caller judges the requirement that this breaks
	}
	x.judge(x.as("HTTP-02"), when(r.Status >= 500, "HTTP status %d", r.Status), &r.Exchange)
	x.judge(x.as("HTTP-05"), when(len(r.body) > maxReply, "the answer has more than %d bytes", maxReply), &r.Exchange)
	mark := traceIn(r.body)
	x.judge(x.as("RPC-12"), when(mark != "", "the answer has what looks like a stack trace: %q", strings.TrimSpace(mark)), &r.Exchange)
	if id == nil || r.Error != "" || r.sent != nil && objectOf(r.sent)["jsonrpc"] == nil {
		return
	}
	x.judge(x.as("HTTP-03"), when(r.Status != http.StatusOK, "HTTP status %d", r.Status), &r.Exchange)
	kind, _, _ := strings.Cut(r.header.Get("Content-Type"), ";")
	x.judge(x.as("HTTP-04"), when(!strings.EqualFold(strings.TrimSpace(kind), "application/json"), "Content-Type is %q", r.header.Get("Content-Type")), &r.Exchange)
	x.inspectResponse(r)
	d := idDefect()
	if r.bare || r.object["result"] == nil && r.fault == nil {
		d = r.responseDefect()
	}
	x.because(d, x.idRequirement(id), idProblem(r, id), &r.Exchange)
}

// responseDefect is the defect of an answer that is no JSON-RPC response.
func (r *reply) responseDefect() defect {
	if r.defect.key == "" {
		return wrappingDefect()
	}
	return r.defect
}

// inspectResponse judges the members of a JSON-RPC response.
func (x *client) inspectResponse(r *reply) {
	shown := &r.Exchange
	result, problem := r.object["result"], r.object["error"]
	failed := problem != nil && problem.Kind() != 'n'
	neither := when(result == nil && !failed, "the answer has neither result nor error")
	if r.object == nil {
		neither = ""
	}
	odd := when(result != nil && result.Kind() != '{' && !failed, "the result is %s", jsonKind(result))
	if x.letter == "P" {
		version, _ := r.object.text("jsonrpc")
		d := defect{}
		if r.bare || neither != "" {
			d = r.responseDefect()
		}
		if r.Status == http.StatusOK { // HTTP-03 is about the others
			x.judge("P-RPC-15", jsonProblem(r.body), shown)
		}
		x.because(d, "P-RPC-01", when(r.object != nil && version != "2.0", `jsonrpc is %s, not "2.0"`, valueOf(r.object, "jsonrpc")), shown)
		x.because(d, "P-RPC-02", neither, shown)
		if result != nil && !failed {
			x.judge("P-RPC-04", odd, shown)
		}
	} else {
		problem := jsonProblem(r.body)
		if problem == "" {
			problem = firstOf(r.object.has("jsonrpc", "2.0"), neither, odd)
		}
		x.because(r.responseDefectIf(neither != ""), x.as("RPC-01"), problem, shown)
	}
	x.judge(x.as("RPC-02"), when(result != nil && problem != nil, "the answer has both result and error; error is %s", jsonKind(problem)), shown)
	if failed {
		x.judge(x.as("RPC-03"), errorObjectProblem(problem), shown)
	}
}

func (r *reply) responseDefectIf(broken bool) defect {
	if !broken {
		return defect{}
	}
	return r.responseDefect()
}

// errorObjectProblem says why a value is no error of JSON-RPC; "" when it is.
func errorObjectProblem(raw jsontext.Value) string {
	e := objectOf(raw)
	_, coded := e.integer("code")
	_, worded := e.text("message")
	switch {
	case e == nil:
		return "error is " + jsonKind(raw)
	case !coded:
		return "error.code is no integer"
	case !worded:
		return "error.message is no string"
	}
	return ""
}

// idRequirement is the requirement that an id is an example of.
func (x *client) idRequirement(id jsontext.Value) string {
	if id.Kind() == '"' {
		return x.as("RPC-05")
	}
	switch n, err := strconv.ParseInt(string(id), 10, 64); {
	case err == nil && n > 0 && n <= 1<<31-1:
		return x.as("RPC-04")
	case err == nil && n < 1<<53 && n > -1<<53 && x.letter == "P":
		return "P-RPC-08"
	}
	return x.as("RPC-06")
}

// idProblem says what is wrong with the id of an answer; "" for nothing.
func idProblem(r *reply, id jsontext.Value) string {
	switch got := r.object["id"]; {
	case got == nil:
		return "the id of the request, " + string(id) + ", is missing in the answer"
	case !sameJSON(got, id):
		return "the id is " + valueOf(r.object, "id") + ", not " + string(id)
	}
	return ""
}

// errorProblem says why an answer is not the error of this code; "" when it is.
func errorProblem(r *reply, code int) string {
	switch {
	case r.Error != "":
		return r.Error
	case r.trouble() == "":
		return "answered without an error"
	case r.fault == nil:
		return r.trouble()
	case r.fault.code != code:
		return fmt.Sprintf("%s, not %d", r.trouble(), code)
	}
	return ""
}

// refusal says why an answer is no error; "" when it is.
func refusal(r *reply) string {
	switch {
	case r.Error != "":
		return r.Error
	case r.trouble() == "":
		return "answered without an error"
	case r.fault == nil && r.object["error"] == nil:
		return r.trouble() + ", not with an error object"
	}
	return ""
}

// meet makes the first call, and tells whether an agent answers. One that was only just
// started may not listen yet.
func (x *client) meet(ctx context.Context) bool {
	for try := 1; ; try++ {
		id := x.nextID()
		r := read(x.exchange(ctx, http.MethodPost, x.options.URL, x.encode(id, unknownMethod, map[string]any{}), nil, x.patience(otherLimit)))
		switch {
		case r.Status != 0:
			x.judge(x.as("HTTP-01"), notServed(r), &r.Exchange)
			return true
		case try >= 5 || strings.HasPrefix(r.Error, "no answer within") || !rest(ctx, 100*time.Millisecond):
			x.fail(x.as("HTTP-01"), r.Error, &r.Exchange)
			x.giveUp("the agent cannot be reached")
			return false
		}
	}
}

// notServed says that POST is not served at all; "" when it is.
func notServed(r *reply) string {
	return when(r.Status == http.StatusMethodNotAllowed || r.Status == http.StatusNotImplemented, "POST is answered with HTTP status %d", r.Status)
}

// probe looks at JSON-RPC itself, by calls that change nothing.
func (x *client) probe(ctx context.Context) {
	for _, text := range []string{`"req-007"`, `"אבג 🎲 \"quoted\""`, `"1"`, `0`, `-7`, `4294967297`, `9007199254740993`, `null`} {
		id := jsontext.Value(text)
		x.send(ctx, unknownMethod, id, x.encode(id, unknownMethod, map[string]any{}))
	}
	x.askUnknown(ctx)
	id := x.nextID()
	r := x.send(ctx, protocol.Ping.Name, id, encoded(map[string]any{"jsonrpc": "2.0", "method": protocol.Ping.Name, "id": id}))
	x.judge(x.as("RPC-14"), r.trouble(), &r.Exchange)
	silent := x.encode(nil, unknownMethod, map[string]any{})
	x.notify(ctx, unknownMethod, silent)
	x.batch(ctx, x.encode(jsontext.Value("901"), unknownMethod, map[string]any{}), silent)
}

// askUnknown calls a method that no agent has.
func (x *client) askUnknown(ctx context.Context) {
	for _, params := range []any{map[string]any{}, map[string]any{"match_id": "R1M1"}} {
		id := x.nextID()
		r := x.send(ctx, unknownMethod, id, x.encode(id, unknownMethod, params))
		problem := errorProblem(r, codeUnknownMethod)
		x.judge(x.as("RPC-08"), problem, &r.Exchange)
		if problem == "" {
			x.understand()
		}
	}
}

// notify sends a call without an id.
func (x *client) notify(ctx context.Context, method string, silent []byte) {
	r := x.send(ctx, method, nil, silent)
	x.judge(x.as("RPC-07"), firstOf(r.Error, when(len(bytes.TrimSpace(r.body)) > 0, "a notification of %s is answered with a body", method)), &r.Exchange)
}

// batch sends three calls in one body, one of them with the id 901 and one of them a
// notification; and an empty batch.
func (x *client) batch(ctx context.Context, call, silent []byte) {
	parts := [][]byte{call, silent, x.encode(jsontext.Value(`"b"`), unknownMethod, map[string]any{})}
	r := x.raw(ctx, append(append([]byte{'['}, bytes.Join(parts, []byte{','})...), ']'))
	x.judge(x.as("RPC-11"), batchProblem(r), &r.Exchange)
	r = x.raw(ctx, []byte("[]"))
	problem := errorProblem(r, codeInvalidRequest)
	x.judge(x.as("RPC-11"), when(problem != "", "an empty batch: %s", problem), &r.Exchange)
}

// batchProblem says what is wrong with the answer to the batch; "" for nothing.
func batchProblem(r *reply) string {
	if r.Error != "" {
		return r.Error
	}
	var answers []jsontext.Value
	if json.Unmarshal(r.body, &answers, jsontext.AllowDuplicateNames(true)) != nil {
		return "a batch is answered with no array"
	}
	ids := map[string]bool{}
	for _, a := range answers {
		ids[string(objectOf(a)["id"])] = true
	}
	if len(answers) != 2 || !ids["901"] || !ids[`"b"`] {
		return fmt.Sprintf(`a batch of two calls, with the ids 901 and "b", and a notification is answered with %d answers`, len(answers))
	}
	return ""
}

// misuse sends what an agent must survive, and need not understand. Alive calls the agent
// as usual.
func (x *client) misuse(ctx context.Context, alive func(context.Context) *reply) {
	for _, p := range []struct{ what, body string }{
		{"half an object", `{"jsonrpc": "2.0", "method": "ping", "params": {`}, {"no JSON", `jsonrpc=2.0&method=ping`},
		{"an empty body", ""}, {"bytes that are no text", "\x00\xff\xfe{\"jsonrpc\""}, {"half an array", strings.Repeat("[", 5000)},
	} {
		r := x.raw(ctx, []byte(p.body))
		problem := errorProblem(r, codeParse)
		if problem == "" && x.letter == "P" {
			problem = when(r.object["id"].Kind() != 'n', "the id of the error is %s, not null", valueOf(r.object, "id"))
		}
		x.judge(x.as("RPC-09"), when(problem != "", "%s: %s", p.what, problem), &r.Exchange)
		if !x.survives(ctx, r, p.what, alive) {
			return
		}
	}
	for _, body := range []string{
		`{"jsonrpc": "2.0", "id": 1, "params": {}}`, `{"jsonrpc": "2.0", "id": 1, "method": 42, "params": {}}`,
		`{"method": "ping", "id": 1, "params": {}}`, `"ping"`, `17`, `null`,
	} {
		r := x.raw(ctx, []byte(body))
		problem := errorProblem(r, codeInvalidRequest)
		x.judge(x.as("RPC-10"), when(problem != "", "%s: %s", body, problem), &r.Exchange)
		if !x.survives(ctx, r, body, alive) {
			return
		}
	}
	if x.letter == "P" {
		return
	}
	large, _ := json.Marshal(strings.Repeat("long ", 60<<10))
	// It may well close the connection instead of reading all of it.
	r := read(x.exchange(ctx, http.MethodPost, x.options.URL, x.encode(x.nextID(), unknownMethod, map[string]any{"comment": jsontext.Value(large)}), nil, x.patience(otherLimit)))
	x.judge(x.as("HTTP-06"), when(r.Error == "" && r.Status < 400 && (r.fault == nil || r.fault.code == codeUnknownMethod), "a request of 300 KB is taken like any other"), &r.Exchange)
	x.survives(ctx, r, "a request of 300 KB", alive)
}

// survives tells whether the agent still answers after something broken.
func (x *client) survives(ctx context.Context, broken *reply, what string, alive func(context.Context) *reply) bool {
	r := alive(ctx)
	switch {
	case r.Error == "":
		x.pass(x.as("RPC-13"))
		return true
	case r.unasked: // nobody knows
		return false
	}
	x.because(r.defect, x.as("RPC-13"), "after "+what+" it does not answer: "+r.Error, &broken.Exchange, &r.Exchange)
	x.giveUp("after " + what + " the agent answered nothing more")
	return false
}

// alive calls a method that no agent has, which says whether there is an answer.
func (x *client) alive(ctx context.Context) *reply {
	id := x.nextID()
	return x.send(ctx, unknownMethod, id, x.encode(id, unknownMethod, map[string]any{}))
}
