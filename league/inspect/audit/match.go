package audit

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/rules"
)

// A scheduledMatch is a match of an announced round with its events.
type scheduledMatch struct {
	*journal.Match
	key     protocol.MatchID
	id      string    // key as text
	players [2]string // player A first

	isAnnulled bool // its result does not count any more
}

// A matchFile is the file of a match or of an attempt at it, or an attempt in a results
// file.
type matchFile struct {
	document[store.Match]
	match        *scheduledMatch
	messages     []readMessage // of the transcript
	mayHoldToken bool          // a message
	moves        [2][]string   // the moves in the transcript that count, of both players
	complete     bool          // the transcript has all moves

	records       []recordLine // nil unless the match was read from a results file
	contradiction *contradiction
	unknownLine   int // of the record with an unknown member
}

// loadMatch reads the file of a match or of an attempt, and the messages in it. It may
// be called by several goroutines.
func (a *auditor) loadMatch(path string) *matchFile {
	f := &matchFile{document: load[store.Match](a.dir, path)}
	if f.value != nil {
		f.messages, f.mayHoldToken = readMessages(f.value.Transcript), mayHoldToken(f.raw)
	}
	return f
}

// find reports a finding at a member of the file.
func (f *matchFile) find(a *auditor, rule string, member jsontext.Pointer, format string, args ...any) {
	a.find(rule, location{file: f.file, line: f.line(member), matchID: f.match.id}, format, args...)
}

// checkMatches checks the results of the schedule's matches and their files, then
// files that belong to no match.
func (a *auditor) checkMatches() {
	other := make(map[string]bool, len(a.matchFiles))
	for _, name := range a.matchFiles {
		other[name] = true
	}
	game := a.game()
	for round := 1; round <= a.state.Round; round++ {
		matches := make([]*scheduledMatch, 0, len(a.state.Pairings(round)))
		for i := range a.state.Pairings(round) {
			m := a.scheduled(protocol.MatchID{Round: round, Number: i + 1})
			matches = append(append(matches, m.annulled()...), m)
		}
		inOrder(matches, func(m *scheduledMatch) matchFiles { return a.loadFiles(m, other[m.id], game) }, func(m *scheduledMatch, files matchFiles) {
			file := a.checkFiles(m, files)
			a.reportSignatures(m, files.signatures)
			a.checkGrade(m, game, &files.signatures)
			if !m.isAnnulled {
				a.noteAbandoned(m)
			}
			if m.Report != nil {
				a.checkResult(m, game, file)
			}
		})
		for _, m := range matches {
			delete(other, m.id)
		}
	}
	a.missing.find(a)
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
	record *matchFile // of the attempt that counts; nil for none

	signatures signatureCheck
}

// loadFiles reads the files of a match, and verifies its signatures. It may be called by
// several goroutines.
func (a *auditor) loadFiles(m *scheduledMatch, listed bool, game rules.Game) (files matchFiles) {
	files.signatures = a.verify(m, game)
	if (listed || m.Report != nil) && !m.isAnnulled { // a file with a result may be newer than the list of files
		files.file = a.loadMatch(a.dir.Match(a.id, m.id))
	}
	if m.Report != nil {
		if r := a.recordOf(protocol.Attempt{MatchID: m.key, Number: m.Report.Number}, m.Report.RefereeID); r != nil {
			r.checked = true
			files.record = r.load()
		}
	}
	return files
}

// checkFiles checks the files of a match, and returns the one with the transcript; nil
// for none.
func (a *auditor) checkFiles(m *scheduledMatch, files matchFiles) (transcript *matchFile) {
	if files.record != nil {
		files.record.match = m
		if a.checkRecord(files.record) {
			transcript = files.record
		}
	}
	f := files.file
	if f == nil {
		return transcript
	}
	f.match = m
	if f.value != nil && a.showsAnnulled(f) {
		a.note(RuleMatchFile, location{file: f.file, line: f.line("/result"), matchID: m.id}, "it has a result of %s that an organiser has annulled since%s", m.id, writtenAgain)
		return transcript
	}
	switch {
	case !f.exists && transcript != nil:
		if a.completed() || m.key.Round < a.state.Round { // in an open round it is still to come
			a.missing.derived++
		}
	case !f.exists && m.Report != nil:
		a.missing.files = append(a.missing.files, m.id)
	case f.value == nil && transcript != nil:
		checkDerivedReadable(a, &f.document, location{matchID: m.id})
	case f.value != nil && f.value.TranscriptFile != "":
		a.checkDerived(f, transcript)
	default:
		if f = a.checkMatchFile(f); transcript == nil {
			transcript = f
		}
	}
	return transcript
}

func (a *auditor) scheduled(id protocol.MatchID) *scheduledMatch {
	match, players, _ := a.findMatch(id)
	return &scheduledMatch{Match: match, key: id, id: id.String(), players: players}
}

// eventLine is the line of the journal in which an attempt was accepted; that of the
// result for attempt 0; 0 for none.
func (a *auditor) eventLine(m *scheduledMatch, attempt int) int {
	if attempt == 0 {
		return m.Event // each line before is an event
	}
	return a.lines[protocol.Attempt{MatchID: m.key, Number: attempt}]
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

// checkMatchFile compares the file of a match with the schedule, the journal and
// its own transcript. It returns nil if the file cannot be used.
func (a *auditor) checkMatchFile(f *matchFile) *matchFile {
	checkReadable(a, &f.document, location{matchID: f.match.id})
	if f.value == nil || !a.checkIdentity(f) || !a.checkHasResult(f) {
		return nil
	}
	a.compareResult(f)
	a.checkForm(f, finalFile)
	a.checkTranscript(f)
	return f
}

// checkHasResult tells whether the journal has a result that the file can be about.
func (a *auditor) checkHasResult(f *matchFile) bool {
	m := f.match
	switch {
	case m.Report == nil:
		if !a.chain.stopped {
			f.find(a, RuleMatchFile, "/result", "a file of match %s, which has no result in the journal", m.id)
		}
		return false
	case m.Forfeited != nil && f.value.WrittenBy == store.WrittenByReferee:
		f.find(a, RuleMatchFile, "/written_by", "%s was forfeited without a referee, but written_by names one", m.id)
		return false
	case m.Ruled != nil && f.value.WrittenBy == store.WrittenByReferee:
		f.find(a, RuleMatchFile, "/written_by", "%s was ruled without a referee, but written_by names one", m.id)
		return false
	}
	return true
}

// checkIdentity tells whether a file is about the match that its name says.
func (a *auditor) checkIdentity(f *matchFile) bool {
	d, m, same, about := f.value, f.match, true, "the name of the file"
	if f.records != nil {
		about = "match_id"
	}
	for _, c := range [...]struct {
		rule, member, got, want string
	}{
		{RuleMatchFile, "/league_id", d.LeagueID, a.id},
		{RuleMatchFile, "/match_id", d.MatchID, m.id},
		{RuleMatchFile, "/round_id", strconv.Itoa(d.RoundID), strconv.Itoa(m.key.Round)},
		{RuleSchedule, "/player_A/player_id", d.PlayerA.PlayerID, m.players[0]},
		{RuleSchedule, "/player_B/player_id", d.PlayerB.PlayerID, m.players[1]},
	} {
		if c.got != c.want {
			same = false
			member := jsontext.Pointer(c.member)
			f.find(a, c.rule, member, "%s is %s; by %s and the schedule it is %s", name(member), quoted(&c.got), about, c.want)
		}
	}
	return same
}

// compareResult compares a match file with the report in the journal.
func (a *auditor) compareResult(f *matchFile) {
	for _, diff := range a.resultDifferences(f, f.match.Report) {
		rule := RuleMatchFile
		if strings.HasPrefix(string(diff.member), "/scoring") {
			rule = RulePoints
		}
		f.find(a, rule, diff.member, "%v (line %d)", diff, a.eventLine(f.match, 0))
	}
}

// resultDifferences compares a match file with a result.
func (a *auditor) resultDifferences(f *matchFile, r *journal.MatchReported) []difference {
	got := *f.value
	got.Transcript, got.Lifecycle = nil, store.Lifecycle{}
	want := got
	want.Attempt, want.RefereeID, want.GameType, want.Scoring, want.Draw = r.Number, r.RefereeID, a.state.Created.GameType, a.state.Created.Scoring, r.Draw
	if got.WrittenBy == store.WrittenByReferee {
		want.ConversationID = protocol.MatchConversation(f.match.id, got.Attempt)
	}
	want.Result = &store.MatchResult{GameResult: r.GameResult, Score: r.Score}
	want.Evidence = r.Evidence
	want.TranscriptDigest = "" // only the journal has it
	if got.Result != nil && (got.Result.Reason == "" || r.Reason == "") {
		want.Result.Reason = got.Result.Reason
	}
	return differences(&got, &want)
}

// noteAbandoned notes attempts that were given up although the referee was bound
// to its draw: a referee could want another draw.
func (a *auditor) noteAbandoned(m *scheduledMatch) {
	for i, attempt := range m.Attempts {
		last, r := i == len(m.Attempts)-1, m.Report
		if attempt.Commitment == "" || m.AnnulledOutcome(attempt.Number) != nil || r == nil && last || r != nil && r.Number == attempt.Number && r.RefereeID == attempt.Referee {
			continue
		}
		at := location{file: a.journal, line: a.eventLine(m, attempt.Number), matchID: m.id, agentID: attempt.Referee}
		a.note(RuleAbandoned, at, "attempt %d at %s by %s was given up after the referee had committed to its draw", attempt.Number, m.id, clip(attempt.Referee))
	}
}
