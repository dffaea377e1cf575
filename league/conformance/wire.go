package conformance

import (
	"bytes"
	"context"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
)

// unknownMethod is one that nobody has.
const unknownMethod = "no_such_method"

// meet makes the first call, and tells whether there is anybody to examine. One
// that was only just started may not listen yet.
func (x *client) meet(ctx context.Context) bool {
	for try := 1; ; try++ {
		id := x.nextID()
		r := read(x.exchange(ctx, "POST", x.options.URL, x.encode(id, unknownMethod, map[string]any{}), nil, x.patience(otherLimit)))
		switch {
		case r.Status != 0:
			x.pass(x.as("HTTP-01"))
			return true
		case try >= 5 || strings.HasPrefix(r.Error, "no answer within") || !rest(ctx, 100*time.Millisecond):
			x.fail(x.as("HTTP-01"), r.Error, &r.Exchange)
			x.giveUp("the agent cannot be reached")
			return false
		}
	}
}

// speak looks at JSON-RPC itself, by calls that change nothing.
func (x *client) speak(ctx context.Context) {
	for _, text := range []string{`"req-007"`, `"אבג 🎲 \"quoted\""`, `"1"`, `0`, `-7`, `4294967297`, `9007199254740993`, `null`} {
		x.send(ctx, jsontext.Value(text), x.encode(jsontext.Value(text), unknownMethod, map[string]any{}))
	}
	for _, params := range []any{map[string]any{}, map[string]any{"match_id": "R1M1"}} {
		r := x.ask(ctx, unknownMethod, params)
		x.judge(x.as("RPC-08"), errorProblem(r, codeUnknownMethod), &r.Exchange)
	}
	id := x.nextID()
	r := x.send(ctx, id, encoded(map[string]any{"jsonrpc": "2.0", "method": protocol.Ping.Name, "id": id}))
	x.judge(x.as("RPC-14"), r.trouble(), &r.Exchange)
	silent := x.encode(nil, unknownMethod, map[string]any{})
	r = x.send(ctx, nil, silent)
	x.judge(x.as("RPC-07"), firstOf(r.Error, when(len(bytes.TrimSpace(r.body)) > 0, "a notification is answered with a body")), &r.Exchange)

	parts := [][]byte{x.encode(jsontext.Value("901"), unknownMethod, map[string]any{}), silent, x.encode(jsontext.Value(`"b"`), unknownMethod, map[string]any{})}
	r = x.send(ctx, nil, append(append([]byte{'['}, bytes.Join(parts, []byte{','})...), ']'))
	x.judge(x.as("RPC-11"), batchProblem(r), &r.Exchange)
	r = x.send(ctx, nil, []byte("[]"))
	problem := errorProblem(r, codeInvalidRequest)
	x.judge(x.as("RPC-11"), when(problem != "", "an empty batch: %s", problem), &r.Exchange)
}

// misuse sends what an agent must survive, not understand.
func (x *client) misuse(ctx context.Context) {
	for _, p := range []struct{ what, body string }{
		{"half an object", `{"jsonrpc": "2.0", "method": "ping", "params": {`}, {"no JSON", `jsonrpc=2.0&method=ping`},
		{"an empty body", ""}, {"bytes that are no text", "\x00\xff\xfe{\"jsonrpc\""}, {"half an array", strings.Repeat("[", 3000)},
	} {
		r := x.send(ctx, nil, []byte(p.body))
		problem := errorProblem(r, codeParse)
		x.judge(x.as("RPC-09"), when(problem != "", "%s: %s", p.what, problem), &r.Exchange)
		if !x.survives(ctx, r, p.what) {
			return
		}
	}
	for _, body := range []string{
		`{"jsonrpc": "2.0", "id": 1, "params": {}}`, `{"jsonrpc": "2.0", "id": 1, "method": 42, "params": {}}`,
		`{"method": "ping", "id": 1, "params": {}}`, `"ping"`, `17`, `null`,
	} {
		r := x.send(ctx, nil, []byte(body))
		problem := errorProblem(r, codeInvalidRequest)
		x.judge(x.as("RPC-10"), when(problem != "", "%s: %s", body, problem), &r.Exchange)
		if !x.survives(ctx, r, body) {
			return
		}
	}
	large, _ := json.Marshal(strings.Repeat("long ", 60<<10))
	// It may well close the connection instead of reading all of it.
	r := read(x.exchange(ctx, "POST", x.options.URL, x.encode(x.nextID(), unknownMethod, map[string]any{"comment": jsontext.Value(large)}), nil, x.patience(otherLimit)))
	x.judge(x.as("HTTP-06"), when(r.Error == "" && r.Status < 400 && (r.fault == nil || r.fault.code == codeUnknownMethod), "a request of 300 KB is taken like any other"), &r.Exchange)
	x.survives(ctx, r, "a request of 300 KB")
}

// survives looks whether the agent still answers.
func (x *client) survives(ctx context.Context, broken *reply, what string) bool {
	r := x.ask(ctx, unknownMethod, map[string]any{})
	if r.Error != "" {
		x.fail(x.as("RPC-13"), "after "+what+" it does not answer: "+r.Error, &broken.Exchange, &r.Exchange)
		if !r.unasked {
			x.giveUp("after " + what + " the agent answered nothing more")
		}
		return false
	}
	x.pass(x.as("RPC-13"))
	return true
}
