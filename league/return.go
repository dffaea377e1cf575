package league

import (
	"cmp"
	"context"
	"strings"
	"sync"
	"time"

	"evenodd/league/journal"
	"evenodd/league/protocol"
)

// welcomeBack gives an agent that shows its token its own id again, also after
// the start. It may move to another endpoint while nobody answers at the old
// one. A token that has expired is good for this alone, and gets a successor.
func (m *Manager) welcomeBack(ctx context.Context, a applicant) (*agent, *refusal, error) {
	m.mu.Lock()
	known, generation, err := m.owner(a.token)
	if err == nil && known.player != a.player {
		err = protocol.Fault(protocol.ErrNotAuthorized, "the token is that of %s", known.id)
	}
	var old string
	var over *refusal
	if err == nil {
		old, over = known.address(), m.over(known)
		err = m.allow(known.throttle.asks)
	}
	m.mu.Unlock()
	if err != nil || over != nil {
		return nil, over, err
	}
	if old != a.endpoint {
		if no := m.checkMove(ctx, old, a.endpoint); no != nil {
			return nil, no, nil
		}
	}
	if no, err := m.comeBack(known, a, generation); no != nil || err != nil {
		return nil, no, err
	}
	return known, nil, m.durable()
}

// checkMove refuses an endpoint that no agent may register, and any other while an
// agent still answers at the old one. Silence at the new one is no reason: many agents
// open their port only after the response.
func (m *Manager) checkMove(ctx context.Context, old, to string) *refusal {
	if no := m.checkEndpoint(ctx, to); no != nil {
		return no
	}
	var stays bool
	var pinging sync.WaitGroup
	pinging.Go(func() { stays = m.answers(ctx, old) })
	pong, err := m.pingOnce(ctx, to)
	pinging.Wait()
	switch {
	case stays:
		return refuse(protocol.ErrInvalidEndpoint, "an agent still answers at the endpoint registered before: "+old)
	case protocol.Forbidden(err):
		return refuse(protocol.ErrInvalidEndpoint, "contact_endpoint "+to+" is at an address that this league does not call")
	case isManager(pong, err):
		return refuse(protocol.ErrInvalidEndpoint, "a league manager answers at contact_endpoint "+to)
	}
	return nil
}

// over is what an agent is told whose part in the league is over. M.mu is held.
func (m *Manager) over(known *agent) *refusal {
	why := m.state.Agents[known.id].Shutdown
	if why == "" {
		return nil
	}
	return refuse(protocol.ErrNotAuthorized, "the part of "+known.id+" in this league is over: it "+why)
}

// comeBack records what has changed with an agent that is there again.
func (m *Manager) comeBack(known *agent, a applicant, generation int) (*refusal, error) {
	endpoint := a.endpoint
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.agents[known.id] != known { // dropped during the calls
		return nil, unknownToken()
	}
	is := m.state.Agents[known.id]
	if over := m.over(known); over != nil { // meanwhile
		return over, nil
	}
	if is.Endpoint != endpoint {
		if no, err := m.makeURLFree(known, a); no != nil || err != nil {
			return no, err
		}
	}
	if generation == is.Generation && m.expired(is) {
		generation++
	}
	generation = max(generation, is.Generation) // the answer with the new token was lost
	// In a simulation that goes on all agents register again, also those that were
	// suspended for good reasons: there the pings between two rounds say who is back.
	revived := is.Suspended != "" && m.options.Simulation == nil
	auth := "" // as before
	if proves := a.auth == ""; !known.player && proves != is.Proves() {
		auth = cmp.Or(a.auth, protocol.RefereeAuthAccessToken)
	}
	if renewed := is.Generation != generation; renewed || is.Endpoint != endpoint || revived || auth != "" {
		if err := m.allow(known.throttle.moves); err != nil {
			return nil, err
		}
		err := m.record(&journal.AgentReturned{AgentID: known.id, Endpoint: endpoint, Generation: generation, Reason: "it registered again", RefereeAuth: auth})
		if err != nil {
			return nil, err
		}
		known.endpoint.Store(&endpoint)
		known.url = protocol.CanonicalURL(endpoint)
		known.proof.Store(m.prove(known.id, generation))
		known.confirmed.Store(false)
	}
	m.options.Log.Info().Str("id", known.id).Str("endpoint", endpoint).Str("event_type", protocol.EventAgentBack).Msg("an agent is back")
	close(*known.expect())                                            // whoever waits for it hands its matches over again
	if m.completed != nil && known.late.CompareAndSwap(false, true) { // also if an earlier life of it was told
		select {
		case m.late <- known:
		default: // it will ask again
			known.late.Store(false)
		}
	}
	return nil, nil
}

// makeURLFree drops another agent of the same role at the endpoint of an agent that
// moves, or refuses the move. M.mu is held.
func (m *Manager) makeURLFree(known *agent, a applicant) (*refusal, error) {
	at := protocol.CanonicalURL(a.endpoint)
	for _, other := range m.agents {
		if other == known || other.player != known.player || other.url != at {
			continue
		}
		if m.graceLeft(other) > 0 {
			return m.mayBecomeFree(urlTaken(a), other), nil
		}
		return nil, m.drop(other, journal.DroppedSilent)
	}
	return nil, nil //nolint:nilnil // the URL is free
}

// expired tells whether an agent's token has had its time; m.mu is held.
func (m *Manager) expired(a *journal.Agent) bool {
	since, err := time.Parse(time.RFC3339, a.Since)
	return m.options.TokenTTL > 0 && err == nil && m.options.Clock.Now().Sub(since) > m.options.TokenTTL
}

// owner finds the agent whose token it is, and of which generation: the last, or
// the one before, in case the answer that brought the last was lost. M.mu is
// held.
func (m *Manager) owner(token string) (*agent, int, error) {
	if token == "" {
		return nil, 0, protocol.Fault(protocol.ErrTokenMissing, "auth_token is required after registration").
			With("expected_format", "tok-{agent_id}-{hash}")
	}
	id, _, _ := strings.Cut(strings.TrimPrefix(token, "tok-"), "-")
	if a := m.agents[strings.ToUpper(id)]; a != nil {
		generation := m.state.Agents[a.id].Generation
		if protocol.SameToken(token, a.proof.Load().token) {
			return a, generation, nil
		}
		if generation > 1 && !m.state.Agents[a.id].Confirmed && protocol.SameToken(token, m.prove(a.id, generation-1).token) {
			return a, generation - 1, nil
		}
	}
	return nil, 0, unknownToken()
}

func unknownToken() error {
	return protocol.Fault(protocol.ErrTokenInvalid, "auth_token is not that of a registered agent").
		With("expected_format", "tok-{agent_id}-{hash}")
}

// authenticate finds the agent whose token it is, which must be good for all;
// m.mu is held.
func (m *Manager) authenticate(token string) (*agent, error) {
	a, generation, err := m.owner(token)
	if err != nil {
		return nil, err
	}
	if is := m.state.Agents[a.id]; generation != is.Generation || m.expired(is) {
		return nil, protocol.Fault(protocol.ErrTokenInvalid, "auth_token has expired: register again with it")
	}
	return a, m.confirm(a)
}

// confirm records that an agent has its token. M.mu is held.
func (m *Manager) confirm(a *agent) error {
	is := m.state.Agents[a.id]
	if is.Confirmed {
		a.confirmed.Store(true)
		return nil
	}
	err := m.record(&journal.AgentConfirmed{AgentID: a.id, Generation: is.Generation})
	a.confirmed.Store(err == nil)
	return err
}

// identify is authenticate for a message, whose sender must be the token's
// owner.
func (m *Manager) identify(e *protocol.Envelope) (*agent, error) {
	if a := m.agents[protocol.AgentOf(e.Sender)]; m.options.LenientAuth && e.AuthToken == "" && a != nil && a.player {
		return a, nil
	}
	a, err := m.authenticate(e.AuthToken)
	if err != nil {
		return nil, err
	}
	return a.whoSent(e)
}

// reporter is identify for a report, for which a token that has expired is good
// enough: its referee was handed the match, and would it be refused, the match
// would never have a result.
func (m *Manager) reporter(q *protocol.MatchResultReport) (*agent, error) {
	e := &q.Envelope
	if a := m.tokenless(q); a != nil {
		return a, nil
	}
	a, generation, err := m.owner(e.AuthToken)
	if err != nil {
		return nil, err
	}
	if generation == m.state.Agents[a.id].Generation {
		if err := m.confirm(a); err != nil {
			return nil, err
		}
	}
	return a.whoSent(e)
}

// tokenless is the referee whose report comes without a token, where the league is
// lenient: the one that the sender names, or that has the match, when no sender is
// named. It is never one that shows players access tokens, as ours do: those have
// their token. Nil for none. M.mu is held.
func (m *Manager) tokenless(q *protocol.MatchResultReport) *agent {
	if !m.options.LenientAuth || q.AuthToken != "" {
		return nil
	}
	id := protocol.AgentOf(q.Sender)
	if q.NamelessSender() {
		fact, _, _, ok := m.state.Find(q.MatchID)
		if !ok || len(fact.Attempts) == 0 {
			return nil
		}
		id = fact.Attempts[len(fact.Attempts)-1].Referee
	}
	a := m.agents[id]
	if a == nil || a.player || m.state.Agents[id].Proves() {
		return nil
	}
	return a
}

// whoSent is the agent, unless the message names another sender than the owner
// of its token.
func (a *agent) whoSent(e *protocol.Envelope) (*agent, error) {
	if !e.NamelessSender() && protocol.AgentOf(e.Sender) != a.id {
		return nil, protocol.Fault(protocol.ErrNotAuthorized, "auth_token is that of %s, not of %.60s", a.id, e.Sender)
	}
	return a, nil
}
