package manager

import (
	"errors"
	"fmt"
	"sync"

	"evenodd/league/journal"
	"evenodd/league/journal/journalfile"
	"evenodd/league/protocol"
)

// A ledger is a league by event sourcing: its state is the fold of the events that
// were recorded, and each event is appended to the journal. Its lock also guards the
// data that other types of this package keep beside the state.
type ledger struct {
	clock *protocol.Clock

	mu         sync.Mutex
	state      *journal.State
	journal    *journalfile.File  // nil: the league has no data folder
	started    string             // the hash of the event that started the league; "" in a league that does not sign
	ended      string             // the hash of the event that completed the last round; "" without a journal
	kept       *keptEvents        // nil unless a league without a data folder keeps its events
	recordedAt string             // time of the last event
	changed    func(journal.Data) // called with each recorded event while mu is held
}

// errJournal is the error of a request whose event could not be written. It is no
// error of the protocol: the caller asks again, and the operator finds the reason in
// the error that ends the manager.
var errJournal = errors.New("the journal cannot be written")

// record applies an event to the state and queues it for the journal. Before
// anybody is told of the event, durable must return. L.mu is held. An error other
// than that of an event which the state refuses ends the manager.
func (l *ledger) record(data journal.Data) error {
	at := l.clock.Timestamp() // cheaper, and enough for a league without a journal
	if l.journal != nil {
		at = journalfile.FormatTime(l.clock.Now())
	}
	l.recordedAt = at
	e := journal.Event{Seq: l.state.Events + 1, At: at, Data: data}
	if err := l.state.Apply(&e); err != nil {
		return err
	}
	if err := l.journal.Append(e.At, data); err != nil {
		return fmt.Errorf("%w: %w", errJournal, err)
	}
	if _, starts := data.(*journal.Started); starts && l.state.Created.Signs() {
		if err := l.remember(e); err != nil {
			return err
		}
	}
	if _, ends := data.(*journal.RoundCompleted); ends {
		l.ended = l.head()
	}
	if l.kept != nil {
		if err := l.kept.add(&journal.Event{Seq: e.Seq, At: e.At, Data: data}); err != nil {
			return err
		}
	}
	l.changed(data)
	return nil
}

// remember keeps the hash of the event that started the league. In a league without a
// journal it is the hash of the line that the event would be at the beginning of one.
func (l *ledger) remember(start journal.Event) error {
	if l.journal != nil {
		l.started = l.head()
		return nil
	}
	start.Prev = journal.Origin
	line, err := journal.Encode(&start)
	l.started = journal.Hash(line)
	return err
}

// durable waits until the events that were recorded are on disk. L.mu is not held.
func (l *ledger) durable() error {
	seq, _ := l.journal.Last()
	return l.journal.Sync(seq)
}

// head is the hash of the journal's last line; "" without a journal.
func (l *ledger) head() string {
	_, head := l.journal.Last()
	return head
}
