package referee

import (
	"context"
	"errors"
	"io/fs"

	"github.com/go-json-experiment/json"

	"evenodd/league/membership"
	"evenodd/league/protocol"
)

// getMatchTranscript answers the manager with the file of an attempt, for a manager that
// does not share the referee's folder.
func (r *Referee) getMatchTranscript(ctx context.Context, bearer string,
	q *protocol.ToolRequest) (*protocol.MatchTranscript, error) {
	member, err := r.memberOf(ctx, bearer, q.LeagueID)
	if err != nil {
		return nil, err
	}
	unknown := protocol.Fault(protocol.ErrMatchNotFound, "this referee has no file of attempt %d at %q", q.Attempt,
		q.MatchID)
	if !r.hasFiles(member) || !protocol.ValidLeagueID(q.MatchID) {
		return nil, unknown
	}
	r.awaitReply(ctx, q.MatchID)
	doc, err := r.options.Folder.LoadAttempt(q.LeagueID, q.MatchID, q.Attempt)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, unknown
	case err != nil:
		return nil, err
	case doc.RefereeID != member.AgentID:
		return nil, unknown
	}
	text, err := json.Marshal(doc)
	return &protocol.MatchTranscript{MatchID: q.MatchID, Attempt: q.Attempt, Match: text}, err
}

// awaitReply waits for the manager's reply to a report that is under way: it may just have
// arrived.
func (r *Referee) awaitReply(ctx context.Context, matchID string) {
	r.mu.Lock()
	m := r.matches[matchID]
	r.mu.Unlock()
	if m == nil {
		return
	}
	membership.Wait(ctx, r.rested, func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		return !m.reporting
	})
}
