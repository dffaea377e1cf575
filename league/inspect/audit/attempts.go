package audit

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/store"
)

// checkAttempts checks the attempts that have no acknowledged result: their files, which
// earlier versions wrote, and their records.
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
			a.checkAttempt(f, attemptFile, at)
		}
	}
	for _, r := range a.results {
		others := slices.DeleteFunc(r.attempts, func(r *recordedAttempt) bool { return r.checked })
		inOrder(others, (*recordedAttempt).load, func(r *recordedAttempt, f *matchFile) {
			m, _, _, found := a.state.Find(r.id.MatchID)
			if !found || m.Attempt(r.id.Number, r.in.header.RefereeID) == nil {
				a.find(RuleMatchFile, location{file: f.file, line: r.records[0].line, matchID: r.id.MatchID.String(), agentID: r.in.header.RefereeID},
					"attempt %d at %s was never assigned to %s", r.id.Number, r.id.MatchID, quoted(&r.in.header.RefereeID))
				return
			}
			f.match = a.scheduled(r.id.MatchID)
			a.checkRecord(f)
		})
	}
}

// checkRecord checks an attempt in a results file. It returns false if the attempt cannot
// be used.
func (a *auditor) checkRecord(f *matchFile) bool {
	at := location{file: f.file, line: f.problemLine, matchID: f.match.id}
	if f.value == nil {
		a.find(RuleSchema, at, "%s", f.problem)
		return false
	}
	if c := f.contradiction; c != nil {
		at.line = c.second
		a.find(RuleOneResult, at, "attempt %d at %s has another result or nonce here than in line %d", f.value.Attempt, f.match.id, c.first)
	}
	if f.unknown != nil {
		at.line = f.unknownLine
		a.note(RuleSchema, at, "%s: another program wrote it, or somebody added it", Reason(f.unknown))
	}
	at.line, at.agentID = f.records[0].number, f.value.RefereeID
	if f.counts() {
		a.checkDigest(f, at)
	}
	a.checkAttempt(f, attemptRecord, at)
	return true
}

// checkDigest compares the record of a result with its digest in the journal.
func (a *auditor) checkDigest(f *matchFile, at location) {
	switch want := f.match.Report.TranscriptDigest; {
	case want == f.value.Digest:
	case want != "":
		a.find(RuleTranscript, at, "the digest of this record is %.12s…; in line %d of the journal it is %.12s…: the record was changed after the report",
			f.value.Digest, a.eventLine(f.match, 0), want)
	case a.signs():
		a.note(RuleTranscript, at, "the journal has no digest of this record: it may have been changed after the report")
	}
}

func (a *auditor) checkAttempt(f *matchFile, kind matchKind, at location) {
	d, m := f.value, f.match
	if d.Draw != nil {
		at := at
		at.line = f.line("/draw/nonce")
		if nonce, ok := protocol.ParseSecret(d.Draw.Nonce); ok {
			a.checkNonceIsNew(m.play(d.Attempt), d.Draw.Nonce, at)
			commitment := m.Attempt(d.Attempt, d.RefereeID).Commitment
			if commitment != "" && !protocol.OpensDraw(commitment, a.id, d.MatchID, d.Attempt, d.RefereeID, nonce) {
				a.find(RuleCommitment, at, "the nonce of attempt %d at %s does not match the commitment in line %d of the journal", d.Attempt, d.MatchID, a.eventLine(m, d.Attempt))
			}
		}
	}
	if !a.checkIdentity(f) {
		return
	}
	a.checkForm(f, kind)
	a.checkTranscript(f)
	if m.Report == nil && !a.completed() && d.Attempt == len(m.Attempts) {
		return // the attempt goes on
	}
	a.noteUnacknowledged(f, at)
}

// noteUnacknowledged notes the state of an attempt without an acknowledged result.
func (a *auditor) noteUnacknowledged(f *matchFile, at location) {
	d, m, r := f.value, f.match, f.match.Report
	attempt := fmt.Sprintf("attempt %d at %s by %s", d.Attempt, m.id, clip(d.RefereeID))
	counts := f.counts()
	if counts && m.LostBy(d.Attempt) != journal.CauseRejected && (d.Lifecycle.State == store.StateFinished || f.records != nil && !slices.Contains(m.Disputed, d.RefereeID)) {
		a.compareResult(f)
	}
	switch state := d.Lifecycle.State; {
	case state == store.StateFinished && counts:
		if a.completed() {
			a.note(RuleAbandoned, at, "%s has the result that counts; its referee stopped before the manager acknowledged it", attempt)
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

// counts tells whether the result in the journal is that of the attempt.
func (f *matchFile) counts() bool {
	r := f.match.Report
	return r != nil && r.Number == f.value.Attempt && r.RefereeID == f.value.RefereeID
}
