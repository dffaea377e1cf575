package check

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
	"evenodd/transport/dialect"
)

// The codes of JSON-RPC (docs/protocol.md#json-rpc-codes).
const (
	codeParse          = -32700
	codeInvalidRequest = -32600
	codeUnknownMethod  = -32601
)

// unknownMethod is a method that no agent has.
const unknownMethod = "no_such_method"

// inspect records the facts that any answer shows, and returns it.
func (x *exam) inspect(r *reply) *reply {
	x.timed(r)
	r.defect = diagnose(r)
	if r.Status == 0 || r.unasked {
		return r // the caller records the fact that there is no answer
	}
	x.show("answer", r)
	request := objectOf(r.request)
	id := request["id"]
	if r.method == "" || id == nil || r.Error != "" || request["jsonrpc"] == nil {
		return r
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
	got := r.object["id"]
	x.record(name, &fact{reply: r, defect: cmp.Or(defect, idDefect),
		problem: cmp.Or(when(got == nil, "the id of the request, %s, is missing in the answer", id),
			when(!sameJSON(got, id), "the id is %s, not %s", valueOf(r.object, "id"), id))})
	return r
}

// failsWith wants an answer to be the error with this code.
func failsWith(code int) test {
	return func(f *fact) string {
		return cmp.Or(notFailed(f), when(!f.reply.hasCode(code), "%s, not %d", f.reply.trouble(), code))
	}
}

// notFailed returns why an answer is no JSON-RPC error.
func notFailed(f *fact) string {
	if f.reply.Error == "" && f.reply.fault != nil {
		return ""
	}
	return cmp.Or(f.reply.trouble(), "answered without an error")
}

// meet makes the first call, and tells whether the agent answers.
func (x *exam) meet() bool {
	return x.met(x.exchange(x.life, request{url: x.URL, body: x.unknownCall()}), "")
}

// met records the answer to the first call, and a problem with it, and tells whether there is an answer.
func (x *exam) met(r *reply, problem string) bool {
	switch {
	case r.unasked:
		return false
	case r.Status == 0:
		registered := x.host.identity() != ""
		x.show("first call", r, when(registered, "it registered, and did not answer calls then: %s", r.Error), r.Error)
		x.giveUp(cmp.Or(when(r.timedOut(), "the agent did not answer in time"), "the agent cannot be reached"))
		return false
	}
	x.show("first call", r, problem,
		when(r.Status == http.StatusMethodNotAllowed || r.Status == http.StatusNotImplemented,
			"POST is answered with HTTP status %d", r.Status))
	return true
}

// examineServer examines JSON-RPC itself by calls that change nothing.
func (x *exam) examineServer() {
	x.examineWire(object{})
	ping := encoded(object{"jsonrpc": "2.0", "method": protocol.Ping.Name, "id": x.nextID()})
	x.show("wire/ping", x.sendBody(protocol.Ping.Name, ping))
}

// examineWire examines JSON-RPC itself: ids, notifications, and unknown methods. It repeats one message,
// which an agent always answers in the same way.
func (x *exam) examineWire(message object) {
	if form := x.host.inForm(message); objectOf(form.body)["jsonrpc"] == nil {
		return
	}
	for _, id := range []string{
		`"req-007"`, `"אבג 🎲 \"quoted\" \\ /"`, `""`, `0`, `-7`, `4294967297`, `9007199254740993`, `1.5`, `null`,
	} {
		x.host.send(message, func(request members) { request["id"] = jsontext.Value(id) })
	}
	r := x.host.send(message, func(request members) { delete(request, "id") })
	x.record("wire/notification", &fact{reply: r, about: "a notification of " + r.method})
	r = x.alive()
	x.show("wire/unknown method", r)
	if r.hasCode(codeUnknownMethod) {
		x.understood.Store(true)
	}
}

// misuse sends requests that an agent must survive, and need not understand.
func (x *exam) misuse() {
	const noJSON, noRequest = "misuse/no JSON", "misuse/no request"
	for _, p := range []struct{ fact, body string }{
		{noJSON, `{"jsonrpc": "2.0", "method": "ping", "params": {`}, {noJSON, `jsonrpc=2.0&method=ping`}, {noJSON, ""},
		{noJSON, "\x00\xff\xfe{\"jsonrpc\""}, {noJSON, strings.Repeat("[", 5000)},
		{noRequest, `{"jsonrpc": "2.0", "id": 1, "params": {}}`},
		{noRequest, `{"jsonrpc": "2.0", "id": 1, "method": 42, "params": {}}`},
		{noRequest, `{"method": "ping", "id": 1, "params": {}}`}, {noRequest, `"ping"`}, {noRequest, `17`},
		{noRequest, `null`},
	} {
		r, about := x.sendBody("", []byte(p.body)), "the body "+quoted(p.body)
		x.record(p.fact, &fact{reply: r, about: about})
		if !x.survives(r, about) {
			return
		}
	}
}

// survives tells whether the agent still answers after a broken request.
func (x *exam) survives(broken *reply, what string) bool {
	r := x.alive()
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
func (x *exam) alive() *reply {
	return x.sendBody(unknownMethod, x.unknownCall())
}

// unknownCall is a call of a method that no agent has.
func (x *exam) unknownCall() []byte { return dialect.CallBody(unknownMethod, []byte("{}"), x.nextID()) }
