package conformance

import (
	"bytes"
	"cmp"
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

// unknownMethod is a method that no agent has.
const unknownMethod = "no_such_method"

// inspect records the facts of an answer to a call with this id; nil for a body that wants
// no answer, or none with an id.
func (x *exam) inspect(r *reply, id jsontext.Value) {
	if r.Status == 0 || r.unasked {
		return // the caller records the fact that there is no answer
	}
	x.record("answer", &fact{reply: r})
	if id == nil || r.Error != "" || r.sent != nil && objectOf(r.sent)["jsonrpc"] == nil {
		return
	}
	x.record("response", &fact{reply: r})
	f := &fact{reply: r}
	if noResult(f) != "" {
		f.defect = r.responseDefect()
	}
	x.record("form of response", f)
	f = &fact{reply: r, problem: idProblem(r, id), defect: idDefect}
	if r.bare || r.object["result"] == nil && r.fault == nil {
		f.defect = r.responseDefect()
	}
	x.record(factOfID(id), f)
}

// responseDefect is the defect of an answer that is no JSON-RPC response.
func (r *reply) responseDefect() defect {
	if r.defect.key == "" {
		return wrappingDefect
	}
	return r.defect
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
	switch got := r.object["id"]; {
	case got == nil:
		return "the id of the request, " + string(id) + ", is missing in the answer"
	case !sameJSON(got, id):
		return "the id is " + valueOf(r.object, "id") + ", not " + string(id)
	}
	return ""
}

// errorProblem returns why an answer is not the error with this code.
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

// meet makes the first call, and tells whether the agent answers. An agent that was just
// started may not listen yet.
func (x *exam) meet(ctx context.Context) bool {
	for attempt := 1; ; attempt++ {
		r := x.exchange(ctx, http.MethodPost, x.options.URL, x.encode(x.nextID(), unknownMethod, map[string]any{}), nil, x.patience(otherLimit))
		answered := r.Status != 0
		if answered || attempt >= 5 || strings.HasPrefix(r.Error, "no answer within") || !rest(ctx, 100*time.Millisecond) {
			x.record("first call", &fact{reply: r, problem: cmp.Or(when(!answered, "%s", r.Error), notServed(r))})
			if !answered {
				x.giveUp("the agent cannot be reached")
			}
			return answered
		}
	}
}

// notServed returns that POST is not served at all.
func notServed(r *reply) string {
	return when(r.Status == http.StatusMethodNotAllowed || r.Status == http.StatusNotImplemented, "POST is answered with HTTP status %d", r.Status)
}

// examineWire examines JSON-RPC itself, by calls that change nothing.
func (x *exam) examineWire(ctx context.Context) {
	for _, text := range []string{`"req-007"`, `"אבג 🎲 \"quoted\""`, `"1"`, `0`, `-7`, `4294967297`, `9007199254740993`, `null`} {
		id := jsontext.Value(text)
		x.sendBody(ctx, unknownMethod, id, x.encode(id, unknownMethod, map[string]any{}))
	}
	x.callUnknownMethod(ctx)
	id := x.nextID()
	r := x.sendBody(ctx, protocol.Ping.Name, id, encoded(map[string]any{"jsonrpc": "2.0", "method": protocol.Ping.Name, "id": id}))
	x.record("wire/ping", &fact{reply: r})
	x.notify(ctx)
	x.sendBatch(ctx, unknownMethod, map[string]any{})
}

func (x *exam) callUnknownMethod(ctx context.Context) {
	for _, params := range []any{map[string]any{}, map[string]any{"match_id": "R1M1"}} {
		id := x.nextID()
		r := x.sendBody(ctx, unknownMethod, id, x.encode(id, unknownMethod, params))
		x.record("wire/unknown method", &fact{reply: r})
		if errorProblem(r, codeUnknownMethod) == "" {
			x.understood.Store(true)
		}
	}
}

// notify sends a call without an id.
func (x *exam) notify(ctx context.Context) {
	r := x.sendBody(ctx, unknownMethod, nil, x.encode(nil, unknownMethod, map[string]any{}))
	x.record("wire/notification", &fact{reply: r, about: "a notification of " + unknownMethod})
}

// sendBatch sends three calls in one body: one of a method, a notification of it, and a
// call of an unknown method. Then it sends an empty batch.
func (x *exam) sendBatch(ctx context.Context, method string, params any) {
	parts := [][]byte{
		x.encode(jsontext.Value("901"), method, params), x.encode(nil, method, params), x.encode(jsontext.Value(`"b"`), unknownMethod, map[string]any{}),
	}
	r := x.sendBody(ctx, "", nil, append(append([]byte{'['}, bytes.Join(parts, []byte{','})...), ']'))
	x.record("wire/batch", &fact{reply: r})
	r = x.sendBody(ctx, "", nil, []byte("[]"))
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
		r := x.sendBody(ctx, "", nil, body)
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
	r := x.exchange(ctx, http.MethodPost, x.options.URL, body, nil, x.patience(otherLimit))
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
	id := x.nextID()
	return x.sendBody(ctx, unknownMethod, id, x.encode(id, unknownMethod, map[string]any{}))
}
