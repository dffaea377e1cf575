package manager

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"evenodd/league/decide"
	"evenodd/league/journal"
	"evenodd/league/protocol"
)

// An organiser is the caller with the admin token. Its requests have the limits of an agent.
// The ledger's lock guards the fields below calls.
type organiser struct {
	token  string
	calls  throttle      // of requests for which the league does not wait
	annuls atomic.Bool   // a result may be annulled: saves taking a lock
	news   chan struct{} // has an element after a decision; Run reads it while it waits

	newTable bool                      // the players have not been told the table since it changed
	decided  map[protocol.MatchID]bool // the matches whose result has changed in this process
}

// newOrganiser makes the organiser of a league from the manager's key for its token.
func newOrganiser(key [32]byte, o *Options) organiser {
	return organiser{
		token: protocol.AdminToken(key, o.LeagueID), news: make(chan struct{}, 1), decided: map[protocol.MatchID]bool{},
		calls: throttle{o.Clock, rate.NewLimiter(rate.Limit(o.AsksPerSecond), o.AsksAtOnce)},
	}
}

// is tells whether a token is that of the organiser.
func (o *organiser) is(token string) bool { return protocol.SameToken(token, o.token) }

// authenticate checks the token of a method that only the organiser may call.
func (o *organiser) authenticate(method, token string) error {
	switch {
	case token == "":
		return protocol.Fault(protocol.ErrTokenMissing, "%s needs the admin token as auth_token", method)
	case !o.is(token):
		return protocol.Fault(protocol.ErrTokenInvalid, "auth_token is not the admin token")
	}
	return o.calls.allow()
}

// organiseLeague carries out a command of the organiser. It answers when the decision is on
// disk.
func (m *Manager) organiseLeague(_ context.Context, _ string, q *protocol.OrganiseRequest) (*protocol.Organised, error) {
	if err := m.organiser.authenticate(protocol.OrganiseLeague.Name, q.AuthToken); err != nil {
		return nil, err
	}
	if q.LeagueID != m.options.LeagueID {
		return nil, decide.OtherLeague(m.options.LeagueID, q.LeagueID)
	}
	if q.Command == protocol.CommandStart {
		return m.planStart(q)
	}
	done, ruled, err := m.decide(q)
	if err != nil {
		return nil, err
	}
	if m.durable() != nil {
		return nil, errJournal
	}
	if ruled != nil {
		m.finished(ruled)
	}
	return done, nil
}

// planStart starts the league, or plans its start.
func (m *Manager) planStart(q *protocol.OrganiseRequest) (*protocol.Organised, error) {
	var at time.Time
	if q.StartAt != "" {
		var err error
		if at, err = time.Parse(time.RFC3339, q.StartAt); err != nil {
			return nil, protocol.Fault(protocol.ErrInvalidTimestamp, "start_at %.40q: want a time such as 2026-09-01T10:00:00Z", q.StartAt)
		}
	}
	event, when, about, err := m.PlanStart(journal.Decision{By: q.By, Reason: q.Reason}, at)
	if err != nil {
		return nil, err
	}
	if m.journal == nil {
		event = 0
	}
	return &protocol.Organised{Status: protocol.StatusDone, Command: q.Command, Event: event, At: when, About: about}, nil
}

// decide records a command, and has it carried out. It returns the match that runs and has its
// result by the command; nil for none.
func (m *Manager) decide(q *protocol.OrganiseRequest) (done *protocol.Organised, ruled *match, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.registrations.beginIfDecided(); err != nil {
		return nil, nil, err
	}
	event, err := decide.Decision(m.state, decide.Command{
		Name: q.Command, By: q.By, Reason: q.Reason, AgentID: q.AgentID, MatchID: q.MatchID, Winner: q.Winner,
	})
	if err != nil {
		return nil, nil, err
	}
	if err := m.record(event); errors.Is(err, errJournal) {
		return nil, nil, errJournal
	} else if err != nil {
		return nil, nil, protocol.Fault(protocol.ErrInvalidMatchState, "%v", err)
	}
	m.options.Log.Info().Str("command", q.Command).Str("by", q.By).Str("about", event.Matter()).Str("reason", q.Reason).
		Str("event_type", protocol.EventOrganiserDecided).Msg("a decision of the organiser")
	done = &protocol.Organised{
		Status: protocol.StatusDone, Command: q.Command, At: m.recordedAt,
		About: event.About() + ". " + decide.Consequence(m.state, event),
	}
	if m.journal != nil {
		done.Event = m.state.Events
	}
	return done, m.takeEffect(event), nil
}

// takeEffect changes what the manager keeps beside the state by a decision. It returns the
// match that runs and is ruled; nil for none. M.mu is held.
func (m *Manager) takeEffect(event journal.DecisionEvent) (ruled *match) {
	switch d := event.(type) {
	case *journal.Unpaused:
		m.wakeMatches()
	case *journal.AgentReadmitted:
		if m.state.Started == nil { // no league starts without a referee
			m.registrations.startIfComplete()
		}
	case *journal.AgentHeld:
		m.wakeMatches()
	case *journal.AgentWithdrawn:
		if m.state.Started == nil {
			delete(m.agents, d.AgentID)
			m.registrations.decide.Forget(d.AgentID)
		}
		m.organiser.newTable = m.organiser.newTable || d.Annulled
		m.wakeMatches()
	case *journal.MatchRuled:
		m.correct(d.MatchID)
		if x := m.running(d.MatchID); x != nil && !x.over() {
			ruled = x
		}
	}
	select {
	case m.organiser.news <- struct{}{}:
	default: // Run looks anyway
	}
	return ruled
}

// AnnulledResults is the number of results of a match that an organiser has annulled.
func (m *Manager) AnnulledResults(matchID string) int {
	id, ok := protocol.ParseMatchID(matchID)
	if !ok || !m.organiser.annuls.Load() {
		return 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	match, _, _, ok := m.state.Find(id)
	if !ok {
		return 0
	}
	return len(match.Annulled)
}

// correct notes that the result of a match is another one than was told or written. M.mu is
// held.
func (m *Manager) correct(id protocol.MatchID) {
	m.organiser.newTable = true
	m.organiser.annuls.Store(true)
	m.organiser.decided[id] = true
	m.files.correct()
}

// wakeMatches makes the conductors look at the running matches: one that no referee has yet may be
// forfeited now. M.mu is held.
func (m *Manager) wakeMatches() {
	for _, x := range m.matches {
		x.wake()
	}
	if m.rematch != nil {
		m.rematch.wake()
	}
}
