package audit

import (
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/journal"
	"evenodd/league/store"
	"evenodd/league/words"
)

// writtenAgain ends a note about a file that derives from the journal. The manager writes
// it without sync, so that a crash can leave it older, incomplete or missing.
const writtenAgain = "; a manager that resumes the league writes it again"

// A derived is a file that follows from the events of the journal up to the one that the file names.
// The audit makes it again and compares.
type derived[T stored] struct {
	document[T]
	rule  string
	build func(want *T) // makes the members that follow from the present state
	line  int           // of the event that the file names; 0 while it was not met
	then  *T            // the file as of that event; nil if the journal cannot be folded up to it
}

// A stored file names the event up to which it derives from the journal.
type stored interface {
	store.Document
	Head() string
}

// A derivedFile is a *derived[T].
type derivedFile interface {
	meet(a *auditor, hash string, line int)
	check(a *auditor)
}

// openDerived reads the files that derive from the journal.
func (a *auditor) openDerived() {
	s := a.state
	a.standings = newDerived(a, a.dir.Standings(a.id), RuleStandings, func(want *store.Standings) {
		want.LeagueID, want.Version, want.RoundsCompleted, want.Standings = a.id, s.Recorded, s.CompletedRounds(), s.Standings()
	})
	a.derived = []derivedFile{
		a.standings,
		newDerived(a, a.dir.Agents(a.id), RuleAgents, func(want *store.Agents) {
			want.LeagueID = a.id
			want.Referees, want.Players = s.AgentRecords()
		}),
		newDerived(a, a.dir.Rounds(a.id), RuleRounds, func(want *store.Rounds) {
			want.LeagueID, want.TotalRounds, want.Rounds = a.id, s.TotalRounds(), s.RoundRecords()
		}),
	}
}

// newDerived loads a file that derives from the journal. An incomplete one is only a note.
func newDerived[T stored](a *auditor, path, rule string, build func(want *T)) *derived[T] {
	d := &derived[T]{document: load[T](a.dir, path), rule: rule, build: build}
	switch {
	case d.value != nil || !d.exists:
	case d.raw != nil && !jsontext.Value(d.raw).IsValid():
		a.note(RuleSchema, d.unreadable(), "%s%s", d.problem, writtenAgain)
	default:
		a.find(RuleSchema, d.unreadable(), "%s", d.problem)
	}
	return d
}

// made is the file as the manager would write it now.
func (d *derived[T]) made() *T {
	want := *d.value
	d.build(&want)
	return &want
}

// meet makes the file after the line of the journal that it names.
func (d *derived[T]) meet(a *auditor, hash string, line int) {
	if d.value == nil || d.line > 0 || (*d.value).Head() != hash {
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
			a.note(d.rule, Location{File: d.file}, "the league is completed, but this file does not exist%s",
				writtenAgain)
		}
		return
	}
	checkHeader(a, &d.document, d.rule, Location{})
	at, head := d.at("/journal_head"), (*d.value).Head()
	empty := a.chain.next == 0 || head == journal.Origin && a.chain.head == journal.Origin // there is no event
	if d.line == 0 && !empty && len(a.lostHeads) == 0 {
		a.find(RuleJournalHead, at,
			"journal_head %.12q… is the hash of no line of the journal: its tail was cut off, or lines were changed", head)
	}
	if d.then == nil {
		return
	}
	if diffs := differences(d.value, d.then); len(diffs) > 0 {
		d.find(a, diffs)
		return
	}
	if diffs := differences(d.value, d.made()); len(diffs) > 0 && !a.chain.stopped && (a.completed() || d.rule == RuleStandings) {
		a.note(d.rule, at, "it is older than the journal: %v%s", diffs[0], writtenAgain)
	}
}

// find reports the first difference.
func (d *derived[T]) find(a *auditor, diffs []difference) {
	first, more := diffs[0], ""
	if n := len(diffs) - 1; n > 0 {
		more = "; it differs in " + words.Counted(n, "more member")
	}
	rule := d.rule
	if last := first.member.LastToken(); last == "player_A_id" || last == "player_B_id" {
		rule = RuleSchedule
	}
	a.find(rule, d.at(first.member).in(first.matchID).of(first.agentID), "%v up to line %d%s", first, d.line, more)
}
