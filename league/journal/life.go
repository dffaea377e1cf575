package journal

import (
	"cmp"
	"fmt"
	"slices"

	"evenodd/league/protocol"
)

// The states of an agent's life (spec 003 §2.8). INIT is before its
// registration: no journal knows of it.
const (
	LifeRegistered = "REGISTERED"
	LifeActive     = "ACTIVE"
	LifeSuspended  = "SUSPENDED"
	LifeShutdown   = "SHUTDOWN"
)

// The limits of a league that names none.
const (
	DefaultSuspendAfter  = 3
	DefaultShutdownAfter = 10
)

// Limits are after how many failures in a row an agent is suspended, and after
// how many its part in the league is over; 0 for never.
func (s *State) Limits() (suspend, shutdown int) {
	return max(cmp.Or(s.Created.SuspendAfter, DefaultSuspendAfter), 0), max(cmp.Or(s.Created.ShutdownAfter, DefaultShutdownAfter), 0)
}

// Life is the state of an agent, and why it is in it where there is more to say
// than that the league has begun or not.
func (s *State) Life(a *Agent) (state, reason string) {
	switch {
	case a.Shutdown != "":
		return LifeShutdown, a.Shutdown
	case a.Informed:
		return LifeShutdown, "it knows that the league is over"
	case a.Suspended != "":
		return LifeSuspended, a.Suspended
	case s.Started == nil:
		return LifeRegistered, a.Returned
	}
	return LifeActive, a.Returned
}

// Absent tells whether an agent is suspended or shut down: it gets nothing to
// do, and as a player it forfeits the matches of rounds that begin now.
func (a *Agent) Absent() bool { return a.Suspended != "" || a.Shutdown != "" }

// Due is what an agent's failures ask for between two rounds: that it is
// suspended, or that its part in the league is over. The last referee keeps its
// part, because without one the league could not go on.
func (s *State) Due(a *Agent) (suspend, shutdown bool) {
	if a.Shutdown != "" {
		return false, false
	}
	suspendAfter, shutdownAfter := s.Limits()
	if shutdownAfter > 0 && a.Failures >= shutdownAfter && (a.Player || !s.lastReferee(a)) {
		return false, true
	}
	return suspendAfter > 0 && a.Failures >= suspendAfter && a.Failures > a.Forgiven && a.Suspended == "", false
}

func (s *State) lastReferee(a *Agent) bool {
	for id, other := range s.Agents {
		if id != a.ID && !other.Player && other.Shutdown == "" {
			return false
		}
	}
	return true
}

func gone(a *Agent) error {
	return fmt.Errorf("the part of %s in the league is over: it %s", a.ID, a.Shutdown)
}

// comeBack ends a suspension. The failures stay: one more, and the agent is
// suspended again.
func (a *Agent) comeBack(reason string) {
	if a.Suspended != "" {
		a.Suspended, a.Returned, a.Forgiven = "", reason, a.Failures
	}
}

// played counts what a match says of a player: one that did not answer, or could
// not be reached, has failed; one that was there has not, however it played. A
// loser of whom the referee does not say why may be either.
func (a *Agent) played(o *Outcome) {
	fault, _ := o.Faults.Get(a.ID)
	won := o.WinnerPlayerID != nil && *o.WinnerPlayerID == a.ID
	switch {
	case o.Status != protocol.StatusTechnicalLoss || won:
		a.Failures, a.Forgiven = 0, 0
	case fault == string(protocol.ErrTimeout) || fault == string(protocol.ErrConnection):
		a.Failures++
		a.Fault = fault
	case len(o.Faults) > 0:
		a.Failures, a.Forgiven = 0, 0
	}
}

// fail counts what a referee did not do. It may be one of many matches that went
// wrong at once, and others may have gone well, so that it is weighed when the
// round is over: then the order does not matter in which all that came to be
// known.
func (s *State) fail(d *AgentFailed) error {
	if err := s.referee(d.AgentID); err != nil {
		return err
	}
	a, err := s.attempt(d.Attempt, d.AgentID)
	if err != nil {
		return err
	}
	if !s.Open() {
		return fmt.Errorf("%s fails while no round is open", d.AgentID)
	}
	a.Failed = true
	s.Agents[d.AgentID].Failing++
	return nil
}

// conducted weighs the round of a referee: one that has reported a result is
// there, whatever else went wrong.
func (a *Agent) conducted() {
	if a.Reported {
		a.Failures, a.Forgiven = 0, 0
	} else {
		a.Failures += a.Failing
	}
	a.Failing, a.Reported = 0, false
}

// Forfeiting are the players of a match that forfeit it if it is to begin now,
// in its order.
func (s *State) Forfeiting(ids ...string) (absent []string) {
	for _, id := range ids {
		if s.Agents[id].Absent() {
			absent = append(absent, id)
		}
	}
	return absent
}

// Remaining is the player of a match that does not forfeit it, and so wins it; nil
// when both do.
func Remaining(idA, idB string, absent []string) *string {
	for _, id := range [...]string{idA, idB} {
		if !slices.Contains(absent, id) {
			return &id
		}
	}
	return nil
}

// forfeit counts a match that is not played as one more failure of who forfeits
// it. Of the other it says nothing: it was asked nothing.
func (s *State) forfeit(d *MatchForfeited) error {
	m, idA, idB, ok := s.Find(d.MatchID)
	switch {
	case !ok || d.MatchID.Round != s.Round || !s.Open():
		return fmt.Errorf("match %s is forfeited, which is not of an open round", d.MatchID)
	case m.Report != nil:
		return fmt.Errorf("match %s is forfeited, but has a result", d.MatchID)
	}
	absent := s.Forfeiting(idA, idB)
	if len(absent) == 0 || !slices.Equal(d.Players, absent) {
		return fmt.Errorf("match %s is forfeited by %.80v; suspended or shut down: %v", d.MatchID, d.Players, absent)
	}
	got, winner := d.WinnerPlayerID, Remaining(idA, idB, absent)
	if d.Status != protocol.StatusTechnicalLoss || (got == nil) != (winner == nil) || got != nil && *got != *winner {
		return fmt.Errorf("match %s is forfeited by %v, and is no technical loss of them alone", d.MatchID, absent)
	}
	report := &MatchReported{Attempt: protocol.Attempt{MatchID: d.MatchID}, Outcome: d.Outcome, Score: d.Score}
	if err := s.result(m, report, idA, idB); err != nil {
		return err
	}
	m.Forfeited = d.Players
	for _, id := range absent {
		s.Agents[id].Failures++
	}
	return nil
}

// register is an agent that is let in.
func (s *State) register(d *AgentRegistered, at string) error {
	switch {
	case s.Agents[d.AgentID] != nil:
		return fmt.Errorf("agent %s is registered already", d.AgentID)
	case s.Dropped[d.AgentID]:
		return fmt.Errorf("agent %s is registered under the id of a dropped registration", d.AgentID)
	case s.Started != nil:
		return fmt.Errorf("agent %s registers after the start", d.AgentID)
	case d.Role != RolePlayer && d.Role != RoleReferee:
		return fmt.Errorf("role %.40q: player or referee", d.Role)
	case !knownAuth(d.RefereeAuth):
		return fmt.Errorf("referee_auth of %s: %.40q", d.AgentID, d.RefereeAuth)
	}
	s.Agents[d.AgentID] = &Agent{
		ID: d.AgentID, Player: d.Role == RolePlayer, Name: d.DisplayName, Endpoint: d.Endpoint, URL: protocol.CanonicalURL(d.Endpoint),
		Capacity: d.Capacity, Registration: d.Registration, Generation: d.Generation, Since: at,
		RefereeAuth: d.RefereeAuth, Registered: at, Answered: !d.AwaitsAnswer,
		Version: d.Version, ProtocolVersion: d.ProtocolVersion, GameTypes: d.GameTypes,
	}
	return nil
}

// drop removes an agent that has not answered. The league must not have started.
func (s *State) drop(d *RegistrationDropped) error {
	a := s.Agents[d.AgentID]
	switch {
	case a == nil:
		return unregistered(d.AgentID)
	case s.Started != nil:
		return fmt.Errorf("the registration of %s is dropped after the start", d.AgentID)
	case a.Answered:
		return fmt.Errorf("the registration of %s is dropped, but it has answered", d.AgentID)
	}
	delete(s.Agents, d.AgentID)
	s.Dropped[d.AgentID] = true
	return nil
}

// welcomeBack is an agent that is there again.
func (s *State) welcomeBack(d *AgentReturned, at string) error {
	a := s.Agents[d.AgentID]
	switch {
	case a == nil:
		return unregistered(d.AgentID)
	case a.Shutdown != "":
		return gone(a)
	case !knownAuth(d.RefereeAuth):
		return fmt.Errorf("referee_auth of %s: %.40q", d.AgentID, d.RefereeAuth)
	}
	if d.Generation != a.Generation {
		a.Since, a.Confirmed = at, false
	}
	a.Endpoint, a.URL, a.Generation = d.Endpoint, protocol.CanonicalURL(d.Endpoint), d.Generation
	if d.RefereeAuth != "" {
		a.RefereeAuth = d.RefereeAuth
	}
	a.comeBack(d.Reason)
	return nil
}

func knownAuth(auth string) bool {
	return auth == "" || auth == protocol.RefereeAuthNone || auth == protocol.RefereeAuthAccessToken
}

// Proves tells whether a referee shows players their access tokens. In journals from
// before referees said so, all do.
func (a *Agent) Proves() bool { return a.RefereeAuth != protocol.RefereeAuthNone }
