package store

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"evenodd/league/protocol"
	"evenodd/league/store/appendfile"
)

// The ends of the names of results files. The first part of a name is the referee's id.
const (
	resultsEnd   = ".results.jsonl"   // written by the referee
	deliveredEnd = ".delivered.jsonl" // written by the manager, from the answers of a referee with other files
)

// Results is the path of the results file of a referee.
func (f Folder) Results(leagueID, refereeID string) string {
	return filepath.Join(f.Matches(leagueID), refereeID+resultsEnd)
}

// Delivered is the path of the file of the records that a referee has delivered to the
// manager, because it has its results file elsewhere.
func (f Folder) Delivered(leagueID, refereeID string) string {
	return filepath.Join(f.Matches(leagueID), refereeID+deliveredEnd)
}

// IsResults tells whether a name is that of a results file, of either writer.
func IsResults(name string) bool {
	return strings.HasSuffix(name, resultsEnd) || strings.HasSuffix(name, deliveredEnd)
}

// A ResultsHeader is the first line of a results file.
type ResultsHeader struct {
	SchemaVersion string `json:"schema_version"`
	LeagueID      string `json:"league_id"`
	RefereeID     string `json:"referee_id"`
}

// A RecordLine is a line of a results file after the first. Its text is valid until the
// visit returns.
type RecordLine struct {
	Number  int   // from 2
	Offset  int64 // of its first byte
	Text    []byte
	MatchID string
	Attempt int
	State   string
	Damage  error // why the line has no record; then it has neither of the three members above
}

// Record decodes the line. The error is Damage, or names the line.
func (l *RecordLine) Record() (*Record, error) {
	if l.Damage != nil {
		return nil, l.Damage
	}
	r, err := ReadRecord(l.Text)
	if err != nil {
		return nil, fmt.Errorf("line %d: %w", l.Number, err)
	}
	return r, nil
}

// errDamaged is the error of a line that no referee has written.
var errDamaged = errors.New("it does not begin with match_id, attempt and state")

// recordLine reads the beginning of a line.
func recordLine(number int, offset int64, text []byte) *RecordLine {
	l := &RecordLine{Number: number, Offset: offset, Text: text}
	rest, ok := bytes.CutPrefix(text, []byte(`{"match_id":"`))
	id, rest, ok2 := bytes.Cut(rest, []byte(`","attempt":`))
	digits, rest, ok3 := bytes.Cut(rest, []byte(`,"state":"`))
	state, _, ok4 := bytes.Cut(rest, []byte(`"`))
	attempt, err := strconv.Atoi(string(digits))
	if !ok || !ok2 || !ok3 || !ok4 || err != nil {
		l.Damage = fmt.Errorf("line %d: %w", number, errDamaged)
		return l
	}
	l.MatchID, l.Attempt, l.State = string(id), attempt, string(state)
	return l
}

// A resultsReader reads the lines of a results file in order.
type resultsReader struct {
	path   string
	header *ResultsHeader // nil before the first line
	offset int64
	visit  func(*ResultsHeader, *RecordLine) error
}

func (r *resultsReader) line(number int, text []byte) error {
	offset := r.offset
	r.offset += int64(len(text)) + 1
	if number > 1 {
		return r.visit(r.header, recordLine(number, offset, text))
	}
	r.header = new(ResultsHeader)
	err := json.Unmarshal(text, r.header)
	if err == nil {
		err = CheckSchema(r.header.SchemaVersion)
	}
	if err != nil {
		return fmt.Errorf("%s line 1: %w", r.path, err)
	}
	return nil
}

// ReadResults calls visit for each record of a results file, in order, until it returns an
// error. Torn is the number of bytes of an incomplete last line. A damaged line does not
// end the reading; see RecordLine.Damage. The header is nil if the file is empty.
func ReadResults(path string, visit func(*ResultsHeader, *RecordLine) error) (header *ResultsHeader, torn int, err error) {
	file, err := Open(path)
	if err != nil {
		return nil, 0, err
	}
	r := &resultsReader{path: path, visit: visit}
	_, torn, err = appendfile.Lines(file, r.line)
	if errors.Is(err, appendfile.ErrTooLong) {
		err = fmt.Errorf("%s: a line: %w", path, err)
	}
	return r.header, torn, errors.Join(err, file.Close())
}

// A ResultsFile is a results file to which records are appended.
type ResultsFile struct {
	*appendfile.File
}

// OpenResults opens the results file of a referee for appending, or creates it, and calls
// visit for each record in it. Torn is nil unless an incomplete last line was removed. A file
// of another referee or league is an error; an error of visit is returned.
func OpenResults(path, leagueID, refereeID string, visit func(*ResultsHeader, *RecordLine) error) (f *ResultsFile, torn *appendfile.Torn, err error) {
	r := &resultsReader{path: path, visit: visit}
	lines, torn, err := appendfile.Open(path, filepath.Base(path), r.line)
	if err != nil {
		return nil, nil, err
	}
	f = &ResultsFile{lines}
	header := ResultsHeader{SchemaVersion: SchemaVersion, LeagueID: leagueID, RefereeID: refereeID}
	switch {
	case r.header == nil:
		var text []byte
		if text, err = json.Marshal(&header); err == nil {
			_, err = f.File.Append(text)
		}
	case r.header.LeagueID != leagueID || r.header.RefereeID != refereeID:
		err = fmt.Errorf("%s: it is the file of referee %.64q in league %.64q", path, r.header.RefereeID, r.header.LeagueID)
	}
	if err != nil {
		return nil, torn, errors.Join(err, f.Close())
	}
	return f, torn, nil
}

// Append queues a record, sets its Digest and returns the number of its line. A record that
// need not become durable soon may be lost in a power cut.
//
// It hides tokens, for example in the name of a player that looks like one: the manager
// hides them in a delivered record, which must keep its digest.
func (f *ResultsFile) Append(r *Record, soon bool) (line int, err error) {
	text, err := json.Marshal(r)
	if err != nil {
		return 0, err
	}
	text = protocol.HideTokens(text)
	if soon {
		line, err = f.File.Append(text)
	} else {
		line, err = f.AppendUnsynced(text)
	}
	if err == nil {
		r.digest(text)
	}
	return line, err
}
