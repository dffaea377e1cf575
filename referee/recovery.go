package referee

import (
	"errors"
	"fmt"
	"io/fs"

	"evenodd/league/membership"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/store/appendfile"
)

// reportUnacknowledged reports the matches that this referee finished before it was
// restarted, and whose report the manager has not acknowledged. If it cannot read them, it
// returns an error: the referee would play them again, to another result than the players know.
func (r *Referee) reportUnacknowledged(member *membership.Membership) error {
	if !r.hasFiles(member) {
		return nil
	}
	if _, err := r.openLog(member); isDamage(err) || r.isUnread(member, err) {
		return fmt.Errorf("cannot read the matches that this referee has finished: %w: repair the disk or restore the "+
			"file, and start again. Without a copy, move the file away: what it alone has is then played again", err)
	}
	for matchID, doc := range r.unreported(member) {
		if doc.Lifecycle.State != protocol.StateFinished {
			continue
		}
		r.options.Log.Info().Str("match_id", matchID).Int("attempt", doc.Attempt).Str("event_type", "REPORT_RESUMED").
			Msg("reporting a match again that was finished before the restart and not acknowledged")
		r.mu.Lock()
		if r.matches[matchID] == nil {
			m := recovered(r, member, doc)
			r.matches[matchID] = m
			r.work(m, (*match).report)
		}
		r.mu.Unlock()
	}
	return nil
}

// isDamage tells whether a log or a line of it may have results of this referee, but is damaged. One of another
// program, league or referee has none.
func isDamage(err error) bool {
	return errors.Is(err, appendfile.ErrChecksum) || errors.Is(err, appendfile.ErrUnsealed) ||
		errors.Is(err, appendfile.ErrUnended)
}

// isUnread tells whether the disk has a log that it does not open, by the error. One that it could not create, as a
// full disk, is missing or empty.
func (r *Referee) isUnread(member *membership.Membership, err error) bool {
	if _, failed := errors.AsType[*fs.PathError](err); !failed {
		return false
	}
	info, err := r.options.Folder.Disk.Stat(r.options.Folder.MatchLog(member.LeagueID, member.AgentID))
	return err == nil && info.Size() > 0 || err != nil && !errors.Is(err, fs.ErrNotExist)
}

// recover loads a match that has a result of this referee on disk and is not in
// memory.
func (r *Referee) recover(member *membership.Membership, matchID string) {
	if r.known(matchID) != nil {
		return
	}
	m := r.find(member, matchID) // without a lock, because it reads the disk
	r.mu.Lock()
	defer r.mu.Unlock()
	if m == nil || r.matches[matchID] != nil {
		return
	}
	r.matches[matchID] = m
	if m.reported {
		r.remember(m)
	}
}

// find reads a match from disk: the newest attempt with a result that the manager has not
// acknowledged, else the match file if this referee wrote it. It returns nil for none.
func (r *Referee) find(member *membership.Membership, matchID string) *match {
	if !r.hasFiles(member) || !protocol.ValidLeagueID(matchID) {
		return nil
	}
	doc := r.unreported(member)[matchID]
	if doc == nil {
		doc = r.readOwn(member, matchID)
	}
	if doc == nil {
		return nil
	}
	return recovered(r, member, doc)
}

// readOwn reads the file of a match if it has a result of this referee, else it returns
// nil. A damaged file counts as none: the match can be played again.
func (r *Referee) readOwn(member *membership.Membership, matchID string) *store.Match {
	doc, err := r.options.Folder.LoadMatch(member.LeagueID, matchID)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		if doc.RefereeID != member.AgentID || doc.WrittenBy != store.WrittenByReferee {
			return nil // a valid file without a result of this referee
		}
		err = checkOwn(member, doc, matchID)
	}
	if err != nil {
		r.logUnusable(err, matchID, r.options.Folder.Match(member.LeagueID, matchID))
		return nil
	}
	return doc
}

func (r *Referee) logUnusable(err error, matchID, path string) {
	r.options.Log.Error().Err(err).Str("match_id", matchID).Str("file", path).Str("event_type", "MATCH_FILE_UNUSABLE").
		Msg("a match file is damaged: the match is played again when it is assigned")
}

// checkOwn returns an error unless a document has a result of this referee in a match.
func checkOwn(member *membership.Membership, doc *store.Match, matchID string) error {
	switch {
	case doc.LeagueID != member.LeagueID, doc.MatchID != matchID, doc.RefereeID != member.AgentID:
		return fmt.Errorf("it is the file of match %.64q of league %.64q by %.64q", doc.MatchID, doc.LeagueID, doc.RefereeID)
	case doc.Attempt < 1, doc.Result == nil, doc.PlayerA.PlayerID == "", doc.PlayerB.PlayerID == "":
		return errors.New("attempt, result or player_id is missing")
	case doc.Members == protocol.MembersPlain:
		return nil
	case doc.Draw == nil:
		return errors.New("the draw is missing")
	}
	d := doc.Draw
	if _, ok := protocol.OpensDraw(d.Commitment, doc.LeagueID, doc.MatchID, doc.Attempt, doc.RefereeID, d.Nonce); !ok {
		return errors.New("the nonce does not match the commitment")
	}
	return nil
}

// recovered makes a finished match from its file.
func recovered(r *Referee, member *membership.Membership, doc *store.Match) *match {
	m := &match{
		referee: r, member: member, matchID: doc.MatchID, attempt: doc.Attempt,
		players:      [2]string{doc.PlayerA.PlayerID, doc.PlayerB.PlayerID},
		conversation: protocol.MatchConversation(doc.MatchID, doc.Attempt),
		commitment:   protocol.ValueOf(doc.Draw).Commitment, state: protocol.StateFinished,
		reported: doc.Lifecycle.State == protocol.StateAcknowledged, hidden: r.hides(doc.GameType),
	}
	m.outdated = doc.Refusal != nil && doc.Refusal.ErrorCode == string(protocol.ErrInvalidMatchState)
	m.final = &protocol.MatchResultReport{RoundID: doc.RoundID, GameType: doc.GameType,
		Result: protocol.ReportedResult(*doc.Result), Draw: doc.Draw, Evidence: doc.Evidence}
	m.address(m.final, doc.Members)
	if doc.Started != "" {
		m.final.TranscriptDigest = doc.Digest()
	}
	if !m.reported {
		m.doc, m.recorded = doc, recordedOf(doc)
	}
	return m
}
