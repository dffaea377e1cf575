package manager

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/store"
)

// The limits of the delivery of transcripts. A transcript that does not fit stays with its
// referee.
const (
	deliveryTime = 10 * time.Second // for one referee after a round
	deliveryCall = 5 * time.Second
)

// deliverTranscripts is a notice to a referee: it asks for the files of the matches that
// have ended since the last time. It never delays a match, because assignments are no
// notices; the end of the league waits for it.
func (m *Manager) deliverTranscripts(ctx context.Context, round int) notice {
	return func(a *agent, full bool) {
		if full || m.files == nil {
			return
		}
		wanted := m.undelivered(a, round)
		ctx, cancel := context.WithTimeout(ctx, deliveryTime)
		defer cancel()
		for i := 0; i < len(wanted) && ctx.Err() == nil; i++ {
			if err := m.deliverTranscript(ctx, a, wanted[i]); err != nil {
				m.log.Info().Err(err).Stringer("match_id", wanted[i].MatchID).Str("referee_id", a.id).
					Str("event_type", "TRANSCRIPT_NOT_DELIVERED").Msg("a referee did not deliver the transcript of a match")
			}
		}
	}
}

// undelivered returns the results of a referee up to a round, annulled ones included, whose files
// are not in the folder: none for a third-party referee, and for one that shares the folder.
func (m *Manager) undelivered(a *agent, round int) (wanted []*journal.MatchReported) {
	if _, err := os.Stat(m.files.Folder.MatchLog(m.options.LeagueID, a.id)); err == nil {
		return nil
	}
	for _, r := range m.resultsOf(a, round) {
		doc, err := m.files.Folder.LoadAttempt(m.options.LeagueID, r.MatchID.String(), r.Number)
		if err != nil || doc.WrittenBy != store.WrittenByReferee {
			wanted = append(wanted, r)
		}
	}
	return wanted
}

// resultsOf returns the results of a referee in the rounds that it was not asked for, and those that
// an organiser has changed.
func (m *Manager) resultsOf(a *agent, round int) (all []*journal.MatchReported) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.thirdParty(a.id) {
		return nil
	}
	add := func(id league.MatchID) {
		match := m.state.Match(id)
		for i := range match.Annulled {
			all = append(all, match.Annulled[i].Report)
		}
		all = append(all, match.Report)
	}
	for ; a.asked < round; a.asked++ {
		for i := range m.state.Pairings(a.asked + 1) {
			add(league.MatchID{Round: a.asked + 1, Number: i + 1})
		}
	}
	for id := range m.changed {
		if id.Round <= a.asked {
			add(id)
		}
	}
	return slices.DeleteFunc(all, func(r *journal.MatchReported) bool {
		return r == nil || r.RefereeID != a.id || r.Number == 0
	})
}

// deliverTranscript asks for the file of one attempt, and stores it. The referee is not trusted:
// the audit compares it with the journal.
func (m *Manager) deliverTranscript(ctx context.Context, a *agent, r *journal.MatchReported) error {
	doc, err := m.askForTranscript(ctx, a, r.MatchID.String(), r.Number)
	if err != nil {
		return err
	}
	now := locked(m, func() *journal.MatchReported { return m.state.Match(r.MatchID).Report })
	counts := now != nil && now.Attempt == r.Attempt
	if counts && doc.Lifecycle.State == store.StateAcknowledged && isFileOf(doc, now) {
		m.writeMatchFile(doc, store.WriteMatch)
		return nil
	}
	return store.WriteMatch(m.files.Folder.Attempt(doc.LeagueID, doc.MatchID, doc.Attempt), doc)
}

// askForTranscript asks a referee for the file of an attempt. The answer may be an untrue one, but
// it is about this attempt, and has no tokens.
func (m *Manager) askForTranscript(ctx context.Context, referee *agent, matchID string, attempt int) (*store.Match,
	error) {
	q := &protocol.ToolRequest{
		Envelope: m.stamp.Envelope("", protocol.MatchConversation(matchID, attempt)),
		LeagueID: m.options.LeagueID, MatchID: matchID, Attempt: attempt,
	}
	answer, _, err := protocol.GetMatchTranscript.CallWithin(ctx, m.options.Caller, referee.peer(), q, deliveryCall)
	if err != nil {
		return nil, err
	}
	doc := new(store.Match)
	if err := json.Unmarshal(protocol.HideTokens(answer.Match), doc); err != nil {
		return nil, fmt.Errorf("the file of a match cannot be read: %w", err)
	}
	switch {
	case doc.LeagueID != q.LeagueID, doc.MatchID != matchID, doc.Attempt != attempt, doc.RefereeID != referee.id,
		doc.WrittenBy != store.WrittenByReferee:
		return nil, fmt.Errorf("it delivered attempt %d at %.20q by %.20q", doc.Attempt, doc.MatchID, doc.RefereeID)
	case doc.Result == nil:
		return nil, errors.New("the attempt has no result")
	}
	return doc, nil
}
