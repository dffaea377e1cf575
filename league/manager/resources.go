package manager

import (
	"context"
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/decide"
	"evenodd/league/journal"
	"evenodd/league/protocol"
)

// Read returns what a function makes of the league, for a reader with a bearer
// credential: the token of a registered agent, or the admin token. It returns when the
// result is durable. The function must not keep the view. Without a valid credential the
// error is E011 or E012.
func (m *Manager) Read(ctx context.Context, bearer string, document func(*decide.View) (any, error)) (any, error) {
	m.mu.Lock()
	err := m.admitReader(bearer)
	if _, refused := errors.AsType[*protocol.Error](err); refused {
		m.refusals.unread(ctx, "MCP resource", err)
	}
	var result any
	if err == nil {
		result, err = document(m.view())
	}
	m.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if m.durable() != nil {
		return nil, errJournal
	}
	return result, nil
}

// admitReader checks the credential of a reader, and how often it reads. M.mu is held.
func (m *Manager) admitReader(bearer string) error {
	if m.organiser.is(bearer) {
		return nil
	}
	a, err := m.authenticate(bearer)
	if err != nil {
		return err
	}
	return a.queries.allow()
}

// Authenticate checks the credential of a reader, as Read does.
func (m *Manager) Authenticate(ctx context.Context, bearer string) error {
	_, err := m.Read(ctx, bearer, func(*decide.View) (any, error) { return nil, nil })
	return err
}

// A JournalPage is a part of the journal, in the form of journal.Public.
type JournalPage struct {
	Events []jsontext.Value `json:"events"`
	Last   int              `json:"last"`          // number of the last durable event
	Next   int              `json:"next,omitzero"` // number of the event behind this page; 0 behind the last event
}

// maxPage is how many events a page has at most. It is also limited in bytes.
const maxPage = 100

// ReadJournal returns the events from a number on, which is 1 for the first event, to a
// reader as Read does. A page without events means that there is no such event yet. An error
// means that the credential is refused, or that the league keeps no events.
func (m *Manager) ReadJournal(ctx context.Context, bearer string, from int) (*JournalPage, error) {
	if err := m.Authenticate(ctx, bearer); err != nil {
		return nil, err
	}
	log := m.eventLog()
	if log == nil {
		return nil, errNoEvents
	}
	from = max(from, 1)
	lines, last, _, err := log.Events(from, maxPage)
	if err != nil {
		return nil, err
	}
	page := &JournalPage{Events: make([]jsontext.Value, len(lines)), Last: last}
	for i, line := range lines {
		if page.Events[i], err = journal.Public(line); err != nil {
			return nil, err
		}
	}
	if next := from + len(lines); next <= last {
		page.Next = next
	}
	return page, nil
}
