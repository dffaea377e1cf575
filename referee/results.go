package referee

import (
	"errors"
	"fmt"
	"sync"

	"evenodd/league/membership"
	"evenodd/league/protocol"
	"evenodd/league/store"
)

// results is the referee's write-ahead log in its league. It is opened when it is first
// needed, because the folder of a league has no files of this referee before its first
// match.
type results struct {
	mu      sync.Mutex
	path    string
	log     *store.MatchLog // nil while it is not open
	stopped bool

	// unreported are the results that the manager has not acknowledged, by match: those of
	// the newest attempts that the log had when it was opened.
	unreported map[string]*store.Match
}

var errStopped = errors.New("the referee has stopped")

// openLog opens the log of a membership. A damaged line of it is an error, because it may have been a result.
func (r *Referee) openLog(member *membership.Membership) (*store.MatchLog, error) {
	s, path := &r.results, r.options.Folder.MatchLog(member.LeagueID, member.AgentID)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.stopped:
		return nil, errStopped
	case s.log != nil && s.path == path:
		return s.log, nil
	}
	r.drop() // the log of an earlier membership
	if err := r.options.Folder.CheckShape(member.LeagueID); err != nil {
		return nil, err
	}
	log, found, torn, err := store.OpenMatchLog(r.options.Folder, member.LeagueID, member.AgentID)
	if err != nil {
		return nil, err
	}
	if torn != nil {
		r.options.Log.Warn().Str("event_type", "RESULTS_TORN").Msg(torn.String())
	}
	for _, damage := range found.Damage {
		if isDamage(damage) {
			return nil, errors.Join(fmt.Errorf("%s: %w", path, damage), log.Close())
		}
		r.logUnusable(damage, "", path)
	}
	s.path, s.log, s.unreported = path, log, r.unacknowledged(member, found, path)
	return log, nil
}

// unacknowledged are the newest attempts in a log whose result the manager has not
// acknowledged, by match.
func (r *Referee) unacknowledged(member *membership.Membership, found *store.LoggedMatches,
	path string) map[string]*store.Match {
	newest := map[string]*store.Match{}
	for _, m := range found.Matches {
		if known := newest[m.MatchID]; known == nil || known.Attempt < m.Attempt {
			newest[m.MatchID] = m.Match
		}
	}
	for matchID, doc := range newest {
		open := doc.Lifecycle.State == protocol.StateFinished || doc.Lifecycle.State == protocol.StateDisputed
		if err := checkOwn(member, doc, matchID); open && err != nil {
			r.logUnusable(err, matchID, path)
			open = false
		}
		if !open {
			delete(newest, matchID)
		}
	}
	return newest
}

// drop closes the log, after a checkpoint. R.results.mu is held.
func (r *Referee) drop() {
	s := &r.results
	if s.log != nil {
		r.logCheckpoint(s.log.Close())
	}
	s.log, s.unreported = nil, nil
}

// closeLog closes the log.
func (r *Referee) closeLog(forGood bool) {
	s := &r.results
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = s.stopped || forGood
	r.drop()
}

// checkpoint makes the files of the matches durable.
func (r *Referee) checkpoint() {
	r.results.mu.Lock()
	log := r.results.log
	r.results.mu.Unlock()
	if log != nil {
		r.logCheckpoint(log.Checkpoint())
	}
}

func (r *Referee) logCheckpoint(err error) {
	if err != nil {
		r.options.Log.Error().Err(err).Str("event_type", "MATCH_FILE_UNWRITTEN").
			Msg("cannot make the match files durable: the log keeps their matches, and the next checkpoint writes " +
				"them again")
	}
}

// unreported are the results that the manager had not acknowledged when the log
// was opened, by match. The caller must not change the map.
func (r *Referee) unreported(member *membership.Membership) map[string]*store.Match {
	if _, err := r.openLog(member); err != nil && !errors.Is(err, errStopped) {
		r.options.Log.Error().Err(err).Str("file", r.options.Folder.MatchLog(member.LeagueID, member.AgentID)).
			Str("event_type", "FINISHED_MATCHES_UNREADABLE").
			Msg("cannot open the log of finished matches: those that it alone has will be played again")
	}
	r.results.mu.Lock()
	defer r.results.mu.Unlock()
	return r.results.unreported
}
