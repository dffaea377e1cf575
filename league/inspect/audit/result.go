package audit

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"evenodd/league"
	"evenodd/league/decide"
	"evenodd/league/journal"
	"evenodd/league/lists"
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
			a.note(RuleOneResult, a.inJournal(1).of(id),
				"the league is lenient: results in the name of %s need no token, so that anybody may have sent them", clip(id))
		}
	}
}

// noteConfig notes the files below config that are not those of the start. The operator may change them: the journal
// has the rules of the league, and each other configuration.
func (a *auditor) noteConfig() {
	if a.state.Started == nil {
		return
	}
	then, ids := a.state.Started.Config, []string{a.id}
	for name := range then {
		if id, ok := strings.CutPrefix(name, "leagues/"); ok {
			ids = append(ids, strings.TrimSuffix(id, ".json"))
		}
	}
	now := a.dir.ConfigDigests(ids...)
	all := maps.Clone(now)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, then)
	for name := range all {
		what := "has been changed"
		switch {
		case then[name] == now[name]:
			continue
		case then[name] == "":
			what = "has been added"
		case now[name] == "":
			what = "is missing"
		}
		a.note(RuleConfig, Location{File: "config/" + name}, "this file %s since the league started (line %d of the journal)",
			what, a.started)
	}
}

// noteStated notes how many results rest on the word of each referee alone.
func (a *auditor) noteStated() {
	for _, d := range a.state.Doubts {
		a.report.Stated += d.Stated
	}
	for _, sentence := range decide.Evidence(a.state) {
		a.note(RuleEvidence, a.inJournal(0), "%s", strings.TrimSuffix(sentence, "."))
	}
}

// openGame finds the league's game, if this program knows it or its program is given.
func (a *auditor) openGame() {
	created := a.state.Created
	if created == nil {
		return
	}
	game, err := a.options.Games.Game(created.GameType)
	program, given := a.options.Programs[created.GameType]
	switch {
	case created.GameID == protocol.GameID{} && err != nil:
		a.note(RuleVerdict, a.inJournal(1), "%v: the results cannot be judged again", err)
	case created.GameID != protocol.GameID{} && !given:
		a.note(RuleGame, a.inJournal(1), "the rules of %s are those of a program, which is not given: all but the rules is "+
			"checked. It is version %s, with the digest %s", clip(created.GameType), quoted(&created.Version), created.Digest)
	case given && (program.Digest != created.Digest || game.Info().Version != created.Version):
		version := game.Info().Version
		a.find(RuleGame, a.inJournal(1),
			"the league was played by version %s of %s, with the digest %s; the program that is "+
				"given has version %s and the digest %s: the rules are not checked", quoted(&created.Version),
			clip(created.GameType),
			orNone(created.Digest), quoted(&version), program.Digest)
	default:
		a.game, a.reports = game, &decide.ReportJudge{LeagueID: a.id, GameType: created.GameType, Game: game}
		if given {
			a.program = &program
		}
		return
	}
	a.report.Unjudged = a.state.Recorded
}

// checkResult judges the result in the journal again.
func (a *auditor) checkResult(m *scheduledMatch) {
	r, at := m.Report, a.result(m)
	attempt := m.Attempt(r.Number, r.RefereeID)
	switch {
	case m.Forfeited != nil || m.Ruled != nil:
		attempt = nil
	case attempt == nil:
		a.find(RuleOneResult, at.of(r.RefereeID), "the result of %s is that of attempt %d, which was not assigned to %s", m.id,
			r.Number, clip(r.RefereeID))
	}
	shown := names(r.Choices)
	if r.Draw != nil {
		a.checkNonceIsNew(m.play(r.Number), r.Draw.Nonce, at)
		shown = append(shown, names(r.Draw.Entropies)...)
	}
	for _, name := range append(shown, names(r.Signatures)...) {
		if !slices.Contains(m.players[:], name) {
			a.find(RuleSchedule, at, "%s has a choice, an entropy or a signature in %s, but its players are %s and %s",
				quoted(&name), m.id, m.players[0], m.players[1])
		}
	}
	a.checkRejectedReports(m, at)
	if r.Status == league.StatusTechnicalLoss && (r.DrawnNumber != nil || r.NumberParity != nil) {
		a.find(RuleDraw, at, "%s ended with a technical loss, but has number %s", m.id, shortened(r.DrawnNumber))
	}
	if attempt == nil {
		return // a forfeit, a ruling, or a finding
	}
	switch referee := clip(r.RefereeID); {
	case attempt.Commitment == "" && r.Draw != nil:
		a.note(RuleCommitment, at, "the journal has no commitment of %s to the draw of %s from before the match", referee, m.id)
	case a.plain(): // see noteUnsigned
	case attempt.Commitment == "" && r.Grade == journal.GradeRecomputed && r.DrawnNumber != nil:
		a.note(RuleDraw, at, "%s gave no commitment for %s: it could choose the number", referee, m.id)
	case attempt.Commitment != "" && attempt.Event > at.Line:
		a.note(RuleCommitment, at, "the commitment of %s to the draw of %s came after the result, in line %d", referee, m.id,
			attempt.Event)
	}
	if r.Reason == journal.NotShown && len(r.Opening) == 0 && len(r.Evidence.Moves) == 0 {
		return // no report says how it began
	}
	a.checkOpening(m, r.Opening, at)
	promised := ""
	if !m.IsLost(r.Number) {
		promised = attempt.Commitment
	}
	if !a.fits(m, r.Opening) {
		return // the moves mean nothing without it
	}
	if a.reports != nil {
		a.judge(m, promised, at)
	} else if game := a.gameOf(&r.Evidence, nil); game != nil {
		a.checkSecrets(m, promised, at, game)
	}
}

// checkSecrets checks the draws of a game whose program is not given: they follow from the secrets.
func (a *auditor) checkSecrets(m *scheduledMatch, promised string, at Location, game rules.Game) {
	reports := decide.ReportJudge{LeagueID: a.id, GameType: a.state.Created.GameType, Game: game}
	chance, drawn, err := reports.Revealed(m.Report, promised, m.players)
	if err == nil && drawn {
		err = decide.CheckDraws(m.Report, chance)
	}
	if err != nil {
		a.find(ruleOf(err), at, "%s: %v", m.id, err)
	}
}

// ruleOf is the rule that an error about a report names.
func ruleOf(err error) string {
	switch text := err.Error(); {
	case strings.HasPrefix(strings.TrimPrefix(text, "moves: "), "draws"),
		strings.HasPrefix(text, "result.details.drawn_number"):
		return RuleDraw
	case strings.HasPrefix(text, "draw"):
		return RuleCommitment
	}
	return RuleVerdict
}

// grade is the grade of a report, by what the program of the game says if it has one. Failed tells that the program has
// failed.
func (a *auditor) grade(m *scheduledMatch, r *journal.MatchReported, promised string) (grade string, failed bool,
	err error) {
	asked := a.reports.Inquire(r, m.players)
	for history, due := asked.Asks(); due; history, due = asked.Asks() {
		state := a.ask(history)
		if state == nil {
			return "", true, nil
		}
		asked.Told(state, nil)
	}
	if failure := asked.Failure(); failure != nil {
		a.fail(fmt.Errorf("%s: %w", m.id, failure))
		return "", true, nil
	}
	grade, _, err = a.reports.Grade(r, promised, m.players, m.signatures.signed, asked)
	return grade, false, err
}

func names[V any](values league.PerPlayer[V]) []string {
	return lists.Map(values, func(v league.Member[V]) string { return v.Name })
}

// judge compares the verdict and the grade of a result with those that follow from what its report
// shows, as the manager does, or from the moves in its file if the report shows none.
func (a *auditor) judge(m *scheduledMatch, promised string, at Location) {
	r, file := m.Report, m.file
	grade, failed, err := a.grade(m, r, promised)
	if failed {
		return
	}
	if err == nil && r.Draw != nil && r.Status == league.StatusTechnicalLoss {
		_, _, err = a.reports.Revealed(r, promised, m.players)
	}
	if err == nil && rules.ListsMoves(a.reports.Game) && r.Status != league.StatusTechnicalLoss {
		switch complete := file != nil && file.complete; {
		case complete && len(r.Evidence.Moves) > 0 && !slices.Equal(r.Evidence.Moves, file.moves):
			a.find(RuleTranscript, at, "the moves of %s are not those in the transcript, %s", m.id, file.file)
		case complete && len(r.Evidence.Moves) == 0:
			shown := *r
			shown.Evidence.Moves, shown.Draws = file.moves, file.draws
			_, _, err = a.grade(m, &shown, promised)
		case len(r.Evidence.Moves) == 0:
			a.note(RuleVerdict, at, "no transcript has all moves of %s: its result cannot be judged again", m.id)
		}
	}
	v, decided, _ := rules.Follows(a.reports.Game, r.Result.Moves(m.players), r.DrawnNumber)
	switch parity := protocol.ValueOf(r.NumberParity); {
	case err != nil:
		a.find(ruleOf(err), at, "%s: %v", m.id, err)
	case decided && r.Draw != nil && parity != v.Parity:
		a.find(RuleDraw, at, "number_parity of %s is %s; by the rules of the game it is %s", m.id, orNone(parity),
			orNone(v.Parity))
	case m.signatures.problem != nil: // it has no grade
	case grade != r.Grade:
		a.find(RuleEvidence, at, "the grade of %s is %s; by what its report shows it is %s", m.id, orNone(r.Grade),
			orNone(grade))
	case grade == journal.GradeStated && !m.IsLost(r.Number) &&
		(decide.Relays(a.state, r.RefereeID) || a.state.Created.RequiresEvidence()):
		a.find(RuleEvidence, at, "%s rests on the word of %s alone, which this league does not record", m.id,
			clip(r.RefereeID))
	}
}

// checkRejectedReports finds a result that rests on a report that the manager did not record, and
// notes the attempts that were lost by such reports.
func (a *auditor) checkRejectedReports(m *scheduledMatch, at Location) {
	r := m.Report
	for _, d := range m.LostAttempts {
		if m.annulledBefore(d.Number) != m.annulledBefore(r.Number) {
			continue // it was played again since
		}
		at.AgentID = d.RefereeID
		switch {
		case d.Cause == journal.CauseDiscarded && (r.RefereeID != d.RefereeID || r.Number != d.Number):
			a.note(RuleDoubt, at, "%s lost attempt %d at %s: %.200s", clip(d.RefereeID), d.Number, m.id, d.Reason)
		case r.RefereeID != d.RefereeID || r.Number != d.Number:
			a.note(RuleDoubt, at, "a report of %s about attempt %d at %s was not recorded: %.200s", clip(d.RefereeID), d.Number,
				m.id, d.Reason)
		case d.Cause == journal.CauseBothAnswer && d.Report != nil && reflect.DeepEqual(d.Report.Result, r.Result):
			a.note(RuleDoubt, at,
				"both players lost %s by the report of %s, although both answered a ping: no other referee said otherwise", m.id,
				clip(d.RefereeID))
		case d.Cause == journal.CauseRejected && d.Report != nil && a.follows(&d, r):
			a.note(RuleDoubt, at, "%s is recorded without its number: %s", m.id, r.Reason)
		case r.Status == league.StatusDraw && r.Draw == nil && r.DrawnNumber == nil && r.Reason == journal.NotShown &&
			r.Result.Moves(m.players) == [2]string{}:
			a.note(RuleDoubt, at, "%s is a draw, because no report of %s was recorded: %.200s", m.id, clip(d.RefereeID),
				d.Reason)
		default:
			a.find(RuleDoubt, at, "the result of %s rests on a report of %s that the manager did not record: %.200s", m.id,
				clip(d.RefereeID), d.Reason)
		}
	}
}

// follows tells whether a result is the one that follows from a rejected report.
func (a *auditor) follows(d *journal.AttemptLost, r *journal.MatchReported) bool {
	if a.reports == nil { // a game that is not known
		return d.Report.Status == r.Status && protocol.ValueOf(d.Report.WinnerPlayerID) == protocol.ValueOf(r.WinnerPlayerID)
	}
	want, err := a.reports.ResultOf(a.state, d)
	return err == nil && reflect.DeepEqual(want.Result, r.Result)
}

// checkNonceIsNew finds a nonce of another match, or of the same match before it was played
// again: an agent that has seen the first draw knows the second. Play is that of a match.
func (a *auditor) checkNonceIsNew(play, nonce string, at Location) {
	if first, used := a.nonces[nonce]; used && first != play {
		a.find(RuleNonceReused, at, "the nonce of %s is that of %s", play, first)
		return
	}
	a.nonces[nonce] = play
}
