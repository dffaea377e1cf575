package audit

import (
	"reflect"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/store"
)

// writtenAgain ends a note about a file that derives from the journal. The manager writes
// it without sync, so that a crash can leave it older, incomplete or missing.
const writtenAgain = "; a manager that resumes the league writes it again"

// A derived is a file that follows from the journal: from its events up to the one that the file
// names, or from all of them. The audit makes it again and compares.
type derived[T any] struct {
	document[T]
	rule  string
	head  func(got *T) string // the hash of that event; nil if the file names none
	build func(want *T)       // makes the members that follow from the present state
	older func(got, want *T)  // makes a file that names no event as old as got can be
	line  int                 // of that event; 0 while it was not met
	then  *T                  // the file as of that event; nil if the journal cannot be folded up to it
}

// A derivedFile is a *derived[T].
type derivedFile interface {
	meet(a *auditor, hash string, line int)
	check(a *auditor)
}

// openDerived reads the files that derive from the journal.
func (a *auditor) openDerived() {
	s := a.state
	a.standings = &derived[store.Standings]{document: loadDerived[store.Standings](a, a.dir.Standings(a.id)),
		rule: RuleStandings, head: func(got *store.Standings) string { return got.JournalHead },
		build: func(want *store.Standings) {
			want.LeagueID, want.Version, want.RoundsCompleted, want.Standings = a.id, s.Recorded, s.CompletedRounds(), s.Standings()
		}}
	agents := &derived[store.Agents]{document: loadDerived[store.Agents](a, a.dir.Agents(a.id)),
		rule: RuleAgents, head: func(got *store.Agents) string { return got.JournalHead },
		build: func(want *store.Agents) {
			want.LeagueID = a.id
			want.Referees, want.Players = s.AgentRecords()
		}}
	rounds := &derived[store.Rounds]{document: loadDerived[store.Rounds](a, a.dir.Rounds(a.id)),
		rule: RuleRounds, older: a.olderRounds, build: func(want *store.Rounds) {
			want.LeagueID, want.TotalRounds, want.Rounds = a.id, s.TotalRounds(), s.RoundRecords()
		}}
	a.derived = []derivedFile{a.standings, agents, rounds}
}

// loadDerived loads a file that derives from the journal. An incomplete one is only a note.
func loadDerived[T any](a *auditor, path string) document[T] {
	d := load[T](a.dir, path)
	if d.value == nil && d.raw != nil && !jsontext.Value(d.raw).IsValid() {
		a.note(RuleSchema, location{file: d.file, line: d.problemLine}, "%s%s", d.problem, writtenAgain)
		return d
	}
	checkReadable(a, &d, location{})
	return d
}

// checkDerived compares the files with those that the journal makes.
func (a *auditor) checkDerived() {
	for _, d := range a.derived {
		d.check(a)
	}
}

// made is the file as the manager would write it now.
func (d *derived[T]) made() *T {
	want := *d.value
	d.build(&want)
	return &want
}

// meet makes the file after the line of the journal that it names.
func (d *derived[T]) meet(a *auditor, hash string, line int) {
	if d.value == nil || d.head == nil || d.line > 0 || d.head(d.value) != hash {
		return
	}
	if d.line = line; !a.chain.stopped && a.state.Created != nil {
		d.then = d.made()
	}
}

// check compares the file with the one that the journal makes.
func (d *derived[T]) check(a *auditor) {
	if d.value == nil {
		if a.completed() && !d.exists {
			a.note(d.rule, location{file: d.file}, "the league is completed, but this file does not exist%s", writtenAgain)
		}
		return
	}
	checkHeader(a, &d.document, d.rule, location{})
	at := location{file: d.file, line: d.document.line("/journal_head")}
	switch {
	case d.head == nil && a.chain.stopped:
		return
	case d.head == nil:
		d.then, d.line = d.made(), a.chain.lines
		d.older(d.value, d.then)
	case a.chain.next == 0 || d.head(d.value) == journal.Origin && a.chain.head == journal.Origin: // there is no event
	case d.line == 0 && len(a.lostHeads) == 0:
		a.find(RuleJournalHead, at,
			"journal_head %.12q… is the hash of no line of the journal: its tail was cut off, or lines were changed",
			d.head(d.value))
	}
	if d.then == nil {
		return
	}
	if diffs := differences(d.value, d.then); len(diffs) > 0 {
		d.find(a, diffs)
		return
	}
	if diffs := differences(d.value, d.made()); len(diffs) > 0 && !a.chain.stopped && (a.completed() || d.rule == RuleStandings) {
		if d.head == nil {
			at.line = d.document.line(diffs[0].member)
		}
		a.note(d.rule, at, "it is older than the journal: %v%s", diffs[0], writtenAgain)
	}
}

// find reports the first difference.
func (d *derived[T]) find(a *auditor, diffs []difference) {
	first, more := diffs[0], ""
	if n := len(diffs) - 1; n > 0 {
		more = "; it differs in " + protocol.Counted(n, "more member")
	}
	rule := d.rule
	if last := first.member.LastToken(); last == "player_A_id" || last == "player_B_id" {
		rule = RuleSchedule
	}
	at := location{file: d.file, line: d.document.line(first.member), matchID: first.matchID, agentID: first.agentID}
	a.find(rule, at, "%v up to line %d%s", first, d.line, more)
}

// olderRounds gives rounds.json the age of a file that a crash has left: it may lack rounds, have the
// number of rounds of the time before the start, or of a knockout before its end, and results that an
// organiser has changed since.
func (a *auditor) olderRounds(got, want *store.Rounds) {
	if got.TotalRounds == a.state.MostRounds() || got.TotalRounds == 0 && len(got.Rounds) == 0 {
		want.TotalRounds = got.TotalRounds
	}
	want.Rounds = want.Rounds[:min(len(got.Rounds), len(want.Rounds))]
	for i := range want.Rounds {
		was, now := got.Rounds[i].Matches, want.Rounds[i].Matches
		for k := range min(len(was), len(now)) {
			m, _, _, ok := a.state.Find(league.MatchID{Round: i + 1, Number: k + 1})
			if ok && wasSo(m, &was[k], now[k]) {
				now[k] = was[k]
			}
		}
		want.Rounds[i].Summary = journal.SummaryOf(now)
	}
}

// wasSo tells whether a match in rounds.json was so before a decision of an organiser.
func wasSo(m *journal.Match, got *store.RoundMatch, row store.RoundMatch) bool {
	for i := range m.Annulled {
		row.AnnulledResults = i
		m.Annulled[i].SetRow(&row)
		if reflect.DeepEqual(got, &row) {
			return true
		}
		row.AnnulledResults = i + 1 // while it was played again
		new(journal.Outcome).SetRow(&row)
		if reflect.DeepEqual(got, &row) {
			return true
		}
	}
	return false
}
