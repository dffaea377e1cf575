package audit

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/league/store"
)

// openLogs reads the write-ahead logs of referees. After a crash they have the attempts whose
// files are missing or incomplete.
func (a *auditor) openLogs() {
	for _, name := range a.listed(a.dir.Matches(a.id), ".jsonl") {
		if name += ".jsonl"; store.IsMatchLog(name) {
			a.openLog(filepath.Join(a.dir.Matches(a.id), name))
		}
	}
}

func (a *auditor) openLog(path string) {
	file := relative(a.dir, path)
	at := location{file: file}.at
	log, err := store.ReadMatchLog(path)
	if err != nil {
		a.find(RuleSchema, at(0), "it cannot be read: %s", protocol.Clip(strings.TrimPrefix(cause(err), path+": "), 300))
		return
	}
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
		f := &matchFile{document: document[store.Match]{file: file, exists: true, value: m.Match}, logLine: m.Line}
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
func (f *matchFile) at(member jsontext.Pointer) location {
	at := location{file: f.file, line: f.logLine, matchID: f.value.MatchID}
	if f.logLine == 0 {
		at.line = f.line(member)
	}
	return at
}
