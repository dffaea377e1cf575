package manager

import (
	"context"
	"errors"

	"golang.org/x/time/rate"

	"evenodd/league"
	"evenodd/league/decide"
	"evenodd/league/journal"
	"evenodd/league/protocol"
)

// An organiser is the caller with the admin token. Its requests have the limits of an agent.
type organiser struct {
	token string
	calls throttle      // of requests for which the league does not wait
	news  chan struct{} // has an element after a decision; Run reads it while it waits
}

// newOrganiser makes the organiser of a league from the manager's key for its token.
func newOrganiser(key [32]byte, o *Options) *organiser {
	return &organiser{
		token: protocol.AdminToken(key, o.LeagueID), news: make(chan struct{}, 1),
		calls: throttle{o.Clock, rate.NewLimiter(rate.Limit(o.Limits.RequestsPerSecond), o.Limits.Burst)},
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
func (m *Manager) organiseLeague(_ context.Context, _ string, q *protocol.OrganiseRequest) (*protocol.Organised,
	error) {
	if err := m.organiser.authenticate(protocol.OrganiseLeague.Name, q.AuthToken); err != nil {
		return nil, err
	}
	if q.LeagueID != m.options.LeagueID {
		return nil, decide.OtherLeague(m.options.LeagueID, q.LeagueID)
	}
	done, ruled, err := m.command(q)
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

// command records a command, and has it carried out. It returns the match that runs and has its
// result by the command; nil for none.
func (m *Manager) command(q *protocol.OrganiseRequest) (done *protocol.Organised, ruled *match, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.fixParticipants(); err != nil {
		return nil, nil, err
	}
	order, atOnce := *q, q.Command == protocol.CommandStart && q.StartAt == ""
	if atOnce {
		if err := m.mayStart(); err != nil {
			return nil, nil, err
		}
		order.StartAt = protocol.FormatTimestamp(m.clock.Now())
	}
	event, err := decide.Decision(m.state, &order)
	if err != nil {
		return nil, nil, err
	}
	if err := m.record(event); errors.Is(err, errJournal) {
		return nil, nil, errJournal
	} else if err != nil {
		return nil, nil, protocol.Fault(protocol.ErrInvalidMatchState, "%v", err)
	}
	m.log.Info().Str("command", q.Command).Str("by", q.By).Str("about",
		event.Matter()+event.StartAt).Str("reason", q.Reason).
		Str("event_type", "ORGANISER_DECIDED").Msg("a decision of the organiser")
	done = &protocol.Organised{Status: protocol.StatusDone, Command: q.Command, At: m.recordedAt}
	if m.journal != nil {
		done.Event = m.state.Events
	}
	ruled, err = m.takeEffect(event, atOnce)
	if done.About = event.Next(m.state); q.Command != protocol.CommandStart {
		done.About = event.InWords(m.state) + ". " + done.About
	}
	return done, ruled, err
}

// takeEffect changes what the manager keeps beside the state by a decision. It returns the
// match that runs and is ruled; nil for none. M.mu is held.
func (m *Manager) takeEffect(d *journal.Decided, startsNow bool) (ruled *match, err error) {
	if d.AgentID != "" && m.state.Agents[d.AgentID] == nil { // its registration has ended
		delete(m.agents, d.AgentID)
		m.applicants.Forget(d.AgentID)
	}
	if m.state.Started == nil {
		err = m.replan(startsNow)
	}
	if d.Annulled {
		m.newTable = true
	}
	// the decision made its result
	if recorded, _, _, ok := m.state.Find(d.MatchID); ok && recorded.Event == m.state.Events {
		m.correct(d.MatchID)
		if x := m.running(d.MatchID); x != nil && !x.over() {
			ruled = x
		}
	}
	for _, x := range m.matches { // one that no referee has yet may be forfeited now
		x.wake()
	}
	if m.rematch != nil {
		m.rematch.wake()
	}
	signal(m.organiser.news)
	return ruled, err
}

// AnnulledResults is the number of results of a match that an organiser has annulled.
func (m *Manager) AnnulledResults(matchID string) int {
	id, _ := league.ParseMatchID(matchID) // no match has the zero id
	m.mu.Lock()
	defer m.mu.Unlock()
	if match, _, _, ok := m.state.Find(id); ok {
		return len(match.Annulled)
	}
	return 0
}

// correct has the changed result of a match told and written again. M.mu is held.
func (m *Manager) correct(id league.MatchID) {
	m.newTable, m.changed[id] = true, true
	m.files.refresh()
}
