package conformance

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"evenodd/league/protocol"
	"evenodd/rules"
)

// judgeContest looks at what holds of every match.
func (x *bench) judgeContest(c *contest) {
	start := c.start()
	if start == nil || c.cut {
		return
	}
	said := func(problem string) string { return when(problem != "", "%s: %s", c.name, problem) }
	if refused := c.refusedStart(); refused != "" {
		x.fail("R-STA-01", said(refused), &start.Exchange)
		return
	}
	x.judge("R-STA-03", when(start.took > 2*time.Second, "the answer took %s", short(start.took)), &start.Exchange)
	if x.way == "" && start.trouble() == "" {
		x.envelope(start.result, protocol.TypeMatchAssignmentAck, "referee:", protocol.MatchConversation(c.match, c.attempt), start.at, &start.Exchange)
	}
	x.judgeInvitations(c, said)
	x.judgeQuestions(c, said)
	x.judgeErrors(c, said)
	if !c.over && x.slow(c) {
		return
	}
	shown := &start.Exchange
	if reports := x.reports(c); len(reports) > 0 {
		shown = reports[0].exchange()
	}
	problem := said(when(!c.over, "no report came within %s", c.limit))
	x.because(unreportedDefect(c.name), "R-REP-01", problem, shown)
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
		asked := s.told(x.questionType())
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
		x.judge("R-INV-01", said(when(len(calls) == 0, "%s was not invited", s.name)), c.startExchange())
		x.judge("R-ERR-05", said(askedProblem(c, s, calls, "invited")), exchangeOf(calls))
		for _, k := range calls {
			x.envelope(k.said, protocol.TypeGameInvitation, "referee:", "", k.at, k.exchange())
			round, _ := k.params.integer("round_id")
			x.judge("R-INV-02", said(firstOf(
				k.params.has("league_id", checkLeague), when(round != c.round, "round_id is %s, not %d", valueOf(k.params, "round_id"), c.round),
				k.params.has("match_id", c.match), k.params.has("game_type", x.game), k.params.filled("role_in_match"),
				k.params.has("opponent_id", c.seats[1-i].name),
			)), k.exchange())
			x.judge("R-INV-03", said(k.params.has("role_in_match", []string{protocol.RolePlayerA, protocol.RolePlayerB}[i])), k.exchange())
		}
	}
	asked := x.toldOf(c, x.questionType())
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
		joined := slices.ContainsFunc(s.told(protocol.TypeGameInvitation), func(k *call) bool { return k.before(first) })
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
		calls := s.told(x.questionType())
		if first := c.seats[0]; x.simultaneous() || s == first || !slices.Contains(x.losers(c), first.name) {
			x.judge("R-CHO-01", said(when(len(calls) == 0, "%s was not asked for a choice", s.name)))
		}
		x.judge("R-ERR-05", said(askedProblem(c, s, calls, "asked for a choice")), exchangeOf(calls))
		for _, k := range calls {
			shown := k.exchange()
			x.envelope(k.said, x.questionType(), "referee:", "", k.at, shown)
			in := k.params
			if !x.evenOdd() {
				in = objectOf(k.params["move_request"])
			}
			context := objectOf(in["context"])
			x.judge("R-CHO-02", said(firstOf(
				k.params.has("match_id", c.match), k.params.has("player_id", s.name), k.params.has("game_type", x.game),
				timeProblem(k.params, "deadline"), when(!x.evenOdd() && in == nil, "move_request is %s", jsonKind(k.params["move_request"])),
				when(context == nil, "context is %s", jsonKind(in["context"])),
			)), shown)
			if deadline, _ := k.params.text("deadline"); timeProblem(k.params, "deadline") == "" {
				at, _ := protocol.ParseTimestamp(deadline)
				x.judge("R-CHO-05", said(when(!c.short && at.Before(k.at.Add(-time.Second)), "deadline is %s, and it was %s", deadline, protocol.FormatTimestamp(k.at))), shown)
			}
			x.judge("R-CHO-06", said(firstOf(context.has("opponent_id", c.seats[1-i].name), when(context["round_id"] == nil, "round_id is missing"), when(x.evenOdd() && objectOf(context["your_standings"]) == nil, "your_standings is %s", jsonKind(context["your_standings"])))), shown)
		}
		x.judgeSecrecy(c, s, c.seats[1-i], said)
	}
	switch {
	case !x.simultaneous():
		x.skip("R-CHO-04", "the players of "+x.game+" move in turn")
	case c.name == wellPlayed:
		a, b := c.seats[0].told(x.questionType()), c.seats[1].told(x.questionType())
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
func askedProblem(c *contest, s *seat, calls []*call, what string) string {
	times, counted := map[string]int{}, 0
	for _, k := range calls {
		// A match may have several questions, and a referee may try other members.
		question := string(k.params["move_request"]) + strings.Join(k.said.names(), " ")
		times[question]++
		counted = max(counted, times[question])
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

// losers are the ids of the players that must lose a contest. Where players move in turn,
// the match ends with the first that fails.
func (x *bench) losers(c *contest) []string {
	a, b := c.seats[0].name, c.seats[1].name
	switch c.name {
	case neverJoins, answersErrors, answersBroken, answersHuge:
		return []string{a}
	case refusesToPlay, neverChooses, alwaysMaybe, otherMatchOnly, answersNonsense, hangsUp:
		return []string{b}
	case bothFail:
		if !x.simultaneous() {
			return []string{a}
		}
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
		x.envelope(e.call.said, protocol.TypeGameOver, "referee:", "", e.call.at, shown)
		problem := firstOf(e.call.params.has("match_id", c.match), e.call.params.has("game_type", x.game), when(e.result == nil, "game_result is %s", jsonKind(e.call.params["game_result"])), e.result.filled("status"))
		for _, name := range []string{"winner_player_id", "drawn_number", "number_parity", "choices"} {
			problem = firstOf(problem, when(e.result[name] == nil, "%s is missing", name))
		}
		x.judge("R-OVR-02", said(problem), shown)
		switch {
		case len(x.losers(c)) > 0:
			x.judge("R-LOS-07", said(lossProblem(e)), shown)
		case len(x.losers(c)) == 0 && !faulty(c, e):
			x.judgeVerdict(c, e, said)
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

// judgeVerdict judges the result of a match that was played to its end.
func (x *bench) judgeVerdict(c *contest, e *ending, said func(string) string) {
	shown := e.call.exchange()
	if x.evenOdd() {
		parity, _ := e.result.text("number_parity")
		x.judge("R-OVR-03", said(firstOf(when(e.number < 1 || e.number > 10, "drawn_number is %s", valueOf(e.result, "drawn_number")), when(parity != parityOf(e.number), "number_parity of %d is %s", e.number, quoted(parity)))), shown)
	} else {
		x.skip("R-OVR-03", "no number is drawn in "+x.game)
	}
	verdict := x.decided(c, e.number)
	status, winner := protocol.StatusDraw, ""
	if verdict.Winner != rules.NoSide {
		status, winner = protocol.StatusWin, c.seats[verdict.Winner].name
	}
	x.judge("R-OVR-04", said(when(e.status != status || e.winner != winner, "by the rules the status is %s and the winner %q%s, but they are %s and %s", status, winner,
		when(x.evenOdd(), ", for the number %d and the choices %s and %s", e.number, verdict.Moves[0], verdict.Moves[1]), quoted(e.status), valueOf(e.result, "winner_player_id"))), shown)
	choices := objectOf(e.result["choices"])
	x.judge("R-OVR-05", said(firstOf(choices.has(c.seats[0].name, verdict.Moves[0]), choices.has(c.seats[1].name, verdict.Moves[1]))), shown)
}

// judgeDraw recomputes the draw of a referee that has committed to it.
func (x *bench) judgeDraw(c *contest, s *seat, e *ending, said func(string) string) {
	if !x.evenOdd() {
		x.skip("R-DRW-01", "nothing is drawn in "+x.game)
		return
	}
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
	given, _ := c.start().result.text("draw_commitment")
	x.judge("R-DRW-01", said(firstOf(
		when(given != "" && given != promised, "the player was promised another draw than the manager"),
		draw.has("commitment", promised),
		when(!ok, "draw.nonce is %s", valueOf(draw, "nonce")),
		when(ok && protocol.DrawCommitment(checkLeague, c.match, c.attempt, x.desk.registered(), nonce) != promised, "the nonce does not belong to the commitment"),
		when(ok && drawnNumber(nonce, protocol.Secret{}, protocol.Secret{}) != e.number, "the number is %d, and by the nonce it is %d", e.number, drawnNumber(nonce, protocol.Secret{}, protocol.Secret{})),
	)), e.call.exchange())
}

func (x *bench) judgeReports(c *contest, said func(string) string) {
	reports := x.reports(c)
	var first members
	for i, k := range reports {
		shown := k.exchange()
		result := objectOf(k.params["result"])
		x.envelope(k.said, protocol.TypeMatchResultReport, "referee:", "", k.at, shown)
		x.judge("R-REP-09", said(k.params.has("sender", protocol.RefereeSender(x.desk.registered()))), shown)
		round, _ := k.params.integer("round_id")
		x.judge("R-REP-02", said(firstOf(
			k.params.has("league_id", checkLeague), when(round != c.round, "round_id is %s, not %d", valueOf(k.params, "round_id"), c.round), k.params.has("game_type", x.game),
			when(result == nil, "result is %s", jsonKind(k.params["result"])), when(result["winner"] == nil, "winner is missing"), when(objectOf(result["score"]) == nil, "score is %s", jsonKind(result["score"])),
		)), shown)
		token, _ := k.params.text("auth_token")
		x.judge("R-REP-03", said(when(token != x.desk.token, "auth_token is not the one it was given")), shown)
		details := objectOf(objectOf(k.said["result"])["details"])
		x.judge("R-REP-06", said(firstOf(when(details["choices"] == nil, "details.choices is missing"), when(x.evenOdd() && details["drawn_number"] == nil, "details.drawn_number is missing"))), shown)
		x.judge("R-REP-10", said(x.contradiction(c, result)), shown)
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

// contradiction says that choices, number and winner of a report are not possible
// together; "" where they are, or where the report does not have them.
func (x *bench) contradiction(c *contest, result members) string {
	details := objectOf(result["details"])
	var number *int
	if n, ok := details.integer("drawn_number"); ok && n != 0 { // some referees report 0 for none
		number = &n
	}
	var moves [2]string
	for i, s := range c.seats {
		moves[i], _ = objectOf(details["choices"]).text(s.name)
	}
	verdict, decided, err := rules.Follows(x.options.Game, moves, number)
	if err != nil {
		return err.Error()
	}
	winner := verdict.WinnerOf([2]string{c.seats[0].name, c.seats[1].name})
	return when(decided && winner != winnerOf(result), "by its choices and its drawn_number %s the winner is %q, not %s", valueOf(details, "drawn_number"), winner, valueOf(result, "winner"))
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
	case len(x.losers(c)) == 0:
		want[c.seats[0].name], want[c.seats[1].name] = 1, 1
	}
	score := objectOf(result["score"])
	for _, s := range c.seats {
		points, _ := score.integer(s.name)
		x.judge("R-REP-05", said(when(points != want[s.name], "the score of %s is %s, not %d", s.name, valueOf(score, s.name), want[s.name])), k.exchange())
	}
}
