package conformance

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
)

// A client calls the agent under examination, and judges what holds of every
// answer. The requirements of a manager and of a referee differ in their first
// letter alone.
type client struct {
	*lab

	letter string // M or R
	ids    atomic.Int64
}

// as is a requirement's id for the role under examination.
func (x *client) as(id string) string { return x.letter + "-" + id }

// message begins a message of the kit.
func message(messageType, sender, conversation, token string) map[string]any {
	m := map[string]any{
		"protocol": protocol.Name, "message_type": messageType, "sender": sender,
		"timestamp": protocol.FormatTimestamp(time.Now()), "conversation_id": conversation,
	}
	if token != "" {
		m["auth_token"] = token
	}
	return m
}

// encode is a call with this id; none makes a notification of it.
func (x *client) encode(id jsontext.Value, method string, params any) []byte {
	q := map[string]any{"jsonrpc": "2.0", "method": method, "params": params}
	if id != nil {
		q["id"] = id
	}
	return encoded(q)
}

// nextID is an id that no call had before.
func (x *client) nextID() jsontext.Value {
	return jsontext.Value(strconv.FormatInt(x.ids.Add(1), 10))
}

// ask calls a method. An agent that says it is asked too often is asked again
// when it wants.
func (x *client) ask(ctx context.Context, method string, params any) *reply {
	id := x.nextID()
	return x.send(ctx, id, x.encode(id, method, params))
}

// send posts a body, and judges what holds of every answer to a call with this
// id; nil for a body that is no ordinary call.
func (x *client) send(ctx context.Context, id jsontext.Value, body []byte) *reply {
	for try := 1; ; try++ {
		r := read(x.post(ctx, x.options.URL, body, nil, x.patience(otherLimit)))
		if !x.putOff(ctx, r, try) {
			x.inspect(r, id)
			return r
		}
	}
}

// The most that an agent may put off, which many do that bound the calls of one
// address: the kit makes more of them than any league.
const (
	maxHeld = 5                // times that one call is made again
	maxHold = 30 * time.Second // that all calls wait together
)

// putOff waits where an agent wants a call made again later, and tells whether it
// is to be.
func (l *lab) putOff(ctx context.Context, r *reply, try int) bool {
	limited := r.fault != nil && (r.fault.code == 22 || r.fault.catalogued() == string(protocol.ErrRateLimited))
	after := r.header.Get("Retry-After")
	if r.Status != http.StatusTooManyRequests && (r.Status != http.StatusServiceUnavailable || after == "") && !limited {
		return false
	}
	seconds, err := strconv.Atoi(after)
	if err != nil || seconds < 0 {
		seconds = 1
	}
	wait := min(time.Duration(min(seconds, 60))*time.Second, otherLimit)
	l.mu.Lock()
	l.held += wait
	enough := l.held > maxHold
	l.mu.Unlock()
	return !enough && try <= maxHeld && rest(ctx, wait)
}

// rest waits, and tells whether ctx is still on.
func rest(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// inspect judges what holds of every answer.
func (x *client) inspect(r *reply, id jsontext.Value) {
	if r.Status == 0 || r.unasked {
		return // whoever asked says which requirement that breaks
	}
	x.judge(x.as("HTTP-02"), when(r.Status >= 500, "HTTP status %d", r.Status), &r.Exchange)
	x.judge(x.as("HTTP-05"), when(len(r.body) > maxReply, "the answer has %d bytes", len(r.body)), &r.Exchange)
	mark := traceIn(r.body)
	x.judge(x.as("RPC-12"), when(mark != "", "the answer holds what looks like a stack trace: %q", strings.TrimSpace(mark)), &r.Exchange)
	if id == nil || r.Error != "" {
		return
	}
	x.judge(x.as("HTTP-03"), when(r.Status != http.StatusOK, "HTTP status %d", r.Status), &r.Exchange)
	kind, _, _ := strings.Cut(r.header.Get("Content-Type"), ";")
	x.judge(x.as("HTTP-04"), when(!strings.EqualFold(strings.TrimSpace(kind), "application/json"), "Content-Type is %q", r.header.Get("Content-Type")), &r.Exchange)
	x.judge(x.as("RPC-01"), responseProblem(r), &r.Exchange)
	x.judge(x.as("RPC-02"), when(r.object["result"] != nil && r.object["error"] != nil, "the answer has both result and error; error is %s", kindOf(r.object["error"])), &r.Exchange)
	if raw := r.object["error"]; raw != nil && raw.Kind() != 'n' {
		x.judge(x.as("RPC-03"), errorObjectProblem(raw), &r.Exchange)
	}
	x.judge(x.as(idGroup(id)), idProblem(r, id), &r.Exchange)
}

// responseProblem says why an answer is no JSON-RPC response; "" when it is.
func responseProblem(r *reply) string {
	if problem := jsonProblem(r.body); problem != "" {
		return problem
	}
	if problem := r.object.has("jsonrpc", "2.0"); problem != "" {
		return problem
	}
	result, problem := r.object["result"], r.object["error"]
	return firstOf(
		when(result == nil && (problem == nil || problem.Kind() == 'n'), "the answer has neither result nor error"),
		when(result != nil && result.Kind() != '{' && (problem == nil || problem.Kind() == 'n'), "the result is %s", kindOf(result)),
	)
}

// errorObjectProblem says why a value is no error of JSON-RPC; "" when it is.
func errorObjectProblem(raw jsontext.Value) string {
	e := objectOf(raw)
	_, coded := e.integer("code")
	_, worded := e.text("message")
	switch {
	case e == nil:
		return "error is " + kindOf(raw)
	case !coded:
		return "error.code is no integer"
	case !worded:
		return "error.message is no string"
	}
	return ""
}

// idGroup is the requirement that an id is an example of.
func idGroup(id jsontext.Value) string {
	switch n, err := strconv.ParseInt(string(id), 10, 64); {
	case id.Kind() == '"':
		return "RPC-05"
	case err != nil || n <= 0 || n > 1<<31-1:
		return "RPC-06"
	}
	return "RPC-04"
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

// envelope judges the envelope of a message of the agent.
func (x *client) envelope(m members, messageType, sender, conversation string, shown *Exchange) {
	x.judge(x.as("ENV-01"), firstOf(m.has("protocol", protocol.Name), m.has("message_type", messageType)), shown)
	x.judge(x.as("ENV-02"), senderProblem(m, sender), shown)
	problem := timeProblem(m, "timestamp")
	x.judge(x.as("ENV-03"), problem, shown)
	if problem == "" {
		x.judge(x.as("ENV-04"), clockProblem(m, time.Now()), shown)
	}
	x.judge(x.as("ENV-05"), m.filled("conversation_id"), shown)
	if conversation != "" {
		x.judge(x.as("ENV-06"), m.has("conversation_id", conversation), shown)
	}
}

// senderProblem says what is wrong with a sender: the whole of it, or with a
// colon at the end how it must begin.
func senderProblem(m members, want string) string {
	if !strings.HasSuffix(want, ":") {
		return m.has("sender", want)
	}
	if problem := m.filled("sender"); problem != "" {
		return problem
	}
	got, _ := m.text("sender")
	return when(!strings.HasPrefix(got, want) || got == want, "sender is %s, not %s and an id", quoted(got), want)
}

// wireRequirements are those of JSON-RPC over HTTP and of the envelope, which
// managers and referees have in common.
func wireRequirements(letter, sender string) []Requirement {
	all := []Requirement{
		{"HTTP-01", Must, "It answers POST at its URL.", "003 §6.3.1", "Start the agent first, and look whether host, port and path are those it listens at."},
		{"HTTP-02", Must, "Nothing it is sent is answered with an HTTP status of 500 or more.", "003 §6.3.3", "Catch what your handlers throw, and answer with a JSON-RPC error object and HTTP status 200."},
		{"HTTP-03", Should, "Whatever it answers in JSON-RPC has the HTTP status 200, errors too.", "003 §6.3.1", "What went wrong belongs into the JSON-RPC error object; HTTP only carries it."},
		{"HTTP-04", Should, "Its answers have the Content-Type application/json.", "003 §6.3.1", "Set the header Content-Type: application/json on every answer that has a body."},
		{"HTTP-05", Must, "No answer of it is larger than 64 KB.", "002 §14.1", "Answer with the members of the message alone; a message has at most 10 KB."},
		{"HTTP-06", Should, "It refuses a request far larger than 10 KB, and goes on.", "002 §14.1", "Bound what you read of a request, and answer HTTP 413 or the error E023."},
		{"RPC-01", Must, `Every answer is JSON with "jsonrpc": "2.0" and a result that is an object, or an error.`, "004 §1.1", `Wrap what you answer: {"jsonrpc": "2.0", "result": {…}, "id": the id of the request}.`},
		{"RPC-02", Should, "No answer has a result and an error, not even one that is null.", "JSON-RPC 2.0 §5", `Leave "error" out when there is none; some callers only look whether it is there.`},
		{"RPC-03", Must, "Every error is an object with an integer code and a message.", "004 §1.1", `Answer {"jsonrpc": "2.0", "error": {"code": -32601, "message": "Method not found"}, "id": …}.`},
		{"RPC-04", Must, "It gives back an id that is an integer as it was.", "004 §1.1", "Copy the id of the request, a number as a number."},
		{"RPC-05", Must, "It gives back an id that is a string as it was.", "004 §1.1", "Take ids as they are, without a type."},
		{"RPC-06", Should, "It gives back ids that are zero, negative, large or null.", "JSON-RPC 2.0 §4", "Do not test an id for being true, and keep it as raw JSON."},
		{"RPC-07", Must, "It answers a notification, a call without an id, with no body.", "JSON-RPC 2.0 §4.1", "Where the request has no member id, do what it says and answer HTTP 204 without a body."},
		{"RPC-08", Must, "It answers a method it does not know with the error -32601.", "JSON-RPC 2.0 §5.1", `Answer {"jsonrpc": "2.0", "error": {"code": -32601, "message": "Method not found"}, "id": …} with HTTP status 200.`},
		{"RPC-09", Must, "It answers what is no JSON with the error -32700.", "JSON-RPC 2.0 §5.1", "Parse the body yourself, catch what that throws, and answer with that error object and the id null."},
		{"RPC-10", Must, "It answers JSON that is no request with the error -32600.", "JSON-RPC 2.0 §5.1", `Refuse what has no "jsonrpc": "2.0" or no method that is a string, before you look at anything else.`},
		{"RPC-11", Should, "It answers a batch with an array of answers, and an empty one with the error -32600.", "JSON-RPC 2.0 §6", "Where the body is an array, answer each call that has an id, and put the answers into one array."},
		{"RPC-12", Should, "No answer shows a stack trace.", "002 §12.5", "Log what was thrown, and answer with a code and a sentence."},
		{"RPC-13", Must, "It goes on after requests that are broken.", "003 §6.3.3", "Catch what your parser throws, for each request by itself."},
		{"RPC-14", Should, "It answers ping, without params and without a token.", "003 §5.12.2", "Serve the method ping: with it people and managers look whether the agent is there."},
		{"ENV-01", Must, "Its messages have protocol league.v2 and the right message_type.", "003 §2.4.1", `Set "protocol": "league.v2" and the message_type of this very message, also in answers.`},
		{"ENV-02", Must, "The sender of its messages is " + sender + ".", "003 §2.4.4", "Set sender to " + sender + "."},
		{"ENV-03", Must, "The timestamp of its messages is UTC.", "003 §2.4.2", "Write a time such as 2025-01-15T10:30:00Z; in Python datetime.now(timezone.utc)."},
		{"ENV-04", Should, "The timestamp of its messages is the time of now.", "003 §2.4.1", "Take the time when the message is made, and set the machine's clock."},
		{"ENV-05", Must, "Its messages have a conversation_id.", "003 §2.4.1", "Add conversation_id to every message, answers too."},
		{"ENV-06", Should, "Its answers have the conversation_id of the request.", "003 §2.4.1", "Copy conversation_id from the request into the answer."},
	}
	for i := range all {
		all[i].ID = letter + "-" + all[i].ID
	}
	return all
}
