package audit

import (
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/store"
)

// A scheduledMatch is a match of an announced round with its events.
type scheduledMatch struct {
	*journal.Match
	key     league.MatchID
	id      string    // key as text
	players [2]string // player A first

	isAnnulled bool // its result does not count any more
}

// A matchFile is the file of a match or of an attempt at it, or an attempt in the log of a
// referee.
type matchFile struct {
	document[store.Match]
	match    *scheduledMatch
	messages []readMessage         // of the transcript
	moves    []protocol.PlayerMove // the moves of the complete turns in the transcript
	complete bool                  // the transcript has all moves

	logLine int // 0 unless the match was read from a log
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
	a.find(rule, f.at(member).in(f.match.id), format, args...)
}

// checkMatches checks the results of the schedule's matches and their files, then
// files that belong to no match.
func (a *auditor) checkMatches() {
	other := make(map[string]bool, len(a.matchFiles))
	for _, name := range a.matchFiles {
		other[name] = true
	}
	a.openGame()
	for round := 1; round <= a.state.Round; round++ {
		matches := make([]*scheduledMatch, 0, len(a.state.Pairings(round)))
		for i := range a.state.Pairings(round) {
			m := a.scheduled(league.MatchID{Round: round, Number: i + 1})
			matches = append(append(matches, m.annulled()...), m)
		}
		inOrder(matches, func(m *scheduledMatch) matchFiles { return a.loadFiles(m, other[m.id]) },
			func(m *scheduledMatch, files matchFiles) {
				file := a.checkFiles(m, files)
				a.reportSignatures(m, files.signatures)
				if !m.isAnnulled {
					a.noteAbandoned(m)
				}
				if m.Report != nil {
					a.checkResult(m, files.signatures, file)
				}
			})
		for _, m := range matches {
			delete(other, m.id)
		}
	}
	a.reportMissing()
	for _, name := range a.matchFiles {
		if other[name] && !a.chain.stopped {
			a.find(RuleMatchFile, location{file: relative(a.dir, a.dir.Match(a.id, name)), matchID: name},
				"a file of match %.40q, which is not of an announced round of this league", name)
		}
	}
}

// matchFiles are the files of one match.
type matchFiles struct {
	file   *matchFile // nil if it was not looked for
	logged *matchFile // of the attempt that counts; nil for none

	signatures signatureCheck
}

// loadFiles reads the files of a match, and verifies its signatures. It may be called by
// several goroutines.
func (a *auditor) loadFiles(m *scheduledMatch, listed bool) (files matchFiles) {
	files.signatures = a.verify(m)
	switch {
	case m.isAnnulled && m.Report != nil:
		files.file = a.loadMatch(a.dir.Attempt(a.id, m.id, m.Report.Number))
	case listed || m.Report != nil: // a file with a result may be newer than the list of files
		files.file = a.loadMatch(a.dir.Match(a.id, m.id))
	}
	if m.Report != nil {
		files.logged = a.loggedOf(m)
	}
	return files
}

// checkFiles checks the files of a match, and returns the one with the transcript; nil
// for none. In place of a file that a crash has left missing or incomplete, it reads the log, as
// the referee does.
func (a *auditor) checkFiles(m *scheduledMatch, files matchFiles) (transcript *matchFile) {
	f, logged := files.file, files.logged
	if f == nil {
		return nil
	}
	f.match = m
	a.checked[f.file] = true
	if f.value != nil && !m.isAnnulled && a.showsAnnulled(f) {
		a.note(RuleMatchFile, f.at("/result"), "it has a result of %s that an organiser has annulled since%s", m.id,
			writtenAgain)
		f = &matchFile{match: m}
	}
	if logged != nil {
		logged.match = m
		if f.value == nil {
			a.noteCrash(f)
			a.checkMatchFile(logged, loggedAttempt)
			return logged
		}
		if f.value.Contradicts(logged.value) {
			logged.find(a, RuleOneResult, "", "attempt %d at %s has another result or nonce here than in its file",
				logged.value.Attempt, m.id)
		}
	}
	if !f.exists && !m.isAnnulled && m.Report != nil {
		if f.file != "" {
			a.findMissing(m, f.file)
		}
		return nil
	}
	checkReadable(a, &f.document, location{matchID: m.id})
	kind := finalFile
	if m.isAnnulled {
		kind = attemptFile
	}
	if f.value == nil || !a.checkMatchFile(f, kind) {
		return nil
	}
	return f
}

// noteCrash notes a file that is missing or incomplete, although the log has its match.
func (a *auditor) noteCrash(f *matchFile) {
	switch {
	case f.exists:
		a.note(RuleSchema, location{file: f.file, line: f.problemLine, matchID: f.match.id}, "%s%s", f.problem, writtenAgain)
	case f.file != "" && (a.completed() || f.match.key.Round < a.state.Round): // in an open round it is still to come
		a.missing.derived++
	}
}

func (a *auditor) scheduled(id league.MatchID) *scheduledMatch {
	match, playerA, playerB, _ := a.state.Find(id)
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

// missingFiles are match files that a league should have.
type missingFiles struct {
	number  int // of matches with a result, but without a file or a record
	derived int // of files that the referee can write again
}

// maxMissing is how many missing files are reported one by one.
const maxMissing = 20

// findMissing reports a match with a result, but without a file.
func (a *auditor) findMissing(m *scheduledMatch, file string) {
	if a.missing.number++; a.missing.number <= maxMissing {
		a.findMatchFile(location{file: file, matchID: m.id}, "the match has a result, but this file does not exist")
	}
}

func (a *auditor) reportMissing() {
	folder := location{file: relative(a.dir, a.dir.Matches(a.id))}
	if more := a.missing.number - maxMissing; more > 0 {
		a.findMatchFile(folder, "%d more matches have a result, but no file", more)
	}
	if n := a.missing.derived; n > 0 {
		a.note(RuleMatchFile, folder, "%s with a record, but without a file%s", protocol.Counted(n, "match"), writtenAgain)
	}
}
