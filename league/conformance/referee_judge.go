package conformance

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
	f := &fact{about: m.name, of: m, reply: start}
	if f.problem = m.refusal(); f.problem != "" {
		x.record("conducted", f)
		return
	}
	x.record("start", f)
	if x.form == "" {
		x.recordReply(start, protocol.TypeMatchAssignmentAck, "referee:", protocol.MatchConversation(m.id, m.attempt))
	}
	for _, p := range m.players {
		x.recordInvitations(m, p)
	}
	x.recordQuestions(m)
	for _, p := range m.players {
		for _, c := range p.received(protocol.TypeGameError) {
			x.recordMessage("game error", m, p, c)
		}
	}
	if !m.over && m.slow() {
		return
	}
	reported := &fact{about: m.name, problem: when(!m.over, "no report came within %s", m.limit), defect: unreportedDefect(m.name), evidence: []*Exchange{m.startExchange()}}
	if reports := m.reports(); len(reports) > 0 {
		reported.evidence = []*Exchange{reports[0].exchange()}
	}
	x.record("reported", reported)
	x.recordEndings(m)
	x.recordReports(m)
	if m.again != nil {
		n := len(m.players[0].received(protocol.TypeGameInvitation))
		x.record(wellPlayed+"/again", &fact{reply: m.again, problem: firstOf(when(n > 1, "the players were invited %d times", n), m.again.Error)})
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

// recordMessage records a call about a match, and its envelope.
func (x *refereeExam) recordMessage(name string, m *refereedMatch, p *fakePlayer, c *call) {
	x.recordCall(c, "referee:")
	x.record(name, &fact{about: m.name, call: c, of: m, player: p, want: m.expected(p)})
}

func (x *refereeExam) recordInvitations(m *refereedMatch, p *fakePlayer) {
	calls := p.received(protocol.TypeGameInvitation)
	x.record("invited", &fact{about: m.name, evidence: []*Exchange{m.startExchange()}, problem: when(len(calls) == 0, "%s was not invited", p.name)})
	x.record("retries", &fact{about: m.name, evidence: []*Exchange{exchangeOf(calls)}, problem: askedProblem(m, p, calls, "invited")})
	for _, c := range calls {
		x.recordMessage("invitation", m, p, c)
	}
}

func (x *refereeExam) recordQuestions(m *refereedMatch) {
	asked := m.received(x.questionType())
	if m.name == refusesToPlay || m.name == neverJoins {
		x.record(m.name+"/questions", &fact{about: m.name, evidence: []*Exchange{exchangeOf(asked)}, problem: when(len(asked) > 0, "a player was asked for a choice")})
		return
	}
	if len(asked) > 0 {
		x.record("first question", &fact{about: m.name, call: asked[0], problem: m.earlyProblem(asked[0])})
	}
	first := m.players[0]
	for _, p := range m.players {
		calls := p.received(x.questionType())
		if x.simultaneous() || p == first || !slices.Contains(m.losers(), first.name) {
			x.record("asked", &fact{about: m.name, problem: when(len(calls) == 0, "%s was not asked for a choice", p.name)})
		}
		x.record("retries", &fact{about: m.name, evidence: []*Exchange{exchangeOf(calls)}, problem: askedProblem(m, p, calls, "asked for a choice")})
		for _, c := range calls {
			x.recordMessage("question", m, p, c)
		}
		x.recordSecrecy(m, p)
	}
	a, b := first.received(x.questionType()), m.players[1].received(x.questionType())
	switch {
	case !x.simultaneous():
		x.record(wellPlayed+"/simultaneous", &fact{skip: "the players of " + x.game + " move in turn"})
	case m.name == wellPlayed && len(a) > 0 && len(b) > 0: // the first player waits with its answer for the other question
		late := a[0].answered && a[0].doneAt.Before(b[0].at)
		x.record(wellPlayed+"/simultaneous", &fact{call: b[0], problem: when(late, "%s was asked when %s had chosen", m.players[1].name, first.name)})
	}
}

// earlyProblem returns why a question came too early. One player delays its answer to the
// invitation, to test whether the referee waits.
func (m *refereedMatch) earlyProblem(first *call) string {
	for _, p := range m.players {
		joined := slices.ContainsFunc(p.received(protocol.TypeGameInvitation), func(c *call) bool { return c.before(first) })
		if !joined {
			return fmt.Sprintf("a choice was asked for before %s had answered an invitation", p.name)
		}
	}
	return ""
}

// mostAsked is how often a question is asked: once, and three times more.
const mostAsked = 4

// askedProblem returns that a player was asked too often. In a short match, an attempt of
// the referee may be void because the computer is busy: then it sends no GAME_ERROR.
func askedProblem(m *refereedMatch, p *fakePlayer, calls []*call, what string) string {
	times, counted := map[string]int{}, 0
	for _, c := range calls {
		// A match may have several questions, and a referee may try other members.
		question := string(c.params["move_request"]) + strings.Join(c.sent.names(), " ")
		times[question]++
		counted = max(counted, times[question])
	}
	asked := counted
	if errors := len(p.received(protocol.TypeGameError)); m.short && errors > 0 {
		counted = min(counted, errors)
	}
	return when(counted > mostAsked, "%s was %s %d times", p.name, what, asked)
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
	calls := p.received(protocol.TypeGameOver)
	if len(calls) == 0 {
		return nil
	}
	e := &ending{call: calls[0], result: objectOf(calls[0].params["game_result"])}
	e.status, _ = e.result.text("status")
	e.winner, _ = e.result.text("winner_player_id")
	e.number, _ = e.result.integer("drawn_number")
	return e
}

// losers returns the players that must lose. If players move in turn, the match ends with
// the first that fails.
func (m *refereedMatch) losers() []string {
	a, b := m.players[0].name, m.players[1].name
	switch m.name {
	case neverJoins, answersErrors, answersBroken, answersHuge:
		return []string{a}
	case refusesToPlay, neverChooses, alwaysMaybe, otherMatchOnly, answersNonsense, hangsUp:
		return []string{b}
	case bothFail:
		if !m.exam.simultaneous() {
			return []string{a}
		}
		return []string{a, b}
	}
	return nil
}

func (x *refereeExam) recordEndings(m *refereedMatch) {
	var ends [2]*ending
	for i, p := range m.players {
		e := p.ending()
		ends[i] = e
		x.record("told", &fact{about: m.name, problem: when(e == nil, "%s was not told", p.name)})
		if e == nil {
			continue
		}
		x.recordMessage("ending", m, p, e.call)
		f := &fact{about: m.name, call: e.call, of: m, player: p}
		// A technical loss that should not be is the failure of another requirement.
		playable := m.name == noEnvelope || m.name == choosesLate || m.name == choosesMaybe
		switch {
		case len(m.losers()) > 0:
			x.record("technical loss", f)
		case e.status != protocol.StatusTechnicalLoss || !playable:
			x.recordDecision(f)
		}
		if reports := m.reports(); len(reports) > 0 {
			early := reports[0].seq < e.call.seq
			x.record("report after the end", &fact{about: m.name, call: reports[0], problem: when(early, "the manager had the report before %s had GAME_OVER", p.name)})
		}
	}
	if a, b := ends[0], ends[1]; a != nil && b != nil {
		differ := a.status != b.status || a.winner != b.winner || a.number != b.number
		x.record("both told", &fact{about: m.name, call: a.call, evidence: []*Exchange{b.call.exchange()}, problem: when(differ, "they were told different results")})
	}
}

// recordDecision records the result of a match that was played to its end.
func (x *refereeExam) recordDecision(f *fact) {
	x.record("decision", f)
	if !x.evenOdd() {
		x.record("number", &fact{skip: "no number is drawn in " + x.game})
		x.record("draw", &fact{skip: "nothing is drawn in " + x.game})
		return
	}
	x.record("number", f)
	promised := ""
	if invitations := f.player.received(protocol.TypeGameInvitation); len(invitations) > 0 {
		promised, _ = invitations[0].params.text("draw_commitment")
	}
	if promised == "" {
		x.record("draw", &fact{skip: "it commits to no draw"})
		return
	}
	drawn := *f
	drawn.problem = x.drawProblem(f.of, f.player.ending(), promised)
	x.record("draw", &drawn)
}

// drawProblem recomputes the draw of a referee that has committed to it.
func (x *refereeExam) drawProblem(m *refereedMatch, e *ending, promised string) string {
	draw := objectOf(e.call.params["draw"])
	text, _ := draw.text("nonce")
	nonce, ok := protocol.ParseSecret(text)
	given, _ := m.start().result.text("draw_commitment")
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

func (x *refereeExam) recordReports(m *refereedMatch) {
	reports := m.reports()
	for i, c := range reports {
		result := objectOf(c.params["result"])
		x.recordMessage("report", m, nil, c)
		if i == 0 {
			x.recordResult(m, c, result)
			x.record("report again", &fact{})
			continue
		}
		first := objectOf(reports[0].params["result"])
		differ := winnerOf(first) != winnerOf(result)
		x.record("report again", &fact{
			about: m.name, call: reports[0], evidence: []*Exchange{c.exchange()},
			problem: when(differ, "it was reported that %s won, and then %s", valueOf(first, "winner"), valueOf(result, "winner")),
		})
	}
	if m.name == lostReport {
		once := when(len(reports) < 2, "the report whose answer was lost was not sent again within %s", m.limit)
		x.record(lostReport+"/report", &fact{about: m.name, evidence: []*Exchange{exchangeOf(reports)}, problem: once})
	}
}

// recordResult compares a report with the result that the players were told.
func (x *refereeExam) recordResult(m *refereedMatch, c *call, result members) {
	f := fact{about: m.name, call: c}
	for _, p := range m.players {
		if e := p.ending(); e != nil {
			other := e.winner != winnerOf(result)
			f.problem = when(other, "winner is %s, and the players were told %s", valueOf(result, "winner"), valueOf(e.result, "winner_player_id"))
			x.record("reported winner", &f)
			break
		}
	}
	want := map[string]int{m.players[0].name: 0, m.players[1].name: 0}
	switch winner := winnerOf(result); {
	case winner != "":
		want[winner] = 3
	case len(m.losers()) == 0:
		want[m.players[0].name], want[m.players[1].name] = 1, 1
	}
	score := objectOf(result["score"])
	for _, p := range m.players {
		points, _ := score.integer(p.name)
		f.problem = when(points != want[p.name], "the score of %s is %s, not %d", p.name, valueOf(score, p.name), want[p.name])
		x.record("score", &f)
	}
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
		moves[i], _ = objectOf(details["choices"]).text(p.name)
	}
	verdict, decided, err := rules.Follows(x.options.Game, moves, number)
	if err != nil {
		return err.Error()
	}
	winner := verdict.WinnerOf([2]string{m.players[0].name, m.players[1].name})
	return when(decided && winner != winnerOf(result), "by its choices and its drawn_number %s the winner is %q, not %s", valueOf(details, "drawn_number"), winner, valueOf(result, "winner"))
}

func exchangeOf(calls []*call) *Exchange {
	if len(calls) == 0 {
		return nil
	}
	return calls[0].exchange()
}

// winnerOf is the winner of a report; "" for none, in all spellings.
func winnerOf(result members) string {
	winner, _ := result.text("winner")
	if strings.EqualFold(winner, protocol.StatusDraw) {
		return ""
	}
	return winner
}

// recordFailures records how the referee has dealt with a player that fails.
func (x *refereeExam) recordFailures(m *refereedMatch) {
	switch {
	case m.start() == nil || m.refusal() != "" || m.cut:
		return
	case !m.over && m.slow():
		skip := &fact{skip: m.name + ": it gives a player the protocol's 30 s for each question, for which this examination does not wait"}
		x.recordIfJudged(m.name+"/result", skip)
		x.recordIfJudged(m.name+"/played", skip)
		return
	}
	f := fact{about: m.name, of: m, defect: unreportedDefect(m.name), problem: "the match was never reported", evidence: []*Exchange{m.startExchange()}}
	result := f
	if reports := m.reports(); len(reports) > 0 {
		f = fact{about: m.name, of: m, evidence: []*Exchange{reports[0].exchange()}}
		result = f
		result.problem = m.wrongWinner(reports[0])
	}
	x.recordIfJudged(m.name+"/result", &result)
	errors := m.received(protocol.TypeGameError)
	if x.judges[m.name+"/code"] != nil && (m.name != choosesLate || len(errors) > 0) { // its only attempt may be void: see askedProblem
		x.record("game error expected", &fact{about: m.name, problem: when(len(errors) == 0, "it was not told")})
	}
	for _, c := range errors {
		x.recordIfJudged(m.name+"/code", &fact{about: m.name, call: c})
	}
	calls, what := m.players[0].received(x.questionType()), "asked"
	if m.name == neverJoins {
		calls, what = m.players[0].received(protocol.TypeGameInvitation), "invited"
	}
	lost := slices.ContainsFunc(m.players[:], func(p *fakePlayer) bool {
		e := p.ending()
		return e != nil && strings.EqualFold(e.status, protocol.StatusTechnicalLoss)
	})
	f.problem = firstOf(f.problem, when(lost, "it ended by a technical loss"))
	x.recordIfJudged(m.name+"/played", &f)
	again := fact{about: m.name, evidence: []*Exchange{exchangeOf(calls)}, problem: when(len(calls) < 2, "it was %s once", what)}
	if m.name == choosesMaybe {
		again.defect, again.problem = f.defect, firstOf(again.problem, f.problem)
	}
	x.recordIfJudged(m.name+"/asked again", &again)
}

// recordIfJudged records a fact of a match, if a requirement depends on it.
func (x *refereeExam) recordIfJudged(name string, f *fact) {
	if x.judges[name] != nil {
		x.record(name, f)
	}
}

// wrongWinner returns that a report has not the winner that must win because its opponent
// fails.
func (m *refereedMatch) wrongWinner(report *call) string {
	want := ""
	for _, p := range m.players {
		if losers := m.losers(); len(losers) == 1 && p.name != losers[0] {
			want = p.name
		}
	}
	got := winnerOf(objectOf(report.params["result"]))
	return when(got != want, "the winner is %s, not %s", quoted(got), quoted(want))
}
