package league

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"evenodd/league/journal"
	"evenodd/league/protocol"
)

// Agents may register before they listen, so that the manager pings an endpoint
// only after the registration, in the background. That an agent has answered is
// a fact of its own: the league starts when enough agents have registered and
// answered.

// The pings of agents that have not answered: the first pause between two pings
// of one agent, the longest, and how many pings run at once.
const (
	firstPingPause = 50 * time.Millisecond
	longPingPause  = 5 * time.Second
	pingsAtOnce    = 32
)

// expectAnswer has a registered agent pinged until it answers, unless it has.
// M.mu is held.
func (m *Manager) expectAnswer(a *agent) {
	a.since = m.options.Clock.Now()
	if m.hasAnswered(a) {
		return
	}
	i, _ := slices.BinarySearchFunc(m.awaited, a.id, protocol.CompareIDs)
	m.awaited = slices.Insert(m.awaited, i, a.id)
	m.silent = append(m.silent, a)
	select {
	case m.newSilent <- struct{}{}:
	default: // awaitAnswers will look anyway
	}
}

// hasAnswered tells whether an agent has ever answered. M.mu is held.
func (m *Manager) hasAnswered(a *agent) bool { return m.state.Agents[a.id].Answered }

// answeredCounts counts the registered agents that have answered. M.mu is held.
func (m *Manager) answeredCounts() (players, referees int) {
	for _, a := range m.state.Agents {
		switch {
		case !a.Answered:
		case a.Player:
			players++
		default:
			referees++
		}
	}
	return players, referees
}

// firstAwaited are the ids of at most limit agents that have not answered, in order;
// nil for none. M.mu is held.
func (m *Manager) firstAwaited(limit int) []string {
	return append([]string(nil), m.awaited[:min(len(m.awaited), limit)]...)
}

// loggedIDs is how many ids of awaited agents a log line shows.
const loggedIDs = 10

// logAwaited adds to a log line how many agents have not answered, and the first of
// them. M.mu is held.
func (m *Manager) logAwaited(line *zerolog.Event) {
	line.Int("awaited_count", len(m.awaited)).Strs("awaited", m.firstAwaited(loggedIDs))
}

// noLongerAwaited removes an agent from those that have not answered. M.mu is held.
func (m *Manager) noLongerAwaited(a *agent) {
	if i, found := slices.BinarySearchFunc(m.awaited, a.id, protocol.CompareIDs); found {
		m.awaited = slices.Delete(m.awaited, i, i+1)
	}
}

// graceLeft is how long an agent may go on being silent before its registration
// may be dropped: 0 when it may be dropped now. An agent that has answered is
// never dropped. M.mu is held.
func (m *Manager) graceLeft(a *agent) time.Duration {
	if m.hasAnswered(a) {
		return time.Duration(1<<63 - 1)
	}
	return max(0, m.options.RegistrationGrace-m.options.Clock.Now().Sub(a.since))
}

// drop ends the registration of an agent that has not answered. M.mu is held.
func (m *Manager) drop(a *agent, reason string) error {
	if err := m.record(&journal.RegistrationDropped{AgentID: a.id, Reason: reason}); err != nil {
		return err
	}
	delete(m.agents, a.id)
	m.noLongerAwaited(a)
	m.options.Log.Warn().Str("id", a.id).Str("name", a.name).Str("endpoint", a.address()).Str("reason", reason).
		Str("event_type", protocol.EventRegistrationDropped).Msg("registration dropped")
	return nil
}

// dropSilent drops, at the start, the agents that have not answered: only agents
// that are there take part. M.mu is held.
func (m *Manager) dropSilent() error {
	for _, id := range m.firstAwaited(len(m.awaited)) {
		if err := m.drop(m.agents[id], journal.DroppedAtStart); err != nil {
			return err
		}
	}
	return nil
}

// awaitAnswers pings the agents that have not answered, each until it answers or
// is dropped, until ctx ends.
func (m *Manager) awaitAnswers(ctx context.Context) {
	var pinging sync.WaitGroup
	defer pinging.Wait()
	slots := make(chan struct{}, pingsAtOnce)
	for {
		m.mu.Lock()
		silent := m.silent
		m.silent = nil
		m.mu.Unlock()
		for _, a := range silent {
			pinging.Go(func() { m.awaitAnswer(ctx, a, slots) })
		}
		select {
		case <-m.newSilent:
		case <-ctx.Done():
			return
		}
	}
}

// awaitAnswer pings one agent. Each ping takes a slot.
func (m *Manager) awaitAnswer(ctx context.Context, a *agent, slots chan struct{}) {
	warned := false
	for pause := firstPingPause; ; pause = min(2*pause, longPingPause) {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		pong, err := m.pingOnce(ctx, a.address())
		<-slots
		if ctx.Err() != nil || m.decidedBy(a, pong, err, &warned) || m.options.Clock.Sleep(ctx, pause) != nil {
			return
		}
	}
}

// decidedBy records what a ping says of an agent. It tells whether no more pings
// are needed.
func (m *Manager) decidedBy(a *agent, pong *protocol.Pong, err error, warned *bool) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.agents[a.id] != a || m.hasAnswered(a) || m.state.Started != nil {
		return true
	}
	switch {
	case protocol.Forbidden(err):
		return m.drop(a, journal.DroppedForbidden) == nil
	case isManager(pong, err):
		return m.drop(a, journal.DroppedManager) == nil
	case answered(err):
		if m.record(&journal.AgentAnswered{AgentID: a.id}) != nil {
			return true // the journal fails, and with it the manager
		}
		m.noLongerAwaited(a)
		m.options.Log.Info().Str("id", a.id).Func(m.logAwaited).Str("event_type", protocol.EventAgentAnswered).Msg("agent answered its first ping")
		m.enough()
		return true
	case m.graceLeft(a) == 0 && !*warned:
		*warned = true
		m.options.Log.Warn().Err(err).Str("id", a.id).Str("name", a.name).Str("endpoint", a.address()).
			Str("event_type", protocol.EventAgentSilent).Msg("no answer from the agent's endpoint within the grace period; another applicant may replace it")
	}
	return false
}
