package check

import (
	"bytes"
	"cmp"
	"net/http"
	"slices"
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
	unwrapped := r.object["result"] == nil && r.failure == nil // no JSON-RPC response
	defect := when(unwrapped, "%s", cmp.Or(r.defect, wrappingDefect))
	x.record("form of response", &fact{reply: r, defect: defect})
	name := "other id"
	if n, err := strconv.ParseInt(string(id), 10, 32); err == nil && n > 0 {
		name = "integer id"
	}
	got := r.object["id"]
	if isNull := got != nil && got.Kind() == 'n'; isNull && (r.hasCode(codeInvalidRequest) || r.hasCode(codeParse)) {
		return r // JSON-RPC demands null where the id of a request cannot be found
	}
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
	if f.reply.Error == "" && f.reply.failure != nil {
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

// wireRules are the rules about HTTP, JSON-RPC, the form of calls and the envelope. A letter is
// that of a role. Players have some of them under other numbers.
func wireRules(letter, sender string) []rule {
	id := func(numbers string) string { // that of players after a slash, if it is another one
		number, ofPlayers, other := strings.Cut(numbers, "/")
		if other && letter == "P" {
			number = ofPlayers
		}
		return letter + "-" + number
	}
	rules := []rule{
		must(id("HTTP-01"), "HTTP, 003 §6.3.1", "It answers POST at its URL.", on("first call"), in("wire", "misuse"),
			mend("Listen before you register, and check the host, port and path: localhost may be 127.0.0.1 or ::1.")),
		should(id("HTTP-02"), "HTTP, 003 §6.3.3", "None of its answers has an HTTP status of 500 or more.",
			on("answer", noServerError), in("wire", "misuse"),
			mend("Catch the exceptions of your handlers, and answer with a JSON-RPC error object and HTTP status 200.")),
		should(id("HTTP-03"), "HTTP, 003 §6.3.1", "Its JSON-RPC answers have the HTTP status 200, errors too.",
			on("response", statusOK), in("wire", "misuse", "broken"), mend("Put the error into the JSON-RPC error object.")),
		should(id("HTTP-04"), "HTTP, 003 §6.3.1", "Its answers have the Content-Type application/json.",
			on("response", typeJSON), in("wire", "misuse"),
			mend("Set the header Content-Type: application/json on every answer that has a body.")),
		must(id("HTTP-05/HTTP-08"), "HTTP, 002 §14.1", "No answer is larger than 64 KB.", on("answer", boundedAnswer),
			in("wire", "misuse"), mend("Answer with the members of the message only; a message has at most 10 KB.")),

		should(id("RPC-01"), "JSON-RPC, 004 §1.1",
			`Its answers are JSON with "jsonrpc": "2.0" and either a result, an object, or an error with code and message.`,
			on("form of response", isResponse), in("wire"),
			mend(`Answer {"jsonrpc": "2.0", "result": the message, an object, "id": the id of the request}; omit "error" then.`)),
		should(id("RPC-04/RPC-06"), "JSON-RPC, 004 §1.1", "It returns an id that is an integer unchanged.",
			on("integer id"), in("wire")),
		should(id("RPC-05/RPC-07"), "JSON-RPC, 004 §1.1",
			"It returns every id unchanged: strings, numbers that are zero, negative or large, and null.", on("other id"),
			in("wire"),
			mend(`Keep the id as raw JSON, and do not test whether it is true; the specification itself uses "req-007".`)),
		should(id("RPC-07/RPC-10"), "JSON-RPC, JSON-RPC 2.0 §4.1",
			"It answers a notification (a call without an id) with no body.", on("wire/notification", func(f *fact) string {
				return cmp.Or(f.reply.Error, when(len(bytes.TrimSpace(f.reply.response)) > 0, "the answer has a body"))
			}), mend("If the request has no member id, process it and answer HTTP 204 without a body.")),
		should(id("RPC-08/RPC-11"), "JSON-RPC, JSON-RPC 2.0 §5.1", "It answers an unknown method with the error -32601.",
			on("wire/unknown method", failsWith(codeUnknownMethod)),
			mend(`Answer {"jsonrpc": "2.0", "error": {"code": -32601, "message": "Method not found"}, "id": …} with HTTP status 200.`)),
		should(id("RPC-09/RPC-12"), "JSON-RPC, JSON-RPC 2.0 §5.1",
			"It answers a body that is not JSON with the error -32700.", on("misuse/no JSON", failsWith(codeParse)),
			mend("Parse the body yourself, catch the exception, and answer with that error object and the id null.")),
		should(id("RPC-10/RPC-13"), "JSON-RPC, JSON-RPC 2.0 §5.1",
			"It answers JSON that is not a request with the error -32600.",
			on("misuse/no request", failsWith(codeInvalidRequest)),
			mend(`Check first that "jsonrpc" is "2.0" and that the method is a string.`)),
		should(id("RPC-12/RPC-16"), "JSON-RPC, 002 §12.5", "No answer shows a stack trace.", on("answer", noTrace),
			in("wire", "misuse"), mend("Write the exception to your own log, and a short message into the error.")),
		must(id("RPC-13/STA-01"), "HTTP, 003 §6.3.3", "It continues to answer after broken requests.", on("misuse/survival"),
			mend("Catch every exception of a call in one place, and answer it; no input may end the process.")),
		should(id("RPC-14/"), "ping, 003 §5.12.2", "It answers ping, without params and without a token.",
			on("wire/ping", hasResult)),

		should(id("FRM-01"), "JSON-RPC, 003 §5.4.1", "It understands calls in the form of the specification.",
			on("understood call"),
			mend("Serve POST /mcp with JSON-RPC: method is the name in the specification, and params is the message.")),
		should(id("FRM-02"), "JSON-RPC, 004 §1.1", "Its replies are in the form of the specification.",
			on("form of reply"), mend(`Put the message itself into "result", with the names of the specification.`)),
		should(id("FRM-03"), "JSON-RPC, 003 §1.4", "Its own calls are in the form of the specification.",
			on("form of call"), in("registration", play),
			mend(`Send {"jsonrpc": "2.0", "method": …, "params": the message, "id": 1} with the method of the specification.`)),
		must(id("MSG-01/"), "Methods, 003 §4", "The agents of a league accept its messages.",
			on("message", accepted(func(string) bool { return true })), in(play, everyMatch),
			on("registration/request", outsideOf("referee_meta")),
			mend("Add or correct the fields in the detail: our agents reject a message without them.")),

		should(id("ENV-01"), "Envelope, 003 §2.4.1", "Its messages have the protocol league.v2 and the right message_type.",
			on("envelope", right("protocol", "message_type")),
			mend(`Set "protocol": "league.v2" and the message_type of the message, also in answers.`)),
		should(id("ENV-02/ENV-03"), "Envelope, 003 §2.4.4", "The sender of its messages is "+sender+".",
			on("envelope", hasSender), mend("Use the id of the registration.")),
		should(id("ENV-03/ENV-04"), "Envelope, 003 §2.4.2",
			"The timestamp of its messages is the present time in UTC, with Z or +00:00.",
			on("envelope", right("timestamp"), clockIsRight),
			mend(`Write a time such as 2025-01-15T10:30:00Z; in Python datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ").`)),
		should(id("ENV-06"), "Envelope, 003 §2.4.1",
			"Its messages have a conversation_id, and its answers that of the request, letter by letter.",
			on("envelope", sameConversation), in(play, "scripts"),
			mend("Copy conversation_id from the request into the answer: do not normalize, cut or transcode it.")),
	}
	return slices.DeleteFunc(rules, func(r rule) bool { return r.ID == "P-" }) // no player has it
}
