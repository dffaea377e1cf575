package manager

import (
	"context"
	"encoding/hex"
	"errors"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"evenodd/league/decide"
	"evenodd/league/journal"
	"evenodd/league/protocol"
)

func (m *Manager) registerReferee(ctx context.Context, _ string,
	q *protocol.RefereeRegisterRequest) (*protocol.RefereeRegisterResponse, error) {
	meta, a := &q.RefereeMeta, m.applicant(protocol.RoleReferee, &q.Envelope, &q.RefereeMeta.AgentMeta, q.RegistrationCode)
	if limit := m.options.MaxConcurrentMatches; meta.MaxConcurrentMatches > limit {
		return nil, protocol.Fault(protocol.ErrInvalidFieldType,
			"referee_meta.max_concurrent_matches: an integer from 1 to %d", limit)
	}
	if q.RefereeAuth != protocol.RefereeAuthAccessToken { // the usual one, which the journal leaves out
		a.RefereeAuth = protocol.RefereeAuthNone
	}
	a.Features = meta.Features
	a.Capacity, a.PublicKey, a.RelaysSignatures = meta.MaxConcurrentMatches, meta.PublicKey, meta.RelaysSignatures
	registration, id, token, err := m.answerApplicant(ctx, protocol.RegisterReferee.Name, q.Sender, a)
	return &protocol.RefereeRegisterResponse{
		Envelope: protocol.Envelope{AuthToken: token}, RefereeID: id, Registration: registration,
	}, err
}

func (m *Manager) registerPlayer(ctx context.Context, _ string,
	q *protocol.LeagueRegisterRequest) (*protocol.LeagueRegisterResponse, error) {
	a := m.applicant(protocol.RolePlayer, &q.Envelope, &q.PlayerMeta.AgentMeta, q.RegistrationCode)
	a.PublicKey = q.PlayerMeta.PublicKey
	registration, id, token, err := m.answerApplicant(ctx, protocol.RegisterPlayer.Name, q.Sender, a)
	return &protocol.LeagueRegisterResponse{
		Envelope: protocol.Envelope{AuthToken: token}, PlayerID: id, Registration: registration,
	}, err
}

// applicant is the applicant that a registration describes.
func (m *Manager) applicant(role string, q *protocol.Envelope, meta *protocol.AgentMeta, code string) *decide.Applicant {
	return &decide.Applicant{Token: q.AuthToken, Code: code, LargeMessages: meta.LargeMessages,
		AgentRegistered: journal.AgentRegistered{
			Role: role, AgentID: protocol.AgentOf(q.Sender), Registration: m.fingerprint(q.ConversationID),
			DisplayName: meta.DisplayName, Endpoint: meta.ContactEndpoint,
			Version: meta.Version, ProtocolVersion: meta.ProtocolVersion, GameTypes: meta.GameTypes,
		}}
}

// fingerprint identifies a registration by its conversation. It is keyed, because a reader of the journal that knew
// the conversation could
// repeat the registration and get the token.
func (m *Manager) fingerprint(conversation string) string {
	mac := protocol.Derive(m.keys.Registration, "registration/"+conversation)
	return hex.EncodeToString(mac[:16])
}

// answerApplicant decides about an applicant and fills the members that the responses to both
// roles share. It logs a rejection.
func (m *Manager) answerApplicant(ctx context.Context, method, sender string,
	a *decide.Applicant) (response protocol.Registration, id *string, token string, err error) {
	admitted, err := m.admit(ctx, a)
	if err == nil {
		err = m.durable() // a token that was given away must survive a crash
	}
	response.LeagueID = m.options.LeagueID
	var no *decide.RejectionError
	switch {
	case errors.As(err, &no):
		why := no.Reason
		m.refusals.write(ctx, method, sender, why)
		response.Status, response.RetryAfterSec = protocol.StatusRejected, int(math.Ceil(no.Retry.Seconds()))
		response.Reason, response.ErrorCode, response.ErrorName, response.Context = &why.Detail, string(why.Code),
			why.Code.Name(), why.Context
		return response, nil, "", nil
	case err != nil:
		return response, nil, "", err
	}
	response.Status, response.ManagerAuth, response.ManagerKey = protocol.StatusAccepted, protocol.ManagerAuthBearer,
		m.state.Created.ManagerKey
	return response, &admitted.id, admitted.proof.Load().token, nil
}

// admit decides about an applicant. It makes no call to a new applicant, because most
// agents open their port only after the response; pingSilent pings it afterwards. The
// error is a *decide.RejectionError, or one for a LEAGUE_ERROR.
func (m *Manager) admit(ctx context.Context, a *decide.Applicant) (*agent, error) {
	if !protocol.SupportedVersion(a.ProtocolVersion) {
		return nil, decide.Reject(protocol.ErrProtocolVersion, "protocol version %s is not supported: 2.0.0 to %s",
			a.ProtocolVersion, protocol.Version)
	}
	if err := decide.Lacks(m.state, a); err != nil {
		return nil, err
	}
	known, generation, err := m.returning(ctx, a)
	switch {
	case err != nil:
		return nil, err
	case known != nil:
		return m.readmit(ctx, a, known, generation)
	}
	if err := m.checkEndpoint(ctx, a.Endpoint); err != nil {
		return nil, err
	}
	return m.register(a)
}

// register registers an applicant, or finds the agent whose registration this request
// repeats.
func (m *Manager) register(a *decide.Applicant) (*agent, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if id := decide.Repeated(m.state, a); id != "" {
		return m.agents[id], nil
	}
	drop, event, err := m.applicants.Admit(m.state, a, m.clock.Now())
	if err != nil {
		return nil, err
	}
	for _, d := range drop {
		if err := m.dropRegistration(d); err != nil {
			return nil, err
		}
	}
	if err := m.record(event); err != nil {
		return nil, err
	}
	created := m.addAgent(m.state.Agents[event.AgentID])
	m.expectAnswer(created)
	// The conversation is not logged: a reader of the log could repeat the request.
	m.log.Info().Str("id", created.id).Str("name", a.DisplayName).Str("endpoint", a.Endpoint).
		Func(m.logSilent).Str("event_type", "REGISTERED").Msg("registered")
	m.startIfComplete()
	return created, nil
}

// dropRegistration ends the registration of an agent that has not answered. M.mu is held.
func (m *Manager) dropRegistration(event *journal.RegistrationDropped) error {
	if event == nil {
		return nil
	}
	if err := m.record(event); err != nil {
		return err
	}
	a := m.agents[event.AgentID]
	delete(m.agents, a.id)
	m.applicants.Forget(a.id)
	m.log.Warn().Str("id", a.id).Str("name", a.name).Str("endpoint", a.address()).Str("reason", event.Reason).
		Str("event_type", "REGISTRATION_DROPPED").Msg("registration dropped")
	return nil
}

// resolveTimeout bounds the resolution of an endpoint's host during a registration.
const resolveTimeout = time.Second

// checkEndpoint rejects an endpoint that is malformed, whose host does not exist or is
// at forbidden addresses, or that is the manager's own. The manager calls the
// endpoints that untrusted callers name: without this check and that of the address it
// connects to, they could make it call services in its own network (SSRF). A host that
// is not resolved in time passes: the pings decide.
func (m *Manager) checkEndpoint(ctx context.Context, endpoint string) error {
	u, err := url.Parse(endpoint)
	if err != nil || !protocol.ValidURL(endpoint) || !slices.Contains(m.options.Schemes, u.Scheme) || u.User != nil {
		return decide.Reject(protocol.ErrInvalidEndpoint,
			"contact_endpoint must be an absolute URL with scheme %s and without a password",
			strings.Join(m.options.Schemes, " or "))
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return decide.Reject(protocol.ErrInvalidEndpoint, "contact_endpoint must have a port from 1 to 65535, not %s", port)
		}
	}
	if m.options.CheckEndpoint == nil {
		return nil
	}
	limited, stop := context.WithTimeout(ctx, resolveTimeout)
	defer stop()
	if err := m.options.CheckEndpoint(limited, endpoint); err != nil {
		return decide.Reject(protocol.ErrInvalidEndpoint, "contact_endpoint %s: %v", endpoint, err)
	}
	return nil
}

// readmit gives an agent that shows its token or its registration code its own id again,
// also after the start. It may move to another endpoint if nothing answers at the old one.
// An expired token is good for this alone, and gets a successor; so does the token of an
// agent that shows its code, once it was used.
func (m *Manager) readmit(ctx context.Context, a *decide.Applicant, known *agent, generation int) (*agent,
	error) {
	if known.address() != a.Endpoint {
		if err := m.checkMove(ctx, known, a.Endpoint); err != nil {
			return nil, err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.agents[known.id] != known { // dropped during the calls
		if a.Token == "" {
			return nil, protocol.RateLimited(time.Second) // to register anew
		}
		return nil, unknownToken()
	}
	// All agents of a simulation that resumes register again, also those that were
	// suspended for good reasons: there the pings between two rounds decide.
	is, byCode := m.state.Agents[known.id], a.Token == ""
	if byCode {
		generation = is.Generation
	}
	drop, event, err := m.applicants.Readmit(m.state, a, decide.Return{
		AgentID: known.id, Generation: generation, Expired: m.expired(is) || byCode && is.Confirmed, ByCode: byCode,
		Revive: m.options.Simulation == nil,
	}, m.clock.Now())
	if err == nil {
		err = m.dropRegistration(drop)
	}
	if err == nil && event != nil {
		err = m.move(known, event)
	}
	if err != nil {
		return nil, err
	}
	m.log.Info().Str("id", known.id).Str("endpoint", a.Endpoint).Str("event_type",
		"AGENT_BACK").Msg("an agent is back")
	close(*known.expectReturn()) // its matches are handed over again
	known.refusals.Store(0)
	m.tellLate(known)
	return known, nil
}

// returning finds the agent that registers again, by its token or its registration code;
// nil for a new one. It checks the code of an applicant without a token.
func (m *Manager) returning(ctx context.Context, a *decide.Applicant) (known *agent, generation int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if a.Token != "" {
		known, generation, err = m.owner(a.Token)
	} else if err = m.guesses.Check(m.applicants.Roster, a, m.refusals.address(ctx), m.clock.Now()); err == nil {
		holder := m.applicants.Roster.Holder(m.state, a)
		if holder != nil && decide.Repeated(m.state, a) == "" {
			known = m.agents[holder.AgentID]
		}
	}
	if known == nil || err != nil {
		return nil, 0, err
	}
	if known.player != a.Player() {
		err = protocol.Fault(protocol.ErrNotAuthorized, "the token is that of %s", known.id)
	}
	if err == nil {
		err = known.queries.allow()
	}
	if err == nil {
		err = decide.PartOver(m.state, known.id)
	}
	return known, generation, err
}

// move records the new endpoint, token or referee_auth of an agent that returns. The
// lock is held.
func (m *Manager) move(a *agent, event *journal.AgentReturned) error {
	if err := a.moves.allow(); err != nil {
		return err
	}
	if err := m.record(event); err != nil {
		return err
	}
	a.endpoint.Store(&event.Endpoint)
	a.proof.Store(m.prove(a.id, event.Generation))
	return nil
}

// checkMove rejects an endpoint that no agent may register, and any endpoint while an
// agent answers at the old one. Silence at the new one is no reason to reject: many
// agents open their port only after the response.
func (m *Manager) checkMove(ctx context.Context, mover *agent, to string) error {
	if err := m.checkEndpoint(ctx, to); err != nil {
		return err
	}
	old := mover.address()
	var stays bool
	var pinging sync.WaitGroup
	pinging.Go(m.guarded(func() {
		_, err := m.ping(ctx, old)
		stays = answered(err)
	}))
	pong, err := m.ping(ctx, to)
	pinging.Wait()
	switch {
	case stays:
		return decide.Reject(protocol.ErrInvalidEndpoint, "an agent still answers at the endpoint registered before: %s", old)
	case protocol.Forbidden(err):
		return decide.Reject(protocol.ErrInvalidEndpoint,
			"contact_endpoint %s is at an address that this league does not call", to)
	case isManager(pong, err):
		return decide.Reject(protocol.ErrInvalidEndpoint, "a league manager answers at contact_endpoint %s", to)
	}
	return nil
}
