package check

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/rules"
)

// A playerExam is the examination of a player. The kit is its manager and its referee.
type playerExam struct {
	*exam

	registered bool
	player     string // its id, as far as it is known
	matches    atomic.Int64

	takesStandings bool // the player has answered standings with a result
}

// scenarios begin with the calls that every player answers. The end of the league comes last,
// because a player may end with it.
func (x *playerExam) scenarios() []scenario {
	return []scenario{
		{[]string{"announce"}, x.announce}, {nil, x.playMatches}, {[]string{"repeat"}, x.repeat},
		{[]string{"wire"}, x.useWire}, {[]string{"broken"}, x.sendBroken}, {[]string{"scripts"}, x.sendScripts},
		{[]string{"at once"}, x.playAtOnce}, {[]string{"misuse"}, x.misuse}, {[]string{"end"}, x.finish},
	}
}

// meet makes the first call, an invitation, and tells whether the examination can continue. A player that
// has just registered may not know yet that it is in the league.
func (x *playerExam) meet() bool {
	if x.needs("registration") && x.awaitRegistration() {
		x.registered, x.player = true, x.host.identity()
	}
	m := x.newMatch()
	r := x.host.ask(x.invitation(m))
	for attempt := 1; attempt < maxSilent-1 && x.registered && !r.timedOut() && r.trouble() != ""; attempt++ {
		rest(x.life, 100*time.Millisecond)
		r = x.host.ask(x.invitation(m))
	}
	if r.timedOut() {
		x.record("join", &fact{reply: r})
	}
	if r.trouble() == "" {
		x.over(m)
	}
	return x.met(r, when(r.Status == 404 && r.trouble() != "", "POST is answered with HTTP status 404"))
}

// A match is a match that the kit conducts with the player.
type match struct {
	round        int
	id           string
	conversation string
	opponent     string
	side         rules.Side
	attempt      int
	course       rules.Course
}

// newMatch makes a match that is new to the player.
func (x *playerExam) newMatch() *match { return x.matchOf(int(x.matches.Add(1)), 1) }

func (x *playerExam) matchOf(round, number int) *match {
	id := league.MatchID{Round: round, Number: number}.String()
	opponent := "P02"
	if x.player == opponent {
		opponent = "P01"
	}
	return &match{
		round: round, id: id, conversation: protocol.MatchConversation(id, 1),
		opponent: opponent, side: rules.SideA, attempt: 1, course: x.firstTurn(id, new(rules.Chance)),
	}
}

// advance makes the moves of both players; the opponent makes the first legal one.
func (x *playerExam) advance(m *match, choice string) {
	var moves [2]string
	moves[m.side] = choice
	if other := m.side.Other(); m.course.Owes(other) {
		moves[other] = moveOf(m.course.Ask(other))
	}
	m.course = x.goOn(m.course.Play(moves), m.id, new(rules.Chance))
}

// turn has the opponent move until it is the player's turn; false when the match is over.
func (x *playerExam) turn(m *match) bool {
	for !m.course.Owes(m.side) && len(m.course.ToMove()) > 0 {
		x.advance(m, "")
	}
	return m.course.Owes(m.side)
}

// envelope begins a message of the kit's referee about a match.
func (x *playerExam) envelope(messageType string, m *match) object {
	q := message(messageType, protocol.RefereeSender(checkReferee), m.conversation, checkToken)
	q["match_id"] = m.id
	return q
}

func (x *playerExam) invitation(m *match) object {
	q := x.envelope(protocol.TypeGameInvitation, m)
	q["league_id"], q["round_id"], q["game_type"], q["opponent_id"] = checkLeague, m.round, x.game, m.opponent
	q["role_in_match"] = roleOf(m.side)
	if m.attempt > 1 {
		q["attempt"] = m.attempt
	}
	return q
}

// roleOf is the role of a side in an invitation.
func roleOf(side rules.Side) string {
	return [...]string{protocol.RolePlayerA, protocol.RolePlayerB}[side]
}

// question asks for the player's choice in the position of a match.
func (x *playerExam) question(m *match) object {
	x.turn(m)
	q := x.envelope(x.asking().Request, m)
	q["player_id"], q["game_type"] = x.player, x.game
	q["deadline"] = protocol.FormatTimestamp(time.Now().Add(x.asking().Timeout))
	context := object{"opponent_id": m.opponent, "round_id": m.round}
	if x.moveForm().Own() {
		context["your_standings"] = object{"wins": 2, "losses": 1, "draws": 0, "points": 6}
		q["context"] = context
		return q
	}
	question := m.course.Ask(m.side)
	maps.Copy(context, question.Context)
	request := object{"move_type": question.MoveType, "valid_options": question.Options, "context": context}
	if rules.HasViews(x.Game) {
		x.addView(request, context, m, &question)
	}
	q["move_request"] = request
	return q
}

// addView adds what questions of games with views have.
func (x *playerExam) addView(request, context object, m *match, question *rules.Question) {
	info := x.Game.Info()
	context["turn"], context["rules"] = m.course.Turn(), info.DisplayName+". "+info.Rules
	if question.View != nil {
		context["view"] = question.View
	}
	if question.Secret {
		context["secret"] = true
	}
	if drawer, ok := m.course.Position().(rules.Drawer); ok {
		context["board"] = drawer.Draw(m.side)
	}
	if question.Text > 0 {
		delete(request, "valid_options")
		request["text"] = question.Text
	}
}

// ending is GAME_OVER of a match that the player wins.
func (x *playerExam) ending(m *match) object {
	return x.endingAs(m, league.StatusWin, x.verdictFor(m.side))
}

// endingAs is GAME_OVER with a result; 0 and "" are null.
func (x *playerExam) endingAs(m *match, status string, v rules.Verdict) object {
	ids := [2]string{m.opponent, m.opponent}
	ids[m.side] = x.player
	q := x.envelope(protocol.TypeGameOver, m)
	q["game_type"] = x.game
	q["game_result"] = object{
		"status": status, "winner_player_id": protocol.NonZero(v.WinnerOf(ids)), "drawn_number": protocol.NonZero(v.Number),
		"number_parity": protocol.NonZero(v.Parity), "choices": choicesOf(ids, v), "reason": v.Reason(ids),
	}
	return q
}

// useWire repeats one invitation, which a player always answers in the same way. One of the requests is
// spelled in an unusual way that means the same in JSON.
func (x *playerExam) useWire() {
	m, _ := x.invite()
	x.examineWire(x.invitation(m))
	q := x.host.inForm(x.invitation(m))
	q.body = bytes.ReplaceAll(q.body, []byte(`"match_id"`), []byte(` "m\u0061tch_id" `))
	q.body = bytes.ReplaceAll(q.body, []byte(`"method":`), []byte("\r\n\t\"method\": "))
	x.show("wire/spelling", x.deliver(q))
	x.over(m)
}

const maxMessage = 10<<10 - 64 // bytes of a request that is nearly as large as allowed

// sendBroken sends invalid requests, and valid ones with unknown members.
func (x *playerExam) sendBroken() {
	m, _ := x.invite()
	const missing, timestamp = "broken/no match_id", "broken/timestamp"
	x.host.sendBroken(x.invitation(m), append(breachesOfTime(timestamp),
		breach{missing, "match_id", nil, protocol.ErrMissingField},
		breach{missing, "match_id", jsontext.Value("null"), protocol.ErrMissingField},
		breach{"broken/type", "match_id", 42, ""},
		breach{"broken/type", "match_id", object{}, ""},
		breach{timestamp, "timestamp", "yesterday", protocol.ErrInvalidTimestamp},
		breach{"broken/protocol", "protocol", "league.v1", protocol.ErrProtocolVersion})...)
	for _, params := range []string{`["R1M1", "P01"]`, `"R1M1"`} {
		r := x.host.send(x.invitation(m), func(request members) {
			if request["jsonrpc"] == nil { // the message stands alone
				clear(request)
			}
			request["params"] = jsontext.Value(params)
		})
		x.record("broken/type", &fact{about: "params " + params, reply: r})
	}
	q := x.invitation(m)
	q["comment"], q["future_field"], q["x"] = "added later", object{"deep": []any{1, nil, true}}, nil
	x.show("broken/unknown members", x.host.send(q))
	x.show("broken/unknown members", x.host.send(x.invitation(m), func(request members) {
		request["trace"], request["meta"] = jsontext.Value(`"abc"`), jsontext.Value("{}")
	}))
	q = x.invitation(m)
	q["comment"] = strings.Repeat("long ", max(0, maxMessage-len(x.host.inForm(q).body))/5)
	x.show("broken/10 KB", x.host.send(q))
	x.over(m)
}

// scripts are names that programs get wrong: characters beyond 16 bits, right to left,
// letters of several code points, and text that looks like markup.
var scripts = [...]string{
	"🎲🏆👩‍👩‍👧‍👦", "שלום עולם", "مرحبا بالعالم", "e\u0301a\u0308o\u0302", "数学の天才", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢",
	`<b>"Bobby"</b>'; --`, "नमस्ते",
}

// fifty is a name of fifty characters.
func fifty(name string) string {
	runes := []rune(strings.Repeat(name+" ", 50))
	return strings.TrimSpace(string(runes[:49])) + "."
}

// sendScripts sends text in many scripts: in a question, in a conversation_id that must come back, and in
// the names of large standings.
func (x *playerExam) sendScripts() {
	m := x.newMatch()
	m.conversation = "conv-שלום-e\u0301-🎲-" + strings.ToLower(m.id)
	q := x.question(m)
	in, nested := q["move_request"].(object)
	if !nested {
		in = q
	}
	context, _ := in["context"].(object)
	context["opponent_name"], context["motto"] = fifty(scripts[0]), strings.Join(scripts[:], " ")
	x.playOnce("scripts/question", "", m, q)

	rows := []any{standingsRow(1, x.player, scripts[0], 2)}
	for i := 2; i <= protocol.MaxStandings; i++ {
		rows = append(rows, standingsRow(i, league.PlayerID(i+100), fifty(scripts[i%len(scripts)]), 2))
	}
	r := x.host.send(standingsUpdate(rows))
	x.record("scripts/standings", &fact{about: "standings of many rows", reply: r,
		problem: cmp.Or(r.Error, when(x.takesStandings, "%s", r.trouble()))})
}

// registeredID wants the id that the kit's manager has given.
func (x *playerExam) registeredID(f *fact) string {
	if !x.registered {
		return f.read().filled("player_id")
	}
	return f.read().has("player_id", x.player)
}

func acceptIsBoolean(f *fact) string {
	kind := f.reply.result["accept"].Kind()
	return when(kind != 't' && kind != 'f', "accept is %s", valueOf(f.reply.result, "accept"))
}

// hasChoice wants a reply to a question to make a choice, of any value.
func (x *playerExam) hasChoice(f *fact) string {
	return when(!isAnswer(x.asking().Name, f.reply.result), "the reply has no choice; its members are %s",
		listed(f.reply.result))
}

// acknowledges wants the acknowledgement of a notice, in the form of the specification.
func acknowledges(f *fact) string {
	return cmp.Or(acknowledged(f), f.reply.result.has("message_type", f.kind()), f.reply.result.filled("player_id"))
}

// acknowledgesMatch wants the acknowledgement of a notice about a match.
func acknowledgesMatch(f *fact) string {
	return cmp.Or(acknowledges(f), f.reply.result.has("match_id", f.reply.asked.text("match_id")))
}

// noOtherType returns that a reply is another message. A reply may name none.
func noOtherType(f *fact) string { return f.reply.result.hasNoOther("message_type", f.kind()) }

// sameMatch returns that a reply names another match. A reply may name none.
func sameMatch(f *fact) string {
	return f.reply.result.hasNoOther("match_id", f.reply.asked.text("match_id"))
}

func understoodSameMatch(f *fact) string { return cmp.Or(f.reply.trouble(), sameMatch(f)) }

// choiceIn returns the choice of a reply, or why it has none that the rules allow.
func (x *playerExam) choiceIn(r *reply, m *match) (choice, problem string) {
	if problem = r.trouble(); problem != "" {
		return "", problem
	}
	choice, value := x.choiceOf(r.result)
	if m.course.Check(m.side, choice) != nil {
		return "", value
	}
	return choice, ""
}

// makesNoChoice returns that a reply makes a choice where none is allowed.
func (x *playerExam) makesNoChoice(f *fact) string {
	if r := f.reply; r.Error == "" && isAnswer(x.asking().Name, r.result) {
		_, value := x.choiceOf(r.result)
		return value
	}
	return notFailed(f)
}

// sameJoin returns how a second answer to an invitation differs from the first.
func sameJoin(f *fact) string {
	first, again := f.earlier.result, f.reply.result
	return cmp.Or(f.reply.trouble(),
		when(!sameJSON(first["accept"], again["accept"]), "accept is %s, and was %s", valueOf(again, "accept"),
			valueOf(first, "accept")))
}

// recordTimes records the time that all answers took.
func (x *exam) recordTimes() {
	record := func(name string, took []time.Duration, percent int, most time.Duration) {
		if len(took) == 0 {
			return
		}
		slices.Sort(took)
		percentile := func(p int) time.Duration { return took[(len(took)*p+99)/100-1] } // the nearest rank
		note := fmt.Sprintf("%d calls: p50 %s, p95 %s, p99 %s", len(took), short(percentile(50)), short(percentile(95)),
			short(percentile(99)))
		x.record(name, &fact{note: note,
			problem: when(percentile(percent) > most, "%s; p%d should be at most %s", note, percent, most)})
	}
	record("times of questions", x.times[protocol.Invite.Name], 95, protocol.Invite.Timeout/2)
	record("times of questions", x.times[x.asking().Name], 95, x.asking().Timeout/2)
	record("times", slices.Concat(slices.Collect(maps.Values(x.times))...), 50, 500*time.Millisecond)
}

func short(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }
