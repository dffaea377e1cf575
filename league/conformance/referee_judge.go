package conformance

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"evenodd/league/protocol"
)

// judgeContest looks at what holds of every match.
func (x *bench) judgeContest(c *contest) {
	if c.started == nil || c.cut {
		return
	}
	said := func(problem string) string { return when(problem != "", "%s: %s", c.name, problem) }
	if c.refused != "" {
		x.fail("R-STA-01", said(c.refused), &c.started.Exchange)
		return
	}
	if x.way == 0 {
		x.envelope(c.started.result, protocol.TypeMatchAssignmentAck, "referee:", protocol.MatchConversation(c.match, 1), &c.started.Exchange)
		x.judge("R-STA-03", when(c.started.took > 2*time.Second, "the answer took %s", short(c.started.took)), &c.started.Exchange)
	}
	x.judgeInvitations(c, said)
	x.judgeQuestions(c, said)
	x.judgeErrors(c, said)
	if !c.over && x.slow(c) {
		return
	}
	shown := &c.started.Exchange
	if reports := x.reports(c); len(reports) > 0 {
		shown = reports[0].exchange()
	}
	x.judge("R-REP-01", said(when(!c.over, "no report came within %s", c.limit)), shown)
	x.judgeEndings(c, said)
	x.judgeReports(c, said)
	if c.name == wellPlayed {
		x.judgeAgain(c)
	}
}

// slow tells whether a match goes on because the referee gives players the
// protocol's own time for each of its tries, which nobody waits for here.
func (x *bench) slow(c *contest) bool {
	for _, s := range c.seats {
		asked := s.told(protocol.TypeChooseParityCall)
		if c.short && len(asked) > 1 && asked[1].at.Sub(asked[0].at) > chooseLimit/2 {
			return true
		}
	}
	return false
}

// judgeAgain looks what the second start of a match has done.
func (x *bench) judgeAgain(c *contest) {
	r := c.again
	if r == nil {
		return
	}
	x.judge("R-STA-04", firstOf(
		when(len(c.seats[0].told(protocol.TypeGameInvitation)) > 1, "the players were invited %d times", len(c.seats[0].told(protocol.TypeGameInvitation))),
		when(r.Error != "", "%s", r.Error),
	), &r.Exchange)
}

func (x *bench) judgeInvitations(c *contest, said func(string) string) {
	for i, s := range c.seats {
		calls := s.told(protocol.TypeGameInvitation)
		x.judge("R-INV-01", said(when(len(calls) == 0, "%s was not invited", s.name)), &c.started.Exchange)
		x.judge("R-ERR-05", said(askedProblem(c, s, calls, "invited")), exchangeOf(calls))
		for _, k := range calls {
			x.envelope(k.params, protocol.TypeGameInvitation, "referee:", "", k.exchange())
			round, _ := k.params.integer("round_id")
			x.judge("R-INV-02", said(firstOf(
				k.params.has("league_id", checkLeague), when(round != c.round, "round_id is %s, not %d", valueOf(k.params, "round_id"), c.round),
				k.params.has("match_id", c.match), k.params.has("game_type", "even_odd"), k.params.filled("role_in_match"),
				k.params.has("opponent_id", c.seats[1-i].name),
			)), k.exchange())
			x.judge("R-INV-03", said(k.params.has("role_in_match", []string{protocol.RolePlayerA, protocol.RolePlayerB}[i])), k.exchange())
		}
	}
	asked := x.toldOf(c, protocol.TypeChooseParityCall)
	switch c.name {
	case refusesToPlay, neverJoins:
		var shown *Exchange
		if len(asked) > 0 {
			shown = asked[0].exchange()
		}
		x.judge("R-INV-05", said(when(len(asked) > 0, "a player was asked for a choice")), shown)
	default:
		if len(asked) > 0 {
			x.judge("R-INV-04", said(x.earlyProblem(c, asked[0])), asked[0].exchange())
		}
	}
}

// earlyProblem says why a question came too early. One of the players keeps the
// referee waiting for its answer, to see whether it waits.
func (x *bench) earlyProblem(c *contest, first *call) string {
	for _, s := range c.seats {
		joined := slices.ContainsFunc(s.told(protocol.TypeGameInvitation), func(k *call) bool { return k.before(first.at) })
		if !joined {
			return fmt.Sprintf("a choice was asked for before %s had answered an invitation", s.name)
		}
	}
	return ""
}

func (x *bench) judgeQuestions(c *contest, said func(string) string) {
	if c.name == refusesToPlay || c.name == neverJoins {
		return
	}
	for i, s := range c.seats {
		calls := s.told(protocol.TypeChooseParityCall)
		x.judge("R-CHO-01", said(when(len(calls) == 0, "%s was not asked for a choice", s.name)))
		x.judge("R-ERR-05", said(askedProblem(c, s, calls, "asked for a choice")), exchangeOf(calls))
		for _, k := range calls {
			shown := k.exchange()
			x.envelope(k.params, protocol.TypeChooseParityCall, "referee:", "", shown)
			context := objectOf(k.params["context"])
			x.judge("R-CHO-02", said(firstOf(
				k.params.has("match_id", c.match), k.params.has("player_id", s.name), k.params.has("game_type", "even_odd"),
				timeProblem(k.params, "deadline"), when(context == nil, "context is %s", kindOf(k.params["context"])),
			)), shown)
			if deadline, _ := k.params.text("deadline"); timeProblem(k.params, "deadline") == "" {
				at, _ := protocol.ParseTimestamp(deadline)
				x.judge("R-CHO-05", said(when(!c.short && at.Before(k.at.Add(-time.Second)), "deadline is %s, and it was %s", deadline, protocol.FormatTimestamp(k.at))), shown)
			}
			x.judge("R-CHO-06", said(firstOf(context.has("opponent_id", c.seats[1-i].name), when(context["round_id"] == nil, "round_id is missing"), when(objectOf(context["your_standings"]) == nil, "your_standings is %s", kindOf(context["your_standings"])))), shown)
		}
		x.judgeSecrecy(c, s, c.seats[1-i], said)
	}
	if c.name == wellPlayed {
		a, b := c.seats[0].told(protocol.TypeChooseParityCall), c.seats[1].told(protocol.TypeChooseParityCall)
		if len(a) > 0 && len(b) > 0 { // the first waits with its answer for the other to be asked
			x.judge("R-CHO-04", when(a[0].end().Before(b[0].at), "%s was asked when %s had chosen", c.seats[1].name, c.seats[0].name), b[0].exchange())
		}
	}
}

// mostAsked is how often a question is asked: once, and three times more.
const mostAsked = 4

// askedProblem says that a player was asked too often. A referee may find that it
// stood still itself while the time of a player ran, which a machine that is busy
// makes of a short time. Such a try counts for nothing, and it complains of the
// others alone.
//
// A referee may look for the form that a player understands: what counts is how often
// it asks in the same form.
func askedProblem(c *contest, s *seat, calls []*call, what string) string {
	forms, counted := map[string]int{}, 0
	for _, k := range calls {
		form := k.form()
		forms[form]++
		counted = max(counted, forms[form])
	}
	asked := counted
	if told := len(s.told(protocol.TypeGameError)); c.short && told > 0 {
		counted = min(counted, told)
	}
	return when(counted > mostAsked, "%s was %s %d times", s.name, what, asked)
}

// An ending is how a match has ended, by GAME_OVER.
type ending struct {
	call   *call
	result members
	status string
	winner string
	number int
}

func endingOf(s *seat) *ending {
	calls := s.told(protocol.TypeGameOver)
	if len(calls) == 0 {
		return nil
	}
	e := &ending{call: calls[0], result: objectOf(calls[0].params["game_result"])}
	e.status, _ = e.result.text("status")
	e.winner, _ = e.result.text("winner_player_id")
	e.number, _ = e.result.integer("drawn_number")
	return e
}

// losers are the ids of those who have to lose a contest.
func (c *contest) losers() []string {
	a, b := c.seats[0].name, c.seats[1].name
	switch c.name {
	case neverJoins, answersErrors, answersBroken, answersHuge:
		return []string{a}
	case refusesToPlay, neverChooses, alwaysMaybe, otherMatchOnly, answersNonsense, hangsUp:
		return []string{b}
	case bothFail:
		return []string{a, b}
	}
	return nil
}

func (x *bench) judgeEndings(c *contest, said func(string) string) {
	var ends [2]*ending
	for i, s := range c.seats {
		e := endingOf(s)
		ends[i] = e
		x.judge("R-OVR-01", said(when(e == nil, "%s was not told", s.name)))
		if e == nil {
			continue
		}
		shown := e.call.exchange()
		x.envelope(e.call.params, protocol.TypeGameOver, "referee:", "", shown)
		problem := firstOf(e.call.params.has("match_id", c.match), e.call.params.has("game_type", "even_odd"), when(e.result == nil, "game_result is %s", kindOf(e.call.params["game_result"])), e.result.filled("status"))
		for _, name := range []string{"winner_player_id", "drawn_number", "number_parity", "choices"} {
			problem = firstOf(problem, when(e.result[name] == nil, "%s is missing", name))
		}
		x.judge("R-OVR-02", said(problem), shown)
		switch {
		case len(c.losers()) > 0:
			x.judge("R-LOS-07", said(lossProblem(e)), shown)
		case len(c.losers()) == 0 && !faulty(c, e):
			parity, _ := e.result.text("number_parity")
			x.judge("R-OVR-03", said(firstOf(when(e.number < 1 || e.number > 10, "drawn_number is %s", valueOf(e.result, "drawn_number")), when(parity != parityOf(e.number), "number_parity of %d is %s", e.number, quoted(parity)))), shown)
			x.judge("R-OVR-04", said(winnerProblem(c, e)), shown)
			choices := objectOf(e.result["choices"])
			x.judge("R-OVR-05", said(firstOf(choices.has(c.seats[0].name, c.seats[0].choice), choices.has(c.seats[1].name, c.seats[1].choice))), shown)
			x.judgeDraw(c, s, e, said)
		}
		if reports := x.reports(c); len(reports) > 0 {
			x.judge("R-OVR-07", said(when(reports[0].seq < e.call.seq, "the manager had the report before %s had GAME_OVER", s.name)), reports[0].exchange())
		}
	}
	if ends[0] != nil && ends[1] != nil {
		differs := ends[0].status != ends[1].status || ends[0].winner != ends[1].winner || ends[0].number != ends[1].number
		x.judge("R-OVR-06", said(when(differs, "they were told different results")), ends[0].call.exchange(), ends[1].call.exchange())
	}
}

// faulty tells whether a match that could have been played ended by a technical
// loss: which requirement that breaks is said elsewhere.
func faulty(c *contest, e *ending) bool {
	return e.status == protocol.StatusTechnicalLoss && (c.name == noEnvelope || c.name == choosesLate || c.name == choosesMaybe)
}

// lossProblem says what is wrong with a technical loss.
func lossProblem(e *ending) string {
	return firstOf(
		when(e.status != protocol.StatusTechnicalLoss, "status is %s", quoted(e.status)),
		when(e.result["drawn_number"] != nil && e.result["drawn_number"].Kind() != 'n', "drawn_number is %s", valueOf(e.result, "drawn_number")),
	)
}

// winnerProblem says why winner and status do not follow from number and choices.
func winnerProblem(c *contest, e *ending) string {
	right := parityOf(e.number)
	a, b := c.seats[0].choice == right, c.seats[1].choice == right
	status, winner := protocol.StatusWin, c.seats[0].name
	switch {
	case a == b:
		status, winner = protocol.StatusDraw, ""
	case b:
		winner = c.seats[1].name
	}
	return when(e.status != status || e.winner != winner, "the number is %d, %s chose %s and %s %s, but status is %s and the winner %s",
		e.number, c.seats[0].name, c.seats[0].choice, c.seats[1].name, c.seats[1].choice, quoted(e.status), valueOf(e.result, "winner_player_id"))
}

// judgeDraw recomputes the draw of a referee that has committed to it.
func (x *bench) judgeDraw(c *contest, s *seat, e *ending, said func(string) string) {
	invitations := s.told(protocol.TypeGameInvitation)
	promised := ""
	if len(invitations) > 0 {
		promised, _ = invitations[0].params.text("draw_commitment")
	}
	if promised == "" {
		x.skip("R-DRW-01", "it commits to no draw")
		return
	}
	draw := objectOf(e.call.params["draw"])
	text, _ := draw.text("nonce")
	nonce, ok := protocol.ParseSecret(text)
	given, _ := c.started.result.text("draw_commitment")
	x.judge("R-DRW-01", said(firstOf(
		when(given != "" && given != promised, "the player was promised another draw than the manager"),
		draw.has("commitment", promised),
		when(!ok, "draw.nonce is %s", valueOf(draw, "nonce")),
		when(ok && protocol.DrawCommitment(checkLeague, c.match, 1, refereeID, nonce) != promised, "the nonce does not belong to the commitment"),
		when(ok && drawnNumber(nonce, protocol.Secret{}, protocol.Secret{}) != e.number, "the number is %d, and by the nonce it is %d", e.number, drawnNumber(nonce, protocol.Secret{}, protocol.Secret{})),
	)), e.call.exchange())
}

func (x *bench) judgeReports(c *contest, said func(string) string) {
	reports := x.reports(c)
	var first members
	for i, k := range reports {
		shown := k.exchange()
		result := objectOf(k.params["result"])
		x.envelope(k.params, protocol.TypeMatchResultReport, "referee:", "", shown)
		x.judge("R-REP-09", said(k.params.has("sender", protocol.RefereeSender(refereeID))), shown)
		round, _ := k.params.integer("round_id")
		x.judge("R-REP-02", said(firstOf(
			k.params.has("league_id", checkLeague), when(round != c.round, "round_id is %s, not %d", valueOf(k.params, "round_id"), c.round), k.params.has("game_type", "even_odd"),
			when(result == nil, "result is %s", kindOf(k.params["result"])), when(result["winner"] == nil, "winner is missing"), when(objectOf(result["score"]) == nil, "score is %s", kindOf(result["score"])),
		)), shown)
		token, _ := k.params.text("auth_token")
		x.judge("R-REP-03", said(when(token != x.token, "auth_token is not the one it was given")), shown)
		x.judge("R-REP-06", said(firstOf(when(objectOf(result["details"])["choices"] == nil, "details.choices is missing"), when(objectOf(result["details"])["drawn_number"] == nil, "details.drawn_number is missing"))), shown)
		if i == 0 {
			first = result
			x.judgeResult(c, k, result, said)
			continue
		}
		x.judge("R-REP-08", said(when(winnerOf(first) != winnerOf(result), "it was reported that %s won, and then %s", valueOf(first, "winner"), valueOf(result, "winner"))), reports[0].exchange(), shown)
	}
	if len(reports) > 0 {
		x.pass("R-REP-08")
	}
	if c.lostOne {
		x.judge("R-REP-07", said(when(len(reports) < 2, "the report whose answer was lost was not sent again within %s", c.limit)), exchangeOf(reports))
	}
}

func exchangeOf(calls []*call) *Exchange {
	if len(calls) == 0 {
		return nil
	}
	return calls[0].exchange()
}

// winnerOf is the winner of a report; "" for none, however that is said.
func winnerOf(result members) string {
	winner, _ := result.text("winner")
	if strings.EqualFold(winner, protocol.StatusDraw) {
		return ""
	}
	return winner
}

// judgeResult compares a report with what the players were told.
func (x *bench) judgeResult(c *contest, k *call, result members, said func(string) string) {
	e := endingOf(c.seats[0])
	if e == nil {
		e = endingOf(c.seats[1])
	}
	if e != nil {
		x.judge("R-REP-04", said(when(e.winner != winnerOf(result), "winner is %s, and the players were told %s", valueOf(result, "winner"), valueOf(e.result, "winner_player_id"))), k.exchange())
	}
	want := map[string]int{c.seats[0].name: 0, c.seats[1].name: 0}
	switch winner := winnerOf(result); {
	case winner != "":
		want[winner] = 3
	case len(c.losers()) == 0:
		want[c.seats[0].name], want[c.seats[1].name] = 1, 1
	}
	score := objectOf(result["score"])
	for _, s := range c.seats {
		points, _ := score.integer(s.name)
		x.judge("R-REP-05", said(when(points != want[s.name], "the score of %s is %s, not %d", s.name, valueOf(score, s.name), want[s.name])), k.exchange())
	}
}
