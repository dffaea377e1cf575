package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/rules"
)

// An assignedMatch is a match that the manager has assigned to a referee of the kit.
type assignedMatch struct {
	id        string
	round     int
	players   [2]string // by side
	endpoints [2]string // as in the assignment
	attempt   int       // 0 if the manager counts none
	call      *call
	referee   *member
	first     bool // of the league: the kit sends wrong reports of it

	status     string
	verdict    rules.Verdict
	accepted   bool // the report was accepted
	unanswered bool // the manager may have accepted it
}

// assigned takes a match and answers at once. A goroutine conducts the match.
func (x *managerExam) assigned(c *call) response {
	m := &assignedMatch{id: c.match(), round: roundOf(c), call: c}
	m.attempt, _ = c.params.integer("attempt")
	for side, name := range sides {
		player := objectOf(c.params[name])
		m.players[side], m.endpoints[side] = player.text("player_id"), player.text("endpoint")
	}
	x.record("assignment", &fact{call: c, problem: when(m.id == "", "match_id is missing")})
	x.take(m)
	id := c.to.identity()
	ack := object{"status": protocol.StatusAccepted, "referee_id": id}
	if x.Program != nil {
		ack["game_digest"] = x.Program.Digest()
	}
	return c.answer(protocol.RefereeSender(id), ack, "match_id", "attempt")
}

// playerProblem returns what is wrong with a player of an assignment.
func (x *managerExam) playerProblem(id, endpoint string) string {
	p := x.member(id)
	switch {
	case id == "":
		return "a player is missing"
	case p == nil || p.role == Referee:
		return quoted(id) + " is no player of the league"
	case p.redirected: // the endpoint that the kit has invented is no endpoint of an agent
		return ""
	case endpoint == "":
		return "the endpoint of " + id + " is missing"
	case !sameEndpoint(endpoint, p.url):
		return fmt.Sprintf("the endpoint of %s is %s, not %s", id, quoted(endpoint), p.url)
	}
	return ""
}

// member returns the member with an id; nil for none.
func (x *managerExam) member(id string) *member {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, m := range x.members() {
		if m.id == id {
			return m
		}
	}
	return nil
}

// take begins to conduct a match, unless that attempt is conducted already.
func (x *managerExam) take(m *assignedMatch) {
	x.mu.Lock()
	defer x.mu.Unlock()
	by := slices.IndexFunc(x.referees, func(r *member) bool { return r.fakeAgent == m.call.to })
	again := slices.IndexFunc(x.matches, func(k *assignedMatch) bool { return k.id == m.id })
	known := again >= 0 && x.matches[again].attempt == m.attempt
	if known || by < 0 || m.id == "" || len(x.matches) > 10000 || x.life.Err() != nil {
		return
	}
	m.referee, m.first = x.referees[by], len(x.matches) == 0
	x.decide(m, len(x.matches))
	if again >= 0 {
		x.matches[again] = m
	} else {
		x.matches = append(x.matches, m)
	}
	x.playing.Add(1)
	x.conducting.Go(func() {
		x.conduct(m)
		x.playing.Add(-1)
		x.wake()
	})
}

// decide decides a match by choices that make every kind of result in turn.
func (x *managerExam) decide(m *assignedMatch, n int) {
	winners := []rules.Side{rules.SideA, rules.SideB, rules.NoSide, rules.SideA}
	n %= len(winners)
	m.verdict = x.verdictFor(winners[n])
	m.status = []string{league.StatusWin, league.StatusWin, league.StatusDraw, league.StatusTechnicalLoss}[n]
	if m.status == league.StatusTechnicalLoss {
		m.verdict.Moves[rules.SideB], m.verdict.Number = "", 0
	}
}

// report is MATCH_RESULT_REPORT of a match.
func (x *managerExam) report(m *assignedMatch) object {
	q := message(protocol.TypeMatchResultReport, protocol.RefereeSender(m.referee.id), "conv-check-report-"+m.id,
		m.referee.token)
	q["league_id"], q["round_id"], q["match_id"], q["game_type"] = x.league, m.round, m.id, x.game
	q["result"] = resultOf(m.players, m.status, m.verdict)
	if m.attempt > 0 {
		q["attempt"] = m.attempt
	}
	return q
}

// resultOf is the result in a report; 0 and "" are null.
func resultOf(players [2]string, status string, v rules.Verdict) object {
	r := league.ResultOf(v, players)
	r.Status = status
	score := object{}
	for _, id := range players {
		score[id] = league.DefaultScoring().For(r.Outcome(id))
	}
	return object{"winner": r.WinnerPlayerID, "score": score, "details": object{
		"drawn_number": r.DrawnNumber, "choices": choicesOf(players, v), "status": status,
	}}
}

// choicesOf are the last choices of both players.
func choicesOf(players [2]string, v rules.Verdict) object {
	return object{players[0]: protocol.NonZero(v.Moves[0]), players[1]: protocol.NonZero(v.Moves[1])}
}

// conduct reports a match. Before the first report it sends queries and wrong reports.
func (x *managerExam) conduct(m *assignedMatch) {
	select {
	case <-x.complete:
	case <-x.life.Done():
		return
	}
	x.record("assignment", &fact{call: m.call,
		problem: cmp.Or(x.playerProblem(m.players[0], m.endpoints[0]), x.playerProblem(m.players[1], m.endpoints[1]))})
	if m.first {
		x.queryRunning(m)
		x.reportWrongly(m)
	}
	r := m.referee.ask(x.report(m))
	problem := declined(r)
	x.show("report", r, problem)
	if problem != "" {
		x.mu.Lock()
		m.unanswered = r.Error != ""
		x.mu.Unlock()
		return
	}
	x.mu.Lock()
	m.accepted = true
	x.mu.Unlock()
	x.recordReply(r)
	if m.first {
		x.reportAgain(m)
	}
}

// declined returns why an answer to a report does not accept it.
func declined(r *reply) string { return cmp.Or(r.trouble(), when(notRefused(r) == "", "refused")) }

// reportEarly reports a match before the league begins.
func (x *managerExam) reportEarly() {
	if x.announced() || len(x.players) == 0 {
		return
	}
	p := x.players[0].id
	m := &assignedMatch{id: league.MatchID{Round: 1, Number: 1}.String(), round: 1, players: [2]string{p, p + "0"},
		referee: x.referees[0]}
	x.decide(m, 0)
	x.record("wrong report", &fact{about: "before the league begins",
		reply: m.referee.send(x.report(m)), code: protocol.ErrLeagueNotStarted})
}

// reportWrongly sends reports of a match in progress that must not count.
func (x *managerExam) reportWrongly(m *assignedMatch) {
	const wrong, withoutRight = "wrong report", "report without right"
	send := m.referee.sendBroken
	report, stray := x.report(m), x.report(m)
	stray["round_id"] = 99
	send(stray, breach{wrong, "match_id", "R99M99", protocol.ErrMatchNotFound})
	send(report,
		breach{withoutRight, "auth_token", nil, protocol.ErrTokenMissing},
		breach{withoutRight, "auth_token", "tok-ref01-" + strings.Repeat("0", 43), protocol.ErrTokenInvalid},
		breach{wrong, "result", nil, protocol.ErrMissingField})
	if p := x.member(m.players[1]); p != nil {
		send(report, breach{withoutRight, "auth_token", p.token, ""})
		own := x.report(m)
		own["auth_token"] = p.token
		send(own, breach{withoutRight, "sender", p.sender(p.id), protocol.ErrRefereeNotRegistered})
	}
	result, _ := stray["result"].(object)
	result["winner"] = "P9999"
	send(report, breach{"report of another winner", "result", result, ""})
}

// reportAgain repeats a report, and sends a different one of the same match.
func (x *managerExam) reportAgain(m *assignedMatch) {
	const duplicate = protocol.ErrDuplicateReport
	r := m.referee.send(x.report(m))
	if r.Status == 0 && x.over() {
		x.miss("the manager has ended with its league", "report again")
		return
	}
	x.show("report again", r, when(refusedWith(r, duplicate) != "", "%s", declined(r)))
	another := x.report(m) // a possible result: the other player has won
	another["result"] = resultOf(m.players, m.status, x.verdictFor(rules.SideB))
	if r = m.referee.send(another); r.Status != 0 || !x.over() {
		x.record("different report", &fact{reply: r, code: duplicate})
	}
}
