package page

import (
	"context"
	"errors"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/store"
)

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
