package manager

import (
	"errors"
	"fmt"
	"sync"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/journal/journalfile"
	"evenodd/league/protocol"
	"evenodd/league/store/appendfile"
)

// errJournal is the error of a request whose event could not be written. It is no
// error of the protocol: the caller asks again, and the operator finds the reason in
// the error that ends the manager.
var errJournal = errors.New("the journal cannot be written")

// record applies an event to the state and queues it for the journal. Before
// anybody is told of the event, durable must return. M.mu is held. An error other
// than that of an event which the state refuses ends the manager.
func (m *Manager) record(data journal.Data) error {
	now := m.clock.Now()
	at := m.clock.Format(now) // cheaper, and enough for a league without a journal
	if m.journal != nil {
		at = journalfile.FormatTime(now)
		if err := m.journal.Check(data); err != nil {
			return err
		}
	}
	m.recordedAt, m.recorded = at, now
	e := journal.Event{Seq: m.state.Events + 1, At: at, Data: data}
	if err := m.state.Apply(&e); err != nil {
		return err
	}
	if m.journal != nil {
		if err := m.journal.Append(at, data); err != nil {
			return fmt.Errorf("%w: %w", errJournal, err)
		}
	}
	if _, starts := data.(*journal.Started); starts {
		m.stamp.SetPlain(m.state.Created.Plain())
		if m.state.Created.Signs() || m.state.Created.Openings > 0 {
			if err := m.remember(e); err != nil {
				return err
			}
		}
	}
	if _, ends := data.(*journal.RoundCompleted); ends {
		m.ended = m.head()
	}
	if m.kept != nil {
		if err := m.kept.add(&e); err != nil {
			return err
		}
	}
	m.files.changed(data)
	return nil
}

// remember keeps the hash of the event that started the league. In a league without a
// journal it is the hash of the line that the event would be at the beginning of one.
func (m *Manager) remember(start journal.Event) error {
	if m.journal != nil {
		m.started = m.head()
		return nil
	}
	start.Prev = journal.Origin
	line, err := journal.Encode(&start)
	m.started = journal.Hash(line)
	return err
}

// durable waits until the events that were recorded are on disk. M.mu is not held.
func (m *Manager) durable() error {
	if m.journal == nil {
		return nil
	}
	seq, _ := m.journal.Last()
	return m.journal.Sync(seq)
}

// JournalWork tells what the journal has done in this process; zero without a journal.
func (m *Manager) JournalWork() (done appendfile.Work) {
	if m.journal != nil {
		done = m.journal.Work()
	}
	return done
}

// head is the hash of the journal's last line; "" without a journal.
func (m *Manager) head() string {
	if m.journal == nil {
		return ""
	}
	_, head := m.journal.Last()
	return head
}

// A SignedHead is the hash of the last line of a journal, with the manager's signature.
// Anyone who knows it detects every change of the journal up to this line.
type SignedHead struct {
	Hash      string
	Signature string // "" in a league that does not sign
	Key       string // the manager's public key; "" in a league that does not sign
}

// Seal writes the derived files again if they lack the last events, so that the signed head
// in standings.json covers the last line of the journal. It returns this head; zero without
// a journal. Call it after Run and Linger, when no more requests arrive.
func (m *Manager) Seal() SignedHead {
	m.files.finish()
	head := m.head()
	if head == "" || m.durable() != nil {
		return SignedHead{}
	}
	return SignedHead{head, m.options.signHead(head), m.state.Created.ManagerKey}
}

// signHead signs a head; "" in a league that does not sign, and without a head.
func (o *Options) signHead(head string) string {
	if head == "" || !o.Signs() {
		return ""
	}
	return o.SigningKey.SignHead(o.LeagueID, head)
}

// tellResults adds to the message about the end of a round the result of the receiver, in a league that signs: a
// player compares it with its own decisions. All results would cost each player the time to read those of the
// others. Referees are told none, because they accept only short messages. M.mu is held.
func (m *Manager) tellResults(b *broadcast[protocol.RoundCompleted], round int) {
	if !m.state.Created.Signs() || m.state.Created.Plain() {
		return
	}
	b.special = make(map[*agent]*protocol.Broadcast[protocol.RoundCompleted], len(m.players))
	for i, p := range m.state.Pairings(round) {
		id := league.MatchID{Round: round, Number: i + 1}
		r := m.state.Match(id).Report
		if r == nil {
			continue // it is played again
		}
		told := *b.message.Message()
		told.Results = []protocol.RoundResult{{
			MatchID: id.String(), Attempt: r.Number, Status: r.Status, Winner: r.WinnerPlayerID,
			DrawnNumber: r.DrawnNumber, Choices: r.Choices,
		}}
		own := b.message.Variant(&told)
		b.special[m.players[p.A]], b.special[m.players[p.B]] = own, own
	}
}

// errNoEvents is the error of a league that keeps no events: it has no data folder, and
// Options.KeepEvents is not set.
var errNoEvents = errors.New("the league keeps no events")

// batch is the number of events that Events returns at most.
const batch = 64

// Events returns durable events from a number on, which is 1 for the first event, in order and without
// gaps, and the number of the last event. More is closed when there is another one; it is nil
// if there are some now. The league neither waits for a reader nor keeps events for it. An error means
// that the league keeps no events, that its journal cannot be read, or that it has fewer events:
// then it is not the league that the caller knows, or its journal has lost its end.
func (m *Manager) Events(from int) (events []*journal.Event, last int, more <-chan struct{}, err error) {
	lines, last, more, err := m.lines(from, batch)
	if err == nil && from > last+1 {
		err = fmt.Errorf("there is no event %d: the league has %d", from, last)
	}
	for _, line := range lines {
		e, err := journal.Decode(line)
		if err != nil {
			return nil, last, nil, err
		}
		events = append(events, e)
	}
	return events, last, more, err
}

// recordedReport is the result of a match with its draw, which the state does not keep of old rounds: that of
// the event of the result. It is the one in the state if the league keeps no events.
func (m *Manager) recordedReport(r *journal.MatchReported, event int) *journal.MatchReported {
	if r.Draw == nil {
		if events, _, _, err := m.Events(event); err == nil && len(events) > 0 {
			if recorded, ok := events[0].Data.(*journal.MatchReported); ok {
				return recorded
			}
		}
	}
	return r
}

// lines are the durable events from a number on, as Events returns them.
func (m *Manager) lines(from, limit int) (lines [][]byte, last int, more <-chan struct{}, err error) {
	switch {
	case m.journal != nil:
		return m.journal.Read(max(from, 1), limit)
	case m.kept != nil:
		return m.kept.events(max(from, 1), limit)
	}
	return nil, 0, nil, errNoEvents
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

func (k *keptEvents) events(from, limit int) (lines [][]byte, last int, more <-chan struct{}, err error) {
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
