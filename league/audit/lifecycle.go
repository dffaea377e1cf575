package audit

import (
	"slices"

	"evenodd/league/journal"
	"evenodd/league/protocol"
)

// judged tells whether the journal is of a manager that decides about agents by
// their failures alone, and has written down its limits. Those before suspended
// referees at once.
func (x *examination) judged() bool {
	c := x.state.Created
	return c != nil && (c.SuspendAfter != 0 || c.ShutdownAfter != 0)
}

// lookAtLife holds what a manager decides about its agents against their failures
// until then: it may neither suspend whom it likes, nor spare him.
func (x *examination) lookAtLife(data journal.Data, here spot) {
	s := x.state
	if s.Created == nil {
		return // it was named
	}
	switch d := data.(type) {
	case *journal.AgentSuspended:
		x.lookAtDecision(d.AgentID, "suspended", here, func(a *journal.Agent) bool {
			suspend, _ := s.Due(a)
			return suspend
		})
	case *journal.AgentShutdown:
		x.lookAtDecision(d.AgentID, "shut down", here, func(a *journal.Agent) bool {
			_, shutdown := s.Due(a)
			return shutdown
		})
	case *journal.RoundAnnounced:
		if x.judged() && s.Started != nil && d.RoundID == s.Round+1 {
			x.lookForSpared(d, here)
			x.lookAtChoice(d, here)
		}
	case *journal.MatchReported:
		if x.judged() {
			x.lookForPlayed(d, here)
		}
	}
}

// lookAtDecision finds an agent that is suspended or shut down, which its failures
// do not ask for, or while a round is open.
func (x *examination) lookAtDecision(id, what string, here spot, due func(*journal.Agent) bool) {
	a := x.state.Agents[id]
	if a == nil || !a.Player && !x.judged() {
		return
	}
	here.agentID = id
	switch {
	case x.state.Open():
		x.find(RuleLifecycle, here, "%s is %s while round %d is open", clip(id), what, x.state.Round)
	case !due(a):
		suspend, shutdown := x.state.Limits()
		x.find(RuleLifecycle, here, "%s is %s after %s in a row; the league suspends after %d and shuts down after %d (0: never)",
			clip(id), what, counted(a.Failures, "failure", "failures"), suspend, shutdown)
	}
}

// lookForSpared finds agents that should have been suspended or shut down before
// a round.
func (x *examination) lookForSpared(d *journal.RoundAnnounced, here spot) {
	for _, id := range slices.Concat(x.state.Started.Players, x.state.Started.Referees) {
		a := x.state.Agents[id]
		if a == nil {
			continue
		}
		if suspend, shutdown := x.state.Due(a); suspend || shutdown {
			here.agentID = id
			x.find(RuleLifecycle, here, "round %d begins, but %s, with %s in a row, was neither suspended nor shut down", d.RoundID, id,
				counted(a.Failures, "failure", "failures"))
		}
	}
}

// lookAtChoice finds a round that is given to a referee that gets nothing to do.
func (x *examination) lookAtChoice(d *journal.RoundAnnounced, here spot) {
	absent := func(id string) bool { a := x.state.Agents[id]; return a == nil || a.Absent() }
	if !slices.ContainsFunc(x.state.Started.Referees, func(id string) bool { return !absent(id) }) {
		return // any of them may be back in time
	}
	named := slices.Compact(slices.Sorted(slices.Values(d.Referees)))
	for _, id := range named {
		if a := x.state.Agents[id]; a != nil && a.Absent() {
			here.agentID = id
			x.find(RuleLifecycle, here, "round %d is given to %s, which is suspended or shut down", d.RoundID, id)
		}
	}
}

// lookForPlayed finds a match that was played although a player of it was away when
// its round began, and is still: it forfeits it.
func (x *examination) lookForPlayed(d *journal.MatchReported, here spot) {
	_, idA, idB, ok := x.state.Find(d.MatchID)
	if !ok {
		return // it was named
	}
	for _, id := range [2]string{idA, idB} {
		if a := x.state.Agents[id]; a != nil && a.Absent() {
			here.matchID, here.agentID = d.MatchID.String(), id
			x.find(RuleLifecycle, here, "%s was played, but %s is suspended or shut down, and forfeits it", d.MatchID, id)
		}
	}
}

// checkForfeit looks for a referee where none can have been.
func (x *examination) checkForfeit(f *fixture, at spot) {
	for _, a := range f.Attempts {
		at.agentID = a.Referee
		x.find(RuleLifecycle, at, "%s is forfeited by %v, but was handed to %s", f.id, f.Forfeited, clip(a.Referee))
	}
}

// mendForfeit counts a forfeit although nobody had to forfeit, or its score is
// wrong.
func (x *examination) mendForfeit(d *journal.MatchForfeited, seq int) {
	s := x.state
	if !x.supposeRoundOf(d.MatchID, seq) {
		return
	}
	m, _, _, _ := s.Find(d.MatchID)
	report := &journal.MatchReported{Attempt: protocol.Attempt{MatchID: d.MatchID}, Outcome: d.Outcome, Score: d.Score}
	outcome, err := s.Outcome(report)
	if m.Report != nil || err != nil || s.Table.Record(outcome) != nil {
		return
	}
	m.Report, m.Forfeited = report, d.Players
	s.Recorded++
}
