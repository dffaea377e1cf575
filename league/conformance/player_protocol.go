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

// again is what must hold before an invitation can be repeated.
var again = []string{"P-INV-01", "P-INV-02", "P-INV-07"}

// speak looks at JSON-RPC itself: ids, notifications, batches, and how JSON is
// written. It asks the player into one match again and again, which a player
// answers always the same.
func (x *trial) speak(ctx context.Context) {
	g := x.newMatch()
	x.invite(ctx, g)
	for _, id := range []string{
		`"req-007"`, `"אבג 🎲 \"quoted\" \\ /"`, `"1"`, `""`,
		`0`, `-7`, `4294967297`, `9007199254740991`,
		`9007199254740993`, `123456789012345678`, `1.5`, `null`,
	} {
		r := x.send(ctx, "handle_game_invitation", x.requestWith(jsontext.Value(id), "handle_game_invitation", x.invitation(g)), inviteLimit)
		x.after(again, idRequirement(jsontext.Value(id)), when(r.trouble() != "", "id %s: %s", id, r.trouble()), &r.Exchange)
	}
	x.notify(ctx, g)
	x.askUnknown(ctx)
	x.batch(ctx, g)
	x.write(ctx, g)
	x.over(ctx, g)
}

// notify sends calls that nobody waits for.
func (x *trial) notify(ctx context.Context, g *bout) {
	for _, method := range []string{"handle_game_invitation", "no_such_method"} {
		r := x.send(ctx, method, x.requestWith(nil, method, x.invitation(g)), inviteLimit)
		x.judge("P-RPC-10", firstOf(r.Error, when(len(bytes.TrimSpace(r.body)) > 0, "a notification of %s is answered with a body", method)), &r.Exchange)
	}
}

// askUnknown calls a method that nobody has.
func (x *trial) askUnknown(ctx context.Context) {
	for _, params := range []any{map[string]any{}, map[string]any{"match_id": "R1M1"}} {
		r := x.ask(ctx, "no_such_method", params, otherLimit)
		x.judge("P-RPC-11", errorProblem(r, codeUnknownMethod), &r.Exchange)
		x.stranger = r
	}
}

// unknown tells whether an answer is the one to a method that nobody has.
func (x *trial) unknown(r *reply) bool {
	switch s := x.stranger; {
	case r.Error != "" || r.object == nil || r.Status == http.StatusNotFound:
		return true
	case r.fault == nil:
		return false
	default:
		return r.fault.code == codeUnknownMethod || s.fault != nil && r.fault.code == s.fault.code && r.fault.message == s.fault.message
	}
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

// batch sends several calls in one body.
func (x *trial) batch(ctx context.Context, g *bout) {
	call, unknown := x.requestWith(jsontext.Value("901"), "handle_game_invitation", x.invitation(g)), x.requestWith(jsontext.Value(`"b"`), "no_such_method", map[string]any{})
	silent := x.requestWith(nil, "handle_game_invitation", x.invitation(g))
	body := append([]byte{'['}, bytes.Join([][]byte{call, silent, unknown}, []byte{','})...)
	r := x.raw(ctx, append(body, ']'), inviteLimit)
	x.judge("P-RPC-14", batchProblem(r), &r.Exchange)
	r = x.raw(ctx, []byte("[]"), otherLimit)
	x.judge("P-RPC-14", when(errorProblem(r, codeInvalidRequest) != "", "an empty batch: %s", errorProblem(r, codeInvalidRequest)), &r.Exchange)
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

// raw posts a body that is no ordinary call. What holds for every answer is
// judged, but for its id.
func (x *trial) raw(ctx context.Context, body []byte, limit time.Duration) *reply {
	for try := 1; ; try++ {
		r := read(x.post(ctx, x.options.URL, body, nil, x.patience(limit)))
		if x.putOff(ctx, r, try) {
			continue
		}
		if !r.unasked {
			x.inspect(r, nil)
		}
		return r
	}
}

// write puts one request in ways that mean the same in JSON.
func (x *trial) write(ctx context.Context, g *bout) {
	body := x.request("handle_game_invitation", x.invitation(g))
	spaced := jsontext.Value(bytes.Clone(body))
	_ = spaced.Indent() // it is JSON
	escaped := bytes.ReplaceAll(body, []byte("GAME_INVITATION"), []byte(`\u0047AME_INVIT\u0041TION`))
	escaped = bytes.ReplaceAll(escaped, []byte(`"match_id"`), []byte(`"m\u0061tch_id"`))
	params := encoded(x.invitation(g))
	turned := []byte(fmt.Sprintf("\r\n\t{\"params\" : %s , \"method\" : \"handle_game_invitation\" ,\n\"id\":%d,\"jsonrpc\":\"2.0\"}\n", params, x.ids.Add(1)))
	for _, form := range [][]byte{append(spaced, '\n'), escaped, turned} {
		r := x.send(ctx, "handle_game_invitation", form, inviteLimit)
		x.after(again, "P-RPC-17", firstOf(r.trouble(), otherMatch(r, g.match)), &r.Exchange)
	}
}

// speakMethods calls the methods by all the names that the documents have.
func (x *trial) speakMethods(ctx context.Context) {
	g := x.newMatch()
	x.invite(ctx, g)
	known := func(before, id, method string, params any, limit time.Duration) {
		r := x.ask(ctx, method, params, limit)
		problem := r.trouble()
		if id == "P-MET-01" && !x.unknown(r) {
			problem = r.Error // how well it is answered is said elsewhere
		}
		x.after([]string{before}, id, when(problem != "", "%s: %s", method, problem), &r.Exchange)
	}
	known("P-HTTP-01", "P-MET-01", "handle_game_invitation", x.invitation(g), inviteLimit)
	known("P-HTTP-01", "P-MET-01", "choose_parity", x.question(g), chooseLimit)
	known("P-CHO-01", "P-MET-02", "parity_choose", x.question(g), chooseLimit)
	known("P-INV-07", "P-MET-03", protocol.TypeGameInvitation, x.invitation(g), inviteLimit)
	known("P-CHO-01", "P-MET-03", protocol.TypeChooseParityCall, x.question(g), chooseLimit)
	known("P-CHO-01", "P-MET-04", "mcp_message", x.question(g), chooseLimit)
	known("P-HTTP-01", "P-MET-01", "notify_match_result", x.ending(g), overLimit)
	known("P-OVR-01", "P-MET-03", protocol.TypeGameOver, x.ending(g), overLimit)
}

// sendBroken sends requests that are not as they must be, and one that only has
// more than it must.
func (x *trial) sendBroken(ctx context.Context) {
	g := x.newMatch()
	x.invite(ctx, g)
	x.sendIncomplete(ctx, g)
	for _, params := range []string{`["R1M1", "P01"]`, `"R1M1"`, `7`} {
		body := x.request("handle_game_invitation", jsontext.Value(params))
		r := x.send(ctx, "handle_game_invitation", body, inviteLimit)
		x.judge("P-REQ-03", when(refusal(r) != "", "params %s: %s", params, refusal(r)), &r.Exchange)
	}
	for _, value := range []any{42, []any{"R1M1"}, map[string]any{}} {
		r := x.askWith(ctx, g, "match_id", value)
		x.judge("P-REQ-04", when(refusal(r) != "", "match_id %s: %s", encoded(value), refusal(r)), &r.Exchange)
	}
	for _, value := range []string{"2025-01-15T10:30:00+02:00", "2025-01-15T10:30:00", "yesterday"} {
		r := x.askWith(ctx, g, "timestamp", value)
		x.judge("P-REQ-05", codedProblem(r, protocol.ErrInvalidTimestamp, "timestamp "+value), &r.Exchange)
	}
	r := x.askWith(ctx, g, "protocol", "league.v1")
	x.judge("P-REQ-06", codedProblem(r, protocol.ErrProtocolVersion, "protocol league.v1"), &r.Exchange)
	x.sendMore(ctx, g)
	x.over(ctx, g)
}

// sendIncomplete leaves a required member out, or has it null.
func (x *trial) sendIncomplete(ctx context.Context, g *bout) {
	without := x.question(g)
	delete(without, "match_id")
	null := x.invitation(g)
	null["match_id"] = nil
	for _, r := range []*reply{
		x.ask(ctx, "choose_parity", without, chooseLimit),
		x.ask(ctx, "handle_game_invitation", null, inviteLimit),
	} {
		x.judge("P-REQ-01", refusal(r), &r.Exchange)
		x.judge("P-REQ-02", firstOf(errorProblem(r, codeInvalidParams), codedProblem(r, protocol.ErrMissingField, "no match_id")), &r.Exchange)
	}
}

// askWith invites with one member changed.
func (x *trial) askWith(ctx context.Context, g *bout, name string, value any) *reply {
	q := x.invitation(g)
	q[name] = value
	return x.ask(ctx, "handle_game_invitation", q, inviteLimit)
}

// codedProblem says why an answer is not an error with this code of the
// catalogue; "" when it is.
func codedProblem(r *reply, code protocol.Code, of string) string {
	if problem := refusal(r); problem != "" {
		return of + ": " + problem
	}
	if r.fault == nil || r.fault.catalogued() != string(code) {
		return fmt.Sprintf("%s: %s, without %s in error.data.error_code", of, r.trouble(), code)
	}
	return ""
}

// sendMore adds members that no document has.
func (x *trial) sendMore(ctx context.Context, g *bout) {
	q := x.invitation(g)
	q["comment"], q["future_field"], q["x"] = "added later", map[string]any{"deep": []any{1, nil, true}}, nil
	r := x.send(ctx, "handle_game_invitation", encoded(map[string]any{
		"jsonrpc": "2.0", "id": x.ids.Add(1), "method": "handle_game_invitation", "params": q, "trace": "abc", "meta": map[string]any{},
	}), inviteLimit)
	x.after(again, "P-REQ-07", firstOf(r.trouble(), otherMatch(r, g.match)), &r.Exchange)

	q = x.invitation(g)
	q["comment"] = ""
	room := maxMessage - len(x.request("handle_game_invitation", q))
	q["comment"] = strings.Repeat("long ", max(0, room)/5)
	r = x.ask(ctx, "handle_game_invitation", q, inviteLimit)
	x.after(again, "P-HTTP-09", firstOf(r.trouble(), otherMatch(r, g.match)), &r.Exchange)
}

const maxMessage = 10<<10 - 64 // bytes of a request that is nearly as large as one may be

// misuse sends what a player must survive, not understand.
func (x *trial) misuse(ctx context.Context) {
	parse := []struct{ what, body string }{
		{"half an object", `{"jsonrpc": "2.0", "method": "handle_game_invitation", "params": {`},
		{"no JSON", `jsonrpc=2.0&method=choose_parity`},
		{"an empty body", ""},
		{"bytes that are no text", "\x00\xff\xfe{\"jsonrpc\""},
		{"half an array", strings.Repeat("[", 5000)},
	}
	for _, p := range parse {
		r := x.raw(ctx, []byte(p.body), otherLimit)
		x.judge("P-RPC-12", when(errorProblem(r, codeParse) != "", "%s: %s", p.what, errorProblem(r, codeParse)), &r.Exchange)
		if r.fault != nil {
			x.judge("P-RPC-12", when(r.object["id"].Kind() != 'n', "the id of the error is %s, not null", valueOf(r.object, "id")), &r.Exchange)
		}
		if !x.survives(ctx, r, p.what) {
			return
		}
	}
	for _, body := range []string{
		`{"jsonrpc": "2.0", "id": 1, "params": {}}`, `{"jsonrpc": "2.0", "id": 1, "method": 42, "params": {}}`,
		`{"method": "handle_game_invitation", "id": 1, "params": {}}`, `"ping"`, `17`, `null`,
	} {
		r := x.raw(ctx, []byte(body), otherLimit)
		x.judge("P-RPC-13", when(errorProblem(r, codeInvalidRequest) != "", "%s: %s", body, errorProblem(r, codeInvalidRequest)), &r.Exchange)
		if !x.survives(ctx, r, body) {
			return
		}
	}
	wild := x.newMatch()
	q := x.question(wild)
	q["context"], q["deadline"], q["player_id"] = "none", -1, strconv.Itoa(1<<40)
	r := x.ask(ctx, "choose_parity", q, chooseLimit)
	if x.survives(ctx, r, "a question with members of the wrong type") {
		x.pass("P-STA-01")
	}
}

// survives looks whether the player still answers after it was sent something
// broken.
func (x *trial) survives(ctx context.Context, broken *reply, what string) bool {
	g := x.newMatch()
	r := x.ask(ctx, "handle_game_invitation", x.invitation(g), inviteLimit)
	switch {
	case r.Error == "":
		x.over(ctx, g)
		return true
	case r.unasked: // nobody knows
		return false
	}
	x.fail("P-STA-01", "after "+what+" it does not answer: "+r.Error, &broken.Exchange, &r.Exchange)
	x.giveUp("after " + what + " the agent answered nothing more")
	return false
}
