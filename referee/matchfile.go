package referee

import (
	"os"

	"evenodd/league/protocol"
	"evenodd/league/store"
)

// hasFile tells whether the referee writes a file of a match. The ids may be those
// of a third-party manager, and unfit for names of files.
func (r *Referee) hasFile(leagueID, matchID, refereeID string) bool {
	if r.options.Folder == "" {
		return false
	}
	for _, id := range []string{leagueID, matchID, refereeID} {
		if !protocol.ValidLeagueID(id) {
			r.options.Log.Error().Str("league_id", leagueID).Str("match_id", matchID).Str("referee_id", refereeID).
				Str("event_type", protocol.EventMatchFileUnnamable).Msg("these ids cannot name a file: no file is written of the match")
			return false
		}
	}
	return true
}

// document makes the match file. It needs the members that forget releases.
func (m *match) document() *store.Match {
	a := m.assignment
	return &store.Match{
		SchemaVersion: store.SchemaVersion,
		LeagueID:      a.LeagueID, RoundID: a.RoundID, MatchID: a.MatchID, GameType: a.GameType,
		Attempt: a.Attempt, ConversationID: m.conversation,
		RefereeID: m.member.AgentID, WrittenBy: store.WrittenByReferee,
		PlayerA: store.MatchPlayer{PlayerID: a.PlayerA.PlayerID, DisplayName: a.PlayerA.DisplayName, EntropyCommitment: m.sides[0].entropyCommitment},
		PlayerB: store.MatchPlayer{PlayerID: a.PlayerB.PlayerID, DisplayName: a.PlayerB.DisplayName, EntropyCommitment: m.sides[1].entropyCommitment},
		Draw:    m.draw(), Scoring: a.Scoring,
	}
}

// advance moves a document to another state, with the exchanges until now.
func (m *match) advance(doc *store.Match, state string) {
	clock := m.referee.options.Clock
	now := clock.Now()
	if state != store.StateFinished {
		m.pending.Wait()
	}
	m.transcript.moveTo(doc, state != store.StateFinished)
	doc.LastUpdated = clock.Timestamp()
	doc.Lifecycle.State = state
	doc.Lifecycle.States = append(doc.Lifecycle.States, store.StateEntry{State: state, At: milliseconds(now)})
}

// attemptFile returns the path of the document before it is acknowledged.
func (m *match) attemptFile(doc *store.Match) string {
	return m.referee.options.Folder.Attempt(doc.LeagueID, doc.MatchID, doc.Attempt, doc.RefereeID)
}

// write writes a document. If it cannot, it logs the consequence, and the match
// goes on without its file.
func (m *match) write(path string, doc *store.Match, consequence string) bool {
	err := store.Write(path, doc)
	if err != nil {
		m.referee.options.Log.Error().Err(err).Str("conversation_id", m.conversation).Str("file", path).
			Str("event_type", protocol.EventMatchFileNotWritten).Msg("cannot write a match file: " + consequence)
	}
	return err == nil
}

// fileResult writes the result before any other agent hears of it. A referee that
// is restarted then reports it, and never plays the match to another result.
func (m *match) fileResult() {
	if m.transcript == nil {
		return
	}
	m.doc = m.document()
	m.doc.Result = &store.MatchResult{GameResult: *m.result, Score: m.final.Result.Score}
	m.advance(m.doc, store.StateFinished)
	m.write(m.attemptFile(m.doc), m.doc, "only the memory holds the result until the manager acknowledges the report")
}

// fileAbandoned writes an attempt that ends without a result, if a player knows of
// it.
func (m *match) fileAbandoned() {
	if !m.transcript.started() {
		return
	}
	doc := m.document()
	if !m.abandoned.Load() {
		doc.Draw = nil // after a restart the referee may continue this attempt with its nonce
	}
	m.advance(doc, store.StateAbandoned)
	m.write(m.attemptFile(doc), doc, "no file has the abandoned attempt")
}

// fileEnding adds the exchanges after the result to the file of an attempt that
// the referee will report after a restart.
func (m *match) fileEnding() {
	if m.doc == nil || m.transcript == nil {
		return
	}
	m.pending.Wait()
	m.transcript.moveTo(m.doc, false)
	m.write(m.attemptFile(m.doc), m.doc, "its transcript ends with the result")
}

// fileReply writes the manager's reply to the report: an acknowledged result to the
// match's own file, a refused one to the attempt's.
func (m *match) fileReply(refusal *protocol.Error) {
	if m.doc == nil {
		return
	}
	doc := m.doc
	attempt := m.attemptFile(doc)
	doc.Refusal = exchangeError(refusal, []string{m.member.Token})
	if refusal != nil {
		m.advance(doc, store.StateDisputed)
		m.write(attempt, doc, "no file has the refused result")
		return
	}
	m.advance(doc, store.StateAcknowledged)
	m.doc = nil // from now on it is read from its file
	path := m.referee.options.Folder.Match(doc.LeagueID, doc.MatchID)
	if !m.write(path, doc, "the manager has the result, and "+attempt+" stays if it was written") {
		return
	}
	if err := os.Remove(attempt); err != nil && !os.IsNotExist(err) {
		m.referee.options.Log.Warn().Err(err).Str("conversation_id", m.conversation).
			Str("event_type", protocol.EventAttemptFileLeft).Msg("cannot remove the file of an attempt, although the match's own exists")
	}
}
