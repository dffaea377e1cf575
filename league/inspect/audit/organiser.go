package audit

import (
	"fmt"
	"reflect"
	"slices"

	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/store"
)

// noteDecision notes an organiser's decision. The fold has accepted it.
func (a *auditor) noteDecision(d journal.DecisionEvent, line int) {
	at := location{file: a.journal, line: line}
	if _, ok := protocol.ParseMatchID(d.Matter()); ok {
		at.matchID = d.Matter()
	} else {
		at.agentID = d.Matter()
	}
	a.note(RuleDecision, at, "%s", d.About())
}

// rememberDecision stores what later checks need of an organiser's decision.
func (a *auditor) rememberDecision(d journal.DecisionEvent, line int) {
	a.noteDecision(d, line)
	switch d.(type) {
	case *journal.AgentWithdrawn, *journal.MatchReopened, *journal.MatchRuled:
		a.changed++
		a.addRecords()
	}
}

// addRecords adds the present records of the players to those of the last announced round,
// because a decision or a rematch has changed them since.
func (a *auditor) addRecords() {
	if last := len(a.before) - 1; last >= 0 {
		a.before[last] = append(a.before[last], a.records())
	}
}

// recordsAt are the records of all players that a question of an attempt may show: those of
// the time between two rounds in which the attempt was assigned.
func (a *auditor) recordsAt(at protocol.Attempt) [][]protocol.Record {
	if round, ok := a.rematches[at]; ok {
		return a.before[round-1]
	}
	return a.before[at.MatchID.Round-1]
}

// expectedStandings is the record of a player that a question shows. The one that it shows
// is right if it was true at some time while the attempt ran.
func (t *transcriptCheck) expectedStandings(player int, got *protocol.Record) *protocol.Record {
	all := t.recordsAt(protocol.Attempt{MatchID: t.match.key, Number: t.doc.Attempt})
	for _, records := range all {
		if reflect.DeepEqual(got, &records[player]) {
			return got
		}
	}
	return &all[len(all)-1][player]
}

// checkAssignmentOfAbsent finds a match that is given to a referee although a player of it is
// suspended or withdrawn by an organiser, and one that was forfeited before.
func (a *auditor) checkAssignmentOfAbsent(e *journal.Event, here location) {
	d, ok := e.Data.(*journal.MatchAssigned)
	if !ok {
		return
	}
	m, idA, idB, ok := a.state.Find(d.MatchID)
	if !ok {
		return // the event cannot be folded
	}
	here.matchID = d.MatchID.String()
	for _, id := range [...]string{idA, idB} {
		if by := decisionAbout(a.state.Agents[id]); by != nil {
			here.agentID = id
			a.find(RuleLifecycle, here, "%s is assigned to %s, but %s was suspended or withdrawn %v, and forfeits it", d.MatchID, clip(d.RefereeID), id, by)
		}
	}
	if m.Forfeited != nil {
		here.line, here.agentID = m.Event, d.RefereeID
		a.find(RuleLifecycle, here, "%s is forfeited by %v, but was assigned to %s", d.MatchID, m.Forfeited, clip(d.RefereeID))
	}
}

// checkForfeit finds a match that is forfeited although a referee has it. That happens only
// by a decision of an organiser in the round.
func (a *auditor) checkForfeit(e *journal.Event, here location) {
	d, ok := e.Data.(*journal.MatchForfeited)
	if !ok {
		return
	}
	m, _, _, ok := a.state.Find(d.MatchID)
	if !ok || slices.ContainsFunc(d.Players, func(id string) bool {
		agent := a.state.Agents[id]
		return agent != nil && decisionAbout(agent) != nil
	}) {
		return
	}
	here.matchID = d.MatchID.String()
	for _, attempt := range m.Current() {
		here.agentID = attempt.Referee
		a.find(RuleLifecycle, here, "%s is forfeited by %v, but was assigned to %s", d.MatchID, d.Players, clip(attempt.Referee))
	}
}

// decisionAbout is the decision by which an agent is absent; nil for none.
func decisionAbout(agent *journal.Agent) *journal.Made {
	if agent.Withdrawn != nil {
		return agent.Withdrawn
	}
	return agent.Held
}

// annulled are the results of a match that no longer count, each as a match of its own.
func (m *scheduledMatch) annulled() (all []*scheduledMatch) {
	for i := range m.Annulled {
		match := *m.Match
		match.Outcome = m.Annulled[i].Outcome
		if match.Report.Number > 0 { // else nobody played it
			all = append(all, &scheduledMatch{Match: &match, key: m.key, id: m.id, players: m.players, isAnnulled: true})
		}
	}
	return all
}

// annulledBefore is the number of results that were annulled before an attempt was assigned.
func (m *scheduledMatch) annulledBefore(attempt int) (n int) {
	for i := range m.Annulled {
		if m.Annulled[i].Attempts < attempt {
			n++
		}
	}
	return n
}

// play names the match, and which repetition of it an attempt belongs to.
func (m *scheduledMatch) play(attempt int) string {
	if n := m.annulledBefore(attempt); n > 0 {
		return fmt.Sprintf("%s after %s", m.id, protocol.Counted(n, "annulled result"))
	}
	return m.id
}

// lostAttempts are the attempts of the same repetition as the result that were lost by
// rejected reports.
func (m *scheduledMatch) lostAttempts() []journal.AttemptLost {
	return slices.DeleteFunc(slices.Clone(m.LostAttempts), func(d journal.AttemptLost) bool {
		return m.annulledBefore(d.Number) != m.annulledBefore(m.Report.Number)
	})
}

// showsAnnulled tells whether a match file has a result that no longer counts. The manager
// writes it again without sync, so that a crash can leave the earlier one.
func (a *auditor) showsAnnulled(f *matchFile) bool {
	has := func(r *journal.MatchReported) bool { return r != nil && len(a.resultDifferences(f, r)) == 0 }
	return slices.ContainsFunc(f.match.Annulled, func(o journal.AnnulledOutcome) bool { return has(o.Report) }) && !has(f.match.Report)
}

// outcomesOf are the results of an attempt, whether they count or are annulled. An attempt has
// one at most. Those of attempt 0 are the forfeits of the match.
func outcomesOf(m *journal.Match, attempt int) []journal.Outcome {
	all := protocol.Each(m.Annulled, func(o journal.AnnulledOutcome) journal.Outcome { return o.Outcome })
	return slices.DeleteFunc(append(all, m.Outcome), func(o journal.Outcome) bool {
		return o.Report == nil || o.Report.Number != attempt || attempt == 0 && o.Forfeited == nil
	})
}

// reportOf is the result of an attempt, and its line in the journal; nil for none.
func reportOf(m *journal.Match, attempt int) (r *journal.MatchReported, line int) {
	for _, o := range outcomesOf(m, attempt) {
		r, line = o.Report, o.Event
	}
	return r, line
}

// withEarlierResults replaces the matches of rounds.json by those that the file may show: a
// result that an organiser has changed since. It returns how many it replaced.
func (a *auditor) withEarlierResults(got, want []store.Round) (earlier int) {
	if a.changed == 0 {
		return 0
	}
	for i := range min(len(got), len(want)) {
		n := 0
		for k := range min(len(got[i].Matches), len(want[i].Matches)) {
			m, _, _, ok := a.state.Find(protocol.MatchID{Round: i + 1, Number: k + 1})
			if ok && wasSo(m, &got[i].Matches[k], &want[i].Matches[k]) {
				want[i].Matches[k] = got[i].Matches[k]
				n++
			}
		}
		if n > 0 {
			want[i].Summary = summaryOf(want[i].Matches)
			earlier += n
		}
	}
	return earlier
}

// wasSo tells whether a match in rounds.json was so before a decision of an organiser.
func wasSo(m *journal.Match, got, now *store.RoundMatch) bool {
	for i := range m.Annulled {
		o, was := &m.Annulled[i], *now
		was.AnnulledResults, was.RuledBy = i+1, ""
		was.RefereeID, was.Attempt, was.Status, was.WinnerPlayerID = "", 0, "", nil // while it was played again
		if reflect.DeepEqual(got, &was) && *got != *now {
			return true
		}
		was.AnnulledResults = i
		was.RefereeID, was.Attempt, was.Status, was.WinnerPlayerID = o.Report.RefereeID, o.Report.Number, o.Report.Status, o.Report.WinnerPlayerID
		if o.Ruled != nil {
			was.RuledBy = o.Ruled.By
		}
		if reflect.DeepEqual(got, &was) {
			return true
		}
	}
	return false
}

// summaryOf counts the results of matches in rounds.json.
func summaryOf(matches []store.RoundMatch) protocol.RoundSummary {
	summary := protocol.RoundSummary{TotalMatches: len(matches)}
	for i := range matches {
		switch matches[i].Status {
		case "":
		case protocol.StatusWin:
			summary.Wins++
		case protocol.StatusDraw:
			summary.Draws++
		default:
			summary.TechnicalLosses++
		}
	}
	return summary
}
