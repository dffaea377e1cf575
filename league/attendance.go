package league

import (
	"context"
	"slices"
	"time"

	"evenodd/league/decide"
	"evenodd/league/protocol"
)

// recallEvery is the pause between two pings of suspended agents while a league runs. A
// simulated league pings between rounds only, where time cannot change a result.
const recallEvery = 15 * time.Second

// An attendance suspends agents by their failures, and ends the suspensions of agents
// that answer again.
type attendance struct {
	*directory
	pinger
}

// atBarrier suspends and shuts down agents between two rounds, and pings the suspended
// ones (spec 003 §2.8). While a round is open it does nothing: matches of a round end
// in any order.
func (t attendance) atBarrier(ctx context.Context) error {
	t.mu.Lock()
	open, err := t.state.Open(), error(nil)
	for _, a := range t.all() {
		if open || err != nil {
			break
		}
		err = t.judge(a)
	}
	t.mu.Unlock()
	if err != nil || open {
		return err
	}
	t.recall(ctx, t.all(), nil)
	return ctx.Err()
}

// judge records the suspension or shutdown of an agent. The lock is held.
func (t attendance) judge(a *agent) error {
	event := decide.Suspension(t.state, a.id)
	if event == nil {
		return nil
	}
	if err := t.record(event); err != nil {
		return err
	}
	state, reason := t.state.Lifecycle(t.state.Agents[a.id])
	t.options.Log.Warn().Str("id", a.id).Str("state", state).Str("reason", reason).Str("event_type", protocol.EventAgentSuspended).
		Msg("an agent gets nothing to do any more")
	return nil
}

// recall pings those of some agents that are suspended or have failed, all at the same
// time, and returns those that answer. It ends their suspensions.
func (t attendance) recall(ctx context.Context, of []*agent, failed failures) (there []*agent) {
	t.mu.Lock()
	of = slices.DeleteFunc(slices.Clone(of), func(a *agent) bool {
		is := t.state.Agents[a.id]
		return is.ShutdownReason != "" || is.SuspendReason == "" && !failed.has(a)
	})
	t.mu.Unlock()
	answering := t.answering(ctx, of...)
	if ctx.Err() != nil {
		return nil // the agents had no time to answer
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, a := range of {
		if !answering[i] {
			continue
		}
		there = append(there, a)
		if back := decide.Revival(t.state, a.id); back != nil && t.record(back) == nil {
			t.options.Log.Info().Str("id", a.id).Str("event_type", protocol.EventAgentBack).Msg("an agent is back")
		}
	}
	return there
}

// watch recalls suspended agents from time to time, until ctx ends.
func (t attendance) watch(ctx context.Context) {
	for t.clock.Sleep(ctx, recallEvery) == nil {
		t.recall(ctx, t.all(), nil)
	}
}

// present are the agents of a list that are told about the league. Suspended agents are
// not: each could delay a broadcast for as long as it may take. The lock is held.
func (t attendance) present(of []*agent) []*agent {
	return slices.DeleteFunc(slices.Clone(of), func(a *agent) bool { return t.state.Agents[a.id].Inactive() })
}

// failed records that a referee failed with a match.
func (t attendance) failed(id protocol.MatchID, referee *agent, reason string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	event := decide.RefereeFailure(t.state, id, referee.id, reason)
	if event != nil && t.record(event) == nil {
		t.options.Log.Warn().Stringer("match_id", id).Str("referee_id", referee.id).Str("reason", reason).
			Str("event_type", protocol.EventRefereeFailed).Msg("a referee failed")
	}
}
