package manager

import (
	"context"
	"slices"
	"time"

	"evenodd/league"
	"evenodd/league/decide"
)

// reviveEvery is the pause between two pings of suspended agents while a league runs. A
// simulated league pings between rounds only, where time cannot change a result.
const reviveEvery = 15 * time.Second

// atBarrier suspends and shuts down agents between two rounds, and pings the suspended
// ones (spec 003 §2.8). While a round is open it does nothing: matches of a round end
// in any order.
func (d *directory) atBarrier(ctx context.Context) error {
	d.mu.Lock()
	open, err := d.state.Open(), error(nil)
	if !open {
		err = d.judgeAll()
	}
	d.mu.Unlock()
	if err == nil && !open {
		d.revive(ctx, d.all(), nil)
		err = ctx.Err()
	}
	return err
}

// judgeAll records the suspensions and shutdowns that are due. The lock is held.
func (d *directory) judgeAll() error {
	for _, a := range d.all() {
		event := decide.Suspension(d.state, a.id)
		if event == nil {
			continue
		}
		if err := d.record(event); err != nil {
			return err
		}
		state, reason := d.state.Lifecycle(d.state.Agents[a.id])
		d.log.Warn().Str("id", a.id).Str("state", state).Str("reason", reason).
			Str("event_type", "AN_AGENT_GETS_NOTHING_TO_DO_ANY_MORE").Msg("an agent gets nothing to do any more")
	}
	return nil
}

// revive pings those of some agents that are suspended or have failed, all at the same
// time, and returns those that answer. It ends their suspensions.
func (d *directory) revive(ctx context.Context, of []*agent, failed failures) (there []*agent) {
	d.mu.Lock()
	of = slices.DeleteFunc(slices.Clone(of), func(a *agent) bool {
		is := d.state.Agents[a.id]
		return is.ShutdownReason != "" || is.SuspendReason == "" && !failed.has(a)
	})
	d.mu.Unlock()
	answering := d.answering(ctx, of...)
	if ctx.Err() != nil {
		return nil // the agents had no time to answer
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, a := range of {
		if !answering[i] {
			continue
		}
		there = append(there, a)
		if back := decide.Revival(d.state, a.id); back != nil && d.record(back) == nil {
			d.log.Info().Str("id", a.id).Str("event_type", "AN_AGENT_IS_BACK").Msg("an agent is back")
		}
	}
	return there
}

// watch revives suspended agents from time to time, until ctx ends.
func (d *directory) watch(ctx context.Context) {
	for d.clock.Sleep(ctx, reviveEvery) == nil {
		d.revive(ctx, d.all(), nil)
	}
}

// present are the agents of a list that are told about the league. Suspended agents are
// not: each could delay a broadcast for as long as it may take. The lock is held.
func (d *directory) present(of []*agent) []*agent {
	return slices.DeleteFunc(slices.Clone(of), func(a *agent) bool { return d.state.Agents[a.id].Inactive() })
}

// failed records that a referee failed with a match.
func (d *directory) failed(id league.MatchID, referee *agent, reason string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	event := decide.RefereeFailure(d.state, id, referee.id, reason)
	if event != nil && d.record(event) == nil {
		d.log.Warn().Stringer("match_id", id).Str("referee_id", referee.id).Str("reason", reason).
			Str("event_type", "A_REFEREE_FAILED").Msg("a referee failed")
	}
}
