package manager

import (
	"context"

	"evenodd/league/decide"
	"evenodd/league/journal"
	"evenodd/league/protocol"
)

// reportedWithoutToken takes a match from a referee whose report of it was refused because it has no
// token. Anyone could send such a report, so nothing changes for a referee that shows players access
// tokens, or has ever used its token: it could report. M.mu is held.
func (m *Manager) reportedWithoutToken(q *protocol.MatchResultReport) {
	x := m.runningMatch(q)
	if x == nil || m.options.LenientAuth {
		return
	}
	id := decide.Holder(m.state, x.id)
	is := m.state.Agents[id]
	if is == nil || is.ShowsAccessTokens() || is.Confirmed || !q.NamelessSender() && protocol.AgentOf(q.Sender) != id {
		return
	}
	if !is.Tokenless {
		m.options.Log.Warn().Str("referee_id", id).Str("event_type", protocol.EventRefereeTokenless).Msg(journal.NoToken(id))
	}
	m.loseAttempt(x, &journal.AttemptLost{
		Attempt: x.attempt(x.fact.LastAttempt(id)), RefereeID: id, Cause: journal.CauseNoToken, Reason: "it sends no token",
	})
}

// awaitToken pauses the league if the last referee of a match has lost it because it sends no token,
// and waits until the organiser resumes the league, or stop ends. Then all referees may get the match
// again.
func (m *Manager) awaitToken(stop context.Context, c *conduct) {
	for told := false; ; told = true {
		m.mu.Lock()
		var tokenless *agent
		if attempts := c.fact.Current(); len(attempts) > 0 {
			if last := attempts[len(attempts)-1]; c.fact.LostBy(last.Number) == journal.CauseNoToken {
				tokenless = m.agents[last.Referee]
			}
		}
		if tokenless != nil && !told && m.state.Paused == nil {
			_ = m.record(&journal.Paused{Decision: journal.Decision{By: journal.ByManager, Reason: journal.NoToken(tokenless.id)}}) // an error ends the manager
		}
		paused := m.state.Paused != nil
		m.mu.Unlock()
		if tokenless == nil {
			return
		}
		if !paused {
			c.failed = nil
			return
		}
		select {
		case <-c.news:
			if c.over() || m.forfeits(stop, c.match) {
				c.wake() // awaitReferee looks at the match
				return
			}
		case <-stop.Done():
			return
		}
	}
}
