package audit

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/store"
)

// A scheduledMatch is a match of an announced round with its events.
type scheduledMatch struct {
	*journal.Match
	key     protocol.MatchID
	id      string    // key as text
	players [2]string // player A first
}

// A matchFile is the file of a match or of an attempt at it.
type matchFile struct {
	document[store.Match]
	match        *scheduledMatch
	messages     []readMessage // of the transcript
	mayHoldToken bool          // a message
	moves        [2][]string   // the moves in the transcript that count, of both players
	complete     bool          // the transcript has all moves
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
	s, game := a.state, a.game()
	var missing []string
	for round := 1; round <= s.Round; round++ {
		matches := make([]*scheduledMatch, len(s.Rounds[round-1].Matches))
		for i := range matches {
			matches[i] = a.scheduled(protocol.MatchID{Round: round, Number: i + 1})
		}
		inOrder(matches, func(m *scheduledMatch) *matchFile {
			if !other[m.id] && m.Report == nil { // a file with a result may be newer than the list of files
				return nil
			}
			return a.loadMatch(a.dir.Match(a.id, m.id))
		}, func(m *scheduledMatch, file *matchFile) {
			if file != nil {
				if !file.exists && m.Report != nil {
					missing = append(missing, m.id)
				}
				file.match = m
				file = a.checkMatchFile(file)
			}
			a.noteAbandoned(m)
			if m.Report != nil {
				a.checkResult(m, game, file)
			}
		})
		for _, m := range matches {
			delete(other, m.id)
		}
	}
	a.findMissing(missing)
	for _, name := range a.matchFiles {
		if other[name] && !a.chain.stopped {
			a.find(RuleMatchFile, location{file: relative(a.dir, a.dir.Match(a.id, name)), matchID: name},
				"a file of match %.40q, which is not of an announced round of this league", name)
		}
	}
}

// maxMissing is how many missing match files are reported one by one.
const maxMissing = 20

// findMissing reports the matches with a result that have no file.
func (a *auditor) findMissing(ids []string) {
	for i, id := range ids {
		if i == maxMissing {
			a.findIfCompleted(RuleMatchFile, location{file: relative(a.dir, a.dir.Matches(a.id))}, "%d more matches have a result, but no file", len(ids)-i)
			return
		}
		a.findIfCompleted(RuleMatchFile, location{file: relative(a.dir, a.dir.Match(a.id, id)), matchID: id},
			"the match has a result, but this file does not exist")
	}
}

func (a *auditor) scheduled(id protocol.MatchID) *scheduledMatch {
	match, playerA, playerB, _ := a.state.Find(id)
	return &scheduledMatch{Match: match, key: id, id: id.String(), players: [2]string{playerA, playerB}}
}

// eventLine is the line of the journal in which an attempt was accepted; that of the
// result for attempt 0; 0 for none.
func (a *auditor) eventLine(m *scheduledMatch, attempt int) int {
	return a.lines[protocol.Attempt{MatchID: m.key, Number: attempt}]
}

// records are the present records of all players, by rank in the table.
func (a *auditor) records() []protocol.Record {
	records := make([]protocol.Record, len(a.state.Started.Players))
	for i := range records {
		row := a.state.Table.Row(i)
		records[i] = protocol.Record{Wins: row.Wins, Losses: row.Losses, Draws: row.Draws, Points: &row.Points}
	}
	return records
}

// checkMatchFile compares the file of a match with the schedule, the journal and
// its own transcript. It returns nil if the file cannot be used.
func (a *auditor) checkMatchFile(f *matchFile) *matchFile {
	m := f.match
	checkReadable(a, &f.document, location{matchID: m.id})
	switch {
	case f.value == nil || !a.checkIdentity(f):
	case m.Report == nil:
		if !a.chain.stopped {
			f.find(a, RuleMatchFile, "/result", "a file of match %s, which has no result in the journal", m.id)
		}
	case m.Forfeited != nil && f.value.WrittenBy == store.WrittenByReferee:
		f.find(a, RuleMatchFile, "/written_by", "%s was forfeited without a referee, but written_by names one", m.id)
	default:
		a.compareResult(f)
		a.checkForm(f, true)
		a.checkTranscript(f)
		return f
	}
	return nil
}

// checkIdentity tells whether a file is about the match that its name says.
func (a *auditor) checkIdentity(f *matchFile) bool {
	d, m, same := f.value, f.match, true
	for _, c := range []struct {
		rule      string
		member    jsontext.Pointer
		got, want any
	}{
		{RuleMatchFile, "/league_id", d.LeagueID, a.id},
		{RuleMatchFile, "/match_id", d.MatchID, m.id},
		{RuleMatchFile, "/round_id", d.RoundID, m.key.Round},
		{RuleSchedule, "/player_A/player_id", d.PlayerA.PlayerID, m.players[0]},
		{RuleSchedule, "/player_B/player_id", d.PlayerB.PlayerID, m.players[1]},
	} {
		if c.got != c.want {
			same = false
			f.find(a, c.rule, c.member, "%s is %s; by the name of the file and the schedule it is %v", name(c.member), shown(jsonText(c.got)), c.want)
		}
	}
	return same
}

// compareResult compares a match file with the report in the journal.
func (a *auditor) compareResult(f *matchFile) {
	r, got := f.match.Report, *f.value
	got.Transcript, got.Lifecycle = nil, store.Lifecycle{}
	want := got
	want.Attempt, want.RefereeID, want.GameType, want.Scoring, want.Draw = r.Number, r.RefereeID, a.state.Created.GameType, a.state.Created.Scoring, r.Draw
	if got.WrittenBy == store.WrittenByReferee {
		want.ConversationID = protocol.MatchConversation(f.match.id, got.Attempt)
	}
	want.Result = &store.MatchResult{GameResult: r.GameResult, Score: r.Score}
	if got.Result != nil && (got.Result.Reason == "" || r.Reason == "") {
		want.Result.Reason = got.Result.Reason
	}
	for _, diff := range differences(&got, &want) {
		rule := RuleMatchFile
		if strings.HasPrefix(string(diff.member), "/scoring") {
			rule = RulePoints
		}
		f.find(a, rule, diff.member, "%v (line %d)", diff, a.eventLine(f.match, 0))
	}
}

// noteAbandoned notes attempts that were given up although the referee was bound
// to its draw: a referee could want another draw.
func (a *auditor) noteAbandoned(m *scheduledMatch) {
	for i, attempt := range m.Attempts {
		last, r := i == len(m.Attempts)-1, m.Report
		if attempt.Commitment == "" || r == nil && last || r != nil && r.Number == attempt.Number && r.RefereeID == attempt.Referee {
			continue
		}
		at := location{file: a.journal, line: a.eventLine(m, attempt.Number), matchID: m.id, agentID: attempt.Referee}
		a.note(RuleAbandoned, at, "attempt %d at %s by %s was given up after the referee had committed to its draw", attempt.Number, m.id, clip(attempt.Referee))
	}
}

// checkAttempts checks the files of attempts that have no acknowledged result.
func (a *auditor) checkAttempts() {
	if a.state.Started == nil || a.chain.stopped {
		return
	}
	for _, name := range a.attemptFiles {
		path := filepath.Join(a.dir.Attempts(a.id), name+".json")
		f := a.loadMatch(path)
		checkReadable(a, &f.document, location{})
		if f.value == nil {
			continue
		}
		d := f.value
		at := location{file: f.file, line: f.line("/match_id"), matchID: d.MatchID, agentID: d.RefereeID}
		id, _ := protocol.ParseMatchID(d.MatchID)
		m, _, _, found := a.state.Find(id)
		switch {
		case d.LeagueID != a.id || strings.ContainsAny(d.MatchID+d.RefereeID, `/\`) ||
			filepath.Base(a.dir.Attempt(a.id, d.MatchID, d.Attempt, d.RefereeID)) != filepath.Base(path):
			a.find(RuleMatchFile, at, "it is attempt %d at %s of league %s by %s, but its name says otherwise",
				d.Attempt, quoted(&d.MatchID), quoted(&d.LeagueID), quoted(&d.RefereeID))
		case !found || m.Attempt(d.Attempt, d.RefereeID) == nil:
			a.find(RuleMatchFile, at, "attempt %d at %s was never assigned to %s", d.Attempt, quoted(&d.MatchID), quoted(&d.RefereeID))
		default:
			f.match = a.scheduled(id)
			a.checkAttempt(f, at)
		}
	}
}

func (a *auditor) checkAttempt(f *matchFile, at location) {
	d, m := f.value, f.match
	if d.Draw != nil {
		at := at
		at.line = f.line("/draw/nonce")
		if nonce, ok := protocol.ParseSecret(d.Draw.Nonce); ok {
			a.checkNonceIsNew(d.MatchID, d.Draw.Nonce, at)
			commitment := m.Attempt(d.Attempt, d.RefereeID).Commitment
			if commitment != "" && !protocol.OpensDraw(commitment, a.id, d.MatchID, d.Attempt, d.RefereeID, nonce) {
				a.find(RuleCommitment, at, "the nonce of attempt %d at %s does not match the commitment in line %d of the journal", d.Attempt, d.MatchID, a.eventLine(m, d.Attempt))
			}
		}
	}
	if !a.checkIdentity(f) {
		return
	}
	a.checkForm(f, false)
	a.checkTranscript(f)
	if m.Report == nil && !a.completed() && d.Attempt == len(m.Attempts) {
		return // the attempt goes on
	}
	a.noteUnacknowledged(f, at)
}

// noteUnacknowledged notes the state of an attempt whose file remained.
func (a *auditor) noteUnacknowledged(f *matchFile, at location) {
	d, r := f.value, f.match.Report
	attempt := fmt.Sprintf("attempt %d at %s by %s", d.Attempt, f.match.id, clip(d.RefereeID))
	counts := r != nil && r.Number == d.Attempt && r.RefereeID == d.RefereeID
	switch state := d.Lifecycle.State; {
	case state == store.StateFinished && counts:
		a.compareResult(f)
		if a.completed() {
			a.note(RuleAbandoned, at, "%s has the result that counts; its referee stopped before it could remove this file", attempt)
		}
	case state == store.StateFinished && r != nil:
		a.note(RuleAbandoned, at, "%s came to a result, but attempt %d by %s counts", attempt, r.Number, clip(r.RefereeID))
	case state == store.StateFinished:
		a.note(RuleAbandoned, at, "%s came to a result that was never reported", attempt)
	case state == store.StateDisputed && d.Refusal != nil:
		a.note(RuleDispute, at, "%s came to a result that the manager rejected: %s %.200q", attempt, quoted(&d.Refusal.ErrorCode), d.Refusal.Detail)
	case state == store.StateDisputed:
		a.note(RuleDispute, at, "%s came to a result that the manager rejected", attempt)
	case state == store.StateAbandoned:
		a.note(RuleAbandoned, at, "%s was given up", attempt)
	}
}
