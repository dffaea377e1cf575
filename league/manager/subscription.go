package manager

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"evenodd/league/journal"
	"evenodd/league/store/appendfile"
)

// A Subscription gives the events of a league, in order and without gaps, each when it is
// durable. The subscriber reads at its own pace: the league neither waits for it nor
// keeps events for it. A Subscription needs no end. It is not safe for concurrent use.
type Subscription struct {
	log   eventLog
	next  int      // number of the event that Next returns
	lines [][]byte // of the events from next on that were read
	live  bool     // it has had all events once
}

// An eventLog reads the durable events of a league, as (*journalfile.File).Events does.
type eventLog interface {
	Events(from, limit int) (lines [][]byte, last int, more <-chan struct{}, err error)
}

var (
	// ErrSlow is the error of a subscriber that once had all events and is now more than
	// maxBehind events behind. It subscribes again from its position.
	ErrSlow = errors.New("the subscriber is too slow and was dropped: subscribe again from its position")

	// errNoEvents is the error of a league that keeps no events: it has no data folder, and
	// Options.KeepEvents is not set.
	errNoEvents = errors.New("the league keeps no events")
)

const (
	maxBehind = 1024 // events that a subscriber may be behind
	batch     = 64   // events that are read at once
)

// Subscribe gives the events from a number on, which is 1 for the first event; from 0 it
// gives those that are not durable yet. An error means that the league keeps no events,
// or has fewer: then it is not the league that the caller knows, or its journal has lost
// its end.
func (m *Manager) Subscribe(from int) (*Subscription, error) {
	log := m.eventLog()
	if log == nil {
		return nil, errNoEvents
	}
	_, last, _, err := log.Events(1, 1)
	switch {
	case err != nil:
		return nil, err
	case from > last+1:
		return nil, fmt.Errorf("there is no event %d: the league has %d", from, last)
	case from <= 0:
		from = last + 1
	}
	return &Subscription{log: log, next: from}, nil
}

// eventLog is the source of events; nil if the league keeps none.
func (m *Manager) eventLog() eventLog {
	switch {
	case m.journal != nil:
		return m.journal
	case m.kept != nil:
		return m.kept
	}
	return nil
}

// eventOf reads one event.
func eventOf(log eventLog, number int) (*journal.Event, error) {
	lines, _, _, err := log.Events(number, 1)
	if err != nil {
		return nil, err
	}
	if len(lines) == 0 {
		return nil, errNoEvents
	}
	return journal.Decode(lines[0])
}

// Position is the number of the event that Next returns.
func (s *Subscription) Position() int { return s.next }

// Next waits for the next event and returns it. The caller may change it. The errors are
// ErrSlow, that of ctx, and that of a journal that cannot be read or written any more.
func (s *Subscription) Next(ctx context.Context) (*journal.Event, error) {
	if err := s.Wait(ctx); err != nil {
		return nil, err
	}
	return s.pop()
}

// Wait waits until Next returns at once. Its errors are those of Next.
func (s *Subscription) Wait(ctx context.Context) error {
	for len(s.lines) == 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		more, err := s.read()
		if err != nil {
			return err
		}
		if more != nil {
			select {
			case <-more:
			case <-ctx.Done():
			}
		}
	}
	return nil
}

// Read returns events that exist now, in order, as Next does; none if there are none. It may
// return a part of them. Its errors are those of Next.
func (s *Subscription) Read() ([]*journal.Event, error) {
	if len(s.lines) == 0 {
		if _, err := s.read(); err != nil {
			return nil, err
		}
	}
	var events []*journal.Event
	for len(s.lines) > 0 {
		e, err := s.pop()
		if err != nil {
			return nil, err
		}
		events = append(events, e)
	}
	return events, nil
}

// read reads the next lines. More is closed when there are any; it is nil if there are some now.
func (s *Subscription) read() (more <-chan struct{}, err error) {
	lines, last, more, err := s.log.Events(s.next, batch)
	switch {
	case err != nil:
		return nil, err
	case s.live && last-s.next >= maxBehind:
		return nil, ErrSlow
	case len(lines) > 0:
		s.lines = lines
		return nil, nil //nolint:nilnil // the lines are the result
	}
	s.live = true
	return more, nil
}

// pop takes the first of the lines that were read.
func (s *Subscription) pop() (*journal.Event, error) {
	e, err := journal.Decode(s.lines[0])
	if err != nil {
		return nil, err
	}
	s.lines, s.next = s.lines[1:], s.next+1
	return e, nil
}

// keptEvents keeps the events of a league without a data folder. It is safe for
// concurrent use.
type keptEvents struct {
	mu    sync.Mutex
	lines [][]byte
	more  chan struct{} // closed when there is another event; nil if no reader waits
}

func (k *keptEvents) add(e *journal.Event) error {
	line, err := journal.Encode(e)
	if err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.lines = append(k.lines, line)
	if k.more != nil {
		close(k.more)
		k.more = nil
	}
	return nil
}

// Events implements eventLog.
func (k *keptEvents) Events(from, limit int) (lines [][]byte, last int, more <-chan struct{}, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	last = len(k.lines)
	if from <= last {
		to, size := from-1, 0
		for to < min(last, from-1+limit) && (to < from || size+len(k.lines[to]) <= appendfile.MaxRead) {
			size += len(k.lines[to])
			to++
		}
		return k.lines[from-1 : to], last, nil, nil
	}
	if k.more == nil {
		k.more = make(chan struct{})
	}
	return nil, last, k.more, nil
}
