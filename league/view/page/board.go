// Package page serves the pages of one league: a live view of its journal, rendered on the
// server. It reads a second fold of the journal, so that a page never takes a lock of the
// manager. It must not import the manager, an agent or a carrier: package cmd gives it a
// Source and serves its routes.
//
// Pages are read-only and public. They never contain endpoints, tokens, registration codes,
// or the choices of a match without a recorded result.
package page

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/view/record"
)

// A Board is a league as its source tells it. It starts to follow the source with the first
// call of Ready. It is safe for concurrent use.
type Board struct {
	source Source
	start  func()
	stop   context.CancelFunc
	done   sync.WaitGroup
	ready  chan struct{} // closed when the events that existed at the start are folded

	mu      sync.Mutex
	league  *record.League
	version int           // grows with each event, and if another league replaces this one
	changed chan struct{} // closed with the next change: then there is another one
	failed  error         // the source has no more events

	joining   *Joining                 // nil for no manager
	obstacles func() map[string]string // see Options

	reading chan struct{} // has an element for each transcript that is being read

	computing sync.Mutex
	known     *statistics // the last ones
}

// NewBoard makes a board of a source. Close must follow.
func NewBoard(source Source) *Board {
	b := &Board{source: source, ready: make(chan struct{}), league: record.NewLeague(),
		changed: make(chan struct{}), reading: make(chan struct{}, readersMost)}
	ctx, cancel := context.WithCancel(context.Background())
	b.stop = cancel
	b.start = sync.OnceFunc(func() { b.done.Go(func() { b.follow(ctx) }) })
	return b
}

// Close stops following the source, and waits until that has ended. No request may run.
func (b *Board) Close() {
	b.stop()
	b.done.Wait()
}

// View calls read with the league, which read must neither change nor keep. One read runs at
// a time, because some methods of journal.State remember what they have computed. View returns the
// version of the league, which ETags and ids of updates have, and a channel that is closed with the
// next change.
func (b *Board) View(read func(l *record.League)) (at int, changed <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	read(b.league)
	return b.version, b.changed
}

// readersMost is the number of transcripts that are read at once: the agents of the league need
// the processor too.
const readersMost = 2

// Transcript returns an attempt at a match with its transcript. It returns ErrNotRecorded
// for a match without a recorded result.
func (b *Board) Transcript(ctx context.Context, attempt league.Attempt) (*store.Match, error) {
	recorded := false
	b.View(func(l *record.League) {
		m, _, _, ok := l.Find(attempt.MatchID)
		recorded = ok && m.Report != nil && attempt.Number >= 1 && attempt.Number <= len(m.Attempts)
	})
	if !recorded {
		return nil, ErrNotRecorded
	}
	select {
	case b.reading <- struct{}{}:
		defer func() { <-b.reading }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return b.source.Transcript(ctx, attempt)
}

// ErrNotRecorded is the error of a transcript that must not be shown.
var ErrNotRecorded = errors.New("the match has no recorded result")

// readyTime is how long a request waits for the events that exist.
const readyTime = 10 * time.Second

// errFailed is the error of a board whose source has failed. Only a new board can go on.
var errFailed = errors.New("the records of the league cannot be read")

// errNoLeague is the error of a league without events.
var errNoLeague = errors.New("the league has no events yet")

// Ready starts the board with its first call, and waits until it has folded the events that
// exist.
func (b *Board) Ready(ctx context.Context) error {
	b.start()
	ctx, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	select {
	case <-b.ready:
	case <-ctx.Done():
		return errNoLeague
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.failed != nil:
		return fmt.Errorf("%w: %w", errFailed, b.failed)
	case b.league.Created == nil:
		return errNoLeague
	}
	return nil
}

// follow folds the events of the source until ctx ends, or the source fails.
func (b *Board) follow(ctx context.Context) {
	isReady := sync.OnceFunc(func() { close(b.ready) })
	defer isReady()
	for ctx.Err() == nil {
		from := b.league.Events + 1 // only this goroutine changes it
		events, err := b.source.Events(ctx, from)
		switch {
		case errors.Is(err, ErrReplaced):
			b.change(func() {
				before := b.league
				b.league, b.version = record.NewLeague(), b.version+1
				b.league.Listed, b.league.Games, b.league.Zone = before.Listed, before.Games, before.Zone
			})
			continue
		case err == nil && len(events) > 0:
			err = b.fold(events)
		case err == nil:
			if stopped := b.source.Stopped(); stopped != b.league.Stopped {
				b.change(func() { b.league.Stopped, b.version = stopped, b.version+1 })
			}
			isReady()
			err = b.source.Wait(ctx, from)
		}
		if err != nil && ctx.Err() == nil {
			b.change(func() { b.failed = err })
			return
		}
	}
}

// fold folds events, without what pages must not show.
func (b *Board) fold(events []*journal.Event) (err error) {
	b.change(func() {
		for _, e := range events {
			journal.Hide(e.Data)
			if err = b.league.Fold(e); err != nil {
				return
			}
			b.version++
		}
	})
	return err
}

// change changes the board, and tells waiting streams.
func (b *Board) change(do func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	do()
	close(b.changed)
	b.changed = make(chan struct{})
}

// A Folder follows the journal of a league in a data folder by its size. The league may be
// running or over, or not exist yet.
type Folder struct {
	*record.Folder
	folder   store.Folder
	leagueID string
	read     os.FileInfo // of the journal that was read; nil for none
	stopped  bool        // what Stopped returned last
}

var _ Source = (*Folder)(nil)

// NewFolder returns the records of a league in a data folder.
func NewFolder(folder store.Folder, leagueID string) *Folder {
	return &Folder{Folder: record.NewFolder(folder, leagueID), folder: folder, leagueID: leagueID}
}

// Stopped implements Source.
func (f *Folder) Stopped() bool {
	f.stopped = !f.folder.Running(f.leagueID)
	return f.stopped
}

// lookPause is the pause between two looks at the journal.
const lookPause = 250 * time.Millisecond

// Events implements Source. A torn line at the end of the journal is no event yet.
func (f *Folder) Events(ctx context.Context, from int) ([]*journal.Event, error) {
	now, err := os.Stat(f.folder.Journal(f.leagueID))
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
		if err := protocol.SystemClock().Sleep(ctx, lookPause); err != nil {
			return err
		}
		now, err := os.Stat(f.folder.Journal(f.leagueID))
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
	Transcript(ctx context.Context, attempt league.Attempt) (*store.Match, error)
}

// ErrReplaced is the error of a source whose journal was replaced by that of a new league. The
// next call begins with event 1.
var ErrReplaced = errors.New("another league has replaced the journal")
