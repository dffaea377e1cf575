package audit

import (
	"fmt"
	"reflect"
	"slices"

	"evenodd/league/journal"
	"evenodd/league/protocol"
)

// addRecords adds the present records of the players to those of the last announced round,
// because a decision or a rematch has changed them since.
func (a *auditor) addRecords() {
	if last := len(a.before) - 1; last >= 0 {
		a.before[last] = append(a.before[last], a.records())
	}
}

// expectedStandings is the record of a player that a question shows. The one that it shows
// is right if it was true at some time while the attempt ran.
func (t *transcriptCheck) expectedStandings(player int, got *protocol.Record) *protocol.Record {
	round := t.match.key.Round
	if attempt := t.match.Attempt(t.doc.Attempt, t.doc.RefereeID); attempt != nil {
		round = attempt.Round
	}
	all := t.before[round-1] // the time between two rounds in which the attempt was assigned
	if slices.ContainsFunc(all, func(r []protocol.Record) bool { return reflect.DeepEqual(got, &r[player]) }) {
		return got
	}
	return &all[len(all)-1][player]
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

// showsAnnulled tells whether a match file has a result that no longer counts. The manager
// writes it again without sync, so that a crash can leave the earlier one.
func (a *auditor) showsAnnulled(f *matchFile) bool {
	has := func(r *journal.MatchReported) bool { return r != nil && len(a.differencesOf(f, r)) == 0 }
	return slices.ContainsFunc(f.match.Annulled, func(o journal.AnnulledOutcome) bool { return has(o.Report) }) &&
		!has(f.match.Report)
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
