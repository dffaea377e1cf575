package audit

import (
	"reflect"
	"slices"

	"evenodd/league/decide"
	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/rules"
)

// noteTokenless notes that results may be forged in a lenient league, where
// third-party referees need no token.
func (a *auditor) noteTokenless() {
	if a.state.Started == nil || a.state.Created.Auth != journal.AuthLenient {
		return
	}
	for _, id := range a.state.Started.Referees {
		if !a.state.Agents[id].ShowsAccessTokens() {
			a.note(RuleOneResult, location{file: a.journal, line: 1, agentID: id},
				"the league is lenient: results in the name of %s need no token, so that anybody may have sent them", clip(id))
		}
	}
}

// game returns the league's game; nil if this program does not know it.
func (a *auditor) game() rules.Game {
	if a.state.Created == nil {
		return nil
	}
	game, err := a.games.Game(a.state.Created.GameType)
	if err != nil {
		a.note(RuleVerdict, location{file: a.journal, line: 1}, "%v: the results cannot be judged again", err)
		return nil
	}
	return game
}

// checkResult judges the result in the journal again. A match of several turns
// needs the moves in its file.
func (a *auditor) checkResult(m *scheduledMatch, game rules.Game, file *matchFile) {
	r, at := m.Report, location{file: a.journal, line: a.eventLine(m, 0), matchID: m.id}
	attempt := a.checkAssignment(m, at)
	for _, c := range r.Choices {
		if !slices.Contains(m.players[:], c.Name) {
			a.find(RuleSchedule, at, "%s has a choice in %s, but its players are %s and %s", quoted(&c.Name), m.id, m.players[0], m.players[1])
		}
	}
	a.checkRejectedReports(m, at)
	chance, known := a.checkDraw(m, attempt, at)
	switch {
	case r.Status == protocol.StatusTechnicalLoss:
		if r.DrawnNumber != nil || r.NumberParity != nil {
			a.find(RuleDraw, at, "%s ended with a technical loss, but has number %s", m.id, shown(jsonText(r.DrawnNumber)))
		}
	case r.Draw == nil && attempt != nil && attempt.Commitment == "":
		if r.Grade == journal.GradeRecomputed && r.DrawnNumber != nil {
			a.note(RuleDraw, at, "%s gave no commitment for %s: it could choose the number", clip(r.RefereeID), m.id)
		}
		if game != nil && contradicts(game, m) {
			a.find(RuleVerdict, at, "%s ended with %s, winner %s, but the number %s and the choices that %s reports make another result",
				m.id, clip(r.Status), quoted(r.WinnerPlayerID), shown(jsonText(r.DrawnNumber)), clip(r.RefereeID))
		}
	case game != nil && known:
		a.checkVerdict(m, game, chance, file, at)
	}
}

// checkAssignment returns the attempt of a result. A result without one is a
// finding, unless the match was forfeited or ruled.
func (a *auditor) checkAssignment(m *scheduledMatch, at location) *journal.Attempt {
	r := m.Report
	attempt, accepted := m.Attempt(r.Number, r.RefereeID), a.eventLine(m, r.Number)
	switch {
	case m.Forfeited != nil || m.Ruled != nil:
		return nil
	case attempt == nil:
		at.agentID = r.RefereeID
		a.find(RuleOneResult, at, "the result of %s is that of attempt %d, which was not assigned to %s", m.id, r.Number, clip(r.RefereeID))
	case accepted > at.line && attempt.Commitment != "":
		a.note(RuleCommitment, at, "the commitment of %s to the draw of %s came after the result, in line %d", clip(r.RefereeID), m.id, accepted)
	}
	return attempt
}

// contradicts tells whether choices and number of a result make another winner, or
// are impossible.
func contradicts(game rules.Game, m *scheduledMatch) bool {
	verdict, decided, err := rules.Follows(game, m.Report.GameResult.Moves(m.players), m.Report.DrawnNumber)
	winner := ""
	if w := m.Report.WinnerPlayerID; w != nil {
		winner = *w
	}
	return err != nil || decided && verdict.WinnerOf(m.players) != winner
}

// checkRejectedReports finds a result that rests on a report that the manager did not record, and
// notes the attempts that were lost by such reports.
func (a *auditor) checkRejectedReports(m *scheduledMatch, at location) {
	for _, d := range m.lostAttempts() {
		at.agentID = d.RefereeID
		r := m.Report
		switch {
		case r.RefereeID != d.RefereeID || r.Number != d.Number:
			a.note(RuleDoubt, at, "a report of %s about attempt %d at %s was not recorded: %.200s", clip(d.RefereeID), d.Number, m.id, d.Reason)
		case d.Report != nil && reflect.DeepEqual(d.Report.GameResult, r.GameResult):
			a.note(RuleDoubt, at, "both players lost %s by the report of %s, although both answered a ping: no other referee said otherwise", m.id, clip(d.RefereeID))
		case isDrawWithoutReport(r):
			a.note(RuleDoubt, at, "%s is a draw, because no report of %s was recorded: %.200s", m.id, clip(d.RefereeID), d.Reason)
		default:
			a.find(RuleDoubt, at, "the result of %s rests on a report of %s that the manager did not record: %.200s", m.id, clip(d.RefereeID), d.Reason)
		}
	}
}

// isDrawWithoutReport tells whether a result is the one that the manager records for a match whose
// referee did not show its result.
func isDrawWithoutReport(r *journal.MatchReported) bool {
	return r.Status == protocol.StatusDraw && r.Draw == nil && r.DrawnNumber == nil && r.Reason == decide.NotShown &&
		!slices.ContainsFunc(r.Choices, func(c protocol.Member[*string]) bool { return c.Value != nil })
}

// checkDraw checks nonce and entropies against the commitments (commit–reveal).
// Known tells whether the draw can be recomputed.
func (a *auditor) checkDraw(m *scheduledMatch, attempt *journal.Attempt, at location) (chance rules.Chance, known bool) {
	draw, referee := m.Report.Draw, clip(m.Report.RefereeID)
	committed := attempt != nil && attempt.Commitment != ""
	if draw == nil {
		if committed && !m.IsLost(m.Report.Number) && m.Report.Status != protocol.StatusTechnicalLoss { // no draw counts in a loss
			a.find(RuleCommitment, at, "%s committed to a draw for %s, but did not reveal its nonce", referee, m.id)
		}
		return chance, false
	}
	nonce, ok := protocol.ParseSecret(draw.Nonce)
	if !ok {
		a.find(RuleCommitment, at, "the nonce of %s is not 64 hexadecimal digits", m.id)
		return chance, false
	}
	chance.Nonce = nonce
	a.checkNonceIsNew(m.play(m.Report.Number), draw.Nonce, at)
	if want := protocol.DrawCommitment(a.state.Created.LeagueID, m.id, m.Report.Number, m.Report.RefereeID, nonce); want != draw.Commitment {
		a.find(RuleCommitment, at, "the nonce of %s does not match its commitment %.12q…: it makes %.12s…", m.id, draw.Commitment, want)
	}
	switch {
	case committed && attempt.Commitment != draw.Commitment:
		a.find(RuleCommitment, at, "the commitment of %s is %.12q…, but before the match %s committed to %.12q…", m.id, draw.Commitment, referee, attempt.Commitment)
	case attempt != nil && !committed:
		a.note(RuleCommitment, at, "the journal has no commitment of %s to the draw of %s from before the match", referee, m.id)
	}
	known = true
	for _, e := range draw.Entropies {
		entropy, ok := protocol.ParseSecret(e.Value)
		switch {
		case !ok:
			a.find(RuleCommitment, at, "the entropy of %s in %s is not 64 hexadecimal digits", quoted(&e.Name), m.id)
			known = false
		case e.Name == m.players[0]:
			chance.EntropyA = entropy
		case e.Name == m.players[1]:
			chance.EntropyB = entropy
		default:
			a.find(RuleSchedule, at, "%s gave entropy for %s, but its players are %s and %s", quoted(&e.Name), m.id, m.players[0], m.players[1])
		}
	}
	return chance, known
}

// checkNonceIsNew finds a nonce of another match, or of the same match before it was played
// again: an agent that has seen the first draw knows the second. Play is that of a match.
func (a *auditor) checkNonceIsNew(play, nonce string, at location) {
	if first, used := a.nonces[nonce]; used && first != play {
		a.find(RuleNonceReused, at, "the nonce of %s is that of %s", play, first)
		return
	}
	a.nonces[nonce] = play
}

// checkVerdict plays the game again and compares the verdict.
func (a *auditor) checkVerdict(m *scheduledMatch, game rules.Game, chance rules.Chance, file *matchFile, at location) {
	r := m.Report
	var moves [2][]string
	if game.MaxTurns() > 1 {
		if file == nil || !file.complete {
			a.note(RuleVerdict, at, "no transcript has all moves of %s: its result cannot be judged again", m.id)
			return
		}
		moves = file.moves
	} else {
		for i, move := range r.GameResult.Moves(m.players) {
			if move != "" {
				moves[i] = []string{move}
			}
		}
	}
	position := game.Start()
	for sides := position.ToMove(); len(sides) > 0; sides = position.ToMove() {
		var now [2]string
		for _, side := range sides {
			if len(moves[side]) == 0 {
				a.find(RuleVerdict, at, "%s ended with %s, but %s made no move", m.id, clip(r.Status), m.players[side])
				return
			}
			now[side], moves[side] = moves[side][0], moves[side][1:]
			if err := position.Check(side, now[side]); err != nil {
				a.find(RuleVerdict, at, "%s: %s moved %.40q: %v", m.id, m.players[side], now[side], err)
				return
			}
		}
		position = position.Play(now)
	}
	a.compareVerdict(m, position.Judge(chance), at)
}

func (a *auditor) compareVerdict(m *scheduledMatch, v rules.Verdict, at location) {
	got := m.Report.GameResult
	want := got
	want.Status, want.WinnerPlayerID, want.DrawnNumber, want.NumberParity = protocol.StatusDraw, nil, nil, nil
	if v.Winner != rules.NoSide {
		want.Status, want.WinnerPlayerID = protocol.StatusWin, &m.players[v.Winner]
	}
	if v.Number != 0 {
		want.DrawnNumber, want.NumberParity = &v.Number, &v.Parity
	}
	want.Choices = slices.Clone(got.Choices)
	for i, c := range want.Choices {
		if side := slices.Index(m.players[:], c.Name); side >= 0 && c.Value != nil {
			want.Choices[i].Value = &v.Moves[side]
		}
	}
	for _, diff := range differences(&got, &want) {
		rule := RuleVerdict
		if diff.member == "/drawn_number" || diff.member == "/number_parity" {
			rule = RuleDraw
		}
		a.find(rule, at, "%s of %s is %s; by the rules of the game it is %s", name(diff.member), m.id, diff.got, diff.want)
	}
}
