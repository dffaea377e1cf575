package manager

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"evenodd/league"
	"evenodd/league/decide"
	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/words"
	"evenodd/rules"
)

// inquire asks the program of the game what a claim needs, without the lock. A referee that hangs up changes nothing:
// it reports again, and the program has limits of its own.
func (m *Manager) inquire(ctx context.Context, c *decide.Claim) {
	for history, due := c.Asks(); due; history, due = c.Asks() {
		c.Told(m.options.Program.Ask(context.WithoutCancel(ctx), history))
	}
}

// openingOf returns the opening of a match of an announced round; nil for none. The game may be a program, so that the
// lock is not held. The error means that it has failed.
func (m *Manager) openingOf(ctx context.Context, id league.MatchID) ([]string, error) {
	m.mu.Lock()
	key, has := decide.OpeningKey(m.state, m.started, id)
	x := m.running(id)
	var known []string
	if x != nil {
		known = x.opening
	}
	m.mu.Unlock()
	if !has || known != nil {
		return known, nil
	}
	opening, err := m.options.drawOpening(ctx, m.judge.Game, &key)
	if err == nil && x != nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		x.opening = opening
	}
	return opening, err
}

// drawOpening draws the opening of a key. A caller that hangs up changes nothing.
func (o *Options) drawOpening(ctx context.Context, game rules.Game, key *rules.OpeningKey) ([]string, error) {
	return rules.DrawOpening(game, o.Openings, key, func(c rules.Course) (rules.Course, error) {
		state, err := o.Program.Ask(context.WithoutCancel(ctx), c.History())
		if err != nil {
			return c, err
		}
		return c.Told(state)
	})
}

// CheckOpenings returns an error if the league, or its game, cannot have openings of so many plies.
func (o *Options) CheckOpenings() error {
	created := o.Created
	created.Legs = max(created.Legs, 1)
	if err := created.CheckOpenings(); err != nil || created.Openings == 0 {
		return err
	}
	game, err := o.game()
	for double := 1; err == nil && double <= 3; double++ { // one may be lucky
		_, err = o.drawOpening(context.Background(), game, &rules.OpeningKey{Double: double})
	}
	return err
}

// maxFailures is the number of failures of the game's program after which the manager pauses the league.
const maxFailures = 3

// programFailed counts a failure of the program of the game at a match, by the manager or a referee, and pauses the
// league after the third one: no agent pays for it, and only the organiser can mend it. Options.Stuck takes the place
// of the pause. M.mu is held.
func (m *Manager) programFailed(x *match, by, why string) {
	m.failures++
	x.stuckAt = time.Now()
	m.log.Error().Stringer("match_id", x.id).Str("agent_id", by).Str("reason", why).Int("failures", m.failures).
		Str("event_type", "GAME_PROGRAM_FAILED").Msg("the program of the game failed: the match goes on when it answers")
	x.wake()
	if m.failures < maxFailures || m.state.Paused != nil {
		return
	}
	m.failures = 0
	reason := fmt.Sprintf("the program of the game %s failed %d times, the last time at %s, match %s: %s",
		m.options.GameType, maxFailures, by, x.id, why)
	if m.options.Stuck != nil {
		m.options.Stuck(reason)
		return
	}
	_ = m.record(&journal.Decided{ // an error ends the manager
		Command:  protocol.CommandPause,
		Decision: journal.Decision{By: journal.ByManager, Reason: words.Clip(reason, protocol.MaxReason-len("…"))},
	})
}

// checkProgram makes an answer of a referee that has another program of the game than the manager one that declines the
// match, and logs why: the two would not agree about it.
func (m *Manager) checkProgram(h *handover, ack *protocol.MatchAssignmentAck) (other bool) {
	own := m.options.Digest
	if other = own != "" && ack.GameDigest != own; !other {
		return false
	}
	ack.Status = protocol.StatusRejected
	ack.Reason = fmt.Sprintf("it has another program of the game %s: digest %.64s, not %s", m.options.GameType,
		cmp.Or(ack.GameDigest, "none"), own)
	m.log.Warn().Func(h.about).Str("reason", ack.Reason).Str("event_type", "OTHER_PROGRAM").
		Msg("the referee is not used until it registers again")
	return true
}

// awaitProgram waits while the league is paused after a failure of the game's program at a match, until the organiser
// resumes it: until then the same would happen again. It returns false if the program has failed and starting has
// ended: the match waits for the next manager.
func (m *Manager) awaitProgram(starting context.Context, h *handover) (goesOn bool) {
	if locked(m, func() bool { return h.stuckAt.IsZero() }) {
		return true
	}
	for locked(m, func() bool { return m.state.Paused != nil }) && !h.over() && starting.Err() == nil {
		select {
		case <-h.news:
			if m.forfeits(starting, h.match) {
				h.wake() // chooseReferee looks at the match
				return true
			}
		case <-starting.Done():
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	h.stuckAt = time.Time{}
	return starting.Err() == nil
}

// watchesTurns tells whether a referee loses a match whose turn stays the same: that of a game with views, which can
// have 400 turns, so that the longest time of a match is hours.
func (m *Manager) watchesTurns() bool {
	return rules.HasViews(m.judge.Game) && m.options.LongestMatch == 0
}

// giveTime sets the end of the time that the referee of a match has, at the beginning of a turn; 0 is before the first
// one. In a game with views it is the longest time of one question, with a margin in which programs of games answer and
// messages travel. It is never later than the longest time of the match, however often the referee begins again.
func (m *Manager) giveTime(h *handover, turn int) {
	const margin = 2 * time.Minute
	h.turn, h.end = turn, h.latest
	if !m.watchesTurns() {
		return
	}
	longest := m.options.Timeouts.LongestMatch(m.options.RetryPolicy, 1, m.options.TimeBank)
	if one := time.Now().Add(longest + margin); one.Before(h.end) {
		h.end = one
	}
}

// giveTimeToStuck gives a referee time whose report cannot be judged yet, because the program has failed.
func (m *Manager) giveTimeToStuck(h *handover) {
	if at := locked(m, func() time.Time { return h.stuckAt }); !at.IsZero() {
		h.latest = at.Add(m.longestMatch())
		m.giveTime(h, h.turn)
	}
}

// watchTurn asks the referee of a game with views for the turn of its match, and gives it time if the turn has
// advanced.
func (m *Manager) watchTurn(ctx context.Context, h *handover) {
	if !m.watchesTurns() {
		return
	}
	at := h.attempt(locked(m, func() int { return h.offered }))
	q := &protocol.ToolRequest{Envelope: m.stamp.Envelope("", protocol.ConversationOf(at)), LeagueID: m.options.LeagueID,
		MatchID: h.id.String()}
	state, _, err := protocol.GetMatchState.CallWithin(ctx, m.options.Caller, h.referee.peer(), q, pingTimeout)
	if err == nil && state.Attempt == at.Number && state.Turn > h.turn {
		m.giveTime(h, state.Turn)
	}
}
