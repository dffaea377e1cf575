package referee

import (
	"context"
	"errors"
	"io/fs"

	"github.com/go-json-experiment/json"

	"evenodd/league/membership"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/rules"
)

// hasFiles tells whether the referee writes files in a league. The ids may be those of a
// third-party manager, and unfit for names of files.
func (r *Referee) hasFiles(member *membership.Membership) bool {
	return !r.options.Folder.IsZero() && protocol.ValidLeagueID(member.LeagueID) && protocol.ValidLeagueID(member.AgentID)
}

// hasFile tells whether the referee writes a file of a match.
func (r *Referee) hasFile(member *membership.Membership, matchID string) bool {
	if r.hasFiles(member) && protocol.ValidLeagueID(matchID) {
		return true
	}
	if !r.options.Folder.IsZero() {
		r.options.Log.Error().Str("league_id", member.LeagueID).Str("match_id", matchID).Str("referee_id", member.AgentID).
			Str("event_type", "MATCH_FILE_UNNAMABLE").Msg("these ids cannot name a file: no file is written of the match")
	}
	return false
}

// document makes the match file. It needs the members that forget releases.
func (m *match) document() *store.Match {
	a := m.assignment
	var boards []store.Board
	for _, b := range m.conduct.Boards() {
		boards = append(boards, store.Board(b))
	}
	return &store.Match{
		Header: store.NewHeader(""), LeagueID: a.LeagueID, RoundID: a.RoundID, MatchID: a.MatchID, GameType: a.GameType,
		GameID: m.game, Attempt: a.Attempt, ConversationID: m.conversation,
		RefereeID: m.member.AgentID, WrittenBy: store.WrittenByReferee,
		PlayerA: store.MatchPlayer{PlayerID: a.PlayerA.PlayerID, DisplayName: a.PlayerA.DisplayName,
			EntropyCommitment: m.conduct.Record(rules.SideA).EntropyCommitment},
		PlayerB: store.MatchPlayer{PlayerID: a.PlayerB.PlayerID, DisplayName: a.PlayerB.DisplayName,
			EntropyCommitment: m.conduct.Record(rules.SideB).EntropyCommitment},
		Draw: m.conduct.Draw(), Scoring: a.Scoring, Started: a.Started, Members: a.Members,
		Conduct: m.conduct.Version(), Boards: boards,
		Evidence: protocol.Evidence{Opening: a.Opening}, // what else there is of it, a result has
	}
}

// advance moves a document to another state, with the exchanges until now.
func (m *match) advance(doc *store.Match, state string) {
	now := m.now()
	if state != protocol.StateFinished {
		m.pending.Wait()
	}
	m.transcript.moveTo(doc, state != protocol.StateFinished)
	at := milliseconds(now)
	doc.LastUpdated = protocol.FormatTimestamp(now)
	doc.Lifecycle.State = state
	doc.Lifecycle.States = append(doc.Lifecycle.States, store.StateEntry{State: state, At: at})
}

// record appends a document to the log. If it must be durable, record returns when it is on
// disk. If it cannot, it logs the consequence, and the match goes on without its record.
func (m *match) record(doc *store.Match, durable bool, consequence string) {
	if m.forgotten.Load() {
		return
	}
	log, err := m.referee.openLog(m.member)
	if err == nil {
		err = log.Append(doc, durable)
	}
	m.logged(doc, log, err, consequence)
}

// write writes the file of a document, and appends the document to the log.
func (m *match) write(doc *store.Match, consequence string) {
	if m.forgotten.Load() {
		return
	}
	log, err := m.referee.openLog(m.member)
	if err == nil {
		err = log.Write(doc)
	} else {
		err = errors.Join(err, m.referee.options.Folder.WriteAttempt(doc))
	}
	m.logged(doc, log, err, consequence)
}

// logged ends record and write.
func (m *match) logged(doc *store.Match, log *store.MatchLog, err error, consequence string) {
	if err != nil {
		m.referee.options.Log.Error().Err(err).Str("conversation_id", m.conversation).
			Str("file", m.referee.options.Folder.MatchLog(doc.LeagueID, doc.RefereeID)).
			Str("event_type", "MATCH_FILE_UNWRITTEN").Msg("cannot write a match file: " + consequence)
		return
	}
	m.recorded = recordedOf(doc)
	if log.IsLong() {
		m.referee.checkpoint()
	}
}

// RecordCounts are the numbers of states and exchanges that the log has of a match.
type recordCounts struct{ states, exchanges int }

func recordedOf(doc *store.Match) recordCounts {
	return recordCounts{len(doc.Lifecycle.States), len(doc.Transcript)}
}

// fileResult makes the result durable before any other agent hears of it. A referee that
// is restarted then reports it, and never plays the match to another result.
func (m *match) fileResult() {
	if m.transcript == nil {
		return
	}
	doc := m.document()
	doc.Result, doc.Evidence = (*protocol.MatchResult)(&m.final.Result), m.final.Evidence
	m.doc = doc
	m.advance(doc, protocol.StateFinished)
	doc.Digested = len(doc.Transcript)
	m.record(doc, true, "only the memory holds the result until the manager acknowledges the report")
	if doc.Started != "" {
		m.final.TranscriptDigest = doc.Digest() // nobody reports it before GAME_OVER
	}
}

// fileAbandoned writes the file of an attempt that ends without a result, if a player knows of
// it, and nothing in it is still a secret.
func (m *match) fileAbandoned() {
	if !m.transcript.started() || m.hidden && !m.abandoned.Load() { // the attempt may go on, with the same cards
		return
	}
	doc := m.document()
	if !m.abandoned.Load() {
		doc.Draw = nil // after a restart the referee may continue this attempt with its nonce
	}
	m.advance(doc, protocol.StateAbandoned)
	m.write(doc, "no file has the abandoned attempt")
}

// fileEnding records the exchanges after the result of an attempt that the referee will
// report after a restart.
func (m *match) fileEnding() {
	if m.doc == nil || m.transcript == nil {
		return
	}
	m.pending.Wait()
	m.transcript.moveTo(m.doc, false)
	if recordedOf(m.doc) != m.recorded {
		m.record(m.doc, false, "its transcript ends with the result")
	}
}

// fileReply writes the match file with the manager's reply to the report. A lost record does no
// harm: the referee reports the result again.
func (m *match) fileReply(refusal *protocol.Error) {
	if m.doc == nil {
		return
	}
	doc, before := m.doc, m.doc.Refusal
	doc.Refusal = exchangeError(refusal, []string{m.member.Token})
	if refusal != nil && before != nil && *before == *doc.Refusal && m.recorded == recordedOf(doc) {
		return // the file has this refusal
	}
	if refusal != nil {
		m.advance(doc, protocol.StateDisputed)
		m.write(doc, "no file has the refused result")
		return
	}
	m.advance(doc, protocol.StateAcknowledged)
	m.doc = nil // from now on it is read from its file
	m.write(doc, "the manager has the result")
}

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
	case r.hides(doc.GameType) && !r.isRecorded(doc):
		return nil, protocol.Fault(protocol.ErrMatchNotFound, "game %s hides something: the file of attempt %d at %q is "+
			"shown when the match is recorded", doc.GameType, q.Attempt, q.MatchID)
	}
	text, err := json.Marshal(doc)
	return &protocol.MatchTranscript{MatchID: q.MatchID, Attempt: q.Attempt, Match: text}, err
}

// isRecorded tells whether the manager has recorded the match of a document, as far as the referee knows.
func (r *Referee) isRecorded(doc *store.Match) bool {
	r.mu.Lock()
	over := r.completed != nil
	r.mu.Unlock()
	if over || doc.Lifecycle.State == protocol.StateAcknowledged {
		return true
	}
	counts, err := r.options.Folder.LoadMatch(doc.LeagueID, doc.MatchID)
	return err == nil && counts.Lifecycle.State == protocol.StateAcknowledged
}

// awaitReply waits for the manager's reply to a report that is under way: it may just have
// arrived.
func (r *Referee) awaitReply(ctx context.Context, matchID string) {
	m := r.known(matchID)
	if m == nil {
		return
	}
	membership.Wait(ctx, r.rested, func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		return !m.reporting
	})
}
