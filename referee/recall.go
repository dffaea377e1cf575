package referee

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"evenodd/league/membership"
	"evenodd/league/protocol"
	"evenodd/league/store"
)

// resume takes up the matches that this referee has finished, before it died or
// was stopped, and whose report nobody has acknowledged: they are known again,
// and reported.
func (r *Referee) resume(member *membership.Membership) {
	if r.options.Folder == "" {
		return
	}
	for matchID, attempts := range r.unacknowledged(member, "") {
		doc := r.newest(member, matchID, attempts)
		if doc == nil || doc.Lifecycle.State != store.StateFinished {
			continue
		}
		r.options.Log.Info().Str("match_id", matchID).Int("attempt", doc.Attempt).
			Str("event_type", protocol.EventReportResumed).Msg("finished before, and not acknowledged: reporting it again")
		r.mu.Lock()
		if r.matches[matchID] == nil {
			m := recalled(r, member, doc)
			r.matches[matchID] = m
			r.reportAgain(m)
		}
		r.mu.Unlock()
	}
}

// recall makes a match known that is not in memory but on disk, with a result
// of this referee.
func (r *Referee) recall(member *membership.Membership, matchID string) {
	r.mu.Lock()
	known := r.matches[matchID] != nil
	r.mu.Unlock()
	if known {
		return
	}
	m := r.find(member, matchID) // no lock is held while the disk works
	if m == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.matches[matchID] != nil {
		return
	}
	r.matches[matchID] = m
	if m.reported {
		r.remember(matchID)
	}
}

// find looks for a match on disk: an attempt of this referee that has a result,
// the newest, else the match's own file if this referee wrote it.
func (r *Referee) find(member *membership.Membership, matchID string) *match {
	if r.options.Folder == "" || !protocol.ValidLeagueID(matchID) || !protocol.ValidLeagueID(member.LeagueID) {
		return nil
	}
	doc := r.newest(member, matchID, r.unacknowledged(member, matchID)[matchID])
	if doc == nil {
		doc = r.readOwn(member, r.options.Folder.Match(member.LeagueID, matchID), matchID, 0)
	}
	if doc == nil {
		return nil
	}
	return recalled(r, member, doc)
}

// newest is the newest of some attempts that has a result.
func (r *Referee) newest(member *membership.Membership, matchID string, attempts []int) *store.Match {
	slices.Sort(attempts)
	for _, n := range slices.Backward(attempts) {
		path := r.options.Folder.Attempt(member.LeagueID, matchID, n, member.AgentID)
		if doc := r.readOwn(member, path, matchID, n); doc != nil {
			return doc
		}
	}
	return nil
}

// unacknowledged are the attempts that this referee has files of, by match: of
// one match, or of all when matchID is "".
func (r *Referee) unacknowledged(member *membership.Membership, matchID string) map[string][]int {
	if !protocol.ValidLeagueID(member.LeagueID) || !protocol.ValidLeagueID(member.AgentID) {
		return nil
	}
	folder := r.options.Folder.Attempts(member.LeagueID)
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.options.Log.Error().Err(err).Str("folder", folder).
			Str("event_type", protocol.EventFinishedMatchesUnreadable).Msg("cannot look for finished matches: those that are there will be played again")
	}
	found := map[string][]int{}
	for _, e := range entries {
		id, n, ok := ownAttempt(e.Name(), member.AgentID)
		if ok && (matchID == "" || id == matchID) {
			found[id] = append(found[id], n)
		}
	}
	return found
}

// ownAttempt reads the name of an attempt's file: R1M1.a2.REF01.json.
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

// readOwn reads a match file if it holds a result of this referee. A damaged
// one is as good as none: the match can be played again. Attempt 0 is any.
func (r *Referee) readOwn(member *membership.Membership, path, matchID string, attempt int) *store.Match {
	doc, err := store.Read[store.Match](path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		if doc.RefereeID != member.AgentID && attempt == 0 || doc.WrittenBy != store.WrittenByReferee || doc.Lifecycle.State == store.StateAbandoned {
			return nil // it may well be in order, but there is no result of this referee in it
		}
		err = checkOwn(member, doc, matchID, attempt)
	}
	if err != nil {
		r.options.Log.Error().Err(err).Str("match_id", matchID).Str("file", path).
			Str("event_type", protocol.EventMatchFileUnusable).Msg("a match's file is of no use, and the match is played again when it is handed over")
		return nil
	}
	return doc
}

// checkOwn tells what is wrong with a file as a result of this referee, by what
// stands in it and where it stands.
func checkOwn(member *membership.Membership, doc *store.Match, matchID string, attempt int) error {
	switch {
	case doc.LeagueID != member.LeagueID:
		return fmt.Errorf("league_id: is %.64q, but the file is one of league %s", doc.LeagueID, member.LeagueID)
	case doc.MatchID != matchID:
		return fmt.Errorf("match_id: is %.64q, but the file is that of match %s", doc.MatchID, matchID)
	case doc.RefereeID != member.AgentID:
		return fmt.Errorf("referee_id: is %.64q, but the file is that of %s", doc.RefereeID, member.AgentID)
	case doc.Attempt < 1 || attempt != 0 && doc.Attempt != attempt:
		return fmt.Errorf("attempt: is %d, but the file is that of attempt %d", doc.Attempt, attempt)
	case doc.Result == nil:
		return errors.New("result: is missing")
	case doc.Draw == nil:
		return errors.New("draw: is missing")
	case doc.PlayerA.PlayerID == "" || doc.PlayerB.PlayerID == "":
		return errors.New("player_id: is missing")
	}
	nonce, ok := protocol.ParseSecret(doc.Draw.Nonce)
	if !ok || protocol.DrawCommitment(doc.LeagueID, doc.MatchID, doc.Attempt, doc.RefereeID, nonce) != doc.Draw.Commitment {
		return errors.New("draw: the nonce is not what the commitment promised")
	}
	return nil
}

// recalled is a finished match as its file has it.
func recalled(r *Referee, member *membership.Membership, doc *store.Match) *match {
	m := &match{
		referee: r, member: member, matchID: doc.MatchID, attempt: doc.Attempt,
		players:      [2]string{doc.PlayerA.PlayerID, doc.PlayerB.PlayerID},
		conversation: protocol.MatchConversation(doc.MatchID, doc.Attempt),
		commitment:   doc.Draw.Commitment, state: store.StateFinished,
		reported: doc.Lifecycle.State == store.StateAcknowledged,
	}
	m.final = m.reportOf(&doc.Result.GameResult, doc.Result.Score, doc.Draw)
	m.final.RoundID, m.final.GameType = doc.RoundID, doc.GameType
	if !m.reported {
		m.doc = doc
	}
	return m
}
