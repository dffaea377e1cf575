package audit

import (
	"fmt"
	"reflect"
	"runtime"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/lists"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/words"
)

// A scheduledMatch is a match of an announced round with its events.
type scheduledMatch struct {
	*journal.Match
	key     league.MatchID
	id      string    // key as text
	players [2]string // player A first

	isAnnulled bool           // its result does not count any more
	opening    *opening       // nil before it is drawn
	file       *matchFile     // nil if it was not read, or cannot be used
	signatures signatureCheck // of the result
}

// A matchFile is the file of a match or of an attempt at it, or an attempt in the log of a
// referee.
type matchFile struct {
	document[store.Match]
	match    *scheduledMatch
	messages []readMessage         // of the transcript
	moves    []protocol.PlayerMove // the moves of the complete turns in the transcript
	draws    []protocol.Drawn      // before these turns, and after the last of them
	complete bool                  // the transcript has all moves

	final bool // it is the file of a match
}

// loadMatch reads the file of a match or of an attempt, and the messages in it. It may
// be called by several goroutines.
func (a *auditor) loadMatch(path string) *matchFile {
	f := &matchFile{document: load[store.Match](a.dir, path)}
	if f.value != nil {
		f.messages = readMessages(f.value.Transcript)
	}
	return f
}

// find reports a finding at a member of the file.
func (f *matchFile) find(a *auditor, rule string, member jsontext.Pointer, format string, args ...any) {
	a.find(rule, f.where(a, SeverityFinding, member).in(f.match.id), format, args...)
}

// checkMatches checks the results of the schedule's matches and their files, then
// files that belong to no match.
func (a *auditor) checkMatches() {
	a.openGame()
	checked := 0
	for round := 1; round <= a.state.Round; round++ {
		matches := make([]*scheduledMatch, 0, len(a.state.Pairings(round)))
		for i := range a.state.Pairings(round) {
			m := a.scheduled(league.MatchID{Round: round, Number: i + 1})
			matches = append(append(matches, m.annulled()...), m)
		}
		inOrder(matches, a.loadFile, func(m *scheduledMatch) {
			a.checkFile(m)
			a.reportSignatures(m)
			if !m.isAnnulled {
				a.noteAbandoned(m)
			}
			if m.Report != nil {
				a.checkResult(m)
			}
			m.file = nil // a round can have many large files
			if !m.isAnnulled && a.options.Progress != nil {
				checked++
				a.options.Progress(checked, a.state.TotalMatches())
			}
		})
	}
	a.reportMissing()
	for name := range a.matchFiles {
		file := relative(a.dir, a.dir.Match(a.id, name))
		if !a.checked[file] && !a.chain.stopped {
			a.find(RuleMatchFile, Location{File: file, MatchID: name},
				"a file of match %.40q, which is not of an announced round of this league", name)
		}
	}
}

// loadFile reads the file of a match, and verifies its signatures. It may be called by
// several goroutines.
func (a *auditor) loadFile(m *scheduledMatch) {
	m.signatures = a.verify(m)
	switch {
	case m.isAnnulled:
		m.file = a.loadMatch(a.dir.Attempt(a.id, m.id, m.Report.Number))
	case a.matchFiles[m.id] || m.Report != nil: // a file with a result may be newer than the list of files
		m.file = a.loadMatch(a.dir.Match(a.id, m.id))
		m.file.final = true
	}
}

// checkFile checks the file of a match. In place of one that a crash has left missing or
// incomplete, it reads the log, as the referee does. It removes a file that cannot be used.
func (a *auditor) checkFile(m *scheduledMatch) {
	f, logged := m.file, a.loggedOf(m)
	if f == nil {
		return
	}
	f.match, a.checked[f.file] = m, true
	stale := f.value != nil && !m.isAnnulled && a.showsAnnulled(f)
	if stale {
		a.note(RuleMatchFile, f.at("/result"), "it has a result of %s that an organiser has annulled since%s", m.id,
			writtenAgain)
	}
	if logged != nil {
		logged.match = m
		if f.value == nil || stale {
			m.file = logged
		} else if f.value.Contradicts(logged.value) {
			logged.find(a, RuleOneResult, "", "attempt %d at %s has another result or nonce here than in its file",
				logged.value.Attempt, m.id)
		}
	}
	switch {
	case f.value != nil:
	case f.exists && m.file == logged:
		a.note(RuleSchema, f.unreadable().in(m.id), "%s%s", f.problem, writtenAgain)
	case f.exists:
		a.find(RuleSchema, f.unreadable().in(m.id), "%s", f.problem)
	case m.file == logged && (a.completed() || m.key.Round < a.state.Round): // in an open round it is still to come
		a.onlyLogged++
	case m.file == f && !m.isAnnulled && m.Report != nil:
		a.missing = append(a.missing, Location{File: f.file, MatchID: m.id})
	}
	if m.file.value == nil || stale && m.file == f || !a.checkMatchFile(m.file) {
		m.file = nil
	}
}

// scheduled is a match of an announced round; nil for none.
func (a *auditor) scheduled(id league.MatchID) *scheduledMatch {
	match, playerA, playerB, ok := a.state.Find(id)
	if !ok {
		return nil
	}
	return &scheduledMatch{Match: match, key: id, id: id.String(), players: [2]string{playerA, playerB}}
}

// records are the present records of all players, by rank in the table.
func (a *auditor) records() []protocol.Record {
	records, points := make([]protocol.Record, len(a.state.Started.Players)), make([]int, len(a.state.Started.Players))
	for i := range records {
		row := a.state.Table.Row(i)
		points[i] = row.Points // a pointer to the row would keep all of it
		records[i] = protocol.Record{Wins: row.Wins, Losses: row.Losses, Draws: row.Draws, Points: &points[i]}
	}
	return records
}

// noteAbandoned notes attempts that were given up although the referee was bound
// to its draw: a referee could want another draw.
func (a *auditor) noteAbandoned(m *scheduledMatch) {
	for i, attempt := range m.Attempts {
		last, r := i == len(m.Attempts)-1, m.Report
		if attempt.Commitment == "" || m.AnnulledOutcome(attempt.Number) != nil || r == nil && last || r != nil &&
			r.Number == attempt.Number && r.RefereeID == attempt.Referee {
			continue
		}
		at := a.inJournal(attempt.Event).in(m.id).of(attempt.Referee)
		a.note(RuleAbandoned, at, "attempt %d at %s by %s was given up after the referee had committed to its draw",
			attempt.Number, m.id, clip(attempt.Referee))
	}
}

// maxMissing is how many missing files are reported one by one.
const maxMissing = 20

// reportMissing reports the matches with a result, but without a file: as findings of a completed
// league, and as notes of one that goes on.
func (a *auditor) reportMissing() {
	report, folder := a.note, Location{File: relative(a.dir, a.dir.Matches(a.id))}
	if a.completed() {
		report = a.find
	}
	for _, at := range a.missing[:min(len(a.missing), maxMissing)] {
		report(RuleMatchFile, at, "the match has a result, but this file does not exist")
	}
	if more := len(a.missing) - maxMissing; more > 0 {
		report(RuleMatchFile, folder, "%d more matches have a result, but no file", more)
	}
	if a.onlyLogged > 0 {
		a.note(RuleMatchFile, folder, "%s with a record, but without a file%s", words.Counted(a.onlyLogged, "match"),
			writtenAgain)
	}
}

// inOrder reads the files of matches or players, several at the same time, and uses what was read in their order, one
// after the other.
func inOrder[T any](all []T, read, use func(one T)) {
	queue := make(chan chan struct{}, 4*runtime.GOMAXPROCS(0))
	go func() {
		for _, one := range all {
			done := make(chan struct{})
			queue <- done
			go func() {
				read(one)
				close(done)
			}()
		}
	}()
	for _, one := range all {
		<-<-queue
		use(one)
	}
}

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
	all := t.before[t.file.assignedIn()-1] // the time between two rounds in which the attempt was assigned
	shown := func(r []protocol.Record) *protocol.Record {
		if t.plain() {
			return &protocol.Record{Wins: r[player].Wins, Losses: r[player].Losses, Draws: r[player].Draws} // without points
		}
		return &r[player]
	}
	if slices.ContainsFunc(all, func(r []protocol.Record) bool { return reflect.DeepEqual(got, shown(r)) }) {
		return got
	}
	return shown(all[len(all)-1])
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
		return fmt.Sprintf("%s after %s", m.id, words.Counted(n, "annulled result"))
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
	all := lists.Map(m.Annulled, func(o journal.AnnulledOutcome) journal.Outcome { return o.Outcome })
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
