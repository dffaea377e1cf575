package conformance

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
)

// again is what must hold before an invitation can be repeated.
var again = []string{"P-INV-01", "P-INV-02", "P-INV-07"}

// speak looks at JSON-RPC itself: ids, notifications, batches, and how JSON is written.
// It invites the player to one match again and again, which a player answers always the
// same.
func (x *trial) speak(ctx context.Context) {
	g := x.newMatch()
	x.invite(ctx, g)
	for _, text := range []string{
		`"req-007"`, `"אבג 🎲 \"quoted\" \\ /"`, `"1"`, `""`,
		`0`, `-7`, `4294967297`, `9007199254740991`,
		`9007199254740993`, `123456789012345678`, `1.5`, `null`,
	} {
		id := jsontext.Value(text)
		r := x.sendIn(ctx, protocol.Invite.Name, x.invitation(g), inviteLimit, withID(id))
		x.after(again, x.idRequirement(id), when(r.trouble() != "", "id %s: %s", id, r.trouble()), &r.Exchange)
	}
	if _, form := x.inForm(ctx, x.dialect, protocol.Invite.Name, x.encode(nil, protocol.Invite.Name, x.invitation(g))); objectOf(form)["jsonrpc"] != nil {
		x.notifyIn(ctx, g)
		x.askUnknown(ctx)
		call := x.encode(jsontext.Value("901"), protocol.Invite.Name, x.invitation(g))
		x.batch(ctx, call, x.encode(nil, protocol.Invite.Name, x.invitation(g)))
	}
	x.write(ctx, g)
	x.over(ctx, g)
}

// notifyIn sends calls that want no answer.
func (x *trial) notifyIn(ctx context.Context, g *bout) {
	r := x.sendIn(ctx, protocol.Invite.Name, x.invitation(g), inviteLimit, withID(nil))
	x.judge("P-RPC-10", firstOf(r.Error, when(len(bytes.TrimSpace(r.body)) > 0, "a notification of %s is answered with a body", protocol.Invite.Name)), &r.Exchange)
	x.notify(ctx, unknownMethod, x.encode(nil, unknownMethod, map[string]any{}))
}

// write writes one request in ways that mean the same in JSON.
func (x *trial) write(ctx context.Context, g *bout) {
	spaced := func(request members) []byte {
		v := jsontext.Value(encoded(request))
		_ = v.Indent() // it is JSON
		return append(v, '\n')
	}
	escaped := func(request members) []byte {
		body := bytes.ReplaceAll(encoded(request), []byte("GAME_INVITATION"), []byte(`\u0047AME_INVIT\u0041TION`))
		return bytes.ReplaceAll(body, []byte(`"match_id"`), []byte(`"m\u0061tch_id"`))
	}
	turned := func(request members) []byte {
		if request["jsonrpc"] == nil {
			return encoded(request)
		}
		return fmt.Appendf(nil, "\r\n\t{\"params\" : %s , \"method\" : %s ,\n\"id\":%s,\"jsonrpc\":\"2.0\"}\n", request["params"], request["method"], request["id"])
	}
	for _, change := range []func(members) []byte{spaced, escaped, turned} {
		r := x.sendIn(ctx, protocol.Invite.Name, x.invitation(g), inviteLimit, change)
		x.after(again, "P-RPC-17", firstOf(r.trouble(), otherMatch(r, g.match)), &r.Exchange)
	}
}

// speakMethods calls methods by the other names that the specification has.
func (x *trial) speakMethods(ctx context.Context) {
	g := x.newMatch()
	x.invite(ctx, g)
	by := func(before, id, name, method string, params map[string]any) {
		body := x.encode(x.nextID(), name, params)
		r := x.send(ctx, method, objectOf(body)["id"], body)
		x.after([]string{before}, id, when(r.trouble() != "", "%s: %s", name, r.trouble()), &r.Exchange)
	}
	question := x.question(g)
	if x.evenOdd() {
		by("P-CHO-01", "P-MET-02", "parity_choose", protocol.ChooseParity.Name, question)
	} else {
		x.skip("P-MET-02", "parity_choose is of even_odd")
	}
	by("P-INV-07", "P-MET-03", protocol.TypeGameInvitation, protocol.Invite.Name, x.invitation(g))
	by("P-CHO-01", "P-MET-03", x.questionType(), x.questionMethod(), question)
	by("P-CHO-01", "P-MET-04", "mcp_message", x.questionMethod(), question)
	by("P-OVR-01", "P-MET-03", protocol.TypeGameOver, protocol.NotifyMatchResult.Name, x.ending(g))
	x.over(ctx, g)
}

// sendBroken sends requests that are not as they must be, and some that only have more
// than they must.
func (x *trial) sendBroken(ctx context.Context) {
	g := x.newMatch()
	x.invite(ctx, g)
	x.sendIncomplete(ctx, g)
	for _, params := range []string{`["R1M1", "P01"]`, `"R1M1"`, `7`} {
		r := x.sendIn(ctx, protocol.Invite.Name, x.invitation(g), inviteLimit, func(request members) []byte {
			if request["jsonrpc"] == nil {
				return []byte(params)
			}
			request["params"] = jsontext.Value(params)
			return encoded(request)
		})
		x.judge("P-REQ-03", when(refusal(r) != "", "params %s: %s", params, refusal(r)), &r.Exchange)
	}
	for _, value := range []any{42, []any{"R1M1"}, map[string]any{}} {
		r := x.inviteWith(ctx, g, "match_id", value)
		x.judge("P-REQ-04", when(refusal(r) != "", "match_id %s: %s", encoded(value), refusal(r)), &r.Exchange)
	}
	for _, value := range []string{"2025-01-15T10:30:00+02:00", "2025-01-15T10:30:00", "yesterday"} {
		r := x.inviteWith(ctx, g, "timestamp", value)
		x.judge("P-REQ-05", codedProblem(r, protocol.ErrInvalidTimestamp, "timestamp "+value), &r.Exchange)
	}
	r := x.inviteWith(ctx, g, "protocol", "league.v1")
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
		x.chooseOnce(ctx, without),
		x.sendIn(ctx, protocol.Invite.Name, null, inviteLimit, nil),
	} {
		x.judge("P-REQ-01", refusal(r), &r.Exchange)
		x.judge("P-REQ-02", firstOf(errorProblem(r, codeInvalidParams), codedProblem(r, protocol.ErrMissingField, "no match_id")), &r.Exchange)
	}
}

// inviteWith invites with one member changed.
func (x *trial) inviteWith(ctx context.Context, g *bout, name string, value any) *reply {
	q := x.invitation(g)
	q[name] = value
	return x.sendIn(ctx, protocol.Invite.Name, q, inviteLimit, nil)
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

// sendMore adds members that the specification does not have.
func (x *trial) sendMore(ctx context.Context, g *bout) {
	q := x.invitation(g)
	q["comment"], q["future_field"], q["x"] = "added later", map[string]any{"deep": []any{1, nil, true}}, nil
	r := x.sendIn(ctx, protocol.Invite.Name, q, inviteLimit, nil)
	x.after(again, "P-REQ-07", firstOf(r.trouble(), otherMatch(r, g.match)), &r.Exchange)

	r = x.sendIn(ctx, protocol.Invite.Name, x.invitation(g), inviteLimit, func(request members) []byte {
		request["trace"], request["meta"] = jsontext.Value(`"abc"`), jsontext.Value("{}")
		return encoded(request)
	})
	x.after(again, "P-REQ-08", firstOf(r.trouble(), otherMatch(r, g.match)), &r.Exchange)

	q = x.invitation(g)
	q["comment"] = ""
	_, form := x.inForm(ctx, x.dialect, protocol.Invite.Name, x.encode(x.nextID(), protocol.Invite.Name, q))
	q["comment"] = strings.Repeat("long ", max(0, maxMessage-len(form))/5)
	r = x.sendIn(ctx, protocol.Invite.Name, q, inviteLimit, nil)
	x.after(again, "P-HTTP-09", firstOf(r.trouble(), otherMatch(r, g.match)), &r.Exchange)
}

const maxMessage = 10<<10 - 64 // bytes of a request that is nearly as large as one may be

// aliveAfter plays with the player as usual, after something broken.
func (x *trial) aliveAfter(ctx context.Context) *reply {
	g := x.newMatch()
	r := x.inviteOnce(ctx, g)
	if r.Error == "" {
		x.endOnce(ctx, x.ending(g))
	}
	return r
}

// askWildly asks a question with members of the wrong type.
func (x *trial) askWildly(ctx context.Context) {
	q := x.question(x.newMatch())
	q["context"], q["deadline"], q["player_id"] = "none", -1, strconv.Itoa(1<<40)
	r := x.chooseOnce(ctx, q)
	x.survives(ctx, r, "a question with members of the wrong type", x.aliveAfter)
}
