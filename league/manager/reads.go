package manager

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league"
	"evenodd/league/decide"
	"evenodd/league/journal"
	"evenodd/league/lists"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/rules"
)

// ReadResource names the read of an MCP resource.
const ReadResource = "MCP resource"

// Read returns what a function makes of the league, for a reader with a bearer
// credential: the token of a registered agent, or the admin token. It returns when the
// result is durable. The function must not keep the view. Without a valid credential the
// error is E011 or E012. The log names a refused request by method.
func (m *Manager) Read(ctx context.Context, method, bearer string,
	document func(*decide.View) (any, error)) (any, error) {
	m.mu.Lock()
	var err error
	if !m.organiser.is(bearer) {
		var a *agent
		if a, err = m.authenticate(bearer); err == nil {
			err = a.queries.allow()
		}
	}
	if _, refused := errors.AsType[*protocol.Error](err); refused {
		m.refusals.unread(ctx, method, err)
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

// Authenticate checks the credential of a reader of MCP resources, as Read does.
func (m *Manager) Authenticate(ctx context.Context, bearer string) error {
	_, err := m.Read(ctx, ReadResource, bearer, func(*decide.View) (any, error) { return nil, nil })
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
	from = max(from, 1)
	lines, last, _, err := m.lines(from, maxPage)
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
	if limit <= 0 || limit > maxJournalPage {
		limit = maxJournalPage
	}
	lines, last, _, err := m.lines(from, limit)
	if errors.Is(err, errNoEvents) {
		return nil, protocol.Fault(protocol.ErrInvalidQueryType, "%v", err)
	} else if err != nil {
		return nil, err
	}
	text := lists.Map(lines, func(line []byte) string { return string(line) })
	return &protocol.JournalData{First: max(from, 1), Lines: text, Last: last}, nil
}

// agentLog is the answer to GET_AGENT_LOG.
func (m *Manager) agentLog(id string, offset int) (any, error) {
	switch known := locked(m, func() bool { return m.state.Agents[id] != nil }); {
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

// getMatchTranscript returns the file of an attempt at a match to the organiser: from the
// data folder, else from the referee. Without a number it is the attempt that counts.
func (m *Manager) getMatchTranscript(ctx context.Context, bearer string,
	q *protocol.ToolRequest) (*protocol.MatchTranscript, error) {
	if err := m.organiser.authenticate(protocol.GetMatchTranscript.Name, cmp.Or(q.AuthToken, bearer)); err != nil {
		return nil, err
	}
	id, _ := league.ParseMatchID(q.MatchID)
	m.mu.Lock()
	match, _, _, ok := m.state.Find(id)
	at := league.Attempt{MatchID: id, Number: q.Attempt}
	switch {
	case !ok || at.Number > 0:
	case match.Report != nil:
		at.Number = match.Report.Number
	default:
		at.Number = len(match.Attempts)
	}
	secret := ok && match.Report == nil && rules.Hides(m.judge.Game)
	m.mu.Unlock()
	if secret {
		return nil, protocol.Fault(protocol.ErrMatchNotFound, "game %s hides something: the transcript of %s is shown when "+
			"the match is recorded", m.options.GameType, id)
	}
	doc, err := m.transcript(ctx, at, q.MatchID)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(doc)
	return &protocol.MatchTranscript{MatchID: q.MatchID, Attempt: at.Number, Match: text}, err
}

// viewerCalls is how many calls to referees viewers cause at once: they have no credential.
const viewerCalls = 2

// ViewTranscript returns an attempt at a match that has a recorded result, for
// anyone: from the data folder, else from the referee. It makes few calls at once. The error
// has the code protocol.ErrMatchNotFound for an attempt without a transcript; any other is that of the file, or
// of ctx.
func (m *Manager) ViewTranscript(ctx context.Context, attempt league.Attempt) (*store.Match, error) {
	m.mu.Lock()
	match, _, _, ok := m.state.Find(attempt.MatchID)
	recorded := ok && match.Report != nil
	m.mu.Unlock()
	if !recorded {
		return nil, protocol.Fault(protocol.ErrMatchNotFound, "match %s has no recorded attempt %d", attempt.MatchID,
			attempt.Number)
	}
	select {
	case m.viewed <- struct{}{}:
		defer func() { <-m.viewed }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return m.transcript(ctx, attempt, attempt.MatchID.String())
}

// transcript returns an attempt: from the data folder, else from its referee.
func (m *Manager) transcript(ctx context.Context, attempt league.Attempt, matchID string) (*store.Match, error) {
	missing := func(why string) error {
		return protocol.Fault(protocol.ErrMatchNotFound, "there is no transcript of attempt %d at %.20q: %s", attempt.Number,
			matchID, why)
	}
	m.mu.Lock()
	var referee *agent
	match, _, _, ok := m.state.Find(attempt.MatchID)
	ok = ok && attempt.MatchID.String() == matchID && attempt.Number >= 1 && attempt.Number <= len(match.Attempts)
	if ok {
		referee = m.agents[match.Attempts[attempt.Number-1].Referee]
		ok = !m.thirdParty(referee.id)
	}
	m.mu.Unlock()
	if referee == nil {
		return nil, missing("nobody has played it")
	}
	if m.files != nil {
		doc, err := m.files.Folder.LoadAttempt(m.options.LeagueID, matchID, attempt.Number)
		if err == nil && doc.WrittenBy == store.WrittenByReferee || err != nil && !errors.Is(err, fs.ErrNotExist) {
			return doc, err
		}
	}
	if !ok {
		return nil, missing("a third-party referee conducted it")
	}
	doc, err := m.askForTranscript(ctx, referee, matchID, attempt.Number)
	if err != nil {
		return nil, missing(fmt.Sprintf("its referee %s has not delivered it", referee.id))
	}
	return doc, nil
}
