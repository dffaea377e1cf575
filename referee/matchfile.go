package referee

import (
	"os"

	"evenodd/league/protocol"
	"evenodd/league/store"
)

// files tells whether what becomes of a match is written, under names that a
// league of another maker may have given.
func (r *Referee) files(leagueID, matchID, refereeID string) bool {
	if r.options.Folder == "" {
		return false
	}
	for _, id := range []string{leagueID, matchID, refereeID} {
		if !protocol.ValidLeagueID(id) {
			r.options.Log.Error().Str("league_id", leagueID).Str("match_id", matchID).Str("referee_id", refereeID).
				Str("event_type", protocol.EventMatchFileUnnamable).Msg("these ids cannot name a file: nothing is written of the match")
			return false
		}
	}
	return true
}

// document is the match as its file tells it. It needs all that forget drops.
func (m *match) document() *store.Match {
	a := m.assignment
	doc := &store.Match{
		SchemaVersion: store.SchemaVersion,
		LeagueID:      a.LeagueID, RoundID: a.RoundID, MatchID: a.MatchID, GameType: a.GameType,
		Attempt: a.Attempt, ConversationID: m.conversation,
		RefereeID: m.member.AgentID, WrittenBy: store.WrittenByReferee,
		PlayerA: store.MatchPlayer{PlayerID: a.PlayerA.PlayerID, DisplayName: a.PlayerA.DisplayName, EntropyCommitment: m.seats[0].entropyCommitment},
		PlayerB: store.MatchPlayer{PlayerID: a.PlayerB.PlayerID, DisplayName: a.PlayerB.DisplayName, EntropyCommitment: m.seats[1].entropyCommitment},
		Draw:    m.draw(), Scoring: a.Scoring,
	}
	return doc
}

// advance brings a document to a state, with all that has been said until now.
func (m *match) advance(doc *store.Match, state string) {
	now := m.referee.options.Clock.Now()
	if state != store.StateFinished {
		m.chronicle.await()
	}
	m.chronicle.pour(doc, state != store.StateFinished)
	doc.LastUpdated = m.referee.options.Clock.Timestamp()
	doc.Lifecycle.State = state
	doc.Lifecycle.States = append(doc.Lifecycle.States, store.StateEntry{State: state, At: milliseconds(now)})
}

// attemptFile is the path of the document before it is acknowledged.
func (m *match) attemptFile(doc *store.Match) string {
	return m.referee.options.Folder.Attempt(doc.LeagueID, doc.MatchID, doc.Attempt, doc.RefereeID)
}

// write writes a document. The match goes on without its file: loss says what
// that means.
func (m *match) write(path string, doc *store.Match, loss string) bool {
	err := store.Write(path, doc)
	if err != nil {
		m.referee.options.Log.Error().Err(err).Str("conversation_id", m.conversation).Str("file", path).
			Str("event_type", protocol.EventMatchFileNotWritten).Msg("a match's file cannot be written: " + loss)
	}
	return err == nil
}

// keepResult brings the result to the disk, before anybody is told of it: a
// referee that dies now reports it when it is back, and never plays the match
// to another result.
func (m *match) keepResult() {
	if m.chronicle == nil {
		return
	}
	m.doc = m.document()
	m.doc.Result = &store.MatchResult{GameResult: *m.result, Score: m.final.Result.Score}
	m.advance(m.doc, store.StateFinished)
	m.write(m.attemptFile(m.doc), m.doc, "its result is in memory alone until the manager acknowledges the report")
}

// keepAbandoned writes what there is of a match that comes to no result in this
// attempt, if any player knows of it.
func (m *match) keepAbandoned() {
	if !m.chronicle.begun() {
		return
	}
	doc := m.document()
	if !m.abandoned.Load() {
		doc.Draw = nil // the referee stops; it may go on with this attempt, and its nonce, when it is back
	}
	m.advance(doc, store.StateAbandoned)
	m.write(m.attemptFile(doc), doc, "nothing will tell of the abandoned attempt")
}

// keepEnding adds what was said after the result to an attempt's file whose
// report waits for the referee to come back.
func (m *match) keepEnding() {
	if m.doc == nil || m.chronicle == nil {
		return
	}
	m.chronicle.await()
	m.chronicle.pour(m.doc, false)
	m.write(m.attemptFile(m.doc), m.doc, "its transcript ends with the result")
}

// settle writes what the manager said to the report: the match's own file when
// it has the result, else the attempt's again.
func (m *match) settle(refusal *protocol.Error) {
	if m.doc == nil {
		return
	}
	if refusal != nil {
		m.doc.Refusal = exchangeError(refusal, []string{m.member.Token})
		m.advance(m.doc, store.StateDisputed)
		m.write(m.attemptFile(m.doc), m.doc, "the refused result is not on disk")
		return
	}
	doc := m.doc
	doc.Refusal = nil
	m.advance(doc, store.StateAcknowledged)
	attempt := m.attemptFile(doc)
	m.doc = nil // from now on it is found on disk
	path := m.referee.options.Folder.Match(doc.LeagueID, doc.MatchID)
	if !m.write(path, doc, "the manager has the result, and "+attempt+" stays, if it could be written") {
		return
	}
	if err := os.Remove(attempt); err != nil && !os.IsNotExist(err) {
		m.referee.options.Log.Warn().Err(err).Str("conversation_id", m.conversation).
			Str("event_type", protocol.EventAttemptFileLeft).Msg("an attempt's file is left, although the match's own is there")
	}
}
