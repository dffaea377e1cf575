package manager

import (
	"context"

	"evenodd/league/decide"
	"evenodd/league/journal"
	"evenodd/league/protocol"
)

// reportedWithoutToken takes a match from its referee, whose report of it was refused because it has no token. Anyone
// can send such a report. So it takes the match at once only if it comes from an address at which the manager has
// reached the referee; otherwise when the time of the match is over. M.mu is held.
func (m *Manager) reportedWithoutToken(ctx context.Context, q *protocol.MatchResultReport) {
	x := m.runningMatch(q)
	if x == nil {
		return
	}
	id := decide.Holder(m.state, x.id)
	if !m.mayLackToken(id) || !q.NamelessSender() && protocol.AgentOf(q.Sender) != id {
		return
	}
	x.tokenless = x.recorded.LastAttempt(id)
	if from := m.options.CalledFrom; from != nil && from(ctx, m.agents[id].address()) {
		m.loseTokenless(x, id)
	}
}

// mayLackToken tells whether a referee may be unable to send its token. One that shows players access tokens, or has
// ever used its token, can report. M.mu is held.
func (m *Manager) mayLackToken(id string) bool {
	is := m.state.Agents[id]
	return is != nil && !is.ShowsAccessTokens() && !is.Confirmed && !m.options.Lenient()
}

// loseTokenless takes a match from a referee that sends no token. M.mu is held.
func (m *Manager) loseTokenless(x *match, id string) {
	if !m.state.Agents[id].Tokenless {
		m.log.Warn().Str("referee_id", id).Str("event_type", "REFEREE_WITHOUT_TOKEN").Msg(journal.NoToken(id))
	}
	m.loseAttempt(x, &journal.AttemptLost{
		Attempt: x.attempt(x.recorded.LastAttempt(id)), RefereeID: id, Cause: journal.CauseNoToken,
		Reason: "it sends no token",
	})
}

// outOfTime is the outcome of an attempt whose time is over. A referee in whose name a report came without a token has
// lost it for that.
func (m *Manager) outOfTime(h *handover) outcome {
	m.mu.Lock()
	defer m.mu.Unlock()
	id, attempt := h.referee.id, h.recorded.LastAttempt(h.referee.id)
	if h.tokenless == 0 || h.tokenless != attempt || !m.mayLackToken(id) || h.recorded.Report != nil {
		return reportLate
	}
	m.loseTokenless(h.match, id)
	return reportRejected
}

// awaitToken pauses the league if the last referee of a match has lost it because it sends no token,
// and waits until the organiser resumes the league, or starting ends. Then all referees may get the match
// again.
func (m *Manager) awaitToken(starting context.Context, h *handover) {
	for told := false; ; told = true {
		m.mu.Lock()
		attempts := h.recorded.Current()
		last := len(attempts) - 1
		if last < 0 || h.recorded.LostBy(attempts[last].Number) != journal.CauseNoToken {
			m.mu.Unlock()
			return
		}
		if !told && m.state.Paused == nil {
			_ = m.record(&journal.Decided{ // an error ends the manager
				Command:  protocol.CommandPause,
				Decision: journal.Decision{By: journal.ByManager, Reason: journal.NoToken(attempts[last].Referee)},
			})
		}
		paused := m.state.Paused != nil
		m.mu.Unlock()
		if !paused {
			h.failed = nil
			return
		}
		select {
		case <-h.news:
			if h.over() || m.forfeits(starting, h.match) {
				h.wake() // awaitReferee looks at the match
				return
			}
		case <-starting.Done():
			return
		}
	}
}
