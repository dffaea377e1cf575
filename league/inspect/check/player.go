package check

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
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
		{[]string{"at once"}, x.playAtOnce},
		{[]string{"misuse"}, x.misuse}, {[]string{"end"}, x.finish},
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
	position     rules.Position
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
		opponent: opponent, side: rules.SideA, attempt: 1, position: x.Game.Start(),
	}
}

// advance makes the moves of both players; the opponent makes the first legal one.
func (x *playerExam) advance(m *match, choice string) {
	var moves [2]string
	moves[m.side] = choice
	if other := m.side.Other(); slices.Contains(m.position.ToMove(), other) {
		moves[other] = x.allowed(m.position, other)[0]
	}
	m.position = m.position.Play(moves)
}

// turn has the opponent move until it is the player's turn; false when the match is over.
func (x *playerExam) turn(m *match) bool {
	for sides := m.position.ToMove(); !slices.Contains(sides, m.side); sides = m.position.ToMove() {
		if len(sides) == 0 {
			return false
		}
		x.advance(m, "")
	}
	return true
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
	q["player_id"] = x.player
	x.pose(q, m.position, m.side, m.opponent, m.round)
	return q
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
		"number_parity": protocol.NonZero(v.Parity),
		"choices":       choicesOf(ids, v), "reason": v.Reason(ids),
	}
	return q
}

// invite invites the player to a new match.
func (x *playerExam) invite() (*match, *reply) {
	m := x.newMatch()
	r := x.host.ask(x.invitation(m))
	x.show("join", r)
	if r.trouble() == "" {
		x.show(protocol.TypeGameJoinAck, r)
	}
	x.recordReply(r)
	return m, r
}

// choose asks for a choice; "" if there is no allowed one.
func (x *playerExam) choose(m *match) (string, *reply) {
	r := x.host.ask(x.question(m))
	choice, problem := x.choiceIn(r, m)
	x.show("choice", r, problem)
	x.recordReply(r)
	return choice, r
}

// over tells the player that a match has ended.
func (x *playerExam) over(m *match) {
	x.show("over", x.host.ask(x.ending(m)))
}

// playMatches plays as a league does, on both sides, against opponents with any id.
func (x *playerExam) playMatches() {
	for range 2 {
		m, _ := x.invite()
		for x.turn(m) {
			choice, _ := x.choose(m)
			if choice == "" {
				break
			}
			x.advance(m, choice)
		}
		x.over(m)
	}
	if x.givenUp() == "" && !x.understood.Load() {
		x.giveUp("the agent has understood no message of a league")
		return
	}
	for _, opponent := range []string{"P999", "P100000"} {
		m := x.newMatch()
		m.opponent, m.side = opponent, rules.SideB
		x.playOnce("side B", "as PLAYER_B against "+quoted(opponent), m, x.question(m))
	}
	x.playUnwon()
	x.playLate()
}

// playOnce plays a match with this question, in the form that the player has understood before. The fact is
// that the player joins and chooses.
func (x *playerExam) playOnce(name, about string, m *match, question object) {
	join, reply := x.host.send(x.invitation(m)), x.host.send(question)
	x.recordReply(join)
	x.host.ask(x.ending(m))
	_, problem := x.choiceIn(reply, m)
	x.record(name, &fact{about: about, reply: reply, earlier: join, problem: cmp.Or(join.trouble(), problem)})
}

// playUnwon ends a match with a draw, and one with technical losses.
func (x *playerExam) playUnwon() {
	drawn, _ := x.invite()
	if x.turn(drawn) {
		x.choose(drawn)
	}
	q := x.endingAs(drawn, league.StatusDraw, x.verdictFor(rules.NoSide))
	x.show("no winner", x.host.ask(q))

	lost, _ := x.invite()
	x.show("error", x.host.ask(notice(protocol.TypeGameError, object{
		"conversation_id": lost.conversation, "match_id": lost.id, "auth_token": checkToken, "player_id": x.player,
		"affected_player": x.player, "action_required": x.asking().Result,
	})))
	q = x.endingAs(lost, league.StatusTechnicalLoss, rules.Verdict{
		Winner: rules.NoSide, Explain: func(rules.Verdict, [2]string) string { return "neither player chose in time" },
	})
	x.show("no winner", x.host.ask(q))
}

// playLate asks a question with a deadline that has passed when the player reads it.
func (x *playerExam) playLate() {
	m, _ := x.invite()
	q := x.question(m)
	q["deadline"] = protocol.FormatTimestamp(time.Now())
	r := x.host.send(q)
	_, problem := x.choiceIn(r, m)
	x.show("late question", r, problem)
	x.over(m)
}

// repeat repeats calls, as a referee does after a lost answer, and asks questions that a
// player must reject.
func (x *playerExam) repeat() {
	m, first := x.invite()
	x.record("repeat/join", &fact{reply: x.host.send(x.invitation(m)), earlier: first})
	x.repeatChoice(m)
	x.over(m)
	x.show("repeat/over", x.host.send(x.ending(m)))
	x.record("repeat/no match", &fact{about: "after GAME_OVER", reply: x.host.send(x.question(m))})
	x.record("repeat/no match", &fact{about: "without an invitation", reply: x.host.send(x.question(x.newMatch()))})

	again, _ := x.invite()
	again.attempt, again.conversation = 2, protocol.MatchConversation(again.id, 2)
	x.playOnce("repeat/match", "as attempt 2", again, x.question(again))
}

// maxAsked is the number of times that one question is asked: a choice between two that
// is drawn anew each time stays the same by chance once in 128.
const maxAsked = 8

// repeatChoice asks the same question again and again.
func (x *playerExam) repeatChoice(m *match) {
	x.turn(m)
	choice, first := x.choose(m)
	if choice == "" {
		x.miss("it made no choice that could stay the same", "repeat/choice")
		return
	}
	for range maxAsked - 1 {
		r := x.host.send(x.question(m))
		again, _ := x.choiceIn(r, m)
		x.record("repeat/choice", &fact{reply: r, earlier: first,
			problem: cmp.Or(r.trouble(), when(again != choice, "it chose %q, and asked again %q", choice, again))})
		if again == "" {
			return
		}
	}
}

// concurrentMatches is the number of matches that are played at the same time.
const concurrentMatches = 20

// playAtOnce plays many matches: it invites to all of them, asks all questions, asks them
// again in reverse order, and ends all matches.
func (x *playerExam) playAtOnce() {
	x.concurrent.Store(true)
	defer x.concurrent.Store(false)
	about := fmt.Sprintf("with %d matches at once", concurrentMatches)
	round := int(x.matches.Add(1))
	matches := make([]*match, concurrentMatches)
	for i := range matches {
		matches[i] = x.matchOf(round, i+1)
		matches[i].opponent = league.PlayerID(200 + i)
		x.turn(matches[i])
	}
	all := func(message func(*match) object) []*reply {
		replies := make([]*reply, len(matches))
		var wait sync.WaitGroup
		for i, m := range matches {
			wait.Go(func() { replies[i] = x.host.send(message(m)) })
		}
		wait.Wait()
		for _, r := range replies {
			x.record("at once/reply", &fact{about: about, reply: r})
		}
		return replies
	}
	all(x.invitation)
	first := all(x.question)
	slices.Reverse(matches)
	slices.Reverse(first)
	for i, again := range all(x.question) {
		before, _ := x.choiceIn(first[i], matches[i])
		after, _ := x.choiceIn(again, matches[i])
		changed := before != "" && after != "" && before != after
		x.record("at once/choice", &fact{about: about, reply: again, earlier: first[i],
			problem: when(changed, "it chose %q, and asked again %q", before, after)})
	}
	all(x.ending)
}

// announce announces the first round, and the standings before it.
func (x *playerExam) announce() {
	opponent := x.matchOf(1, 1).opponent
	x.show("announce/round", x.host.ask(notice(protocol.TypeRoundAnnouncement, object{"matches": []any{
		object{
			"match_id": "R1M1", "game_type": x.game, "player_A_id": x.player, "player_B_id": opponent,
			"referee_endpoint": "http://localhost:8001/mcp", "referee_id": checkReferee,
		},
	}})))
	r := x.host.ask(standingsUpdate([]any{standingsRow(1, x.player, "Agent under examination", 2),
		standingsRow(2, opponent, "Opponent", 2)}))
	x.show("announce/standings", r)
	x.takesStandings = r.trouble() == ""
}

func standingsUpdate(rows []any) object {
	return notice(protocol.TypeStandingsUpdate, object{"standings": rows, "total_players": len(rows)})
}

// finish ends the round, plays one more match, and ends the league. A player that has not
// registered with the kit may be in another league, so the kit does not end that.
func (x *playerExam) finish() {
	x.show("end/round", x.host.ask(notice(protocol.TypeRoundCompleted, object{"next_round_id": nil})))
	last := x.newMatch()
	x.playOnce("end/match", "", last, x.question(last))
	const end = "P-NOT-04"
	switch {
	case !x.Selection.Wants(Requirement{ID: end, Level: Should}): // the user wants to go on with the agent
	case !x.registered:
		x.miss("the agent did not register with this examination, so the examination must not end its league", "end/league")
	default:
		x.show("end/league", x.host.ask(leagueCompleted(x.player, last.opponent)))
	}
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
	if m.position.Check(m.side, choice) != nil {
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
