package conformance

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"evenodd/league/protocol"
	"evenodd/rules"
)

// A fixture is a match that the manager has handed to a referee of the kit.
type fixture struct {
	match   string
	round   int
	a, b    string
	at      [2]string // their endpoints, as they were handed over
	attempt int       // 0 where the manager counts none
	alone   bool      // it was assigned by an announcement alone
	call    *call
	referee *member
	first   bool // the first of the league, at which reports are examined

	nonce      protocol.Secret
	commitment string

	status, winner string
	number         int
	choices        [2]string // by side
	reported       time.Time // when the report that counts was sent first
	accepted       bool      // it was
}

// seatOf reads a player of an assignment, in any of the ways that were seen.
func seatOf(m members, letter, number string) (id, endpoint string) {
	upper := strings.ToUpper(letter)
	for _, name := range []string{"player_" + upper, "player_" + letter, "player" + number} {
		if seat := objectOf(m[name]); seat != nil {
			id, _ = seat.text("player_id")
			for _, at := range []string{"endpoint", "contact_endpoint"} {
				if endpoint == "" {
					endpoint, _ = seat.text(at)
				}
			}
			return id, endpoint
		}
		for _, idName := range []string{name + "_id", name} {
			if id == "" {
				id, _ = m.text(idName)
			}
		}
		for _, at := range []string{name + "_endpoint", name + "_url"} {
			if endpoint == "" {
				endpoint, _ = m.text(at)
			}
		}
	}
	return id, endpoint
}

// assigned takes a match, and answers at once; it goes on by itself.
func (x *hearing) assigned(c *call) performance {
	f := &fixture{match: c.match(), call: c}
	f.round, _ = c.params.integer("round_id")
	f.attempt, _ = c.params.integer("attempt")
	f.a, f.at[0] = seatOf(c.params, "a", "1")
	f.b, f.at[1] = seatOf(c.params, "b", "2")
	d := defect{}
	if c.form != "" {
		d = formDefect()
	}
	x.because(d, "M-ASG-02", when(c.form != "", "it assigns a match as: %s", c.form), c.exchange())
	x.judge("M-ASG-03", when(f.match == "", "match_id is missing"), c.exchange())
	known := x.take(f)
	m := c.reply(protocol.TypeMatchAssignmentAck, protocol.RefereeSender(c.to.identity()))
	m["status"], m["match_id"], m["referee_id"] = protocol.StatusAccepted, f.match, c.to.identity()
	if known.attempt > 0 {
		m["attempt"], m["draw_commitment"] = known.attempt, known.commitment
	}
	return performance{result: m}
}

// seatProblem says what is wrong with a player of an assignment.
func (x *hearing) seatProblem(id, endpoint string) string {
	p := x.member(id)
	switch {
	case id == "":
		return "a player is missing"
	case p == nil || p.referee:
		return quoted(id) + " is no player of the league"
	case endpoint == "":
		return "the endpoint of " + id + " is missing"
	case !sameEndpoint(endpoint, p.url):
		return fmt.Sprintf("the endpoint of %s is %s, not %s", id, quoted(endpoint), p.url)
	}
	return ""
}

// member finds a member by its id; nil for nobody's.
func (x *hearing) member(id string) *member {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, m := range slices.Concat(x.players, x.referees) {
		if m.id == id {
			return m
		}
	}
	return nil
}

// take begins to conduct a match, unless it is conducted already in the same
// attempt; it returns the one that is.
func (x *hearing) take(f *fixture) *fixture {
	x.mu.Lock()
	defer x.mu.Unlock()
	if known := x.matches[f.match]; known != nil && known.attempt == f.attempt {
		return known
	}
	for _, r := range x.referees {
		if r.actor == f.call.to {
			f.referee = r
		}
	}
	if f.referee == nil || f.match == "" || len(x.matches) > 10000 || x.stage.life.Err() != nil {
		return f
	}
	f.first = len(x.order) == 0
	f.nonce = newSecret()
	f.commitment = protocol.DrawCommitment(x.league, f.match, f.attempt, f.referee.id, f.nonce)
	x.decide(f, len(x.order))
	x.matches[f.match] = f
	x.order = append(x.order, f.match)
	x.conducting.Go(func() { x.conduct(x.stage.life, f) })
	return f
}

// decide decides a match: by an honest draw, and by choices that make every kind of
// result in turn.
func (x *hearing) decide(f *fixture, n int) {
	winners := []rules.Side{rules.SideA, rules.SideB, rules.NoSide, rules.SideA}
	winner := winners[n%len(winners)]
	f.status, f.winner = protocol.StatusWin, ""
	switch winner {
	case rules.SideA:
		f.winner = f.a
	case rules.SideB:
		f.winner = f.b
	default:
		f.status = protocol.StatusDraw
	}
	f.choices = x.choicesFor(f, winner)
	if n%len(winners) == 3 {
		f.status, f.choices[rules.SideB], f.number = protocol.StatusTechnicalLoss, "", 0
	}
}

// choicesFor are the last choices of both players in a match with this winner. In
// even_odd the number is drawn before.
func (x *hearing) choicesFor(f *fixture, winner rules.Side) (choices [2]string) {
	if !x.evenOdd() {
		choices, _ = playout(x.options.Game.Start(), x.options.Game, winner)
		return choices
	}
	f.number = drawnNumber(f.nonce, protocol.Secret{}, protocol.Secret{})
	right := parityOf(f.number)
	choices = [2]string{right, right}
	if winner != rules.NoSide {
		choices[winner.Other()] = other(right)
	}
	return choices
}

// report is MATCH_RESULT_REPORT of a match.
func (x *hearing) report(f *fixture) map[string]any {
	q := message(protocol.TypeMatchResultReport, f.referee.sender(), "conv-check-report-"+f.match, f.referee.token)
	q["league_id"], q["round_id"], q["match_id"], q["game_type"] = x.league, f.round, f.match, x.game
	points := map[string]any{f.a: 0, f.b: 0}
	switch {
	case f.status == protocol.StatusDraw:
		points[f.a], points[f.b] = 1, 1
	case f.winner != "":
		points[f.winner] = 3
	}
	q["result"] = map[string]any{
		"winner": orNull(f.winner), "score": points,
		"details": map[string]any{
			"drawn_number": orNull(f.number), "choices": map[string]any{f.a: orNull(f.choices[0]), f.b: orNull(f.choices[1])}, "status": f.status,
		},
	}
	if f.attempt > 0 {
		q["attempt"] = f.attempt
		q["draw"] = map[string]any{"commitment": f.commitment, "nonce": f.nonce.Hex()}
	}
	return q
}

// orNull is nil for what is not there.
func orNull[T comparable](v T) any {
	var none T
	if v == none {
		return nil
	}
	return v
}

// conduct reports a match, and before the first of them what is wrong.
func (x *hearing) conduct(ctx context.Context, f *fixture) {
	select {
	case <-x.settled:
	case <-ctx.Done():
		return
	}
	if !f.alone {
		x.judge("M-ASG-03", firstOf(x.seatProblem(f.a, f.at[0]), x.seatProblem(f.b, f.at[1])), f.call.exchange())
	}
	if f.first {
		x.queryRunning(ctx, f)
		x.reportWrongly(ctx, f)
	}
	x.mu.Lock()
	f.reported = time.Now()
	x.mu.Unlock()
	r := x.askOf(ctx, f.referee, protocol.ReportMatchResult.Name, x.report(f))
	problem := r.trouble()
	if problem == "" && notRefused(r) == "" {
		problem = "refused"
	}
	x.judge("M-RPT-01", problem, &r.Exchange)
	if problem != "" {
		return
	}
	x.mu.Lock()
	f.accepted = true
	x.mu.Unlock()
	x.envelope(r.result, protocol.TypeMatchResultAck, protocol.ManagerSender, "conv-check-report-"+f.match, r.at, &r.Exchange)
	if f.first {
		x.reportAgain(ctx, f)
	}
}

// reportWrongly sends reports of a match that is still being played, none of
// which may count.
func (x *hearing) reportWrongly(ctx context.Context, f *fixture) {
	send := func(must string, code protocol.Code, numbers []int, what string, change func(q map[string]any)) {
		q := x.report(f)
		change(q)
		r := x.sendOf(ctx, f.referee, protocol.ReportMatchResult.Name, q)
		problem := notRefused(r)
		x.judge(must, when(problem != "", "%s: %s", what, problem), &r.Exchange)
		if code != "" {
			problem = refusedBy(r, code, numbers...)
			x.judge("M-RPT-06", when(problem != "", "%s: %s", what, problem), &r.Exchange)
		}
	}
	send("M-RPT-04", protocol.ErrMatchNotFound, []int{5002}, "a report of match R99M99", func(q map[string]any) { q["match_id"], q["round_id"] = "R99M99", 99 })
	send("M-RPT-05", protocol.ErrTokenMissing, []int{5001}, "a report without auth_token", func(q map[string]any) { delete(q, "auth_token") })
	send("M-RPT-05", protocol.ErrTokenInvalid, []int{5001}, "a report with a wrong auth_token", func(q map[string]any) { q["auth_token"] = "tok-ref01-" + strings.Repeat("0", 43) })
	if p := x.member(f.b); p != nil {
		send("M-RPT-05", "", nil, "a report with a player's auth_token", func(q map[string]any) { q["auth_token"] = p.token })
		send("M-RPT-05", protocol.ErrRefereeNotRegistered, []int{13, 5001}, "a report by a player", func(q map[string]any) { q["auth_token"], q["sender"] = p.token, p.sender() })
	}
	send("M-RPT-08", protocol.ErrMissingField, []int{-32602}, "a report without a result", func(q map[string]any) { delete(q, "result") })
	send("M-RPT-07", "", nil, "a report whose winner is P9999", func(q map[string]any) {
		q["result"].(map[string]any)["winner"] = "P9999" //nolint:forcetypeassert // report made it
	})
}

// reportAgain sends a report once more, and another one of the same match.
func (x *hearing) reportAgain(ctx context.Context, f *fixture) {
	r := x.sendOf(ctx, f.referee, protocol.ReportMatchResult.Name, x.report(f))
	if r.Status == 0 && x.over() {
		x.skip("M-RPT-02", "the manager has ended with its league")
		return
	}
	duplicate := refusedWith(r, protocol.ErrDuplicateReport, 5003) == ""
	x.judge("M-RPT-02", when(!duplicate, "%s", firstOf(r.trouble(), when(notRefused(r) == "", "refused"))), &r.Exchange)
	another := x.report(f) // it could have been: the other player has won
	choices := x.choicesFor(f, rules.SideB)
	another["result"] = map[string]any{
		"winner": f.b, "score": map[string]any{f.a: 0, f.b: 3},
		"details": map[string]any{"drawn_number": orNull(f.number), "choices": map[string]any{f.a: choices[0], f.b: choices[1]}, "status": f.status},
	}
	r = x.sendOf(ctx, f.referee, protocol.ReportMatchResult.Name, another)
	if r.Status == 0 && x.over() {
		return
	}
	x.judge("M-RPT-06", refusedWith(r, protocol.ErrDuplicateReport, 5003), &r.Exchange)
}

// conductAnnounced conducts what was announced and handed to nobody: some
// managers tell referees by the announcement alone.
func (x *hearing) conductAnnounced() {
	for _, c := range x.stage.told(func(c *call) bool { return c.kind == protocol.TypeRoundAnnouncement }) {
		if time.Since(c.at) < 2*time.Second {
			continue
		}
		r := x.refereeAt(c.to)
		round, _ := c.params.integer("round_id")
		for _, row := range rowsOf(c.params["matches"]) {
			id, _ := row.text("referee_id")
			endpoint, _ := row.text("referee_endpoint")
			if r == nil || id != r.id && !sameEndpoint(endpoint, r.url) {
				continue
			}
			f := &fixture{round: round, alone: true, call: c}
			f.match, _ = row.text("match_id")
			f.a, _ = seatOf(row, "a", "1")
			f.b, _ = seatOf(row, "b", "2")
			if x.fixtureOf(f.match) == nil {
				x.judge("M-ASG-02", "it assigns a match by the announcement alone", c.exchange())
				x.take(f)
			}
		}
	}
}

func (x *hearing) refereeAt(a *actor) *member {
	for _, r := range x.referees {
		if r.actor == a {
			return r
		}
	}
	return nil
}

// fixtureOf is a match that was handed out; nil for none.
func (x *hearing) fixtureOf(match string) *fixture {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.matches[match]
}
