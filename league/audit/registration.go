package audit

import (
	"time"

	"evenodd/league/journal"
	"evenodd/league/protocol"
)

// checkDrop reports registrations dropped before the grace period ended.
func (x *examination) checkDrop(e *journal.Event, here spot) {
	d, ok := e.Data.(*journal.RegistrationDropped)
	if !ok || d.Reason != journal.DroppedSilent || x.state.Created == nil {
		return
	}
	a := x.state.Agents[d.AgentID]
	if a == nil {
		return // the fold reports it
	}
	registered, errRegistered := protocol.ParseTimestamp(a.Registered)
	dropped, errDropped := protocol.ParseTimestamp(e.At)
	grace := time.Duration(x.state.Created.RegistrationGrace) * time.Second
	if errRegistered != nil || errDropped != nil || !dropped.Before(registered.Add(grace)) {
		return
	}
	here.agentID = d.AgentID
	x.find(RuleRegistration, here, "the registration of %s was dropped after %s; the league gives it %s to answer",
		clip(d.AgentID), dropped.Sub(registered).Round(time.Second), grace)
}
