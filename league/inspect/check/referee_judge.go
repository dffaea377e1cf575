package check

import (
	"fmt"
	"slices"
	"strings"

	"evenodd/league/protocol"
	"evenodd/rules"
	"evenodd/rules/evenodd"
)

// recordMatch records the facts of one match.
func (x *refereeExam) recordMatch(m *refereedMatch) {
	start := m.start()
	if start == nil || m.cut {
		return
	}
	f := &fact{about: m.name, of: m, reply: start, problem: m.refusal()}
	if f.problem != "" {
		if !busy(start) || !x.unfinished.Load() { // it may be busy with a match that it has not reported
			x.record("conducted", f)
		}
		return
	}
	x.record("start", f)
	if x.form == "" {
		x.recordReply(start, protocol.TypeMatchAssignmentAck, "referee:", protocol.MatchConversation(m.id, m.attempt))
	}
	for _, p := range m.players {
		x.record("player", &fact{about: m.name, of: m, player: p, reply: start})
		x.recordCalls("invitation", m, p, p.received(protocol.TypeGameInvitation))
		if !m.unplayed() {
			x.recordCalls("question", m, p, p.received(x.questionType()))
		}
		x.recordCalls("game error", m, p, p.received(protocol.TypeGameError))
		if e := p.ending(); e != nil {
			x.recordCalls("ending", m, p, []*call{e.call})
		}
	}
	reports := m.reports()
	f = &fact{about: m.name, of: m, call: firstCall(reports)}
	x.record("match", f)
	x.recordIfJudged(m.name+"/match", f)
	if f.call == nil {
		f.defect, f.reply = unreportedDefect(m.name), start
	}
	x.recordIfJudged(m.name+"/result", f)
	if !m.over && m.slow() {
		return
	}
	x.record("reported", f)
	if a, b := m.players[0].ending(), m.players[1].ending(); a != nil && b != nil {
		differ := a.status != b.status || a.winner != b.winner || a.number != b.number
		x.record("both told", &fact{about: m.name, call: a.call, evidence: []*Exchange{b.call.exchange()}, problem: when(differ, "they were told different results")})
	}
	x.recordCalls("report", m, nil, reports)
	if len(reports) > 0 {
		x.record("first report", f)
	}
	if m.again != nil {
		n := len(m.players[0].received(protocol.TypeGameInvitation))
		x.record(wellPlayed+"/again", &fact{reply: m.again, problem: firstOf(when(n > 1, "the players were invited %d times", n), m.again.Error)})
	}
}

// recordIfJudged records a fact of a match, if a requirement depends on it.
func (x *refereeExam) recordIfJudged(name string, f *fact) {
	if x.judges[name] != nil {
		x.record(name, f)
	}
}

// expected has the members of the referee's messages that the match determines; nil player
// for a message to the manager.
func (m *refereedMatch) expected(p *fakePlayer) map[string]any {
	x := m.exam
	want := map[string]any{
		"league_id": checkLeague, "round_id": m.round, "match_id": m.id, "game_type": x.game, "sender": protocol.RefereeSender(x.manager.agentID()),
	}
	if p != nil {
		want["player_id"], want["affected_player"], want["opponent_id"] = p.name, p.name, m.players[p.side.Other()].name
		want["role_in_match"] = []string{protocol.RolePlayerA, protocol.RolePlayerB}[p.side]
	}
	return want
}

// recordCalls records calls about a match, and their envelopes.
func (x *refereeExam) recordCalls(name string, m *refereedMatch, p *fakePlayer, calls []*call) {
	for _, c := range calls {
		x.recordCall(c, "referee:")
		x.record(name, &fact{about: m.name, call: c, of: m, player: p, want: m.expected(p)})
	}
}

// isCalled returns that a player got no call of a kind.
func isCalled(kind, what string) test {
	return func(f *fact) string {
		return when(len(f.player.received(kind)) == 0, "%s was not %s", f.player.name, what)
	}
}

// noQuestions returns that a player was asked in a match that cannot be played.
func (x *refereeExam) noQuestions(f *fact) string {
	return when(len(f.of.received(x.questionType())) > 0, "a player was asked for a choice")
}

// askedTogether returns that the second player was asked after the first had chosen, which
// waits with its answer for the other question.
func (x *refereeExam) askedTogether(f *fact) string {
	a, b := firstCall(f.of.players[0].received(x.questionType())), firstCall(f.of.players[1].received(x.questionType()))
	if a == nil || b == nil {
		return undecided
	}
	return when(a.answered && a.doneAt.Before(b.at), "%s was asked when %s had chosen", f.of.players[1].name, f.of.players[0].name)
}

// afterJoining returns why a question came too early. One player delays its answer to the
// invitation, to test whether the referee waits.
func afterJoining(f *fact) string {
	for _, p := range f.of.players {
		joined := slices.ContainsFunc(p.received(protocol.TypeGameInvitation), func(c *call) bool { return c.before(f.call) })
		if !joined {
			return fmt.Sprintf("a choice was asked for before %s had answered an invitation", p.name)
		}
	}
	return ""
}

// mostAsked is how often a question is asked: once, and three times more.
const mostAsked = 4

// askedOften returns that a player got calls of a kind too often. In a short match, an
// attempt of the referee may be void because the computer is busy: then it sends no
// GAME_ERROR.
func askedOften(kind, what string) test {
	return func(f *fact) string {
		times, counted := map[string]int{}, 0
		for _, c := range f.player.received(kind) {
			// A match may have several questions, and a referee may try other members.
			question := string(c.params["move_request"]) + strings.Join(c.sent.names(), " ")
			times[question]++
			counted = max(counted, times[question])
		}
		asked := counted
		if errors := len(f.player.received(protocol.TypeGameError)); f.of.short && errors > 0 {
			counted = min(counted, errors)
		}
		return when(counted > mostAsked, "%s was %s %d times", f.player.name, what, asked)
	}
}

// An ending is the end of a match by GAME_OVER.
type ending struct {
	call           *call
	result         members
	status, winner string
	number         int
}

// ending returns the first GAME_OVER of a player; nil for none.
func (p *fakePlayer) ending() *ending {
	first := firstCall(p.received(protocol.TypeGameOver))
	if first == nil {
		return nil
	}
	e := &ending{call: first, result: objectOf(first.params["game_result"])}
	e.status = e.result.text("status")
	e.winner = e.result.text("winner_player_id")
	e.number, _ = e.result.integer("drawn_number")
	return e
}

// losers returns the players that must lose. If players move in turn, the match ends with
// the first that fails.
func (m *refereedMatch) losers() (losers []*fakePlayer) {
	for _, p := range m.players {
		if m.loses && p.deviation != nil && (m.exam.simultaneous() || len(losers) == 0) {
			losers = append(losers, p)
		}
	}
	return losers
}

// The tests below, up to inTurn, are conditions of others: they return undecided if a fact
// shows nothing about the requirement.

// mayAsk wants a match in which the player is to choose. If players move in turn, the match
// ends with the first that fails. A referee may require the envelope.
func (x *refereeExam) mayAsk(f *fact) string {
	first := f.of.players[rules.SideA]
	ended := !x.simultaneous() && f.player != first && slices.Contains(f.of.losers(), first)
	return when(f.of.unplayed() || ended || f.of.name == noEnvelope, undecided)
}

// hasEnded wants a match that does not go on after the examination.
func hasEnded(f *fact) string { return when(!f.of.over && f.of.slow(), undecided) }

// mustLose wants a match that a player must lose.
func mustLose(f *fact) string { return when(len(f.of.losers()) == 0, undecided) }

// isPlayed wants the end of a match that was played. A technical loss that should not be, and
// a choice that is not allowed and not asked for again, are failures of other requirements.
func isPlayed(f *fact) string {
	playable := f.of.name == choosesLate || f.of.name == choosesMaybe
	askedOnce := f.of.name == choosesMaybe && len(f.of.players[0].received(f.of.exam.questionType())) < 2
	lost := playable && f.player.ending().status == protocol.StatusTechnicalLoss
	return when(lost || askedOnce || f.of.name == noEnvelope || mustLose(f) == "", undecided)
}

// drawsNumber wants a game in which a number is drawn.
func (x *refereeExam) drawsNumber(*fact) string {
	return when(!x.evenOdd(), "%s", skipped("nothing is drawn in "+x.game))
}

// inTurn skips requirements about simultaneous choices in other games.
func (x *refereeExam) inTurn(*fact) string {
	return when(!x.simultaneous(), "%s", skipped("the players of "+x.game+" move in turn"))
}

func rightNumber(f *fact) string {
	e := f.player.ending()
	parity := e.result.text("number_parity")
	return firstOf(when(e.number < 1 || e.number > 10, "drawn_number is %s", valueOf(e.result, "drawn_number")),
		when(parity != evenodd.Parity(e.number), "number_parity of %d is %s", e.number, quoted(parity)))
}

// rightDraw recomputes the draw of a referee that has committed to it.
func (x *refereeExam) rightDraw(f *fact) string {
	m, promised := f.of, ""
	if invitation := firstCall(f.player.received(protocol.TypeGameInvitation)); invitation != nil {
		promised = invitation.params.text("draw_commitment")
	}
	if promised == "" {
		return skipped("it commits to no draw")
	}
	e := f.player.ending()
	draw := objectOf(e.call.params["draw"])
	text := draw.text("nonce")
	nonce, ok := protocol.ParseSecret(text)
	given := m.start().result.text("draw_commitment")
	number := evenodd.Number(rules.Chance{Nonce: nonce})
	return firstOf(
		when(given != "" && given != promised, "the player was promised another draw than the manager"),
		draw.has("commitment", promised),
		when(!ok, "draw.nonce is %s", valueOf(draw, "nonce")),
		when(ok && protocol.DrawCommitment(checkLeague, m.id, m.attempt, x.manager.agentID(), nonce) != promised, "the nonce does not belong to the commitment"),
		when(ok && number != e.number, "the number is %d, and by the nonce it is %d", e.number, number),
	)
}

// rightResult returns why status and winner do not follow from the rules.
func (x *refereeExam) rightResult(f *fact) string {
	e := f.player.ending()
	verdict := f.of.verdict(e.number)
	status, winner := protocol.StatusDraw, ""
	if verdict.Winner != rules.NoSide {
		status, winner = protocol.StatusWin, f.of.players[verdict.Winner].name
	}
	draw := when(x.evenOdd(), ", for the number %d and the choices %s and %s", e.number, verdict.Moves[0], verdict.Moves[1])
	return when(e.status != status || e.winner != winner, "by the rules the status is %s and the winner %q%s, but they are %s and %s",
		status, winner, draw, quoted(e.status), valueOf(e.result, "winner_player_id"))
}

// toldWinner compares a report with the result that the players were told.
func toldWinner(f *fact) string {
	result := objectOf(f.call.params["result"])
	for _, p := range f.of.players {
		if e := p.ending(); e != nil {
			return when(e.winner != winnerOf(result), "winner is %s, and the players were told %s", valueOf(result, "winner"), valueOf(e.result, "winner_player_id"))
		}
	}
	return undecided
}

func rightScore(f *fact) string {
	result := objectOf(f.call.params["result"])
	winner, score := winnerOf(result), objectOf(result["score"])
	for _, p := range f.of.players {
		want := 0
		switch {
		case winner == p.name:
			want = 3
		case winner == "" && len(f.of.losers()) == 0:
			want = 1
		}
		if points, _ := score.integer(p.name); points != want {
			return fmt.Sprintf("the score of %s is %s, not %d", p.name, valueOf(score, p.name), want)
		}
	}
	return ""
}

// sameWinner returns that two reports of a match have different winners.
func sameWinner(f *fact) string {
	first := objectOf(f.call.params["result"])
	for _, c := range f.of.reports() {
		if result := objectOf(c.params["result"]); winnerOf(first) != winnerOf(result) {
			return fmt.Sprintf("it was reported that %s won, and then %s", valueOf(first, "winner"), valueOf(result, "winner"))
		}
	}
	return ""
}

// contradiction returns that choices, number and winner of a report are not possible
// together. A report may lack them.
func (x *refereeExam) contradiction(f *fact) string {
	m, result := f.of, objectOf(f.call.params["result"])
	details := objectOf(result["details"])
	var number *int
	if n, ok := details.integer("drawn_number"); ok && n != 0 { // some referees report 0 for none
		number = &n
	}
	var moves [2]string
	for i, p := range m.players {
		moves[i] = objectOf(details["choices"]).text(p.name)
	}
	verdict, decided, err := rules.Follows(x.options.Game, moves, number)
	if err != nil {
		return err.Error()
	}
	winner := verdict.WinnerOf([2]string{m.players[0].name, m.players[1].name})
	return when(decided && winner != winnerOf(result), "by its choices and its drawn_number %s the winner is %q, not %s", valueOf(details, "drawn_number"), winner, valueOf(result, "winner"))
}

// firstCall returns the first of some calls; nil for none.
func firstCall(calls []*call) *call { return append(calls, nil)[0] }

// winnerOf is the winner of a report; "" for none, in all spellings.
func winnerOf(result members) string {
	winner := result.text("winner")
	if strings.EqualFold(winner, protocol.StatusDraw) {
		return ""
	}
	return winner
}

// unreported returns that a match was not reported.
func unreported(f *fact) string {
	m := f.of
	if !m.over && m.slow() {
		return skipped(m.name + ": it gives a player the protocol's 30 s for each question, for which this examination does not wait")
	}
	return when(f.call == nil, "the match was never reported")
}

// rightWinner returns that a report has not the winner that must win because its opponent
// fails.
func rightWinner(f *fact) string {
	want := ""
	if losers := f.of.losers(); len(losers) == 1 {
		want = f.of.players[losers[0].side.Other()].name
	}
	got := winnerOf(objectOf(f.call.params["result"]))
	return when(got != want, "the winner is %s, not %s", quoted(got), quoted(want))
}

// playsOn returns that a match was not played to its end.
func playsOn(f *fact) string {
	lost := slices.ContainsFunc(f.of.players[:], func(p *fakePlayer) bool {
		e := p.ending()
		return e != nil && strings.EqualFold(e.status, protocol.StatusTechnicalLoss)
	})
	return when(lost, "it ended by a technical loss")
}

// asksAgain returns that the first player got a call of a kind only once.
func asksAgain(kind string) test {
	return func(f *fact) string {
		return when(len(f.of.players[0].received(kind)) < 2, "it was called once")
	}
}

// rightCode judges the code of a GAME_ERROR.
func rightCode(f *fact) string {
	code := f.call.params.text("error_code")
	if f.of.code == "" {
		return undecided
	}
	return when(code != string(f.of.code), "error_code is %s, not %s", quoted(code), f.of.code)
}

// sendsErrors returns that no player was told that it has failed. The only attempt of a
// late choice may be void: see askedOften.
func sendsErrors(f *fact) string {
	if f.of.code == "" || f.of.name == choosesLate {
		return undecided
	}
	return when(len(f.of.received(protocol.TypeGameError)) == 0, "it was not told")
}

// afterEndings returns that a report came before GAME_OVER.
func afterEndings(f *fact) string {
	problem := undecided
	for _, p := range f.of.players {
		if e := p.ending(); e != nil && f.call.seq < e.call.seq {
			return fmt.Sprintf("the manager had the report before %s had GAME_OVER", p.name)
		} else if e != nil {
			problem = ""
		}
	}
	return problem
}
