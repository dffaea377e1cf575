package referee

import (
	"path/filepath"

	"evenodd/league/membership"
	"evenodd/league/protocol"
	"evenodd/league/store"
)

// hasFiles tells whether the referee writes files in a league. The ids may be those of a
// third-party manager, and unfit for names of files.
func (r *Referee) hasFiles(member *membership.Membership) bool {
	return r.options.Folder != "" && protocol.ValidLeagueID(member.LeagueID) && protocol.ValidLeagueID(member.AgentID)
}

// hasFile tells whether the referee writes a file of a match.
func (r *Referee) hasFile(member *membership.Membership, matchID string) bool {
	if r.hasFiles(member) && protocol.ValidLeagueID(matchID) {
		return true
	}
	if r.options.Folder != "" {
		r.options.Log.Error().Str("league_id", member.LeagueID).Str("match_id", matchID).Str("referee_id", member.AgentID).
			Str("event_type", protocol.EventMatchFileUnnamable).Msg("these ids cannot name a file: no file is written of the match")
	}
	return false
}

// document makes the match file. It needs the members that forget releases.
func (m *match) document() *store.Match {
	a, draw := m.assignment, &reveal{}
	m.draw(draw)
	return &store.Match{
		SchemaVersion: store.SchemaVersion,
		LeagueID:      a.LeagueID, RoundID: a.RoundID, MatchID: a.MatchID, GameType: a.GameType,
		Attempt: a.Attempt, ConversationID: m.conversation,
		RefereeID: m.member.AgentID, WrittenBy: store.WrittenByReferee,
		PlayerA: store.MatchPlayer{PlayerID: a.PlayerA.PlayerID, DisplayName: a.PlayerA.DisplayName, EntropyCommitment: m.sides[0].entropyCommitment},
		PlayerB: store.MatchPlayer{PlayerID: a.PlayerB.PlayerID, DisplayName: a.PlayerB.DisplayName, EntropyCommitment: m.sides[1].entropyCommitment},
		Draw:    &draw.Draw, Scoring: a.Scoring, Started: a.Started,
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
	at := milliseconds(now)
	doc.LastUpdated = store.Seconds(at)
	doc.Lifecycle.State = state
	doc.Lifecycle.States = append(doc.Lifecycle.States, store.StateEntry{State: state, At: at})
}

// record appends what is new in a document to the results file. If it cannot, it logs the
// consequence, and the match goes on without its record.
func (m *match) record(doc *store.Match, durable bool, consequence string) {
	if m.forgotten.Load() {
		return
	}
	record := store.RecordOf(doc, m.recorded)
	line, err := m.referee.record(m.member, record, durable)
	if err != nil {
		m.logUnwritten(err, m.referee.options.Folder.Results(doc.LeagueID, doc.RefereeID), consequence)
		return
	}
	if record.Digest != "" {
		doc.Digest = record.Digest
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.lines != nil || m.recorded == (store.Recorded{}) {
		m.lines = append(m.lines, line)
	}
	m.recorded = store.RecordedOf(doc)
}

func (m *match) logUnwritten(err error, path, consequence string) {
	m.referee.options.Log.Error().Err(err).Str("conversation_id", m.conversation).Str("file", path).
		Str("event_type", protocol.EventMatchFileNotWritten).Msg("cannot write a match file: " + consequence)
}

// fileResult makes the result durable before any other agent hears of it. A referee that
// is restarted then reports it, and never plays the match to another result.
func (m *match) fileResult() {
	if m.transcript == nil {
		return
	}
	m.doc = m.document()
	m.doc.Result = &store.MatchResult{GameResult: *m.result, Score: m.final.Result.Score}
	m.doc.Evidence = m.final.Evidence
	m.advance(m.doc, store.StateFinished)
	m.record(m.doc, true, "only the memory holds the result until the manager acknowledges the report")
	if m.doc.Started != "" {
		m.final.TranscriptDigest = m.doc.Digest // nobody reports it before GAME_OVER
	}
}

// fileAbandoned records an attempt that ends without a result, if a player knows of
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
	m.record(doc, false, "no file has the abandoned attempt")
}

// fileEnding records the exchanges after the result of an attempt that the referee will
// report after a restart.
func (m *match) fileEnding() {
	if m.doc == nil || m.transcript == nil {
		return
	}
	m.pending.Wait()
	m.transcript.moveTo(m.doc, false)
	if store.RecordedOf(m.doc) != m.recorded {
		m.record(m.doc, false, "its transcript ends with the result")
	}
}

// fileReply records the manager's reply to the report, and writes the match file of an
// acknowledged result. A lost record does no harm: the referee reports the result again.
func (m *match) fileReply(refusal *protocol.Error) {
	if m.doc == nil {
		return
	}
	doc, before := m.doc, m.doc.Refusal
	doc.Refusal = exchangeError(refusal, []string{m.member.Token})
	if refusal != nil && before != nil && *before == *doc.Refusal && m.recorded == store.RecordedOf(doc) {
		return // the file has this refusal
	}
	if refusal != nil {
		m.advance(doc, store.StateDisputed)
		m.record(doc, false, "no file has the refused result")
		return
	}
	m.advance(doc, store.StateAcknowledged)
	m.doc = nil // from now on it is read from its file
	m.record(doc, false, "the match file has the transcript")
	folder := m.referee.options.Folder
	if m.recorded == store.RecordedOf(doc) {
		doc.Transcript, doc.TranscriptFile = nil, filepath.Base(folder.Results(doc.LeagueID, doc.RefereeID))
	}
	path := folder.Match(doc.LeagueID, doc.MatchID)
	if m.referee.isReplaced(m) {
		return
	}
	if err := store.WriteDerived(path, doc); err != nil {
		m.logUnwritten(err, path, "the manager has the result")
	}
}
