package audit

import (
	"strings"

	"evenodd/league/decide"
	"evenodd/league/journal"
	"evenodd/rules"
)

// checkGrade grades the evidence of a result again. The fold has refused a grade that does not
// exist.
func (a *auditor) checkGrade(m *scheduledMatch, game rules.Game, c *signatureCheck) {
	r := m.Report
	if r == nil || r.Number == 0 || game == nil || len(c.problems) > 0 || a.state.Configuration == nil || a.state.Configuration.Evidence == "" {
		return // a forfeit, a ruling, a finding of its own, or a league of an earlier version
	}
	reports := decide.Reports{LeagueID: a.id, GameType: a.state.Created.GameType, Game: game}
	at := location{file: a.journal, line: a.eventLine(m, 0), matchID: m.id, agentID: r.RefereeID}
	promised := ""
	if attempt := m.Attempt(r.Number, r.RefereeID); attempt != nil && !m.IsLost(r.Number) {
		promised = attempt.Commitment
	}
	grade, err := reports.Grade(r, promised, m.players, c.signed)
	if err != nil {
		return // checkResult finds it
	}
	relays := a.signs() && a.state.Agents[r.RefereeID].RelaysSignatures
	switch {
	case grade != r.Grade:
		a.find(RuleEvidence, at, "the grade of %s is %s; by what its report shows it is %s", m.id, orNone(r.Grade), orNone(grade))
	case grade == journal.GradeStated && !m.IsLost(r.Number) && (relays || a.state.Created.RequiresEvidence()):
		a.find(RuleEvidence, at, "%s rests on the word of %s alone, which this league does not record", m.id, clip(r.RefereeID))
	}
}

// noteStated notes how many results rest on the word of each referee alone.
func (a *auditor) noteStated() {
	for _, n := range a.state.Stated {
		a.report.Stated += n
	}
	for _, sentence := range decide.Evidence(a.state) {
		a.note(RuleEvidence, location{file: a.journal}, "%s", strings.TrimSuffix(sentence, "."))
	}
}
