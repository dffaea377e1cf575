package audit

import (
	"slices"
	"time"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/words"
)

// checkDrop finds a registration that was dropped for silence before the grace
// period ended.
func (a *auditor) checkDrop(d *journal.RegistrationDropped, at string, here Location) {
	agent := a.state.Agents[d.AgentID]
	if agent == nil || d.Reason != journal.DroppedSilent {
		return
	}
	registered, _ := protocol.ParseTimestamp(agent.RegisteredAt)
	dropped, err := protocol.ParseTimestamp(at)
	grace := time.Duration(a.state.Created.RegistrationGrace) * time.Second
	// A drop before the registration shows only that the clock was set back.
	if err == nil && !dropped.Before(registered) && dropped.Before(registered.Add(grace)) {
		a.find(RuleRegistration, here, "the registration of %s was dropped after %s; the league gives it %s to answer",
			clip(d.AgentID), dropped.Sub(registered).Round(time.Second), grace)
	}
}

// checkSuspension finds an agent that is suspended or shut down without the
// failures for it, or while a round is open.
func (a *auditor) checkSuspension(id, change string, here Location) {
	agent := a.state.Agents[id]
	if agent == nil {
		return // the event cannot be folded
	}
	suspend, shutdown := a.state.ExceedsLimits(agent)
	switch {
	case a.state.Open():
		a.find(RuleLifecycle, here, "%s is %s while round %d is open", clip(id), change, a.state.Round)
	case change == suspended && !suspend, change == shutDown && !shutdown:
		a.find(RuleLifecycle, here,
			"%s is %s after %s in a row; the league suspends after %d and shuts down after %d (0: never)", clip(id), change,
			words.Counted(agent.Failures, "failure"), a.state.Created.SuspendAfter, a.state.Created.ShutdownAfter)
	}
}

// checkRound finds agents that should have been suspended or shut down before a round, absent
// referees that get matches of it, and pairings that do not follow from the results before.
func (a *auditor) checkRound(d *journal.RoundAnnounced, here Location) {
	s := a.state
	if s.Started == nil || d.RoundID != s.Round+1 {
		return // the event cannot be folded
	}
	for _, id := range slices.Concat(s.Started.Players, s.Started.Referees) {
		if suspend, shutdown := s.ExceedsLimits(s.Agents[id]); suspend || shutdown {
			a.find(RuleLifecycle, here.of(id), "round %d begins, but %s, with %s in a row, was neither suspended nor shut down",
				d.RoundID, id, words.Counted(s.Agents[id].Failures, "failure"))
		}
	}
	absent := (*journal.Agent).Inactive
	if !slices.ContainsFunc(s.Started.Referees, func(id string) bool { return !absent(s.Agents[id]) }) {
		absent = (*journal.Agent).Out // the others may return in time
	}
	for _, id := range slices.Compact(slices.Sorted(slices.Values(d.Referees))) {
		if s.Agents[id] != nil && absent(s.Agents[id]) {
			a.find(RuleLifecycle, here.of(id), "round %d is given to %s, which is suspended, shut down or withdrawn", d.RoundID,
				id)
		}
	}
	want := s.Announcement(nil).Pairings
	for i := range max(len(want), len(d.Pairings)) {
		if d.Pairings != nil && pairAt(d.Pairings, i) != pairAt(want, i) {
			id := league.MatchID{Round: d.RoundID, Number: i + 1}
			a.find(RuleSchedule, here.in(id.String()), "match %d of round %d is %s; by the results before it is %s", i+1,
				d.RoundID, pairAt(d.Pairings, i), pairAt(want, i))
			return
		}
	}
}

// pairAt describes the players of a match for people.
func pairAt(pairings [][2]string, i int) string {
	if i >= len(pairings) {
		return "not played"
	}
	return clip(pairings[i][0]) + " against " + clip(pairings[i][1])
}

// isOrdered tells whether an agent is absent by a decision of an organiser. A match that runs then
// may be played to its end; no other is given to a referee.
func isOrdered(a *journal.Agent) bool { return a.Held != nil || a.Withdrawn != nil }

// isAbsent tells whether an agent is suspended or shut down for its failures.
func isAbsent(a *journal.Agent) bool { return a.Inactive() && !isOrdered(a) }

// checkPlayers finds a match of which a player is absent, and forfeits it.
func (a *auditor) checkPlayers(id league.MatchID, here Location, done string, absent func(*journal.Agent) bool) {
	m, idA, idB, ok := a.state.Find(id)
	if !ok {
		return // the event cannot be folded
	}
	for _, player := range [...]string{idA, idB} {
		if absent(a.state.Agents[player]) {
			a.find(RuleLifecycle, here.of(player), "%s %s, but %s is suspended, shut down or withdrawn, and forfeits it", id,
				done, player)
		}
	}
	if done == assigned && m.Forfeited != nil {
		a.find(RuleLifecycle, here.at(m.Event).of(""), "%s is forfeited by %v, but was assigned", id, m.Forfeited)
	}
}

// What happened to a match or an agent.
const assigned, played, suspended, shutDown = "was assigned", "was played", "suspended", "shut down"

// checkForfeit finds a match that is forfeited although a referee has it. That happens only
// by a decision of an organiser in the round.
func (a *auditor) checkForfeit(d *journal.MatchForfeited, here Location) {
	m, _, _, ok := a.state.Find(d.MatchID)
	if !ok || slices.ContainsFunc(d.Players, func(id string) bool {
		return a.state.Agents[id] != nil && isOrdered(a.state.Agents[id])
	}) {
		return
	}
	for _, attempt := range m.Current() {
		a.find(RuleLifecycle, here.of(attempt.Referee), "%s is forfeited by %v, but was assigned to %s", d.MatchID,
			d.Players, clip(attempt.Referee))
	}
}
