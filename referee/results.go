package referee

import (
	"bytes"
	"errors"
	"sync"

	"evenodd/league/membership"
	"evenodd/league/protocol"
	"evenodd/league/store"
)

// results is the referee's results file in its league. It is opened when it is first
// needed, because the folder of a league has no files of this referee before its first
// match. After a failed write it is opened again, which removes an incomplete line.
type results struct {
	mu      sync.Mutex
	path    string
	file    *store.ResultsFile // nil while it is not open
	stopped bool

	// unreported are the results that the manager has not acknowledged, by match: those of
	// the newest attempts that the file had when it was opened.
	unreported map[string]*store.Match
}

var errStopped = errors.New("the referee has stopped")

// openResults opens the results file of a membership. R.results.mu is held.
func (r *Referee) openResults(member *membership.Membership) (*store.ResultsFile, error) {
	s, path := &r.results, r.options.Folder.Results(member.LeagueID, member.AgentID)
	switch {
	case s.stopped:
		return nil, errStopped
	case s.file != nil && s.path == path:
		return s.file, nil
	}
	s.drop() // the file of an earlier membership
	found := attempts{}
	file, torn, err := store.OpenResults(path, member.LeagueID, member.AgentID, func(h *store.ResultsHeader, l *store.RecordLine) error {
		if l.Damage != nil {
			r.logUnusable(l.Damage, "", path)
		}
		found.add(h, l)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if torn != nil {
		r.options.Log.Warn().Str("event_type", protocol.EventResultsTorn).Msg(torn.String())
	}
	s.path, s.file, s.unreported = path, file, r.unacknowledged(member, found, path)
	r.adoptAttempts(member)
	return file, nil
}

// drop closes the file. S.mu is held.
func (s *results) drop() {
	if s.file != nil {
		_ = s.file.Close() // a failure was returned to those that wait for their record
	}
	s.file, s.unreported = nil, nil
}

// close closes the file, after writing what is queued.
func (s *results) close(forGood bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = s.stopped || forGood
	s.drop()
}

// record appends a record to the results file, and returns its line. If it must be durable,
// record returns when it is on disk.
func (r *Referee) record(member *membership.Membership, record *store.Record, durable bool) (line int, err error) {
	s := &r.results
	s.mu.Lock()
	file, err := r.openResults(member)
	s.mu.Unlock()
	if err != nil {
		return 0, err
	}
	line, err = file.Append(record, durable)
	if err == nil && durable {
		err = file.Sync(line)
	}
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.file == file {
			s.drop()
		}
	}
	return line, err
}

// unreported are the results that the manager had not acknowledged when the results file
// was opened, by match. The caller must not change the map.
func (r *Referee) unreported(member *membership.Membership) map[string]*store.Match {
	s := &r.results
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := r.openResults(member); err != nil && !errors.Is(err, errStopped) {
		r.options.Log.Error().Err(err).Str("file", r.options.Folder.Results(member.LeagueID, member.AgentID)).
			Str("event_type", protocol.EventFinishedMatchesUnreadable).Msg("cannot read finished matches: they will be played again")
	}
	return s.unreported
}

// attempts are the newest attempts whose last record has a result that the manager has not
// acknowledged, by match.
type attempts map[string]*attempt

// An attempt has the records of an attempt, undecoded: most attempts are acknowledged.
type attempt struct {
	header *store.ResultsHeader
	number int
	lines  []*store.RecordLine
}

// add adds a line of the results file.
func (found attempts) add(header *store.ResultsHeader, l *store.RecordLine) {
	a := found[l.MatchID]
	open := l.State == store.StateFinished || l.State == store.StateDisputed
	switch {
	case l.Damage != nil || a != nil && a.number > l.Attempt:
		return
	case !open && a != nil && a.number == l.Attempt:
		delete(found, l.MatchID)
		return
	case !open:
		return
	case a == nil || a.number < l.Attempt:
		a = &attempt{header: header, number: l.Attempt}
		found[l.MatchID] = a
	}
	line := *l
	line.Text = bytes.Clone(l.Text)
	a.lines = append(a.lines, &line)
}

// match decodes the attempt.
func (a *attempt) match() (*store.Match, error) {
	records := make([]*store.Record, len(a.lines))
	for i, l := range a.lines {
		var err error
		if records[i], err = l.Record(); err != nil {
			return nil, err
		}
	}
	return store.MatchOf(a.header, records...)
}
