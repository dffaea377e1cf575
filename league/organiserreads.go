package league

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/go-json-experiment/json/jsontext"

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
		return nil, protocol.Fault(protocol.ErrInvalidQueryType, "%v", ErrNoEvents)
	}
	if limit <= 0 || limit > maxJournalPage {
		limit = maxJournalPage
	}
	from = max(from, 1)
	lines, last, _, err := log.Events(from, limit)
	if err != nil {
		return nil, err
	}
	page := &protocol.JournalData{First: from, Lines: make([]string, len(lines)), Last: last}
	for i, line := range lines {
		page.Lines[i] = string(line)
	}
	return page, nil
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

// getMatchTranscript returns the records of an attempt at a match to the organiser: from the
// data folder, else from the referee. Without a number it is the attempt that counts.
func (m *Manager) getMatchTranscript(ctx context.Context, bearer string, q *protocol.ToolRequest) (*protocol.MatchTranscript, error) {
	if err := m.organiser.authenticate(protocol.GetMatchTranscript.Name, cmp.Or(q.AuthToken, bearer)); err != nil {
		return nil, err
	}
	attempt, referee, err := m.findAttempt(q)
	if err != nil {
		return nil, err
	}
	if m.files != nil {
		records, err := m.files.Folder.AttemptRecords(m.options.LeagueID, q.MatchID, attempt)
		if err == nil {
			return &protocol.MatchTranscript{MatchID: q.MatchID, Attempt: attempt, Records: records}, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return m.transcriptOfReferee(ctx, referee, q.MatchID, attempt)
}

// findAttempt finds the attempt of a request, and its referee.
func (m *Manager) findAttempt(q *protocol.ToolRequest) (attempt int, referee *agent, err error) {
	id, _ := protocol.ParseMatchID(q.MatchID)
	m.mu.Lock()
	defer m.mu.Unlock()
	match, _, _, ok := m.state.Find(id)
	if !ok || id.String() != q.MatchID {
		return 0, nil, protocol.Fault(protocol.ErrMatchNotFound, "match %.20q is not of an announced round", q.MatchID)
	}
	attempt = q.Attempt
	if attempt == 0 && match.Report != nil {
		attempt = match.Report.Number
	}
	if attempt == 0 && match.Report == nil {
		attempt = len(match.Attempts)
	}
	if attempt < 1 || attempt > len(match.Attempts) {
		return 0, nil, protocol.Fault(protocol.ErrMatchNotFound, "match %s has no attempt %d: nobody has played it", q.MatchID, q.Attempt)
	}
	return attempt, m.agents[match.Attempts[attempt-1].Referee], nil
}

// transcriptOfReferee asks a referee for the records of an attempt. It is not trusted.
func (m *Manager) transcriptOfReferee(ctx context.Context, referee *agent, matchID string, attempt int) (*protocol.MatchTranscript, error) {
	missing := func(why string) error {
		return protocol.Fault(protocol.ErrMatchNotFound, "there is no transcript of attempt %d at %s: %s", attempt, matchID, why)
	}
	m.mu.Lock()
	thirdParty := m.thirdParty(referee.id)
	m.mu.Unlock()
	if thirdParty {
		return nil, missing("a third-party referee conducted it")
	}
	q := &protocol.ToolRequest{
		Envelope: m.stamp.Envelope("", "conv-transcript-"+matchID), LeagueID: m.options.LeagueID, MatchID: matchID, Attempt: attempt,
	}
	answer, _, err := protocol.GetMatchTranscript.CallWithin(ctx, m.options.Caller, referee.peer(), q, deliveryCall)
	if err == nil {
		var records []jsontext.Value
		if records, _, err = checkDelivery(answer, q, referee.id); err == nil {
			return &protocol.MatchTranscript{MatchID: matchID, Attempt: attempt, Records: records}, nil
		}
	}
	return nil, missing(fmt.Sprintf("its referee %s has not delivered it", referee.id))
}
