package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// LoadMatch reads the file of a match with its whole transcript: from the file itself, as
// earlier versions wrote it, or from the results file that it names. A missing file or record
// is the error fs.ErrNotExist. Any other error names the file.
func (f Folder) LoadMatch(leagueID, matchID string) (*Match, error) {
	path := f.Match(leagueID, matchID)
	doc, err := Read[Match](path)
	if err != nil || doc.TranscriptFile == "" {
		return doc, err
	}
	if filepath.Base(doc.TranscriptFile) != doc.TranscriptFile || !IsResults(doc.TranscriptFile) {
		return nil, fmt.Errorf("%s: transcript_file: %.64q is no results file in this folder", path, doc.TranscriptFile)
	}
	recorded, err := LoadAttempt(filepath.Join(filepath.Dir(path), doc.TranscriptFile), doc.MatchID, doc.Attempt)
	if err != nil {
		return nil, fmt.Errorf("the transcript of %s: %w", matchID, err)
	}
	doc.Transcript, doc.Omitted = recorded.Transcript, recorded.Omitted
	return doc, nil
}

// LoadAttempt reads one attempt at a match from a results file. If the file has none, the
// error is fs.ErrNotExist.
func LoadAttempt(path, matchID string, attempt int) (*Match, error) {
	var records []*Record
	header, _, err := ReadResults(path, func(_ *ResultsHeader, l *RecordLine) error {
		if l.MatchID != matchID || l.Attempt != attempt {
			return nil
		}
		r, err := l.Record()
		records = append(records, r)
		return err
	})
	var doc *Match
	switch {
	case err != nil:
	case len(records) == 0:
		err = fmt.Errorf("%s has no record of attempt %d at %s: %w", path, attempt, matchID, fs.ErrNotExist)
	default:
		doc, err = MatchOf(header, records...)
	}
	return doc, err
}

// A RecordedAttempt is an attempt at a match in a results file.
type RecordedAttempt struct {
	Path      string
	RefereeID string
	IndexedAttempt
}

// RecordedAttempts returns the attempts at a match in all results files of a league that
// can be read, those in the files of referees first.
func (f Folder) RecordedAttempts(leagueID, matchID string) (found []RecordedAttempt) {
	entries, _ := os.ReadDir(f.Matches(leagueID)) // no folder, no files
	for _, end := range []string{resultsEnd, deliveredEnd} {
		for _, e := range entries {
			if !strings.HasSuffix(e.Name(), end) {
				continue
			}
			x, err := IndexResults(filepath.Join(f.Matches(leagueID), e.Name()))
			if err != nil {
				continue
			}
			for _, a := range x.Attempts {
				if a.MatchID == matchID {
					found = append(found, RecordedAttempt{x.Path, x.Header.RefereeID, a})
				}
			}
			_ = x.Close()
		}
	}
	return found
}

// A ResultsIndex is a results file that is open for reading, with the positions of the
// records of each attempt.
type ResultsIndex struct {
	Path   string
	Header *ResultsHeader // nil if the file is empty
	Torn   int            // bytes of an incomplete last line
	Damage []error        // lines without a record
	// Attempts are those that have records, in the order of their first ones.
	Attempts []IndexedAttempt

	file  *os.File
	index map[attemptKey]int // into Attempts
}

// An IndexedAttempt is an attempt in a results file.
type IndexedAttempt struct {
	MatchID string
	Attempt int
	State   string // of the last record
	Records []RecordPosition
}

// A RecordPosition is where a results file has a record.
type RecordPosition struct {
	Line   int // from 2
	Offset int64
	Length int
}

type attemptKey struct {
	matchID string
	attempt int
}

// IndexResults opens a results file and reads the positions of its records. The caller
// must close it. A damaged line is no error: see Damage.
func IndexResults(path string) (x *ResultsIndex, err error) {
	x = &ResultsIndex{Path: path, index: map[attemptKey]int{}}
	if x.file, err = Open(path); err != nil {
		return nil, err
	}
	x.Header, x.Torn, err = ReadResults(path, x.add)
	if err != nil {
		return nil, errors.Join(err, x.Close())
	}
	return x, nil
}

// add adds the position of a record.
func (x *ResultsIndex) add(_ *ResultsHeader, l *RecordLine) error {
	if l.Damage != nil {
		x.Damage = append(x.Damage, l.Damage)
		return nil //nolint:nilerr // a damaged line does not end the reading
	}
	key := attemptKey{l.MatchID, l.Attempt}
	i, known := x.index[key]
	if !known {
		i = len(x.Attempts)
		x.index[key] = i
		x.Attempts = append(x.Attempts, IndexedAttempt{MatchID: l.MatchID, Attempt: l.Attempt})
	}
	a := &x.Attempts[i]
	a.State = l.State
	a.Records = append(a.Records, RecordPosition{l.Number, l.Offset, len(l.Text)})
	return nil
}

// Find returns an attempt; nil for none.
func (x *ResultsIndex) Find(matchID string, attempt int) *IndexedAttempt {
	i, known := x.index[attemptKey{matchID, attempt}]
	if !known {
		return nil
	}
	return &x.Attempts[i]
}

// Load reads an attempt with its whole transcript. A damaged record is an error.
func (x *ResultsIndex) Load(a *IndexedAttempt) (*Match, error) {
	records := make([]*Record, len(a.Records))
	for i, p := range a.Records {
		text := make([]byte, p.Length)
		if _, err := x.file.ReadAt(text, p.Offset); err != nil {
			return nil, err
		}
		var err error
		if records[i], err = recordLine(p.Line, p.Offset, text).Record(); err != nil {
			return nil, err
		}
	}
	return MatchOf(x.Header, records...)
}

// Close closes the file.
func (x *ResultsIndex) Close() error { return x.file.Close() }
