package audit

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
	"evenodd/league/store"
)

// A resultsFile is a results file of a referee.
type resultsFile struct {
	name     string // without its folder
	file     string // relative to the data folder
	header   *store.ResultsHeader
	reader   *os.File
	size     int64
	attempts []*recordedAttempt // in the order of their first records
}

// A recordedAttempt is an attempt in a results file.
type recordedAttempt struct {
	in      *resultsFile
	id      protocol.Attempt
	records []recordPosition
	checked bool
}

// A recordPosition is where a results file has a record.
type recordPosition struct {
	line, length int
	offset       int64
}

// openResults reads where the results files have their records.
func (a *auditor) openResults() {
	for _, name := range a.listed(a.dir.Matches(a.id), ".jsonl") {
		if name += ".jsonl"; !store.IsResults(name) {
			continue
		}
		path := filepath.Join(a.dir.Matches(a.id), name)
		r := &resultsFile{name: name, file: relative(a.dir, path)}
		if a.indexResults(r, path) {
			a.results = append(a.results, r)
		} else if r.reader != nil {
			_ = r.reader.Close() // nothing was written
		}
	}
}

func (a *auditor) closeResults() {
	for _, r := range a.results {
		_ = r.reader.Close() // nothing was written
	}
}

// indexResults reads the positions of the records of a file. It returns false if the
// file cannot be used.
func (a *auditor) indexResults(r *resultsFile, path string) bool {
	at := func(line int) location { return location{file: r.file, line: line} }
	known, last := map[protocol.Attempt]*recordedAttempt{}, 1
	header, torn, err := store.ReadResults(path, func(_ *store.ResultsHeader, l *store.RecordLine) error {
		last, r.size = l.Number, l.Offset+int64(len(l.Text))+1
		id, ok := protocol.ParseMatchID(l.MatchID)
		switch {
		case l.Damage != nil:
			a.find(RuleSchema, at(l.Number), "the line has no record: %v", errors.Unwrap(l.Damage))
			return nil //nolint:nilerr // a damaged line does not end the reading
		case !ok:
			a.find(RuleMatchFile, at(l.Number), "a record of match %s, which is not of this league", quoted(&l.MatchID))
			return nil
		}
		key := protocol.Attempt{MatchID: id, Number: l.Attempt}
		if known[key] == nil {
			known[key] = &recordedAttempt{in: r, id: key}
			r.attempts = append(r.attempts, known[key])
		}
		known[key].records = append(known[key].records, recordPosition{l.Number, len(l.Text), l.Offset})
		return nil
	})
	if err == nil && torn > 0 {
		a.note(RuleSchema, at(last+1), "the last line is incomplete (%d bytes): its writer was stopped while it wrote it", torn)
	}
	if err == nil {
		r.reader, err = store.Open(path)
	}
	if err != nil {
		a.find(RuleSchema, at(0), "it cannot be read: %s", protocol.Clip(strings.TrimPrefix(cause(err), path+" "), 300))
		return false
	}
	id, _, _ := strings.Cut(r.name, ".")
	switch r.header = header; {
	case header == nil: // its writer was stopped before it had written a line
		return false
	case header.LeagueID != a.id, header.RefereeID != id:
		a.find(RuleMatchFile, at(1), "it has the results of %s in league %s; by its name and folder it has those of %s in league %s",
			quoted(&header.RefereeID), quoted(&header.LeagueID), id, a.id)
		return false
	}
	for _, attempt := range r.attempts {
		a.recorded[attempt.id] = append(a.recorded[attempt.id], attempt)
	}
	return true
}

// hasGrown tells whether a results file has lines that were not there when the audit began.
func (a *auditor) hasGrown(name string) bool {
	was := int64(0)
	for _, r := range a.results {
		if r.name == name {
			was = r.size
		}
	}
	info, err := os.Stat(filepath.Join(a.dir.Matches(a.id), filepath.Base(name)))
	return err == nil && info.Size() > was
}

// recordOf is an attempt in a results file of its referee; nil for none.
func (a *auditor) recordOf(id protocol.Attempt, refereeID string) *recordedAttempt {
	for _, r := range a.recorded[id] {
		if r.in.header.RefereeID == refereeID {
			return r
		}
	}
	return nil
}

// A recordLine is a line of a results file that a match was read from.
type recordLine struct {
	number            int
	states, exchanges int // of the match before this line
}

// A contradiction are two lines of one attempt with different results.
type contradiction struct{ first, second int }

// load reads an attempt, and the messages in it. It may be called by several goroutines.
func (r *recordedAttempt) load() *matchFile {
	f := &matchFile{document: document[store.Match]{file: r.in.file, exists: true}}
	var records []*store.Record // since the last whole one
	var whole *store.Record
	for _, p := range r.records {
		record, err := f.decode(r.in, p)
		if err != nil {
			f.problem, f.problemLine = "the line has no record: "+Reason(err), p.line
			return f
		}
		if record.ConversationID != "" {
			if whole != nil && differ(whole, record) {
				f.contradiction = &contradiction{f.records[0].number, p.line}
			}
			whole, records, f.records = record, nil, nil
		}
		line := recordLine{number: p.line}
		for _, before := range records {
			line.states, line.exchanges = line.states+len(before.States), line.exchanges+len(before.Transcript)
		}
		records, f.records = append(records, record), append(f.records, line)
	}
	match, err := store.MatchOf(r.in.header, records...)
	if err != nil {
		f.problem, f.problemLine = err.Error(), f.records[len(f.records)-1].number
		return f
	}
	f.value, f.messages = match, readMessages(match.Transcript)
	return f
}

// decode reads one record.
func (f *matchFile) decode(in *resultsFile, p recordPosition) (*store.Record, error) {
	text := make([]byte, p.length)
	if _, err := in.reader.ReadAt(text, p.offset); err != nil {
		return nil, err
	}
	f.mayHoldToken = f.mayHoldToken || mayHoldToken(text)
	r, err := store.ReadRecord(text, json.RejectUnknownMembers(true))
	if errors.Is(err, json.ErrUnknownName) {
		f.unknown, f.unknownLine = err, p.line
		r, err = store.ReadRecord(text)
	}
	return r, err
}

// differ tells whether two whole records of one attempt contradict each other. A referee
// that was stopped may play an attempt again that had no result, with the same nonce.
func differ(first, second *store.Record) bool {
	return first.Result != nil && !reflect.DeepEqual(first.Result, second.Result) ||
		first.Draw != nil && second.Draw != nil && first.Draw.Nonce != second.Draw.Nonce
}

// line returns the line of a member, as that of a document does. A match that was
// continued has several lines in a results file.
func (f *matchFile) line(member jsontext.Pointer) int {
	if f.records == nil {
		return f.document.line(member)
	}
	tokens, index := slices.Collect(member.Tokens()), indexes(member)
	line := f.records[0].number
	for _, r := range f.records[1:] {
		has := false
		switch {
		case len(tokens) == 0:
		case tokens[0] == "transcript":
			has = len(index) > 0 && index[0] >= r.exchanges
		case tokens[0] == "lifecycle":
			has = len(index) == 0 || index[0] >= r.states
		case tokens[0] == "refusal":
			has = true
		}
		if has {
			line = r.number
		}
	}
	return line
}
