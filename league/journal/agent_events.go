package journal

import (
	"errors"
	"fmt"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/league/words"
)

// AgentRegistered admits a player or a referee to the league.
type AgentRegistered struct {
	AgentID      string `json:"agent_id"`
	Role         string `json:"role"`
	DisplayName  string `json:"display_name"`
	Endpoint     string `json:"endpoint,omitzero"`
	Capacity     int    `json:"max_concurrent_matches,omitzero"` // of a referee
	Registration string `json:"registration,omitzero"`           // identifies a repeated registration; not secret
	Generation   int    `json:"generation"`                      // of the agent's token, from 1
	// protocol.RefereeAuthNone for a referee that shows players no access tokens
	RefereeAuth string `json:"referee_auth,omitzero"`

	// Metadata from the registration; empty in simulations.
	Version         string   `json:"version,omitzero"`
	ProtocolVersion string   `json:"protocol_version,omitzero"`
	GameTypes       []string `json:"game_types,omitzero"`

	// What agents that sign have registered; empty in a league that does not sign.
	PublicKey        string `json:"public_key,omitzero"`        // Ed25519, 64 hexadecimal digits
	RelaysSignatures bool   `json:"relays_signatures,omitzero"` // a referee that reports the players' signatures

	// AwaitsAnswer tells that the manager pings the agent's endpoint until it
	// answers. Journals without this member count the agent as one that answered.
	AwaitsAnswer bool `json:"awaits_answer,omitzero"`
}

func (d *AgentRegistered) apply(s *State, at string) error {
	switch {
	case s.Agents[d.AgentID] != nil:
		return fmt.Errorf("agent %s is registered already", d.AgentID)
	case s.Dropped[d.AgentID] != nil:
		return fmt.Errorf("agent %s is registered under the id of a dropped registration", d.AgentID)
	case s.Started != nil:
		return fmt.Errorf("agent %s registers after the start", d.AgentID)
	case d.PublicKey != "" && !protocol.ValidPublicKey(d.PublicKey):
		return fmt.Errorf("public_key of %s: %.80q", d.AgentID, d.PublicKey)
	case !s.Created.Signs() && (d.PublicKey != "" || d.RelaysSignatures):
		return fmt.Errorf("%s registers for signatures, but the league does not sign", d.AgentID)
	case d.Role != protocol.RolePlayer && d.Role != protocol.RoleReferee:
		return fmt.Errorf("role %.40q: player or referee", d.Role)
	}
	a := &Agent{
		AgentRegistered: *d, Player: d.Role == protocol.RolePlayer, URL: protocol.CanonicalURL(d.Endpoint),
		Name: s.Created.Simulation.NameOf(d.DisplayName), nameKey: words.NameKey(d.DisplayName), TokenSince: at,
		RegisteredAt: at, Answered: !d.AwaitsAnswer,
	}
	if err := a.setRefereeAuth(d.RefereeAuth); err != nil {
		return err
	}
	s.Agents[d.AgentID] = a
	return nil
}

// AgentAnswered records the first answer from the endpoint of an agent that awaits
// one. The league waits for it.
type AgentAnswered struct {
	AgentID string `json:"agent_id"`
}

func (d *AgentAnswered) apply(s *State, _ string) error {
	a, err := s.agent(d.AgentID)
	if err != nil {
		return err
	}
	if a.Answered {
		return fmt.Errorf("%s has answered before", d.AgentID)
	}
	a.Answered = true
	return nil
}

// RegistrationDropped records that an agent that never answered has lost its
// registration before the start. Its id is never granted again.
type RegistrationDropped struct {
	AgentID string `json:"agent_id"`
	Reason  string `json:"reason"` // DroppedSilent, DroppedAtStart, DroppedForbidden or DroppedManager
}

// The reasons for which a registration is dropped.
const (
	DroppedSilent    = "nothing answered at its endpoint within the grace period"
	DroppedAtStart   = "nothing had answered at its endpoint when the league started"
	DroppedForbidden = "its endpoint is at an address that this league does not call"
	DroppedManager   = "a league manager answers at its endpoint"
)

func (d *RegistrationDropped) apply(s *State, _ string) error {
	a, err := s.agent(d.AgentID)
	switch {
	case err != nil:
		return err
	case s.Started != nil:
		return fmt.Errorf("the registration of %s is dropped after the start", d.AgentID)
	case a.Answered:
		return fmt.Errorf("the registration of %s is dropped, but it has answered", d.AgentID)
	}
	s.drop(a)
	return nil
}

// drop ends the registration of an agent.
func (s *State) drop(a *Agent) {
	delete(s.Agents, a.AgentID)
	s.Dropped[a.AgentID] = a
}

// AgentReturned records that an agent showed its token or its registration code again, for
// example after a crash, from another endpoint or for a new token, or that it answers
// again. It ends a suspension.
type AgentReturned struct {
	AgentID    string `json:"agent_id"`
	Endpoint   string `json:"endpoint,omitzero"`
	Generation int    `json:"generation"`
	Reason     string `json:"reason,omitzero"`
	// RefereeAuth is the new RefereeAuth of a referee; "" leaves it unchanged.
	RefereeAuth string `json:"referee_auth,omitzero"`
	// PublicKey is the new key of an agent that lost the one before; "" leaves it unchanged.
	// An agent gets no new key during its match, nor after the start of a league without a roster.
	PublicKey string `json:"public_key,omitzero"`
}

func (d *AgentReturned) apply(s *State, at string) error {
	a, err := s.remainingAgent(d.AgentID)
	if err == nil {
		err = s.checkNewKey(d)
	}
	if err == nil {
		err = a.setRefereeAuth(d.RefereeAuth)
	}
	if err != nil {
		return err
	}
	if d.PublicKey != "" {
		s.setKey(a, d.PublicKey)
	}
	if d.Generation != a.Generation {
		a.TokenSince, a.Confirmed = at, false
	}
	a.Endpoint, a.URL, a.Generation = d.Endpoint, protocol.CanonicalURL(d.Endpoint), d.Generation
	if a.SuspendReason != "" { // its failures stay: one more suspends it again
		a.SuspendReason, a.ReturnReason, a.FailuresAtReturn = "", d.Reason, a.Failures
	}
	return nil
}

// AgentConfirmed records that an agent has used its token. From then on the manager
// does not repeat the answer that contained the token.
type AgentConfirmed struct {
	AgentID    string `json:"agent_id"`
	Generation int    `json:"generation"`
}

func (d *AgentConfirmed) apply(s *State, _ string) error {
	a, err := s.agent(d.AgentID)
	if err == nil {
		a.Confirmed = a.Confirmed || d.Generation == a.Generation
		a.Tokenless = a.Tokenless && !a.Confirmed
	}
	return err
}

// AgentSuspended records that an agent gets nothing to do until it returns.
type AgentSuspended struct {
	AgentID string `json:"agent_id"`
	Reason  string `json:"reason"`
}

func (d *AgentSuspended) apply(s *State, _ string) error {
	a, err := s.remainingAgent(d.AgentID)
	if err == nil {
		a.SuspendReason = d.Reason
	}
	return err
}

// AgentFailed records that a referee failed with an attempt: it was not reachable,
// went away, or did not report. The failures of a round count when it is completed,
// so that the order in which they become known does not matter.
type AgentFailed struct {
	AgentID string `json:"agent_id"`
	league.Attempt
	Reason          string `json:"reason,omitzero"`
	AcknowledgesAll bool   `json:"acknowledges_all,omitzero"` // it answers every request in the same way
}

func (d *AgentFailed) apply(s *State, _ string) error {
	if err := s.checkReferee(d.AgentID); err != nil {
		return err
	}
	a, err := s.attempt(d.Attempt, d.AgentID)
	if err != nil {
		return err
	}
	if m, _, _, _ := s.Find(d.MatchID); !s.Open() && !m.Reopened() {
		return fmt.Errorf("%s fails while no round is open", d.AgentID)
	}
	a.Failed = true
	s.Agents[d.AgentID].RoundFailures++
	s.Agents[d.AgentID].AcknowledgesAll = d.AcknowledgesAll
	return nil
}

// AgentShutdown records that an agent has failed too often: it takes no part any
// more and cannot return.
type AgentShutdown struct {
	AgentID string `json:"agent_id"`
	Reason  string `json:"reason"`
}

func (d *AgentShutdown) apply(s *State, _ string) error {
	a, err := s.remainingAgent(d.AgentID)
	if err == nil {
		a.ShutdownReason = d.Reason
		s.leave(a)
	}
	return err
}

// AgentInformed records that an agent knows that the league is over.
type AgentInformed struct {
	AgentID string `json:"agent_id"`
}

func (d *AgentInformed) apply(s *State, _ string) error {
	a, err := s.agent(d.AgentID)
	switch {
	case err != nil:
		return err
	case s.Completed == nil:
		return errors.New("an agent is informed of the end of a league that is not over")
	}
	a.Informed = true
	return nil
}

// agent returns a registered agent.
func (s *State) agent(id string) (*Agent, error) {
	if a := s.Agents[id]; a != nil {
		return a, nil
	}
	return nil, unregistered(id)
}

func unregistered(id string) error { return fmt.Errorf("agent %.40q is not registered", id) }

// remainingAgent returns a registered agent that is neither shut down nor withdrawn.
func (s *State) remainingAgent(id string) (*Agent, error) {
	a, err := s.agent(id)
	if err == nil && a.PartOver() != "" {
		err = fmt.Errorf("the part of %s in the league is over: it %s", a.AgentID, a.PartOver())
	}
	return a, err
}

// checkReferee returns an error for an id that is not that of a referee.
func (s *State) checkReferee(id string) error {
	if a := s.Agents[id]; a == nil || a.Player {
		return fmt.Errorf("%.40q is no referee of this league", id)
	}
	return nil
}

// setRefereeAuth sets how a referee proves itself to players; "" changes nothing.
func (a *Agent) setRefereeAuth(auth string) error {
	switch auth {
	case "":
	case protocol.RefereeAuthNone, protocol.RefereeAuthAccessToken:
		a.RefereeAuth = auth
	default:
		return fmt.Errorf("referee_auth of %s: %.40q", a.AgentID, auth)
	}
	return nil
}
