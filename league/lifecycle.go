package league

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"evenodd/league/journal"
	"evenodd/league/protocol"
)

// recallEvery is how often suspended agents are asked whether they are back
// while a league runs. A simulated league asks between rounds only, where time
// cannot change what comes of it.
const recallEvery = 15 * time.Second

// atBarrier decides, between two rounds, who is suspended and whose part in the
// league is over, and asks who is back (spec 003 §2.8). Nobody is suspended or
// ended while a round is open: in it matches end in any order.
func (m *Manager) atBarrier(ctx context.Context) error {
	m.mu.Lock()
	open := m.state.Open()
	var err error
	if !open {
		err = m.judge()
	}
	m.mu.Unlock()
	if err != nil || open {
		return err
	}
	m.recall(ctx, slices.Concat(m.players, m.referees), nil)
	return ctx.Err()
}

// judge suspends and ends agents by their failures, in order of ids. M.mu is
// held.
func (m *Manager) judge() error {
	for _, a := range slices.Concat(m.players, m.referees) {
		is := m.state.Agents[a.id]
		suspend, shutdown := m.state.Due(is)
		var event journal.Data
		switch {
		case shutdown:
			event = &journal.AgentShutdown{AgentID: a.id, Reason: missed(is)}
		case suspend:
			event = &journal.AgentSuspended{AgentID: a.id, Reason: missed(is)}
		default:
			continue
		}
		if err := m.record(event); err != nil {
			return err
		}
		state, reason := m.state.Life(is)
		m.options.Log.Warn().Str("id", a.id).Str("state", state).Str("reason", reason).Str("event_type", protocol.EventAgentSuspended).Msg("an agent gets nothing to do any more")
	}
	return nil
}

// missed says what an agent's failures were.
func missed(a *journal.Agent) string {
	switch {
	case !a.Player && a.Failures == 1:
		return "failed with the last match it was handed"
	case !a.Player:
		return fmt.Sprintf("failed %d times in a row with matches it was handed", a.Failures)
	case a.Failures == 1:
		return "did not answer in its last match"
	case a.Suspended != "": // some of them it was not even asked for
		return fmt.Sprintf("missed its last %d matches", a.Failures)
	}
	return fmt.Sprintf("did not answer in its last %d matches", a.Failures)
}

// recall asks agents that are suspended, and those that are named beside, whether
// they are there, all at the same time, and tells who is. Suspensions end by it.
func (m *Manager) recall(ctx context.Context, of []*agent, beside failures) (there []*agent) {
	m.mu.Lock()
	of = slices.DeleteFunc(slices.Clone(of), func(a *agent) bool {
		is := m.state.Agents[a.id]
		return is.Shutdown != "" || is.Suspended == "" && !beside.has(a)
	})
	m.mu.Unlock()
	answered := make([]bool, len(of))
	var asking sync.WaitGroup
	for i, a := range of {
		asking.Go(func() { answered[i] = m.answering(ctx, a)[0] })
	}
	asking.Wait()
	if ctx.Err() != nil {
		return nil // nobody had the time to answer
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, a := range of {
		if answered[i] {
			there = append(there, a)
			m.welcome(a)
		}
	}
	return there
}

// welcome ends a suspension. M.mu is held.
func (m *Manager) welcome(a *agent) {
	is := m.state.Agents[a.id]
	if is.Suspended == "" || is.Shutdown != "" || m.state.Completed != nil {
		return
	}
	back := &journal.AgentReturned{AgentID: a.id, Endpoint: is.Endpoint, Generation: is.Generation, Reason: "it answers again"}
	if m.record(back) == nil { // if not, the journal fails, and with it the manager
		m.options.Log.Info().Str("id", a.id).Str("event_type", protocol.EventAgentBack).Msg("an agent is back")
	}
}

// watch recalls suspended agents from time to time, until ctx ends.
func (m *Manager) watch(ctx context.Context) {
	for m.options.Clock.Sleep(ctx, recallEvery) == nil {
		m.recall(ctx, slices.Concat(m.players, m.referees), nil)
	}
}

// present are the agents of a list that are told what happens: a suspended one
// may cost the others the longest that a broadcast can take, and is not told. M.mu
// is held.
func (m *Manager) present(of []*agent) []*agent {
	return slices.DeleteFunc(slices.Clone(of), func(a *agent) bool { return m.state.Agents[a.id].Absent() })
}

// forfeitMatch ends a match of which a player is suspended or shut down, and tells
// whether it did. M.mu is held.
func (m *Manager) forfeitMatch(x *match) (bool, error) {
	absent := m.state.Forfeiting(x.a.id, x.b.id)
	if len(absent) == 0 || x.fact.Report != nil {
		return false, nil
	}
	f := &journal.MatchForfeited{MatchID: x.id, Players: absent}
	f.Status = protocol.StatusTechnicalLoss
	f.Choices = protocol.Both(x.a.id, (*string)(nil), x.b.id, (*string)(nil))
	var why []string
	for _, id := range absent {
		is := m.state.Agents[id]
		f.Faults = append(f.Faults, protocol.Member[string]{Name: id, Value: cmp.Or(is.Fault, string(protocol.ErrTimeout))})
		if is.Shutdown != "" {
			why = append(why, id+" was shut down: it "+is.Shutdown)
		} else {
			why = append(why, id+" is suspended: it "+is.Suspended)
		}
	}
	f.Reason = strings.Join(why, "; ") + " - both lose"
	if f.WinnerPlayerID = journal.Remaining(x.a.id, x.b.id, absent); f.WinnerPlayerID != nil {
		f.Reason = why[0] + " - " + *f.WinnerPlayerID + " wins by default"
	}
	outcome, err := m.state.Outcome(&journal.MatchReported{Attempt: x.attempt(0), Outcome: f.Outcome})
	if err != nil {
		return false, err
	}
	pointsA, pointsB := m.state.Table.Points(outcome)
	f.Score = protocol.Both(x.a.id, pointsA, x.b.id, pointsB)
	if err := m.record(f); err != nil {
		return false, err
	}
	m.options.Log.Info().Stringer("match_id", x.id).Str("status", f.Status).Str("reason", f.Reason).Str("event_type", protocol.EventMatchForfeited).Msg("match forfeited")
	if m.options.Progress != nil {
		m.options.Progress(m.state.Recorded, m.state.TotalMatches())
	}
	return true, nil
}

// inOrder are the matches of a round in the order in which they are handed out:
// those whose players failed lately come last, so that they take their time when
// the others have had theirs.
func (m *Manager) inOrder(matches []*match) []*match {
	m.mu.Lock()
	defer m.mu.Unlock()
	failed := func(x *match) int { return m.state.Agents[x.a.id].Failures + m.state.Agents[x.b.id].Failures }
	return slices.SortedStableFunc(slices.Values(matches), func(x, y *match) int { return cmp.Compare(failed(x), failed(y)) })
}

// failures are the referees that have failed at a match. One that registers again
// begins anew.
type failures map[*agent]<-chan struct{}

func (f failures) add(referee *agent) { f[referee] = *referee.returned.Load() }

func (f failures) has(referee *agent) bool {
	since, failed := f[referee]
	return failed && since == *referee.returned.Load()
}

// failedBefore are the referees that failed at a match under the manager before,
// or lost it by rejected reports, and whether its last attempt was one of theirs.
func (m *Manager) failedBefore(x *match) (failed failures, last bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	failed = failures{}
	for _, at := range x.fact.Attempts {
		if last = at.Failed || x.fact.Doubted(at.Number); last {
			failed.add(m.agents[at.Referee])
		}
	}
	return failed, last
}

// failed records that a referee did not do what it was handed. It costs nothing
// before the round is over; more than what it takes to be suspended is not kept.
func (m *Manager) failed(x *match, referee *agent, reason string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	is := m.state.Agents[referee.id]
	suspend, shutdown := m.state.Limits()
	most := cmp.Or(suspend, journal.DefaultSuspendAfter)
	if shutdown > 0 {
		most = min(most, max(shutdown-1, 1)) // one bad round ends nobody's part
	}
	if is.Absent() || x.fact.Report != nil || is.Failing >= most {
		return
	}
	failed := &journal.AgentFailed{AgentID: referee.id, Attempt: x.attempt(x.fact.LastAttempt(referee.id)), Reason: reason}
	if m.record(failed) == nil { // if not, the journal fails, and with it the manager
		m.options.Log.Warn().Stringer("match_id", x.id).Str("referee_id", referee.id).Str("reason", reason).Str("event_type", protocol.EventRefereeFailed).Msg("a referee failed")
	}
}
