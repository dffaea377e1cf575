package manager

import (
	"context"

	"evenodd/league/protocol"
)

// answerOrganiser answers a query with the admin token: that of an agent, or one of those
// that only the organiser may send.
func (m *Manager) answerOrganiser(ctx context.Context, q *protocol.LeagueQuery) (*protocol.LeagueQueryResponse, error) {
	if err := m.organiser.calls.allow(); err != nil {
		return nil, err
	}
	var data any
	var err error
	switch {
	case q.LeagueID != m.options.LeagueID:
		// Answer refuses it
	case q.QueryType == protocol.QueryJournal:
		data, err = m.journalPage(q.QueryParams.Offset, q.QueryParams.Limit)
	case q.QueryType == protocol.QueryAgentLog:
		data, err = m.agentLog(q.QueryParams.PlayerID, q.QueryParams.Offset)
	}
	response := &protocol.LeagueQueryResponse{Data: data}
	m.mu.Lock()
	defer m.mu.Unlock()
	if data == nil && err == nil {
		response, err = m.view().Answer(q, "")
	}
	return m.respond(ctx, q, response, err)
}

// maxJournalPage is how many events a page of the journal has at most. It is also limited in
// bytes.
const maxJournalPage = 2000

// journalPage is the answer to GET_JOURNAL.
func (m *Manager) journalPage(from, limit int) (any, error) {
	log := m.eventLog()
	if log == nil {
		return nil, protocol.Fault(protocol.ErrInvalidQueryType, "%v", errNoEvents)
	}
	if limit <= 0 || limit > maxJournalPage {
		limit = maxJournalPage
	}
	from = max(from, 1)
	lines, last, _, err := log.Events(from, limit)
	if err != nil {
		return nil, err
	}
	text := protocol.Each(lines, func(line []byte) string { return string(line) })
	return &protocol.JournalData{First: from, Lines: text, Last: last}, nil
}

// agentLog is the answer to GET_AGENT_LOG.
func (m *Manager) agentLog(id string, offset int) (any, error) {
	m.mu.Lock()
	known := m.state.Agents[id] != nil
	m.mu.Unlock()
	switch {
	case !known:
		return nil, protocol.Fault(protocol.ErrPlayerNotRegistered, "agent %.60q is not registered", id)
	case m.files == nil:
		return &protocol.AgentLogData{AgentID: id, Lines: []string{}}, nil
	}
	lines, next, err := m.files.Folder.AgentLog(m.options.LeagueID, id, int64(offset))
	if err != nil {
		return nil, err
	}
	return &protocol.AgentLogData{AgentID: id, Lines: lines, Next: int(next)}, nil
}
