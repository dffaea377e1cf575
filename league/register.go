package league

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"evenodd/league/journal"
	"evenodd/league/protocol"
)

// An applicant is an agent that asks to be registered.
type applicant struct {
	player       bool
	name         string
	wantedID     string
	version      string // of the protocol; "" means the current one
	endpoint     string
	games        []string
	capacity     int
	token        string // when it comes back
	conversation string
}

// A refusal is why an applicant is turned down.
type refusal struct {
	code   protocol.Code
	reason string
}

func refuse(code protocol.Code, reason string) *refusal { return &refusal{code, reason} }

func (m *Manager) registerReferee(ctx context.Context, _ string, q *protocol.RefereeRegisterRequest) (*protocol.RefereeRegisterResponse, error) {
	meta := &q.RefereeMeta
	if limit := m.options.MaxConcurrentMatches; meta.MaxConcurrentMatches > limit {
		return nil, protocol.Fault(protocol.ErrInvalidFieldType, "referee_meta.max_concurrent_matches: an integer from 1 to %d", limit)
	}
	a, no, err := m.admit(ctx, applicant{
		name: meta.DisplayName, wantedID: protocol.AgentOf(q.Sender), version: meta.ProtocolVersion,
		endpoint: meta.ContactEndpoint, games: meta.GameTypes, capacity: meta.MaxConcurrentMatches,
		token: q.AuthToken, conversation: q.ConversationID,
	})
	if err != nil {
		return nil, err
	}
	response := &protocol.RefereeRegisterResponse{Registration: m.registration(no)}
	if no == nil {
		response.RefereeID, response.AuthToken = &a.id, a.proof.Load().token
	}
	return response, nil
}

func (m *Manager) registerPlayer(ctx context.Context, _ string, q *protocol.LeagueRegisterRequest) (*protocol.LeagueRegisterResponse, error) {
	meta := &q.PlayerMeta
	a, no, err := m.admit(ctx, applicant{
		player: true,
		name:   meta.DisplayName, wantedID: protocol.AgentOf(q.Sender), version: meta.ProtocolVersion,
		endpoint: meta.ContactEndpoint, games: meta.GameTypes,
		token: q.AuthToken, conversation: q.ConversationID,
	})
	if err != nil {
		return nil, err
	}
	response := &protocol.LeagueRegisterResponse{Registration: m.registration(no)}
	if no == nil {
		response.PlayerID, response.AuthToken = &a.id, a.proof.Load().token
	}
	return response, nil
}

// registration is the part of the answer that both kinds have in common.
func (m *Manager) registration(no *refusal) protocol.Registration {
	r := protocol.Registration{
		Status: protocol.StatusAccepted, LeagueID: m.options.LeagueID, ManagerAuth: protocol.ManagerAuthBearer,
	}
	if no != nil {
		r.Status, r.ManagerAuth = protocol.StatusRejected, ""
		r.Reason, r.ErrorCode, r.ErrorName = &no.reason, string(no.code), no.code.Name()
	}
	return r
}

// admit decides about an applicant: an agent, a refusal, or an error. Ids are
// given in order of arrival: reserved first, and kept when the endpoint turns
// out to be reachable.
func (m *Manager) admit(ctx context.Context, a applicant) (*agent, *refusal, error) {
	if !protocol.SupportedVersion(a.version) {
		return nil, refuse(protocol.ErrProtocolVersion, "protocol version "+a.version+" is not supported: 2.0.0 to "+protocol.Version), nil
	}
	if a.token != "" {
		return m.welcomeBack(ctx, a)
	}
	known, reserved, no, err := m.place(ctx, a)
	if reserved == nil {
		if known != nil {
			err = m.durable()
		}
		return known, no, err
	}
	reachable := m.reachable(ctx, a.endpoint, 5*time.Second)
	known, no, err = m.settle(a, reserved, reachable)
	if known != nil {
		err = m.durable() // a token that was given away is not forgotten
	}
	return known, no, err
}

// settle makes a registration of a reservation, or nothing.
func (m *Manager) settle(a applicant, reserved *agent, reachable bool) (_ *agent, _ *refusal, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	defer close(reserved.decided)
	switch {
	case !reachable:
		delete(m.agents, reserved.id)
		return nil, refuse(protocol.ErrInvalidEndpoint, "nobody answers at contact_endpoint "+a.endpoint), nil
	case m.hasStarted():
		delete(m.agents, reserved.id)
		return nil, refuse(protocol.ErrLateRegistration, "the league has started"), nil
	}
	err = m.record(&journal.AgentRegistered{
		AgentID: reserved.id, Role: roleOf(reserved), DisplayName: a.name, Endpoint: a.endpoint,
		Capacity: a.capacity, Registration: reserved.registration, Generation: 1,
	})
	if err != nil {
		delete(m.agents, reserved.id)
		return nil, nil, err
	}
	reserved.registered = true
	// Not the conversation: whoever knows it can ask for the answer once more.
	m.options.Log.Info().Str("id", reserved.id).Str("name", a.name).
		Str("endpoint", a.endpoint).Msg("registered")
	m.enough()
	return reserved, nil, nil
}

func roleOf(a *agent) string {
	if a.player {
		return journal.RolePlayer
	}
	return journal.RoleReferee
}

// place finds the agent whose registration this is once more, or what speaks
// against the applicant, or reserves a place for it. What is still being
// decided about others, and stands in the way, is waited for.
func (m *Manager) place(ctx context.Context, a applicant) (known, reserved *agent, no *refusal, err error) {
	for {
		m.mu.Lock()
		if known = m.repeated(a); known == nil {
			no = m.objection(a, false)
		}
		var pending *agent
		if known == nil && no == nil {
			if pending = m.inTheWay(a); pending == nil {
				reserved = m.reserve(a)
			}
		}
		m.mu.Unlock()
		if pending == nil {
			return known, reserved, no, nil
		}
		select {
		case <-pending.decided:
		case <-ctx.Done():
			return nil, nil, nil, ctx.Err()
		}
	}
}

// inTheWay is a reservation that must be decided first: the same registration
// once more, or one that takes the name or the last place.
func (m *Manager) inTheWay(a applicant) *agent {
	var pending *agent
	for _, other := range m.agents {
		if other.registered || other.player != a.player {
			continue
		}
		if other.registration == m.fingerprint(&a) && other.name == a.name && other.address() == a.endpoint {
			return other
		}
		pending = other
	}
	if pending != nil && m.objection(a, true) != nil {
		return pending
	}
	return nil
}

// fingerprint is what a registration is known by. The journal is for everybody
// to read, and whoever knows the conversation of a registration whose answer was
// lost can ask for that answer: so it is keyed with the manager's secret.
func (m *Manager) fingerprint(a *applicant) string {
	mac := hmac.New(sha256.New, m.secret[:])
	_, _ = io.WriteString(mac, "registration/"+a.conversation) // never fails
	return hex.EncodeToString(mac.Sum(nil)[:16])
}

func (m *Manager) hasStarted() bool {
	select {
	case <-m.started:
		return true
	default:
		return false
	}
}

// repeated finds the agent whose registration this is once more: its answer
// was lost. Once its token has been used it was not.
func (m *Manager) repeated(a applicant) *agent {
	fingerprint := m.fingerprint(&a)
	for _, known := range m.agents {
		if known.registered && known.player == a.player && known.registration == fingerprint &&
			known.name == a.name && known.address() == a.endpoint && !m.state.Agents[known.id].Confirmed {
			return known
		}
	}
	return nil
}

// objection is what speaks against an applicant before its endpoint is tried,
// where only those count whose registration is complete, or reservations too.
func (m *Manager) objection(a applicant, reservations bool) *refusal {
	if m.hasStarted() {
		return refuse(protocol.ErrLateRegistration, "the league has started")
	}
	players, referees := 0, 0
	for _, known := range m.agents {
		switch {
		case !known.registered && !reservations:
		case !known.player:
			referees++
		default:
			players++
			if a.player && known.name == a.name && !m.options.SameNames {
				return refuse(protocol.ErrDuplicateName, "display_name "+strconv.Quote(a.name)+" is taken: choose another")
			}
		}
	}
	switch {
	case a.player && players >= m.options.MaxPlayers, !a.player && referees >= m.options.MaxReferees:
		return refuse(protocol.ErrLeagueFull, "the league is full")
	case !slices.Contains(a.games, m.options.GameType):
		return refuse(protocol.ErrUnsupportedGame, "this league plays "+m.options.GameType)
	}
	return m.vet(a.endpoint)
}

// vet is what speaks against an endpoint.
func (m *Manager) vet(endpoint string) *refusal {
	u, err := url.Parse(endpoint)
	if err != nil || !protocol.ValidURL(endpoint) || !slices.Contains(m.options.Schemes, u.Scheme) || u.User != nil {
		return refuse(protocol.ErrInvalidEndpoint, "contact_endpoint must be an absolute URL with scheme "+
			strings.Join(m.options.Schemes, " or ")+" and without a password")
	}
	return nil
}

// reserve makes the agent under the id it asked for, if that is well formed
// and free, else under the lowest free one.
func (m *Manager) reserve(a applicant) *agent {
	parse, format := protocol.ParseRefereeID, protocol.RefereeID
	if a.player {
		parse, format = protocol.ParsePlayerID, protocol.PlayerID
	}
	id := a.wantedID
	if _, ok := parse(id); !ok || m.agents[id] != nil {
		for n := 1; ; n++ {
			if id = format(n); m.agents[id] == nil {
				break
			}
		}
	}
	reserved := m.newAgent(id, a.player, a.name, a.endpoint, a.capacity, 1)
	reserved.registration = m.fingerprint(&a)
	m.agents[id] = reserved
	return reserved
}

// reachable tells whether anybody answers at an endpoint, whatever the answer.
// An agent may register before it listens, so a refused connection is tried
// again until patience ends.
func (m *Manager) reachable(ctx context.Context, endpoint string, patience time.Duration) bool {
	const pause = 250 * time.Millisecond
	for waited := time.Duration(0); ; waited += pause {
		ping, cancel := context.WithTimeout(ctx, 2*time.Second)
		_, err := protocol.Ping.Call(ping, m.options.Caller, protocol.Peer{Endpoint: endpoint}, &protocol.ToolRequest{})
		cancel()
		if !protocol.Unreachable(err) {
			return true
		}
		if waited >= patience || m.options.Clock.Sleep(ctx, pause) != nil {
			return false
		}
	}
}

// answers tells whether an agent is there, and not merely no refusal.
func (m *Manager) answers(ctx context.Context, endpoint string) bool {
	ping := protocol.Limit(ctx, 2*time.Second)
	defer ping.Stop()
	_, err := protocol.Ping.Call(ping, m.options.Caller, protocol.Peer{Endpoint: endpoint}, &protocol.ToolRequest{})
	e := protocol.AsError(err)
	return err == nil || e != nil && e.Code != protocol.ErrTimeout && !protocol.Unreachable(err)
}

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
	if err == nil {
		old = known.address()
	}
	m.mu.Unlock()
	if err != nil {
		return nil, nil, err
	}
	if old != a.endpoint {
		if m.answers(ctx, old) {
			return nil, refuse(protocol.ErrInvalidEndpoint, "an agent still answers at the endpoint registered before: "+old), nil
		}
		if no := m.vet(a.endpoint); no != nil {
			return nil, no, nil
		}
		if !m.reachable(ctx, a.endpoint, 5*time.Second) {
			return nil, refuse(protocol.ErrInvalidEndpoint, "nobody answers at contact_endpoint "+a.endpoint), nil
		}
	}
	if err := m.comeBack(known, a.endpoint, generation); err != nil {
		return nil, nil, err
	}
	return known, nil, m.durable()
}

// comeBack records what has changed with an agent that is there again.
func (m *Manager) comeBack(known *agent, endpoint string, generation int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	is := m.state.Agents[known.id]
	if generation == is.Generation && m.expired(is) {
		generation++
	}
	generation = max(generation, is.Generation) // the answer with the new token was lost
	if renewed := is.Generation != generation; renewed || is.Endpoint != endpoint || is.Suspended != "" {
		err := m.record(&journal.AgentReturned{AgentID: known.id, Endpoint: endpoint, Generation: generation})
		if err != nil {
			return err
		}
		known.endpoint.Store(&endpoint)
		known.proof.Store(m.prove(known.id, generation))
		known.confirmed.Store(false)
	}
	m.options.Log.Info().Str("id", known.id).Str("endpoint", endpoint).Msg("an agent is back")
	close(*known.expect())                                            // whoever waits for it hands its matches over again
	if m.completed != nil && known.late.CompareAndSwap(false, true) { // also if an earlier life of it was told
		select {
		case m.late <- known:
		default: // it will ask again
			known.late.Store(false)
		}
	}
	return nil
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
	if a := m.agents[strings.ToUpper(id)]; a != nil && a.registered {
		generation := m.state.Agents[a.id].Generation
		if protocol.SameToken(token, a.proof.Load().token) {
			return a, generation, nil
		}
		if generation > 1 && !m.state.Agents[a.id].Confirmed && protocol.SameToken(token, m.prove(a.id, generation-1).token) {
			return a, generation - 1, nil
		}
	}
	return nil, 0, protocol.Fault(protocol.ErrTokenInvalid, "auth_token is not that of a registered agent").
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
	a, err := m.authenticate(e.AuthToken)
	if err != nil {
		return nil, err
	}
	return a.whoSent(e)
}

// reporter is identify for a report, for which a token that has expired is good
// enough: its referee was handed the match, and would it be refused, the match
// would never have a result.
func (m *Manager) reporter(e *protocol.Envelope) (*agent, error) {
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

// whoSent is the agent, unless the message names another sender than the owner
// of its token.
func (a *agent) whoSent(e *protocol.Envelope) (*agent, error) {
	if !e.NamelessSender() && protocol.AgentOf(e.Sender) != a.id {
		return nil, protocol.Fault(protocol.ErrNotAuthorized, "auth_token is that of %s, not of %.60s", a.id, e.Sender)
	}
	return a, nil
}

// registeredCounts counts those whose registration is complete; m.mu is held.
func (m *Manager) registeredCounts() (players, referees int) {
	for _, a := range m.agents {
		switch {
		case !a.registered:
		case a.player:
			players++
		default:
			referees++
		}
	}
	return players, referees
}

// startLeague begins the league by hand, with the admin token (spec 003 §8.5).
func (m *Manager) startLeague(_ context.Context, _ string, q *protocol.ToolRequest) (*protocol.LeagueStarted, error) {
	if q.AuthToken == "" {
		return nil, protocol.Fault(protocol.ErrTokenMissing, "start_league needs the admin token as auth_token")
	}
	if !protocol.SameToken(q.AuthToken, m.adminToken) {
		return nil, protocol.Fault(protocol.ErrTokenInvalid, "auth_token is not the admin token")
	}
	started, err := m.startByHand()
	if err != nil {
		return nil, err
	}
	return started, m.durable() // what was said to have begun has begun, whatever dies now
}

func (m *Manager) startByHand() (*protocol.LeagueStarted, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.state.Completed != nil {
		return nil, protocol.Fault(protocol.ErrLeagueComplete, "the league is over")
	}
	players, referees := m.registeredCounts()
	if players < 2 || referees < 1 {
		return nil, protocol.Fault(protocol.ErrLeagueNotStarted, "a league needs 2 players and a referee; registered: %d and %d", players, referees)
	}
	m.begin()
	if err := m.start(); err != nil {
		return nil, err
	}
	return &protocol.LeagueStarted{
		Status: "STARTED", LeagueID: m.options.LeagueID, Players: players, Referees: referees,
		Rounds: m.state.Schedule.Rounds(), Matches: m.state.Schedule.Matches(),
	}, nil
}

func (m *Manager) ping(context.Context, string, *protocol.ToolRequest) (*protocol.Pong, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return &protocol.Pong{Status: "ok", Role: "league_manager", State: m.phase()}, nil
}
