package manager

import (
	"context"
	"slices"
	"time"

	"evenodd/league/decide"
	"evenodd/league/journal"
	"evenodd/league/protocol"
)

// reviveEvery is the pause between two pings of suspended agents while a league runs. A
// simulated league pings between rounds only, where time cannot change a result.
const reviveEvery = 15 * time.Second

// atBarrier suspends and shuts down agents between two rounds, and pings the suspended
// ones (spec 003 §2.8). While a round is open it does nothing: matches of a round end
// in any order.
func (m *Manager) atBarrier(ctx context.Context) error {
	m.mu.Lock()
	open, err := m.state.Open(), error(nil)
	if !open {
		err = m.judgeAll()
	}
	m.mu.Unlock()
	if err == nil && !open {
		m.revive(ctx, m.participants(), nil)
		err = ctx.Err()
	}
	return err
}

// judgeAll records the suspensions and shutdowns that are due. M.mu is held.
func (m *Manager) judgeAll() error {
	for _, a := range m.participants() {
		event := decide.Suspension(m.state, a.id)
		if event == nil {
			continue
		}
		if err := m.record(event); err != nil {
			return err
		}
		state, reason := m.state.Lifecycle(m.state.Agents[a.id])
		m.log.Warn().Str("id", a.id).Str("state", state).Str("reason", reason).
			Str("event_type", "AGENT_INACTIVE").Msg("an agent gets nothing to do any more")
	}
	return nil
}

// revive pings those of some agents that are suspended or have failed, all at the same
// time, and returns those that answer. It ends their suspensions.
func (m *Manager) revive(ctx context.Context, of []*agent, failed failedReferees) (back []*agent) {
	m.mu.Lock()
	of = slices.DeleteFunc(slices.Clone(of), func(a *agent) bool {
		is := m.state.Agents[a.id]
		return is.ShutdownReason != "" || is.SuspendReason == "" && !failed.has(a)
	})
	m.mu.Unlock()
	there := m.answering(of, func(a *agent) (*protocol.Pong, error) { return m.ping(ctx, a.address()) })
	if ctx.Err() != nil {
		return nil // the agents had no time to answer
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, a := range of {
		if !there[i] {
			continue
		}
		back = append(back, a)
		if revival := decide.Revival(m.state, a.id); revival != nil && m.record(revival) == nil {
			m.log.Info().Str("id", a.id).Str("event_type", "AGENT_BACK").Msg("an agent is back")
		}
	}
	return back
}

// watch revives suspended agents from time to time, until ctx ends.
func (m *Manager) watch(ctx context.Context) {
	for m.clock.Sleep(ctx, reviveEvery) == nil {
		m.revive(ctx, m.participants(), nil)
	}
}

// present are the agents of a list that are told about the league. Suspended agents are
// not: each could delay a broadcast for as long as it may take. M.mu is held.
func (m *Manager) present(of []*agent) []*agent {
	return slices.DeleteFunc(slices.Clone(of), func(a *agent) bool { return m.state.Agents[a.id].Inactive() })
}

// failed records that the referee failed with the match.
func (m *Manager) failed(h *handover, result outcome, reason string) {
	id, referee := h.id, h.referee
	m.mu.Lock()
	defer m.mu.Unlock()
	event := decide.RefereeFailure(m.state, id, referee.id, reason)
	if event != nil && h.obliging && result == reportLate {
		event.AcknowledgesAll = true
		reason = journal.AcknowledgesAll(referee.id)
	}
	if event != nil && m.record(event) == nil {
		m.log.Warn().Stringer("match_id", id).Str("referee_id", referee.id).Str("reason", reason).
			Str("event_type", "REFEREE_FAILED").Msg("a referee failed")
	}
}
