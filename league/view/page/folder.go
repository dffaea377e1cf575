package page

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/view/record"
)

// A Folder follows the journal of a league in a data folder by its size. The league may be
// running or over, or not exist yet.
type Folder struct {
	*record.Folder
	folder   store.Folder
	leagueID string
	path     string // of the journal
	clock    *protocol.Clock
	read     os.FileInfo // of the journal that was read; nil for none
	stopped  bool        // what Stopped returned last
}

var _ Source = (*Folder)(nil)

// NewFolder returns the records of a league in a data folder.
func NewFolder(folder store.Folder, leagueID string) *Folder {
	return &Folder{Folder: record.NewFolder(folder, leagueID), folder: folder, leagueID: leagueID,
		path: folder.Journal(leagueID), clock: protocol.SystemClock()}
}

// Stopped implements Source.
func (f *Folder) Stopped() bool {
	f.stopped = !f.folder.Running(f.leagueID)
	return f.stopped
}

// look is the pause between two looks at the journal.
const look = 250 * time.Millisecond

// Events implements Source. A torn line at the end of the journal is no event yet.
func (f *Folder) Events(ctx context.Context, from int) ([]*journal.Event, error) {
	now, err := os.Stat(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil // not yet, or it moves to the archive
	case err != nil:
		return nil, err
	case f.read != nil && !os.SameFile(now, f.read):
		f.Rewind()
		f.read = nil
		if from > 1 {
			return nil, ErrReplaced
		}
	}
	lines, err := f.Lines(ctx, from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	f.read = now
	events := make([]*journal.Event, len(lines))
	for i, line := range lines {
		if events[i], err = journal.Decode([]byte(line)); err != nil {
			return nil, fmt.Errorf("the journal is damaged at line %d: %w", from+i, err)
		}
	}
	return events, nil
}

// Wait implements Source.
func (f *Folder) Wait(ctx context.Context, _ int) error {
	for told := f.stopped; f.Stopped() == told; {
		if err := f.clock.Sleep(ctx, look); err != nil {
			return err
		}
		now, err := os.Stat(f.path)
		if err == nil && (f.read == nil || now.Size() != f.read.Size() || !os.SameFile(now, f.read)) {
			return nil
		}
	}
	return nil
}

// A Source has the records of one league. Events and Wait are called by one goroutine,
// Transcript by many.
type Source interface {
	// Events returns the events from a number on that exist now, where 1 is the first event;
	// none if there are none yet. It may return a part of them. The error is ErrReplaced if
	// the journal is not the one of the events before.
	Events(ctx context.Context, from int) ([]*journal.Event, error)
	// Wait waits until there may be an event with this number.
	Wait(ctx context.Context, from int) error
	// Stopped tells whether no process runs the league now. Wait returns when this changes.
	Stopped() bool
	// Transcript returns an attempt with its transcript. The attempt belongs to a match that
	// has a recorded result.
	Transcript(ctx context.Context, at league.Attempt) (*store.Match, error)
}

// ErrReplaced is the error of a source whose journal was replaced by that of a new league. The
// next call begins with event 1.
var ErrReplaced = errors.New("another league has replaced the journal")
