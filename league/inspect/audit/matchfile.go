package audit

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/lists"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/words"
)

// checkMatchFile compares the file of a match or an attempt with the schedule, the journal and its own
// transcript. It tells whether the file can be used.
func (a *auditor) checkMatchFile(f *matchFile) bool {
	d, m := f.value, f.match
	if !f.final {
		a.checkAttemptNonce(f)
	}
	if f.final && m.Report == nil {
		if !a.chain.stopped {
			f.find(a, RuleMatchFile, "/result", "a file of match %s, which has no result in the journal", m.id)
		}
		return false
	}
	disputed := d.Lifecycle.State != protocol.StateFinished && slices.Contains(m.Disputed, d.RefereeID)
	r := m.Report
	if !f.final && (!f.counts() || m.LostBy(d.Attempt) == journal.CauseRejected || disputed) {
		r = nil
	}
	diffs := a.differencesOf(f, r)
	other := lists.Filter(diffs, func(diff difference) bool { return slices.Contains(identity, diff.member) })
	if len(other) > 0 {
		diffs = other
	}
	for _, diff := range diffs {
		rule := RuleMatchFile
		if strings.HasPrefix(string(diff.member), "/scoring") {
			rule = RulePoints
		} else if diff.member.LastToken() == "player_id" {
			rule = RuleSchedule
		}
		f.find(a, rule, diff.member, "%v (line %d)", diff, m.Event)
	}
	if len(other) > 0 {
		return false
	}
	a.checkForm(f)
	a.checkFileOpening(f)
	a.checkDigest(f)
	a.checkTranscript(f)
	a.checkRefuted(f)
	goesOn := m.Report == nil && !a.completed() && d.Attempt == len(m.Attempts)
	if !f.final && !goesOn || f.final && d.Lifecycle.State == protocol.StateFinished {
		a.noteUnacknowledged(f)
	}
	return true
}

// checkAttempts checks the attempts whose result does not count: their files, and those that
// only the log of their referee has.
func (a *auditor) checkAttempts() {
	if a.state.Started == nil || a.chain.stopped {
		return
	}
	for _, name := range a.attemptFiles {
		matchID, attempt, _ := store.ParseMatchFile(name)
		f := a.loadMatch(a.dir.Attempt(a.id, matchID, attempt))
		switch d := f.value; {
		case a.checked[f.file] || !f.exists:
		case d == nil && f.incomplete: // after a power cut, unless its referee came back; the result does not count
			a.note(RuleSchema, f.unreadable(), "%s", f.problem)
		case d == nil:
			a.find(RuleSchema, f.unreadable(), "%s", f.problem)
		case d.LeagueID != a.id || d.MatchID != matchID || d.Attempt != attempt:
			a.find(RuleMatchFile, f.attempt("/match_id"), "it is attempt %d at %s of league %s, but its name says otherwise",
				d.Attempt, quoted(&d.MatchID), quoted(&d.LeagueID))
		default:
			a.checkOther(f)
		}
	}
	for _, key := range a.order {
		f := a.logged[key]
		if _, err := a.dir.Disk.Lstat(a.dir.Attempt(a.id, key.MatchID.String(), key.Number)); err != nil && f.match == nil {
			a.checkOther(f)
		}
	}
}

// checkOther checks an attempt whose result does not count.
func (a *auditor) checkOther(f *matchFile) {
	d := f.value
	if f.match = a.named(d.MatchID); f.match == nil || f.match.Attempt(d.Attempt, d.RefereeID) == nil {
		a.find(RuleMatchFile, f.attempt("/match_id"), "attempt %d at %s was never assigned to %s", d.Attempt,
			quoted(&d.MatchID), quoted(&d.RefereeID))
		return
	}
	a.checkMatchFile(f)
}

// attempt is the location of a member in findings about the attempt of a referee.
func (f *matchFile) attempt(member jsontext.Pointer) Location {
	return f.at(member).of(f.value.RefereeID)
}

// checkAttemptNonce checks the nonce of an attempt against the commitment in the journal.
func (a *auditor) checkAttemptNonce(f *matchFile) {
	d, m := f.value, f.match
	if d.Draw == nil {
		return
	}
	if _, ok := protocol.ParseSecret(d.Draw.Nonce); !ok {
		return
	}
	at := f.attempt("/draw/nonce")
	a.checkNonceIsNew(m.play(d.Attempt), d.Draw.Nonce, at)
	assigned := m.Attempt(d.Attempt, d.RefereeID)
	if assigned == nil || assigned.Commitment == "" {
		return
	}
	if _, opens := protocol.OpensDraw(assigned.Commitment, a.id, d.MatchID, d.Attempt, d.RefereeID, d.Draw.Nonce); !opens {
		a.find(RuleCommitment, at, "the nonce of attempt %d at %s does not match the commitment in line %d of the journal",
			d.Attempt, d.MatchID, assigned.Event)
	}
}

// identity are the members that say which match a file is about, and which agent can know it.
var identity = []jsontext.Pointer{"/league_id", "/match_id", "/round_id", "/player_A/player_id", "/player_B/player_id",
	"/written_by"}

// differencesOf compares a match file with the schedule and with a result; nil for none.
func (a *auditor) differencesOf(f *matchFile, r *journal.MatchReported) []difference {
	got := *f.value
	got.Lifecycle = store.Lifecycle{}
	want := got
	want.LeagueID, want.RoundID, want.MatchID = a.id, f.match.key.Round, f.match.id
	want.GameID = a.state.Created.GameID
	for i, p := range []*store.MatchPlayer{&want.PlayerA, &want.PlayerB} {
		name := a.state.Agents[f.match.players[i]].DisplayName
		if p.PlayerID = f.match.players[i]; p.DisplayName != name {
			p.DisplayName = protocol.WithoutTokens(name)
		}
		if got.WrittenBy == store.WrittenByManager {
			p.EntropyCommitment = ""
		}
	}
	if got.WrittenBy == store.WrittenByManager { // which knows no more than the report
		want.ConversationID, want.Started, want.Omitted, want.Transcript = "", "", 0, nil
	} else {
		want.ConversationID, want.Started = protocol.MatchConversation(f.match.id, got.Attempt), ""
		if is := a.state.Agents[got.RefereeID]; is != nil && is.RelaysSignatures && a.signs() && !a.plain() {
			want.Started = a.startHash
		}
		want.Members = a.state.Created.Members
		got.Transcript, want.Transcript = nil, nil
	}
	if r != nil {
		want.Attempt, want.RefereeID, want.GameType, want.Scoring, want.Draw = r.Number, r.RefereeID,
			a.state.Created.GameType, a.state.Created.Scoring, r.Draw
		want.Result = &protocol.MatchResult{Result: r.Result, Score: r.Score}
		want.Evidence = r.Evidence
		want.TranscriptDigest = "" // only the journal has it
		if r.RefereeID == "" {
			want.WrittenBy = store.WrittenByManager
		}
		if got.Result != nil && (got.Result.Reason == "" || r.Reason == "") {
			want.Result.Reason = got.Result.Reason
		}
		if got.Result != nil && a.plain() { // the report has none
			want.Result.Faults, want.Result.Fallbacks = got.Result.Faults, got.Result.Fallbacks
		}
	}
	return differences(&got, &want)
}

// checkForm checks what a match file says about itself.
func (a *auditor) checkForm(f *matchFile) {
	d := f.value
	if f.logLine == 0 {
		checkHeader(a, &f.document, RuleMatchFile, Location{MatchID: f.match.id})
	}
	if d.WrittenBy != store.WrittenByReferee && d.WrittenBy != store.WrittenByManager {
		f.find(a, RuleMatchFile, "/written_by", "written_by is %s; it must be referee or manager", quoted(&d.WrittenBy))
	}
	if r := d.Refusal; r != nil && d.Lifecycle.State != protocol.StateDisputed {
		f.find(a, RuleMatchFile, "/refusal", "it has a refusal by the manager, but is in state %s",
			quoted(&d.Lifecycle.State))
	} else if r != nil && protocol.Code(r.ErrorCode).Name() != r.ErrorName {
		f.find(a, RuleMatchFile, "/refusal/error_code", "the refusal by the manager has the code %s, which is not that of %s",
			quoted(&r.ErrorCode), quoted(&r.ErrorName))
	}
	a.checkStates(f)
}

// The states that a match passes, by what it came to.
const (
	begun  = `^ASSIGNED( WAITING_FOR_PLAYERS)?`
	failed = begun + `( COLLECTING_CHOICES)?( DRAWING_NUMBER)?`
	ended  = ` FINISHED( DISPUTED)*( ACKNOWLEDGED)?$`
)

var (
	statesOfManager   = words.Pattern(`^ACKNOWLEDGED$`)
	statesOfPlayed    = words.Pattern(begun + ` COLLECTING_CHOICES DRAWING_NUMBER` + ended)
	statesOfLost      = words.Pattern(failed + ended)
	statesOfAbandoned = words.Pattern(failed + ` ABANDONED$`)
)

// checkStates checks the states that a match passed against its result and the kind of its file.
func (a *auditor) checkStates(f *matchFile) {
	d, state := f.value, f.value.Lifecycle.State
	pattern := statesOfLost
	switch {
	case d.WrittenBy == store.WrittenByManager:
		pattern = statesOfManager
	case d.Result == nil:
		pattern = statesOfAbandoned
	case d.Result.Status != league.StatusTechnicalLoss:
		pattern = statesOfPlayed
	}
	var passed []string
	for i, s := range d.Lifecycle.States {
		passed = append(passed, s.State)
		if _, err := protocol.ParseTimestamp(s.At); err != nil {
			f.find(a, RuleMatchFile, jsontext.Pointer(fmt.Sprintf("/lifecycle/states/%d/at", i)), "at: %v", err)
		}
	}
	wrong := ""
	switch last := len(passed) - 1; {
	case d.Result == nil && f.final: // it has a finding
	case !pattern().MatchString(strings.Join(passed, " ")):
		f.find(a, RuleMatchFile, "/lifecycle/states", "no match passes these states and ends so: %.200q", passed)
	case state != passed[last]:
		wrong = "the last of its states is " + quoted(&passed[last])
	case f.final && state != protocol.StateAcknowledged && state != protocol.StateFinished:
		wrong = "the file of a match is written when the manager has acknowledged the result"
	case f.final || state != protocol.StateAcknowledged:
	case f.logLine == 0 && f.counts() && !f.match.isAnnulled:
		wrong = "its result counts: it belongs into the file of the match"
	case !f.counts():
		wrong = "another attempt counts"
	}
	if wrong != "" {
		f.find(a, RuleMatchFile, "/lifecycle/state", "state is %s, but %s", quoted(&state), wrong)
	}
}

// checkDigest compares the transcript of a result with its digest in the journal.
func (a *auditor) checkDigest(f *matchFile) {
	if f.value.WrittenBy != store.WrittenByReferee || !f.counts() {
		return
	}
	at := f.attempt("/transcript")
	switch got, want := f.value.Digest(), f.match.Report.TranscriptDigest; {
	case want == got:
	case want != "":
		a.find(RuleTranscript, at,
			"the digest of the transcript is %.12s…; in line %d of the journal it is %.12s…: the transcript was changed after the report",
			got, f.match.Event, want)
	case a.signs() && !a.plain():
		a.note(RuleTranscript, at, "the journal has no digest of the transcript: it may have been changed after the report")
	}
}

// checkRefuted finds a denial that does not count although the transcript has no answer of the player.
func (a *auditor) checkRefuted(f *matchFile) {
	if f.value.WrittenBy != store.WrittenByReferee || !f.counts() {
		return
	}
	for _, id := range f.match.Refuted {
		if !f.value.HasAnswer(id) {
			a.find(RuleDispute, f.attempt("/transcript"),
				"by the journal the transcript has an answer of %s, so that its denial does not count; there is none", id)
		}
	}
}

// noteUnacknowledged notes the state of an attempt without an acknowledged result.
func (a *auditor) noteUnacknowledged(f *matchFile) {
	d, m, r := f.value, f.match, f.match.Report
	rule, what := RuleAbandoned, ""
	switch state := d.Lifecycle.State; {
	case state == protocol.StateFinished && f.counts() && a.completed():
		what = "has the result that counts; its referee stopped before the manager acknowledged it"
	case state == protocol.StateFinished && f.counts():
	case state == protocol.StateFinished && r != nil:
		what = fmt.Sprintf("came to a result, but attempt %d by %s counts", r.Number, clip(r.RefereeID))
	case state == protocol.StateFinished:
		what = "came to a result that was never reported"
	case state == protocol.StateDisputed:
		rule, what = RuleDispute, "came to a result that the manager rejected"
		if d.Refusal != nil {
			what += fmt.Sprintf(": %s %.200q", quoted(&d.Refusal.ErrorCode), d.Refusal.Detail)
		}
	case state == protocol.StateAbandoned:
		what = "was given up"
	}
	if what != "" {
		a.note(rule, f.attempt("/match_id"), "attempt %d at %s by %s %s", d.Attempt, m.id, clip(d.RefereeID), what)
	}
}

// counts tells whether the result in the journal is that of the attempt.
func (f *matchFile) counts() bool {
	r := f.match.Report
	return r != nil && r.Number == f.value.Attempt && r.RefereeID == f.value.RefereeID
}

// openLogs reads the write-ahead logs of referees. After a crash they have the attempts whose
// files are missing or incomplete.
func (a *auditor) openLogs() {
	for _, name := range a.filesIn(a.dir.Matches(a.id), ".jsonl") {
		if name += ".jsonl"; store.IsMatchLog(name) {
			a.openLog(filepath.Join(a.dir.Matches(a.id), name))
		}
	}
}

func (a *auditor) openLog(path string) {
	file := relative(a.dir, path)
	at := Location{File: file}.at
	log, err := store.ReadMatchLog(a.dir.Disk, path)
	if err != nil {
		a.find(RuleSchema, at(0), "it cannot be read: %s", words.Clip(strings.TrimPrefix(cause(err), path+": "), 300))
		return
	}
	a.noteUnknown(Location{File: file}, log.Unknown)
	for _, damage := range log.Damage {
		rule := RuleSchema
		if errors.Is(damage, store.ErrContradiction) {
			rule = RuleOneResult
		}
		a.find(rule, at(damage.Line), "%s", Reason(damage.Err))
	}
	if log.Torn > 0 {
		a.note(RuleSchema, at(0), "the last line is incomplete (%d bytes): its writer was stopped while it wrote it",
			log.Torn)
	}
	id, _, _ := strings.Cut(filepath.Base(path), ".")
	if h := &log.Header; *h != (store.LogHeader{}) && (h.LeagueID != a.id || h.RefereeID != id) {
		a.find(RuleMatchFile, at(1), "it is the log of %s in league %s; by its name and folder it is that of %s in league %s",
			quoted(&h.RefereeID), quoted(&h.LeagueID), id, a.id)
		return
	}
	for _, m := range log.Matches {
		id, ok := league.ParseMatchID(m.MatchID)
		if !ok {
			a.find(RuleMatchFile, at(m.Line), "a record of match %s, which is not of this league", quoted(&m.MatchID))
			continue
		}
		key := league.Attempt{MatchID: id, Number: m.Attempt}
		f := &matchFile{document: document[store.Match]{file: file, exists: true, value: m.Match, logLine: m.Line}}
		f.messages = readMessages(m.Transcript)
		if a.logged[key] == nil {
			a.order = append(a.order, key)
		}
		a.logged[key] = f
	}
}

// loggedOf is the attempt of a result in the log of its referee; nil for none.
func (a *auditor) loggedOf(m *scheduledMatch) *matchFile {
	if m.Report != nil {
		f := a.logged[league.Attempt{MatchID: m.key, Number: m.Report.Number}]
		if f != nil && f.value.RefereeID == m.Report.RefereeID {
			return f
		}
	}
	return nil
}

// at is the location of a member.
func (f *matchFile) at(member jsontext.Pointer) Location {
	return f.document.at(member).in(f.value.MatchID)
}

// where is the location of a member in findings or notes. It is that of the whole file if no more of them are listed:
// a file with many of them is not searched for each.
func (f *matchFile) where(a *auditor, severity string, member jsontext.Pointer) Location {
	if a.full(severity, f.file) {
		return Location{File: f.file}
	}
	return f.at(member)
}
