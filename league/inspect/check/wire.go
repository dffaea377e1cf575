package check

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
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

// unknownMethod is a method that no agent has.
const unknownMethod = "no_such_method"

// inspect records the facts of an answer to a call with this id; nil for a body that wants
// no answer, or none with an id.
func (x *exam) inspect(r *reply, id jsontext.Value) {
	if r.Status == 0 || r.unasked {
		return // the caller records the fact that there is no answer
	}
	x.record("answer", &fact{reply: r})
	if id == nil || r.Error != "" || objectOf(r.request)["jsonrpc"] == nil {
		return
	}
	x.record("response", &fact{reply: r})
	form, sameID := &fact{reply: r}, &fact{reply: r, problem: idProblem(r, id), defect: idDefect}
	if r.object["result"] == nil && r.fault == nil { // no JSON-RPC response
		form.defect = r.defect
		if form.defect.key == "" {
			form.defect = wrappingDefect
		}
		sameID.defect = form.defect
	}
	x.record("form of response", form)
	x.record(factOfID(id), sameID)
}

// factOfID names the fact that an answer has the id of its request.
func factOfID(id jsontext.Value) string {
	if id.Kind() == '"' {
		return "string id"
	}
	switch n, err := strconv.ParseInt(string(id), 10, 64); {
	case err == nil && n > 0 && n <= 1<<31-1:
		return "integer id"
	case err == nil && n < 1<<53 && n > -1<<53:
		return "unusual id"
	}
	return "extreme id"
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
		r := x.exchange(ctx, x.options.URL, x.encode(x.nextID(), unknownMethod, map[string]any{}), x.patience(otherLimit), variation{})
		answered := r.Status != 0
		if answered || attempt >= 5 || strings.HasPrefix(r.Error, "no answer within") || !rest(ctx, 100*time.Millisecond) {
			x.record("first call", &fact{reply: r, problem: cmp.Or(when(!answered, "%s", r.Error), notServed(r))})
			if !answered {
				x.giveUp(unreached(r))
			}
			return answered
		}
	}
}

// unreached tells an agent that is too slow from one that nobody can connect to.
func unreached(r *reply) string {
	if strings.HasPrefix(r.Error, "no answer within") {
		return "the agent did not answer in time"
	}
	return "the agent cannot be reached"
}

// notServed returns that POST is not served at all.
func notServed(r *reply) string {
	return when(r.Status == http.StatusMethodNotAllowed || r.Status == http.StatusNotImplemented, "POST is answered with HTTP status %d", r.Status)
}

// examineWire examines JSON-RPC itself, by calls that change nothing.
func (x *exam) examineWire(ctx context.Context) {
	for _, id := range []string{`"req-007"`, `"אבג 🎲 \"quoted\""`, `"1"`, `0`, `-7`, `4294967297`, `9007199254740993`, `null`} {
		x.sendBody(ctx, unknownMethod, x.encode(jsontext.Value(id), unknownMethod, map[string]any{}))
	}
	x.callUnknownMethod(ctx)
	r := x.sendBody(ctx, protocol.Ping.Name, encoded(map[string]any{"jsonrpc": "2.0", "method": protocol.Ping.Name, "id": x.nextID()}))
	x.record("wire/ping", &fact{reply: r})
	x.notify(ctx)
	x.sendBatch(ctx, unknownMethod, map[string]any{})
}

func (x *exam) callUnknownMethod(ctx context.Context) {
	for _, params := range []any{map[string]any{}, map[string]any{"match_id": "R1M1"}} {
		r := x.sendCall(ctx, unknownMethod, params)
		x.record("wire/unknown method", &fact{reply: r})
		if errorProblem(r, codeUnknownMethod) == "" {
			x.understood.Store(true)
		}
	}
}

// notify sends a call without an id.
func (x *exam) notify(ctx context.Context) {
	r := x.sendBody(ctx, unknownMethod, x.encode(nil, unknownMethod, map[string]any{}))
	x.record("wire/notification", &fact{reply: r, about: "a notification of " + unknownMethod})
}

// sendBatch sends three calls in one body: one of a method, a notification of it, and a
// call of an unknown method. Then it sends an empty batch.
func (x *exam) sendBatch(ctx context.Context, method string, params any) {
	parts := [][]byte{
		x.encode(jsontext.Value("901"), method, params), x.encode(nil, method, params), x.encode(jsontext.Value(`"b"`), unknownMethod, map[string]any{}),
	}
	r := x.sendBody(ctx, "", append(append([]byte{'['}, bytes.Join(parts, []byte{','})...), ']'))
	x.record("wire/batch", &fact{reply: r})
	r = x.sendBody(ctx, "", []byte("[]"))
	x.record("wire/empty batch", &fact{reply: r, about: "an empty batch"})
}

// batchProblem returns what is wrong with the answer to the batch.
func batchProblem(f *fact) string {
	if f.reply.Error != "" {
		return f.reply.Error
	}
	var answers []jsontext.Value
	if json.Unmarshal(f.reply.body, &answers, jsontext.AllowDuplicateNames(true)) != nil {
		return "a batch is answered with no array"
	}
	ids := map[string]bool{}
	for _, a := range answers {
		ids[string(objectOf(a)["id"])] = true
	}
	return when(len(answers) != 2 || !ids["901"] || !ids[`"b"`],
		`a batch of two calls, with the ids 901 and "b", and a notification is answered with %d answers`, len(answers))
}

// misuse sends requests that an agent must survive, and need not understand. Alive makes a
// usual call.
func (x *exam) misuse(ctx context.Context, alive func(context.Context) *reply) {
	send := func(name, about string, body []byte) (survived bool) {
		r := x.sendBody(ctx, "", body)
		x.record(name, &fact{reply: r, about: about})
		return x.survives(ctx, r, about, alive)
	}
	for _, p := range [][2]string{
		{"half an object", `{"jsonrpc": "2.0", "method": "ping", "params": {`}, {"no JSON", `jsonrpc=2.0&method=ping`},
		{"an empty body", ""}, {"bytes that are no text", "\x00\xff\xfe{\"jsonrpc\""}, {"half an array", strings.Repeat("[", 5000)},
	} {
		if !send("misuse/no JSON", p[0], []byte(p[1])) {
			return
		}
	}
	for _, body := range []string{
		`{"jsonrpc": "2.0", "id": 1, "params": {}}`, `{"jsonrpc": "2.0", "id": 1, "method": 42, "params": {}}`,
		`{"method": "ping", "id": 1, "params": {}}`, `"ping"`, `17`, `null`,
	} {
		if !send("misuse/no request", body, []byte(body)) {
			return
		}
	}
}

// sendLarge sends a request that no agent has to take. The agent may close the connection
// before it has read all of it.
func (x *exam) sendLarge(ctx context.Context) {
	if x.givenUp() != "" {
		return
	}
	large, _ := json.Marshal(strings.Repeat("long ", 60<<10))
	body := x.encode(x.nextID(), unknownMethod, map[string]any{"comment": jsontext.Value(large)})
	r := x.exchange(ctx, x.options.URL, body, x.patience(otherLimit), variation{})
	taken := r.Error == "" && r.Status < 400 && (r.fault == nil || r.fault.code == codeUnknownMethod)
	x.record("misuse/large", &fact{reply: r, problem: when(taken, "a request of 300 KB is taken like any other")})
	x.survives(ctx, r, "a request of 300 KB", x.alive)
}

// survives tells whether the agent still answers after a broken request.
func (x *exam) survives(ctx context.Context, broken *reply, what string, alive func(context.Context) *reply) bool {
	r := alive(ctx)
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
	return x.sendCall(ctx, unknownMethod, map[string]any{})
}

// A wire is the part of a table for HTTP, JSON-RPC, the form of calls and the envelope.
// Players have some of its rules, some with other numbers.
type wire struct{ letter, sender string }

func wireRules(letter, sender string) []rule {
	w := wire{letter, sender}
	rules := append(w.answerRules(), w.requestRules()...)
	return slices.DeleteFunc(rules, func(r rule) bool { return r.ID == "" })
}

// id returns the id of a rule, with another number in the table of a player; "" if the table
// of the role has no such rule.
func (w wire) id(id, ofPlayer string) string {
	switch {
	case w.letter != "P":
		return w.letter + "-" + id
	case ofPlayer == "":
		return ""
	}
	return "P-" + ofPlayer
}

// shownIn names the scenarios that show a rule about all answers. Those of a player are
// others.
func (w wire) shownIn(ofPlayer ...string) clause {
	if w.letter == "P" {
		return in(ofPlayer...)
	}
	return in("wire", "misuse")
}

func (w wire) answerRules() []rule {
	unusual, unusualIDs := on("unusual id", found), "It returns ids that are zero, negative, large or null unchanged."
	if w.letter == "P" { // P-RPC-08 judges unusual ids
		unusual, unusualIDs = in(), "It returns ids of more than 53 bits, with a fraction, or null unchanged."
	}
	return []rule{
		must(w.id("HTTP-01", "HTTP-01"), "It answers POST at its URL.", "003 §6.3.1",
			"Listen before you register, and check the host, port and path at which the agent listens: localhost may be 127.0.0.1 or ::1.", on("first call", found), w.shownIn()),
		should(w.id("HTTP-02", "HTTP-02"), "None of its answers has an HTTP status of 500 or more.", "003 §6.3.3",
			"Catch the exceptions of your handlers, and answer with a JSON-RPC error object and HTTP status 200.", on("answer", noServerError), w.shownIn(everywhere)),
		should(w.id("HTTP-03", "HTTP-03"), "Its JSON-RPC answers have the HTTP status 200, errors too.", "003 §6.3.1",
			"Put the error into the JSON-RPC error object.", on("response", statusOK), in("wire", "misuse", "broken")),
		should(w.id("HTTP-04", "HTTP-04"), "Its answers have the Content-Type application/json.", "003 §6.3.1",
			"Set the header Content-Type: application/json on every answer that has a body.", on("response", typeJSON), in("wire", "misuse")),
		must(w.id("HTTP-05", "HTTP-08"), "No answer is larger than 64 KB.", "002 §14.1",
			"Answer with the members of the message only; a message has at most 10 KB.", on("answer", boundedAnswer), w.shownIn()),
		should(w.id("HTTP-06", ""), "It rejects a request far larger than 10 KB, and continues.", "002 §14.1",
			"Limit the size of requests, and answer larger ones with HTTP 413 or the error E023.", on("misuse/large", found)),
		should(w.id("FRM-01", "FRM-01"), "It understands calls in the form of the specification.", "003 §5.4.1",
			"Serve POST /mcp with JSON-RPC: method is the name in the specification, and params is the message.", on("understood call", found)),
		should(w.id("FRM-02", "FRM-02"), "Its replies are in the form of the specification.", "004 §1.1",
			`Put the message itself into "result", with the names of the specification.`, on("form of reply", found)),
		should(w.id("FRM-03", "FRM-03"), "Its own calls are in the form of the specification.", "003 §1.4",
			`Send {"jsonrpc": "2.0", "method": …, "params": the message, "id": 1} with the method of the specification.`, on("form of call", found), in("registration", "play")),
		must(w.id("MSG-01", ""), "The agents of a league accept its messages.", "003 §4",
			"Add or correct the fields in the detail: our agents reject a message without them.", on("message", acceptable), in(everyMatch), on("registration/request", outsideOf("referee_meta"))),
		should(w.id("MSG-02", ""), "The agents of a league accept its notices.", "",
			"Add or correct the fields in the detail: our agents reject a notice without them.", on("notice", acceptable), in(everyMatch)),
		should(w.id("RPC-01", ""), `Its answers are JSON with "jsonrpc": "2.0" and a result that is an object, or an error.`, "004 §1.1",
			`Answer {"jsonrpc": "2.0", "result": {…}, "id": the id of the request}.`, on("form of response", every(validJSON, versionTwo, noResult, notObject)), w.shownIn()),
		should(w.id("RPC-02", "RPC-03"), "No answer has both a result and an error, even a null one.", "JSON-RPC 2.0 §5",
			`Omit "error" if there is none, and "result" if there is an error; some callers only test whether it exists.`, on("response", resultAndError), in("wire")),
		should(w.id("RPC-03", "RPC-05"), "Its errors are objects with an integer code and a message.", "004 §1.1",
			`Answer {"jsonrpc": "2.0", "error": {"code": -32601, "message": "Method not found"}, "id": …}.`, on("response", errorObject), in("wire", "repeat", "broken")),
		should(w.id("RPC-04", "RPC-06"), "It returns an id that is an integer unchanged.", "004 §1.1",
			"Copy the id of the request, a number as a number.", on("integer id", found), in("wire")),
		should(w.id("RPC-05", "RPC-07"), "It returns an id that is a string unchanged.", "004 §1.1",
			`Take ids of any type; the specification itself uses "req-007".`, on("string id", found), in("wire")),
		should(w.id("RPC-06", "RPC-09"), unusualIDs, "JSON-RPC 2.0 §4",
			"Keep the id as raw JSON, and do not test whether it is true.", on("extreme id", found), unusual, in("wire")),
	}
}

func (w wire) requestRules() []rule {
	return []rule{
		should(w.id("RPC-07", "RPC-10"), "It answers a notification (a call without an id) with no body.", "JSON-RPC 2.0 §4.1",
			"If the request has no member id, process it and answer HTTP 204 without a body.", on("wire/notification", func(f *fact) string {
				return firstOf(f.reply.Error, when(len(bytes.TrimSpace(f.reply.body)) > 0, "the answer has a body"))
			})),
		should(w.id("RPC-08", "RPC-11"), "It answers an unknown method with the error -32601.", "JSON-RPC 2.0 §5.1",
			`Answer {"jsonrpc": "2.0", "error": {"code": -32601, "message": "Method not found"}, "id": …} with HTTP status 200.`,
			on("wire/unknown method", failsWith(codeUnknownMethod))),
		should(w.id("RPC-09", "RPC-12"), "It answers a body that is not JSON with the error -32700.", "JSON-RPC 2.0 §5.1",
			"Parse the body yourself, catch the exception, and answer with that error object and the id null.", on("misuse/no JSON", func(f *fact) string {
				withID := w.letter == "P" && f.reply.object["id"].Kind() != 'n'
				return firstOf(errorProblem(f.reply, codeParse), when(withID, "the id of the error is %s, not null", valueOf(f.reply.object, "id")))
			})),
		should(w.id("RPC-10", "RPC-13"), "It answers JSON that is not a request with the error -32600.", "JSON-RPC 2.0 §5.1",
			`Check first that "jsonrpc" is "2.0" and that the method is a string.`, on("misuse/no request", failsWith(codeInvalidRequest))),
		should(w.id("RPC-11", "RPC-14"), "It answers a batch with an array of answers, and an empty batch with the error -32600.", "JSON-RPC 2.0 §6",
			"If the body is an array, answer each call that has an id, and put the answers into one array.", on("wire/batch", batchProblem),
			on("wire/empty batch", failsWith(codeInvalidRequest))),
		should(w.id("RPC-12", "RPC-16"), "No answer shows a stack trace.", "002 §12.5",
			"Write the exception to your own log, and a short message into the error.", on("answer", noTrace), w.shownIn(everywhere)),
		must(w.id("RPC-13", "STA-01"), "It continues to answer after broken requests.", "003 §6.3.3",
			"Catch every exception of a call in one place, and answer it; no input may end the process.", on("misuse/survival", found)),
		should(w.id("RPC-14", ""), "It answers ping, without params and without a token.", "003 §5.12.2",
			"Serve the method ping: people and managers call it to test whether the agent runs.", on("wire/ping", hasResult)),
		should(w.id("ENV-01", ""), "Its messages have the protocol league.v2 and the right message_type.", "003 §2.4.1",
			`Set "protocol": "league.v2" and the message_type of the message, also in answers.`, on("envelope", every(has("protocol", protocol.Name), rightType))),
		should(w.id("ENV-02", ""), "The sender of its messages is "+w.sender+".", "003 §2.4.4", "Set sender to "+w.sender+".", on("envelope", hasSender)),
		should(w.id("ENV-03", ""), "The timestamp of its messages is UTC, with Z or +00:00.", "003 §2.4.2",
			"Write a time such as 2025-01-15T10:30:00Z; in Python datetime.now(timezone.utc).", on("envelope", timestamps("timestamp"))),
		should(w.id("ENV-04", ""), "The timestamp of its messages is the present time.", "003 §2.4.1",
			"Take the time when the message is made, and synchronize the clock of the computer.", on("envelope", clockIsRight)),
		should(w.id("ENV-05", ""), "Its messages have a conversation_id.", "003 §2.4.1", "Add conversation_id to every message, also to answers.",
			on("envelope", filled("conversation_id"))),
		should(w.id("ENV-06", ""), "Its answers have the conversation_id of the request.", "003 §2.4.1",
			"Copy conversation_id from the request into the answer.", on("envelope", sameConversation)),
	}
}
