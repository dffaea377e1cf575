package check

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
)

// examineWire examines JSON-RPC itself: ids, notifications, batches, and spellings of JSON.
// It repeats one invitation, which a player always answers in the same way.
func (x *playerExam) examineWire(ctx context.Context) {
	m := x.newMatch()
	x.invite(ctx, m)
	for _, text := range []string{
		`"req-007"`, `"אבג 🎲 \"quoted\" \\ /"`, `"1"`, `""`,
		`0`, `-7`, `4294967297`, `9007199254740991`,
		`9007199254740993`, `123456789012345678`, `1.5`, `null`,
	} {
		id := jsontext.Value(text)
		r := x.callOnce(ctx, protocol.Invite.Name, x.invitation(m), withID(id))
		x.record(factOfID(id), &fact{about: "id " + text, reply: r, problem: r.trouble(), others: joinsAgain})
	}
	if _, _, form := x.inForm(ctx, x.dialect, protocol.Invite.Name, x.invitation(m)); objectOf(form)["jsonrpc"] != nil {
		r := x.callOnce(ctx, protocol.Invite.Name, x.invitation(m), withID(nil))
		x.record("wire/notification", &fact{reply: r, about: "a notification of " + protocol.Invite.Name})
		x.notify(ctx)
		x.callUnknownMethod(ctx)
		x.sendBatch(ctx, protocol.Invite.Name, x.invitation(m))
	}
	x.spellJSON(ctx, m)
	x.over(ctx, m)
}

// spellJSON sends one request in several spellings that mean the same in JSON.
func (x *playerExam) spellJSON(ctx context.Context, m *match) {
	spaced := func(request members) []byte {
		v := jsontext.Value(encoded(request))
		_ = v.Indent() // it is JSON
		return append(v, '\n')
	}
	escaped := func(request members) []byte {
		body := bytes.ReplaceAll(encoded(request), []byte("GAME_INVITATION"), []byte(`\u0047AME_INVIT\u0041TION`))
		return bytes.ReplaceAll(body, []byte(`"match_id"`), []byte(`"m\u0061tch_id"`))
	}
	reordered := func(request members) []byte {
		if request["jsonrpc"] == nil {
			return encoded(request)
		}
		return fmt.Appendf(nil, "\r\n\t{\"params\" : %s , \"method\" : %s ,\n\"id\":%s,\"jsonrpc\":\"2.0\"}\n", request["params"], request["method"], request["id"])
	}
	for _, change := range []func(members) []byte{spaced, escaped, reordered} {
		r := x.callOnce(ctx, protocol.Invite.Name, x.invitation(m), variation{change: change})
		x.record("wire/spelling", &fact{reply: r, match: m.id})
	}
}

// callByOtherNames calls methods by the other names that the specification has.
func (x *playerExam) callByOtherNames(ctx context.Context) {
	m := x.newMatch()
	x.invite(ctx, m)
	by := func(kind, before, name, method string, params map[string]any) {
		body := x.encode(x.nextID(), name, params)
		r := x.sendBody(ctx, method, body)
		x.record(kind, &fact{about: name, reply: r, others: []string{before}})
	}
	question := x.question(m)
	if x.evenOdd() {
		by("methods/alias", "P-CHO-01", "parity_choose", protocol.ChooseParity.Name, question)
	} else {
		x.record("methods/alias", &fact{skip: "parity_choose is of even_odd"})
	}
	by("methods/message type", "P-INV-07", protocol.TypeGameInvitation, protocol.Invite.Name, x.invitation(m))
	by("methods/message type", "P-CHO-01", x.questionType(), x.questionMethod(), question)
	by("methods/mcp_message", "P-CHO-01", "mcp_message", x.questionMethod(), question)
	by("methods/message type", "P-OVR-01", protocol.TypeGameOver, protocol.NotifyMatchResult.Name, x.ending(m))
	x.over(ctx, m)
}

// sendBroken sends invalid requests, and valid ones with unknown members.
func (x *playerExam) sendBroken(ctx context.Context) {
	m := x.newMatch()
	x.invite(ctx, m)
	without := x.question(m)
	delete(without, "match_id")
	x.record("broken/no match_id", &fact{reply: x.callOnce(ctx, x.questionMethod(), without, variation{})})
	for _, params := range []string{`["R1M1", "P01"]`, `"R1M1"`, `7`} {
		r := x.callOnce(ctx, protocol.Invite.Name, x.invitation(m), variation{change: func(request members) []byte {
			if request["jsonrpc"] == nil {
				return []byte(params)
			}
			request["params"] = jsontext.Value(params)
			return encoded(request)
		}})
		x.record("broken/params", &fact{about: "params " + params, reply: r})
	}
	for _, b := range []breach{
		{fact: "broken/no match_id", member: "match_id", value: jsontext.Value("null")},
		{fact: "broken/type", member: "match_id", value: 42},
		{fact: "broken/type", member: "match_id", value: []any{"R1M1"}},
		{fact: "broken/type", member: "match_id", value: map[string]any{}},
		{fact: "broken/timestamp", member: "timestamp", value: "2025-01-15T10:30:00+02:00"},
		{fact: "broken/timestamp", member: "timestamp", value: "2025-01-15T10:30:00"},
		{fact: "broken/timestamp", member: "timestamp", value: "yesterday"},
		{fact: "broken/protocol", member: "protocol", value: "league.v1"},
	} {
		r := x.callOnce(ctx, protocol.Invite.Name, b.in(x.invitation(m), nil), variation{})
		x.record(b.fact, &fact{about: b.about(), reply: r})
	}
	x.sendMore(ctx, m)
	x.over(ctx, m)
}

const maxMessage = 10<<10 - 64 // bytes of a request that is nearly as large as allowed

// sendMore adds members that the specification does not have.
func (x *playerExam) sendMore(ctx context.Context, m *match) {
	send := func(name string, q map[string]any, v variation) {
		x.record(name, &fact{reply: x.callOnce(ctx, protocol.Invite.Name, q, v), match: m.id})
	}
	q := x.invitation(m)
	q["comment"], q["future_field"], q["x"] = "added later", map[string]any{"deep": []any{1, nil, true}}, nil
	send("broken/unknown members", q, variation{})
	send("broken/unknown members beside params", x.invitation(m), variation{change: func(request members) []byte {
		request["trace"], request["meta"] = jsontext.Value(`"abc"`), jsontext.Value("{}")
		return encoded(request)
	}})
	q = x.invitation(m)
	q["comment"] = ""
	_, _, form := x.inForm(ctx, x.dialect, protocol.Invite.Name, q)
	q["comment"] = strings.Repeat("long ", max(0, maxMessage-len(form))/5)
	send("broken/10 KB", q, variation{})
}

// playOn plays with the player as usual, after a broken request.
func (x *playerExam) playOn(ctx context.Context) *reply {
	m := x.newMatch()
	r := x.inviteOnce(ctx, m)
	if r.Error == "" {
		x.endOnce(ctx, m)
	}
	return r
}

func (x *playerExam) askWithWrongTypes(ctx context.Context) {
	q := x.question(x.newMatch())
	q["context"], q["deadline"], q["player_id"] = "none", -1, strconv.FormatInt(1<<40, 10)
	r := x.callOnce(ctx, x.questionMethod(), q, variation{})
	x.survives(ctx, r, "a question with members of the wrong type", x.playOn)
}

// scripts are names that programs get wrong: characters beyond 16 bits, right to left,
// letters of several code points, and text that looks like markup.
var scripts = [...]string{
	"🎲🏆👩‍👩‍👧‍👦", "שלום עולם", "مرحبا بالعالم", "e\u0301a\u0308o\u0302", "数学の天才", "Ω≈ç√∫", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢", `<b>"Bobby"</b>'; --`, "नमस्ते", "İstanbul ß",
}

// fifty is a name of fifty characters.
func fifty(name string) string {
	runes := []rune(strings.Repeat(name+" ", 50))
	return strings.TrimSpace(string(runes[:49])) + "."
}

// sendScripts sends text in many scripts: in the standings, in a question, and in a
// conversation_id that must come back.
func (x *playerExam) sendScripts(ctx context.Context) {
	rows := []any{standingsRow(1, x.player, scripts[0], 2)}
	for i, name := range scripts {
		rows = append(rows, standingsRow(i+2, protocol.PlayerID(i+101), name, 2))
	}
	q := x.notice(protocol.TypeStandingsUpdate, 1)
	q["standings"] = rows
	r := x.callOnce(ctx, protocol.UpdateStandings.Name, q, variation{})
	problem := r.trouble()
	if !x.takesStandings {
		problem = r.Error
	}
	x.record("scripts/standings", &fact{about: "standings with names in many scripts", reply: r, problem: problem})

	m := x.newMatch()
	m.conversation = "conv-שלום-e\u0301-🎲-" + strings.ToLower(m.id)
	join := x.inviteOnce(ctx, m)
	question := x.question(m)
	context := contextOf(question)
	context["opponent_name"], context["motto"] = fifty(scripts[0]), strings.Join(scripts[:], " ")
	context["history"] = []any{map[string]any{"opponent": scripts[1], "choice": "even"}}
	if x.evenOdd() {
		context["your_standings"] = map[string]any{"wins": 2147483647, "losses": 0, "draws": 0, "points": 2147483647}
	}
	choice := x.callOnce(ctx, x.questionMethod(), question, variation{})
	f := fact{reply: choice, earlier: join, problem: firstOf(join.trouble(), x.choiceProblem(choice, m))}
	x.record("scripts/question", &f)
	f.problem = firstOf(join.Error, choice.Error, join.result.hasNoOther("conversation_id", m.conversation), choice.result.hasNoOther("conversation_id", m.conversation))
	x.record("scripts/conversation", &f)
	x.call(ctx, protocol.NotifyMatchResult.Name, x.ending(m))

	rows = []any{standingsRow(1, x.player, fifty(scripts[1]), 2)}
	for i := 2; i <= protocol.MaxStandings; i++ {
		rows = append(rows, standingsRow(i, protocol.PlayerID(i+100), fifty(scripts[i%len(scripts)]), 2))
	}
	q = x.notice(protocol.TypeStandingsUpdate, 1)
	q["standings"], q["total_players"] = rows, len(rows)
	x.record("scripts/large standings", &fact{reply: x.send(ctx, x.dialect, protocol.UpdateStandings.Name, q, variation{unseen: true})})
}

// contextOf returns the context of a question, to be added to.
func contextOf(question map[string]any) map[string]any {
	in := question
	if request, ok := question["move_request"].(map[string]any); ok {
		in = request
	}
	context, _ := in["context"].(map[string]any)
	return context
}

// connect examines HTTP.
func (x *playerExam) connect(ctx context.Context) {
	m := x.newMatch()
	x.invite(ctx, m)
	charset := variation{header: http.Header{"Content-Type": {"application/json; charset=utf-8"}}, unseen: true}
	r := x.send(ctx, x.dialect, protocol.Invite.Name, x.invitation(m), charset)
	x.record("connections/charset", &fact{reply: r, match: m.id})

	get := x.post(ctx, x.options.URL, nil, x.patience(otherLimit), variation{method: http.MethodGet, once: true})
	get.Request = "GET without a body"
	refused := get.Status == http.StatusMethodNotAllowed || get.Status == http.StatusNotImplemented
	x.record("connections/GET", &fact{reply: get, problem: firstOf(get.Error, when(!refused, "GET is answered with HTTP status %d", get.Status))})

	x.over(ctx, m)
	x.record("connections/reuse", &fact{reply: r, problem: when(!x.reused, "every connection ends with its answer")})
	if x.selects(func(r *rule) bool { return r.ID == "P-HTTP-10" }) {
		x.sendHalf(ctx)
	}
}

// sendHalf sends half a request, and makes other calls before the other half.
func (x *playerExam) sendHalf(ctx context.Context) {
	const name = "connections/half a request"
	u, err := url.Parse(x.options.URL)
	if err != nil || u.Scheme != "http" {
		x.record(name, &fact{skip: "only examined over plain HTTP"})
		return
	}
	if x.givenUp() != "" {
		return
	}
	conn, err := x.openHalf(ctx, u)
	if err != nil {
		x.record(name, &fact{problem: err.Error()})
		return
	}
	defer func() { _ = conn.Close() }()
	x.options.client.CloseIdleConnections() // the other calls need connections of their own
	for range 3 {                           // the first may come before the agent has read the half request
		m := x.newMatch()
		r := x.send(ctx, x.dialect, protocol.Invite.Name, x.invitation(m), variation{once: true, unseen: true})
		x.record(name, &fact{reply: r, problem: when(r.Error != "", "while one connection had sent half a request, another: %s", r.Error)})
		if r.Error != "" {
			break
		}
		x.endOnce(ctx, m)
	}
}

// openHalf opens a connection and sends half a request.
func (x *playerExam) openHalf(ctx context.Context, u *url.URL) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, x.patience(otherLimit))
	defer cancel()
	conn, err := x.options.Dial(ctx, "tcp", protocol.HostPort(u))
	if err != nil {
		return nil, err
	}
	const head = "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: 500\r\nExpect: 100-continue\r\n\r\n"
	if _, err = fmt.Fprintf(conn, head, u.RequestURI(), u.Host); err == nil {
		// A server that knows Expect says when it begins to read; others say nothing.
		_ = conn.SetDeadline(time.Now().Add(hesitation))
		_, _ = conn.Read(make([]byte, 512))
		_ = conn.SetDeadline(time.Now().Add(hesitation))
		_, err = conn.Write([]byte(`{"jsonrpc": "2.0", "meth`))
	}
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) { // the agent may read later
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}
