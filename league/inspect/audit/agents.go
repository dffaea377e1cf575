package audit

import (
	"slices"
	"time"

	"evenodd/league/journal"
	"evenodd/league/protocol"
)

// checkDrop finds a registration that was dropped for silence before the grace
// period ended.
func (a *auditor) checkDrop(e *journal.Event, here location) {
	d, ok := e.Data.(*journal.RegistrationDropped)
	if !ok || d.Reason != journal.DroppedSilent {
		return
	}
	agent := a.state.Agents[d.AgentID]
	if agent == nil {
		return // the event cannot be folded
	}
	registered, errRegistered := protocol.ParseTimestamp(agent.RegisteredAt)
	dropped, errDropped := protocol.ParseTimestamp(e.At)
	grace := time.Duration(a.state.Created.RegistrationGrace) * time.Second
	if errRegistered != nil || errDropped != nil || !dropped.Before(registered.Add(grace)) {
		return
	}
	here.agentID = d.AgentID
	a.find(RuleRegistration, here, "the registration of %s was dropped after %s; the league gives it %s to answer",
		clip(d.AgentID), dropped.Sub(registered).Round(time.Second), grace)
}

// countsFailures tells whether the manager decides about agents only by their
// failures and recorded its limits. Earlier versions suspended referees at once.
func (a *auditor) countsFailures() bool {
	c := a.state.Created
	return c != nil && (c.SuspendAfter != 0 || c.ShutdownAfter != 0)
}

// checkSuspension finds an agent that is suspended or shut down without the
// failures for it, or while a round is open.
func (a *auditor) checkSuspension(e *journal.Event, here location) {
	var id, change string
	switch d := e.Data.(type) {
	case *journal.AgentSuspended:
		id, change = d.AgentID, "suspended"
	case *journal.AgentShutdown:
		id, change = d.AgentID, "shut down"
	}
	agent := a.state.Agents[id]
	if agent == nil || !agent.Player && !a.countsFailures() {
		return
	}
	suspend, shutdown := a.state.ExceedsLimits(agent)
	here.agentID = id
	switch {
	case a.state.Open():
		a.find(RuleLifecycle, here, "%s is %s while round %d is open", clip(id), change, a.state.Round)
	case change == "suspended" && !suspend, change == "shut down" && !shutdown:
		suspendAfter, shutdownAfter := a.state.Limits()
		a.find(RuleLifecycle, here, "%s is %s after %s in a row; the league suspends after %d and shuts down after %d (0: never)",
			clip(id), change, protocol.Counted(agent.Failures, "failure"), suspendAfter, shutdownAfter)
	}
}

// checkRoundAgents finds agents that should have been suspended or shut down
// before a round, and absent referees that get matches of it.
func (a *auditor) checkRoundAgents(e *journal.Event, here location) {
	s := a.state
	d, ok := e.Data.(*journal.RoundAnnounced)
	if !ok || !a.countsFailures() || s.Started == nil || d.RoundID != s.Round+1 {
		return
	}
	for _, id := range slices.Concat(s.Started.Players, s.Started.Referees) {
		if suspend, shutdown := s.ExceedsLimits(s.Agents[id]); suspend || shutdown {
			here.agentID = id
			a.find(RuleLifecycle, here, "round %d begins, but %s, with %s in a row, was neither suspended nor shut down", d.RoundID, id,
				protocol.Counted(s.Agents[id].Failures, "failure"))
		}
	}
	absent := func(id string) bool { agent := s.Agents[id]; return agent != nil && agent.Inactive() }
	if !slices.ContainsFunc(s.Started.Referees, func(id string) bool { return !absent(id) }) {
		absent = func(id string) bool { return s.Agents[id] != nil && decisionAbout(s.Agents[id]) != nil } // the others may return in time
	}
	for _, id := range slices.Compact(slices.Sorted(slices.Values(d.Referees))) {
		if absent(id) {
			here.agentID = id
			a.find(RuleLifecycle, here, "round %d is given to %s, which is suspended, shut down or withdrawn", d.RoundID, id)
		}
	}
}

// checkPlayedByAbsent finds a match that was played although a player of it is suspended
// or shut down for its failures, and forfeits it. A match that runs when an organiser
// suspends a player of it may be played to its end: see checkAssignmentOfAbsent.
func (a *auditor) checkPlayedByAbsent(e *journal.Event, here location) {
	d, ok := e.Data.(*journal.MatchReported)
	if !ok || !a.countsFailures() {
		return
	}
	_, idA, idB, ok := a.state.Find(d.MatchID)
	if !ok {
		return // the event cannot be folded
	}
	for _, id := range a.state.InactivePlayers(idA, idB) {
		if decisionAbout(a.state.Agents[id]) != nil {
			continue
		}
		here.matchID, here.agentID = d.MatchID.String(), id
		a.find(RuleLifecycle, here, "%s was played, but %s is suspended or shut down, and forfeits it", d.MatchID, id)
	}
}
