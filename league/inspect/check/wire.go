package check

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// The codes of JSON-RPC (docs/protocol.md#json-rpc-codes).
const (
	codeParse          = -32700
	codeInvalidRequest = -32600
	codeUnknownMethod  = -32601
)

// unknownMethod is a method that no agent has.
const unknownMethod = "no_such_method"

// inspect records the facts of an answer to a call with this id; nil for a body that wants
// no answer, or none with an id.
func (x *exam) inspect(r *reply, id jsontext.Value) {
	if r.Status == 0 || r.unasked {
		return // the caller records the fact that there is no answer
	}
	x.show("answer", r)
	if id == nil || r.Error != "" || objectOf(r.request)["jsonrpc"] == nil {
		return
	}
	x.show("response", r)
	defect := ""
	if r.object["result"] == nil && r.fault == nil { // no JSON-RPC response
		defect = cmp.Or(r.defect, wrappingDefect)
	}
	x.record("form of response", &fact{reply: r, defect: defect})
	name := "other id"
	if n, err := strconv.ParseInt(string(id), 10, 32); err == nil && n > 0 {
		name = "integer id"
	}
	x.record(name, &fact{reply: r, problem: idProblem(r, id), defect: cmp.Or(defect, idDefect)})
}

// idProblem returns what is wrong with the id of an answer.
func idProblem(r *reply, id jsontext.Value) string {
	got := r.object["id"]
	return firstOf(when(got == nil, "the id of the request, %s, is missing in the answer", id),
		when(!sameJSON(got, id), "the id is %s, not %s", valueOf(r.object, "id"), id))
}

// errorProblem returns why an answer is not the error with this code.
func errorProblem(r *reply, code int) string {
	if r.fault == nil || r.fault.code == code {
		return notFailed(r)
	}
	return fmt.Sprintf("%s, not %d", r.trouble(), code)
}

// notFailed returns why an answer is no JSON-RPC error.
func notFailed(r *reply) string {
	if r.Error == "" && r.fault != nil {
		return ""
	}
	return cmp.Or(r.trouble(), "answered without an error")
}

// meet makes the first call, and tells whether the agent answers. An agent that was just
// started may not listen yet.
func (x *exam) meet(ctx context.Context) bool {
	for attempt := 1; ; attempt++ {
		r := x.exchange(ctx, x.options.URL, nil, x.encode(x.nextID(), unknownMethod, map[string]any{}), otherLimit)
		answered := r.Status != 0
		if answered || attempt >= 5 || r.timedOut() || !rest(ctx, 100*time.Millisecond) {
			x.show("first call", r, when(!answered, "%s", r.Error), notServed(r))
			if !answered {
				x.giveUp(unreached(r))
			}
			return answered
		}
	}
}

// unreached tells an agent that is too slow from one that nobody can connect to.
func unreached(r *reply) string {
	if r.timedOut() {
		return "the agent did not answer in time"
	}
	return "the agent cannot be reached"
}

// notServed returns that POST is not served at all.
func notServed(r *reply) string {
	return when(r.Status == http.StatusMethodNotAllowed || r.Status == http.StatusNotImplemented,
		"POST is answered with HTTP status %d", r.Status)
}

// examineWire examines JSON-RPC itself: ids, notifications, batches, and unknown methods. It
// repeats one call, which an agent always answers in the same way.
func (x *exam) examineWire(ctx context.Context, method string, params any) {
	for _, id := range []string{
		`"req-007"`, `"אבג 🎲 \"quoted\" \\ /"`, `""`, `0`, `-7`, `4294967297`, `9007199254740993`, `1.5`, `null`,
	} {
		x.sendBy(ctx, x.dialect, method, params, withID(jsontext.Value(id)))
	}
	if _, _, form := x.inForm(ctx, x.dialect, method, params); objectOf(form)["jsonrpc"] == nil {
		return
	}
	r := x.sendBy(ctx, x.dialect, method, params, withID(nil))
	x.record("wire/notification", &fact{reply: r, about: "a notification of " + method})
	r = x.alive(ctx)
	x.show("wire/unknown method", r)
	if errorProblem(r, codeUnknownMethod) == "" {
		x.understood.Store(true)
	}
}

// withID changes the id of a request; nil makes it a notification.
func withID(id jsontext.Value) change {
	return func(request members) []byte {
		if request["jsonrpc"] == nil {
			return nil
		}
		if request["id"] = id; id == nil {
			delete(request, "id")
		}
		return encoded(request)
	}
}

// misuse sends requests that an agent must survive, and need not understand.
func (x *exam) misuse(ctx context.Context) {
	const noJSON, noRequest = "misuse/no JSON", "misuse/no request"
	for _, p := range []struct{ fact, body string }{
		{noJSON, `{"jsonrpc": "2.0", "method": "ping", "params": {`}, {noJSON, `jsonrpc=2.0&method=ping`}, {noJSON, ""},
		{noJSON, "\x00\xff\xfe{\"jsonrpc\""}, {noJSON, strings.Repeat("[", 5000)},
		{noRequest, `{"jsonrpc": "2.0", "id": 1, "params": {}}`},
		{noRequest, `{"jsonrpc": "2.0", "id": 1, "method": 42, "params": {}}`},
		{noRequest, `{"method": "ping", "id": 1, "params": {}}`}, {noRequest, `"ping"`}, {noRequest, `17`},
		{noRequest, `null`},
	} {
		r, about := x.sendBody(ctx, "", []byte(p.body)), "the body "+quoted(p.body)
		x.record(p.fact, &fact{reply: r, about: about})
		if !x.survives(ctx, r, about) {
			return
		}
	}
}

// survives tells whether the agent still answers after a broken request.
func (x *exam) survives(ctx context.Context, broken *reply, what string) bool {
	r := x.alive(ctx)
	if r.unasked { // nobody knows
		return false
	}
	problem := when(r.Error != "", "after %s it does not answer: %s", what, r.Error)
	x.record("misuse/survival", &fact{reply: r, earlier: broken, problem: problem, defect: r.defect})
	if problem != "" {
		x.giveUp("after " + what + " the agent answered nothing more")
	}
	return problem == ""
}

// alive makes a call that changes nothing.
func (x *exam) alive(ctx context.Context) *reply {
	return x.sendBody(ctx, unknownMethod, x.encode(x.nextID(), unknownMethod, map[string]any{}))
}
