package check

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"evenodd/league"
	"evenodd/league/lists"
	"evenodd/league/protocol"
	"evenodd/rules"
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
		x.recordReply(start)
	}
	for _, p := range m.players {
		x.record("player", &fact{about: m.name, of: m, player: p, reply: start})
		for _, kind := range []string{protocol.TypeGameInvitation, protocol.TypeGameError, protocol.TypeGameOver} {
			x.recordCalls(kind, m, p, p.received(kind))
		}
		if !m.unplayed() {
			x.recordCalls(protocol.TypeChooseParityCall, m, p, p.received(x.asking().Request))
		}
	}
	reports := m.reports()
	f = &fact{about: m.name, of: m, call: firstCall(reports)}
	x.record("match", f)
	x.record(m.name+"/match", f)
	if f.call == nil {
		f.defect, f.reply = "It does not report every match: no report came of "+m.name+".", start
	}
	x.record(m.name+"/result", f)
	if !m.over && (m.slow() || m.hurried) {
		return
	}
	x.record("reported", f)
	x.recordCalls(protocol.TypeMatchResultReport, m, nil, reports)
	if m.again != nil {
		n := len(m.players[0].received(protocol.TypeGameInvitation))
		x.show(wellPlayed+"/again", m.again, when(n > 1, "the players were invited %d times", n), m.again.Error)
	}
}

// expected has the members of the referee's messages that the match determines; nil player
// for a message to the manager.
func (m *refereedMatch) expected(p *fakePlayer) object {
	x := m.exam
	want := object{"league_id": checkLeague, "round_id": m.round, "match_id": m.id, "game_type": x.game}
	if p != nil {
		want["player_id"], want["affected_player"], want["opponent_id"] = p.name, p.name, m.players[p.side.Other()].name
		want["role_in_match"] = roleOf(p.side)
	}
	return want
}

// recordCalls records calls about a match, and their envelopes.
func (x *refereeExam) recordCalls(name string, m *refereedMatch, p *fakePlayer, calls []*call) {
	for _, c := range calls {
		x.recordCall(c)
		x.record(name, &fact{about: m.name, call: c, of: m, player: p, want: m.expected(p)})
	}
}

// isCalled returns that a player got no call of a kind.
func isCalled(kind, what string) test {
	return func(f *fact) string {
		return when(len(f.player.received(kind)) == 0, "%s was not %s", f.player.name, what)
	}
}

// An ending is the end of a match by GAME_OVER.
type ending struct {
	result         members
	status, winner string
	number         int
	chance         rules.Chance // by which the referee draws; the players of the kit add nothing to it
}

// ending returns the first GAME_OVER of a player; nil for none.
func (p *fakePlayer) ending() *ending { return append(p.endings(), nil)[0] }

// endings returns all GAME_OVER of a player, in order.
func (p *fakePlayer) endings() []*ending {
	return lists.Map(p.received(protocol.TypeGameOver), func(c *call) *ending {
		e := &ending{result: objectOf(c.params["game_result"])}
		e.status = e.result.text("status")
		e.winner = e.result.text("winner_player_id")
		e.number, _ = e.result.integer("drawn_number")
		e.chance.Nonce, _ = protocol.ParseSecret(objectOf(c.params["draw"]).text("nonce"))
		return e
	})
}

// The tests below, up to inTurn, are conditions of others: they return undecided if a fact
// shows nothing about the requirement.

// mayInvite wants a match that does not end with the invitation of the other player.
func mayInvite(f *fact) string { return when(f.of.unplayed() && f.player.side != f.of.by, undecided) }

// mayAsk wants a match in which the player is to choose. A match may end with the first player that fails. A referee
// may require the envelope.
func mayAsk(f *fact) string {
	ended := f.of.loses && f.player.side != f.of.by
	return when(f.of.unplayed() || ended || f.of.name == noEnvelope, undecided)
}

// hasEnded wants a match that does not go on after the examination.
func hasEnded(f *fact) string { return when(!f.of.over && f.of.slow(), undecided) }

// mustLose wants a match that a player must lose.
func mustLose(f *fact) string { return when(!f.of.loses, undecided) }

// rightChoices wants the choices that the players have made.
func rightChoices(f *fact) string {
	e, players := f.player.ending(), f.of.players
	choices, moves := objectOf(e.result["choices"]), f.of.verdict(e).Moves
	return cmp.Or(choices.has(players[0].name, moves[0]), choices.has(players[1].name, moves[1]))
}

// isTechnicalLoss wants the end of a match that was not played.
func isTechnicalLoss(f *fact) string {
	e := f.player.ending()
	number := e.result["drawn_number"]
	return cmp.Or(when(e.status != league.StatusTechnicalLoss, "status is %s", quoted(e.status)),
		when(number != nil && number.Kind() != 'n', "drawn_number is %s", valueOf(e.result, "drawn_number")))
}

// isPlayed wants the end of a match that was played. A technical loss that should not be, and
// a choice that is not allowed and not asked for again, are failures of other requirements.
func isPlayed(f *fact) string {
	askedOnce := f.of.name == choosesMaybe && len(f.of.players[0].received(f.of.exam.asking().Request)) < 2
	lost := f.of.once && f.player.ending().status == league.StatusTechnicalLoss
	return when(lost || askedOnce || f.of.name == noEnvelope || f.of.loses, undecided)
}

// inTurn skips requirements about simultaneous choices in other games.
func (x *refereeExam) inTurn(*fact) string {
	return when(!x.simultaneous(), "%s", skipped("the players of "+x.game+" move in turn"))
}

// rightResult returns why number, status and winner do not follow from the rules.
func (x *refereeExam) rightResult(f *fact) string {
	e := f.player.ending()
	verdict, parity := f.of.verdict(e), e.result.text("number_parity")
	want := league.ResultOf(verdict, f.of.ids())
	status, winner := want.Status, protocol.ValueOf(want.WinnerPlayerID)
	draw, outside := "", ""
	if numbered, ok := x.Game.(rules.Numbered); ok {
		least, most := numbered.Numbers()
		draw = fmt.Sprintf(", for the number %d and the choices %s and %s", e.number, verdict.Moves[0], verdict.Moves[1])
		outside = when(e.number < least || e.number > most, "drawn_number is %s", valueOf(e.result, "drawn_number"))
	}
	return cmp.Or(
		outside,
		when(parity != verdict.Parity, "number_parity of %d is %s", e.number, quoted(parity)),
		when(e.status != status || e.winner != winner,
			"by the rules the status is %s and the winner %q%s, but they are %s and %s",
			status, winner, draw, quoted(e.status), valueOf(e.result, "winner_player_id")))
}

// toldWinner compares a report with the results that the players were told. A referee that conducts a match
// several times, because it was started several times, tells and reports several results.
func toldWinner(f *fact) string {
	result := f.reported()
	for _, p := range f.of.players {
		told := p.endings()
		isReported := func(e *ending) bool { return e.winner == winnerOf(result) }
		switch {
		case len(told) == 0, slices.ContainsFunc(told, isReported):
		case len(told) < len(p.received(protocol.TypeGameInvitation)):
			return undecided
		default:
			return fmt.Sprintf("winner is %s, and %s was told %s", valueOf(result, "winner"), p.name,
				valueOf(told[0].result, "winner_player_id"))
		}
	}
	return ""
}

func rightScore(f *fact) string {
	result := f.reported()
	winner, score := winnerOf(result), objectOf(result["score"])
	ended := &league.Result{WinnerPlayerID: protocol.NonZero(winner)}
	if f.of.loses {
		ended.Status = league.StatusTechnicalLoss
	}
	for _, id := range f.of.ids() {
		want := league.DefaultScoring().For(ended.Outcome(id))
		if points, _ := score.integer(id); points != want {
			return fmt.Sprintf("the score of %s is %s, not %d", id, valueOf(score, id), want)
		}
	}
	return ""
}

// contradiction returns that choices, number and winner of a report are not possible
// together. A report may lack them.
func (x *refereeExam) contradiction(f *fact) string {
	m, result := f.of, f.reported()
	details := objectOf(result["details"])
	var number *int
	if n, ok := details.integer("drawn_number"); ok && n != 0 { // some referees report 0 for none
		number = &n
	}
	var moves [2]string
	for i, p := range m.players {
		moves[i] = objectOf(details["choices"]).text(p.name)
	}
	verdict, decided, err := rules.Follows(x.Game, moves, number)
	if err != nil {
		return err.Error()
	}
	winner := verdict.WinnerOf(m.ids())
	return when(decided && winner != winnerOf(result), "by its choices and its drawn_number %s the winner is %q, not %s",
		valueOf(details, "drawn_number"), winner, valueOf(result, "winner"))
}

// reported is the result in a report.
func (f *fact) reported() members { return objectOf(f.call.params["result"]) }

// firstCall returns the first of some calls; nil for none.
func firstCall(calls []*call) *call { return append(calls, nil)[0] }

// winnerOf is the winner of a report; "" for none, in all spellings.
func winnerOf(result members) string {
	winner := result.text("winner")
	if strings.EqualFold(winner, league.StatusDraw) {
		return ""
	}
	return winner
}

// unreported returns that a match was not reported.
func unreported(f *fact) string {
	m := f.of
	if !m.over && m.hurried {
		return skipped(m.name + ": the referee has not reported earlier matches, and so had not the whole time for this one")
	}
	if !m.over && m.slow() {
		return skipped(m.name +
			": it gives a player the protocol's 30 s for each question, for which this examination does not wait")
	}
	return when(f.call == nil, "the match was never reported")
}

// rightWinner returns that a report has not the winner that must win because its opponent
// fails.
func rightWinner(f *fact) string {
	want, got := f.of.players[f.of.by.Other()].name, winnerOf(f.reported())
	return when(got != want, "the winner is %s, not %s", quoted(got), quoted(want))
}

// playsOn returns that a match was not played to its end.
func playsOn(f *fact) string {
	lost := slices.ContainsFunc(f.of.players[:], func(p *fakePlayer) bool {
		e := p.ending()
		return e != nil && strings.EqualFold(e.status, league.StatusTechnicalLoss)
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

// secretChoice returns that a player was told the choice of its opponent before both had
// chosen: by a member with a telling name, or by the choice itself, if the first question
// of the match has it less often.
func (x *refereeExam) secretChoice(f *fact) string {
	questions := f.of.received(x.asking().Request)
	if len(questions) == 0 {
		return undecided
	}
	opponent := f.of.players[f.player.side.Other()]
	member := regexp.MustCompile(`(?i):\s*"\s*` + regexp.QuoteMeta(opponent.choice) + `\s*"`) // lists have what is allowed
	times := func(m members) int { return len(member.FindAll(encoded(m), -1)) }
	for _, in := range []members{f.call.params, objectOf(f.call.params["context"])} {
		for _, name := range []string{"opponent_choice", "choices", "drawn_number"} {
			if v := in[name]; v != nil && v.Kind() != 'n' {
				return name + " is " + valueOf(in, name)
			}
		}
	}
	return when(times(f.call.params) > times(questions[0].params),
		"it says %q, which is what %s chose, and the first question of the match did not", opponent.choice, opponent.name)
}
