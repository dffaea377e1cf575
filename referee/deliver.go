package referee

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/membership"
	"evenodd/league/protocol"
	"evenodd/league/store"
)

// getMatchTranscript answers the manager with the records of an attempt, for a manager that
// does not share the referee's folder.
func (r *Referee) getMatchTranscript(ctx context.Context, bearer string, q *protocol.ToolRequest) (*protocol.MatchTranscript, error) {
	member, err := r.memberOf(ctx, bearer, q.LeagueID)
	if err != nil {
		return nil, err
	}
	var records []jsontext.Value
	if r.hasFiles(member) {
		var err error
		if records, err = r.recordsOf(ctx, member, q.MatchID, q.Attempt); err != nil {
			return nil, err
		}
	}
	if len(records) == 0 {
		return nil, protocol.Fault(protocol.ErrMatchNotFound, "this referee has no record of attempt %d at %q", q.Attempt, q.MatchID)
	}
	return &protocol.MatchTranscript{MatchID: q.MatchID, Attempt: q.Attempt, Records: records}, nil
}

// recordsOf returns the records of an attempt, which are on disk.
func (r *Referee) recordsOf(ctx context.Context, member *membership.Membership, matchID string, attempt int) (records []jsontext.Value, err error) {
	r.mu.Lock()
	m := r.matches[matchID]
	r.mu.Unlock()
	if m != nil && m.attempt == attempt {
		lines := m.finalLines(ctx)
		records, err = r.readLines(member, lines)
		begin := fmt.Appendf(nil, `{"match_id":%q,"attempt":%d,`, matchID, attempt)
		others := slices.ContainsFunc(records, func(text jsontext.Value) bool { return !bytes.HasPrefix(text, begin) })
		if err != nil || len(records) > 0 && !others {
			return records, err
		}
		records = nil
	}
	_, _, err = store.ReadResults(r.options.Folder.Results(member.LeagueID, member.AgentID), func(_ *store.ResultsHeader, l *store.RecordLine) error {
		if l.MatchID == matchID && l.Attempt == attempt {
			records = append(records, bytes.Clone(l.Text))
		}
		return nil
	})
	return records, err
}

// finalLines returns the lines of a match after the manager's reply to the report, which may
// just have arrived.
func (m *match) finalLines(ctx context.Context) (lines []int) {
	m.referee.await(ctx, func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		lines = m.lines
		return !m.reporting
	})
	return lines
}

// readLines reads records by their lines, and waits until they are on disk.
func (r *Referee) readLines(member *membership.Membership, lines []int) (records []jsontext.Value, err error) {
	r.results.mu.Lock()
	file, err := r.openResults(member)
	r.results.mu.Unlock()
	for _, line := range lines {
		var text [][]byte
		if err == nil {
			err = file.Sync(line)
		}
		if err == nil {
			text, _, _, err = file.Read(line, 1)
		}
		if err != nil {
			return nil, err
		}
		records = append(records, text[0])
	}
	return records, err
}
