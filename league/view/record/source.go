package record

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"slices"

	"evenodd/league"
	"evenodd/league/store"
	"evenodd/league/store/appendfile"
	"evenodd/league/store/disk"
)

// A Source has the records of one league: its data folder, or its manager. It is not
// safe for concurrent use.
type Source interface {
	// Lines returns lines of the journal, in order, from the event with a number on. It
	// returns none if there is no such event yet.
	Lines(ctx context.Context, from int) ([]string, error)
	// Log returns a part of the log of an agent, as store.Folder.AgentLog does.
	Log(ctx context.Context, agentID string, offset int64) (lines []string, next int64, err error)
	// Transcript returns an attempt at a match with its transcript.
	Transcript(ctx context.Context, attempt league.Attempt) (*store.Match, error)
	Close()
}

var _ Source = (*Folder)(nil)

// A Folder reads the files of a league, whose manager may be running.
type Folder struct {
	folder   store.Folder
	leagueID string
	offset   int64 // of the next line
	lines    int   // before offset
}

// NewFolder returns the records of a league in a data folder.
func NewFolder(folder store.Folder, leagueID string) *Folder {
	return &Folder{folder: folder, leagueID: leagueID}
}

// Rewind has the next call of Lines begin with the first line, because the journal is another one.
func (f *Folder) Rewind() { f.offset, f.lines = 0, 0 }

// errEnough ends the reading of a file.
var errEnough = errors.New("enough lines")

// Lines implements Source. Each call begins where the last one ended: it ignores from.
func (f *Folder) Lines(_ context.Context, _ int) (lines []string, err error) {
	const most = 5000 // lines of one call
	file, err := disk.Open(f.folder.Disk, f.folder.Journal(f.leagueID))
	if err != nil {
		return nil, fmt.Errorf("the journal of league %s cannot be read: %w", f.leagueID, err)
	}
	defer func() { _ = file.Close() }() // only read
	read := int64(0)
	_, _, err = appendfile.Lines(io.NewSectionReader(file, f.offset, math.MaxInt64-f.offset),
		func(_ int, text []byte) error {
			if len(lines) == most {
				return errEnough
			}
			number := f.lines + len(lines) + 1
			switch err := appendfile.CheckSeal(number, text); {
			case errors.Is(err, appendfile.ErrEarlier):
				return fmt.Errorf("%s: %w", file.Name(), err)
			case err != nil:
				return damaged(number, err)
			}
			lines, read = append(lines, string(text)), read+int64(len(text))+1
			return nil
		})
	switch {
	case errors.Is(err, appendfile.ErrTooLong), errors.Is(err, appendfile.ErrUnended):
		return nil, damaged(f.lines+len(lines)+1, err)
	case err != nil && !errors.Is(err, errEnough):
		return nil, err
	}
	f.offset, f.lines = f.offset+read, f.lines+len(lines)
	return lines, nil
}

// damaged is the error of a line of the journal that cannot be used.
func damaged(line int, err error) error {
	return fmt.Errorf("the journal is damaged at line %d: %w; 'evenodd audit' tells more", line, err)
}

// Log implements Source.
func (f *Folder) Log(_ context.Context, agentID string, offset int64) (lines []string, next int64, err error) {
	return f.folder.AgentLog(f.leagueID, agentID, offset)
}

// Transcript implements Source. Unlike the other methods it is safe for concurrent use.
func (f *Folder) Transcript(_ context.Context, attempt league.Attempt) (*store.Match, error) {
	return f.folder.LoadAttempt(f.leagueID, attempt.MatchID.String(), attempt.Number)
}

// Close implements Source.
func (f *Folder) Close() {}

// Attempts visits all attempts at matches that have a file with their transcript, in order of
// matches and attempts; the attempt of the file of the match itself is the last one. It returns
// the number of files that cannot be read. An error of visit ends it.
func (f *Folder) Attempts(visit func(doc *store.Match) error) (unreadable int, err error) {
	folder := f.folder.Matches(f.leagueID)
	entries, err := f.folder.Disk.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // it does not exist before the first match
		return 0, err
	}
	type file struct {
		league.Attempt
		name string
	}
	var files []file
	for _, e := range entries {
		name, attempt, ok := store.ParseMatchFile(e.Name())
		if id, known := league.ParseMatchID(name); ok && known {
			files = append(files, file{league.Attempt{MatchID: id, Number: cmp.Or(attempt, math.MaxInt)}, e.Name()})
		}
	}
	slices.SortFunc(files, func(a, b file) int {
		return cmp.Or(a.MatchID.Compare(b.MatchID), cmp.Compare(a.Number, b.Number))
	})
	for _, one := range files {
		doc, err := store.Read[store.Match](f.folder.Disk, filepath.Join(folder, one.name))
		switch {
		case err != nil:
			unreadable++
		case doc.WrittenBy == store.WrittenByReferee:
			if err := visit(doc); err != nil {
				return unreadable, err
			}
		}
	}
	return unreadable, nil
}
