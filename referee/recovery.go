package referee

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"evenodd/league/membership"
	"evenodd/league/protocol"
	"evenodd/league/store"
)

// reportUnacknowledged reports the matches that this referee finished before it was
// restarted, and whose report the manager has not acknowledged.
func (r *Referee) reportUnacknowledged(member *membership.Membership) {
	if !r.hasFiles(member) {
		return
	}
	for matchID, doc := range r.unreported(member) {
		if doc.Lifecycle.State != store.StateFinished {
			continue
		}
		r.options.Log.Info().Str("match_id", matchID).Int("attempt", doc.Attempt).
			Str("event_type", protocol.EventReportResumed).Msg("reporting a match again that was finished before the restart and not acknowledged")
		r.mu.Lock()
		if r.matches[matchID] == nil {
			m := recovered(r, member, doc)
			r.matches[matchID] = m
			r.reportAgain(m)
		}
		r.mu.Unlock()
	}
}

// recover loads a match that has a result of this referee on disk and is not in
// memory.
func (r *Referee) recover(member *membership.Membership, matchID string) {
	r.mu.Lock()
	known := r.matches[matchID] != nil
	r.mu.Unlock()
	if known {
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
		r.remember(matchID)
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
		doc = r.readOwn(member, r.options.Folder.Match(member.LeagueID, matchID), matchID, 0)
	}
	if doc == nil {
		return nil
	}
	return recovered(r, member, doc)
}

// unacknowledged decodes attempts that the results file has.
func (r *Referee) unacknowledged(member *membership.Membership, found attempts, path string) map[string]*store.Match {
	docs := map[string]*store.Match{}
	for matchID, a := range found {
		doc, err := a.match()
		if err == nil {
			err = checkOwn(member, doc, matchID, a.number)
		}
		if err != nil {
			r.logUnusable(err, matchID, path)
			continue
		}
		docs[matchID] = doc
	}
	return docs
}

// adoptAttempts moves the results that an earlier version has left in files of their own to
// the results file. R.results.mu is held.
func (r *Referee) adoptAttempts(member *membership.Membership) {
	folder := r.options.Folder.Attempts(member.LeagueID)
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.options.Log.Error().Err(err).Str("folder", folder).
			Str("event_type", protocol.EventFinishedMatchesUnreadable).Msg("cannot list finished matches: they will be played again")
	}
	for _, e := range entries {
		matchID, n, ok := ownAttempt(e.Name(), member.AgentID)
		if known := r.results.unreported[matchID]; !ok || known != nil && known.Attempt >= n {
			continue
		}
		path := filepath.Join(folder, e.Name())
		doc := r.readOwn(member, path, matchID, n)
		if doc == nil {
			continue
		}
		r.results.unreported[matchID] = doc
		record := store.RecordOf(doc, store.Recorded{})
		line, err := r.results.file.Append(record, true)
		doc.Digest = record.Digest
		if err == nil {
			err = r.results.file.Sync(line)
		}
		if err == nil {
			err = os.Remove(path)
		}
		if err != nil {
			r.options.Log.Warn().Err(err).Str("file", path).
				Str("event_type", protocol.EventAttemptFileLeft).Msg("cannot move the file of an attempt to the results file")
		}
	}
}

// ownAttempt parses the name of an attempt's file: R1M1.a2.REF01.json.
func ownAttempt(file, refereeID string) (matchID string, attempt int, ok bool) {
	file, ok = strings.CutSuffix(file, "."+refereeID+".json")
	if !ok {
		return "", 0, false
	}
	dot := strings.LastIndex(file, ".a")
	if dot < 0 {
		return "", 0, false
	}
	attempt, err := strconv.Atoi(file[dot+2:])
	matchID = file[:dot]
	return matchID, attempt, err == nil && attempt > 0 && protocol.ValidLeagueID(matchID)
}

// readOwn reads a match file if it has a result of this referee, else it returns
// nil. A damaged file counts as none: the match can be played again. Attempt 0
// stands for any.
func (r *Referee) readOwn(member *membership.Membership, path, matchID string, attempt int) *store.Match {
	doc, err := store.Read[store.Match](path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		if doc.RefereeID != member.AgentID && attempt == 0 || doc.WrittenBy != store.WrittenByReferee || doc.Lifecycle.State == store.StateAbandoned {
			return nil // a valid file without a result of this referee
		}
		err = checkOwn(member, doc, matchID, attempt)
	}
	if err != nil {
		r.logUnusable(err, matchID, path)
		return nil
	}
	return doc
}

func (r *Referee) logUnusable(err error, matchID, path string) {
	r.options.Log.Error().Err(err).Str("match_id", matchID).Str("file", path).
		Str("event_type", protocol.EventMatchFileUnusable).Msg("a match file is damaged: the match is played again when it is assigned")
}

// checkOwn returns an error unless a file has a result of this referee for the
// attempt that its path names.
func checkOwn(member *membership.Membership, doc *store.Match, matchID string, attempt int) error {
	for _, id := range []struct{ name, is, want string }{
		{"league_id", doc.LeagueID, member.LeagueID}, {"match_id", doc.MatchID, matchID}, {"referee_id", doc.RefereeID, member.AgentID},
	} {
		if id.is != id.want {
			return fmt.Errorf("%s is %.64q, but the file is that of %s", id.name, id.is, id.want)
		}
	}
	switch {
	case doc.Attempt < 1 || attempt != 0 && doc.Attempt != attempt:
		return fmt.Errorf("attempt is %d, but the file is that of attempt %d", doc.Attempt, attempt)
	case doc.Result == nil, doc.Draw == nil, doc.PlayerA.PlayerID == "", doc.PlayerB.PlayerID == "":
		return errors.New("result, draw or player_id is missing")
	}
	nonce, ok := protocol.ParseSecret(doc.Draw.Nonce)
	if !ok || !protocol.OpensDraw(doc.Draw.Commitment, doc.LeagueID, doc.MatchID, doc.Attempt, doc.RefereeID, nonce) {
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
		commitment:   doc.Draw.Commitment, state: store.StateFinished,
		reported: doc.Lifecycle.State == store.StateAcknowledged,
	}
	m.final = &m.reportOf(&doc.Result.GameResult).MatchResultReport
	m.final.Result.Score, m.final.Draw, m.final.Evidence = doc.Result.Score, doc.Draw, doc.Evidence
	if doc.Started != "" {
		m.final.TranscriptDigest = doc.Digest
	}
	m.final.RoundID, m.final.GameType = doc.RoundID, doc.GameType
	if !m.reported {
		m.doc, m.recorded = doc, store.RecordedOf(doc)
	}
	return m
}
