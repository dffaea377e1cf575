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
	auth         string // how a referee proves itself to players: RefereeAuthNone or "", which means by access tokens
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
		endpoint: meta.ContactEndpoint, games: meta.GameTypes, capacity: meta.MaxConcurrentMatches, auth: authOf(q),
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

// authOf is how a referee proves itself, as the journal has it.
func authOf(q *protocol.RefereeRegisterRequest) string {
	if q.RefereeAuth == protocol.RefereeAuthAccessToken {
		return ""
	}
	return protocol.RefereeAuthNone
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
	known, no, err = m.settle(a, reserved, m.visit(ctx, a.endpoint))
	if known != nil {
		err = m.durable() // a token that was given away is not forgotten
	}
	return known, no, err
}

// settle makes a registration of a reservation, or nothing when something speaks
// against the endpoint.
func (m *Manager) settle(a applicant, reserved *agent, no *refusal) (_ *agent, _ *refusal, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	defer close(reserved.decided)
	switch {
	case no != nil:
		delete(m.agents, reserved.id)
		return nil, no, nil
	case m.hasStarted():
		delete(m.agents, reserved.id)
		return nil, refuse(protocol.ErrLateRegistration, "the league has started"), nil
	}
	err = m.record(&journal.AgentRegistered{
		AgentID: reserved.id, Role: roleOf(reserved), DisplayName: a.name, Endpoint: a.endpoint,
		Capacity: a.capacity, Registration: reserved.registration, Generation: 1, RefereeAuth: a.auth,
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
	fingerprint := m.fingerprint(&a)
	for _, other := range m.agents {
		if other.registered || other.player != a.player {
			continue
		}
		if other.registration == fingerprint && other.name == a.name && other.address() == a.endpoint {
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

// visit pings a new endpoint, and tells what speaks against it: nobody listens
// there, it is at an address that is not called, or it is a league manager, this
// one above all, which would be asked to play. An applicant that has hung up
// before anybody answered is not known to be reachable.
func (m *Manager) visit(ctx context.Context, endpoint string) *refusal {
	pong, err := m.knock(ctx, endpoint, 5*time.Second)
	switch {
	case protocol.Forbidden(err):
		return refuse(protocol.ErrInvalidEndpoint, "contact_endpoint "+endpoint+" is at an address that this league does not call")
	case protocol.Unreachable(err), err != nil && ctx.Err() != nil:
		return refuse(protocol.ErrInvalidEndpoint, "nobody answers at contact_endpoint "+endpoint)
	case err == nil && pong.Role == roleManager:
		return refuse(protocol.ErrInvalidEndpoint, "a league manager answers at contact_endpoint "+endpoint+": give the agent's own")
	}
	return nil
}

// reachable tells whether anybody answers at an endpoint now, whatever the
// answer.
func (m *Manager) reachable(ctx context.Context, endpoint string) bool {
	_, err := m.knock(ctx, endpoint, 0)
	return !protocol.Unreachable(err)
}

// knock pings an endpoint. An agent may register before it listens, so a refused
// connection is tried again until patience ends.
func (m *Manager) knock(ctx context.Context, endpoint string, patience time.Duration) (*protocol.Pong, error) {
	const pause = 250 * time.Millisecond
	for waited := time.Duration(0); ; waited += pause {
		ping, cancel := context.WithTimeout(ctx, 2*time.Second)
		pong, err := protocol.Ping.Call(ping, m.options.Caller, protocol.Peer{Endpoint: endpoint}, &protocol.ToolRequest{})
		cancel()
		if !protocol.Unreachable(err) || waited >= patience || m.options.Clock.Sleep(ctx, pause) != nil {
			return pong, err
		}
	}
}

// roleManager is what a manager says it is when it is pinged.
const roleManager = "league_manager"

// answers tells whether an agent is there, and not merely no refusal.
func (m *Manager) answers(ctx context.Context, endpoint string) bool {
	ping := protocol.Limit(ctx, 2*time.Second)
	defer ping.Stop()
	_, err := protocol.Ping.Call(ping, m.options.Caller, protocol.Peer{Endpoint: endpoint}, &protocol.ToolRequest{})
	e := protocol.AsError(err)
	return err == nil || e != nil && e.Code != protocol.ErrTimeout && !protocol.Unreachable(err)
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

func (m *Manager) ping(context.Context, string, *protocol.ToolRequest) (*protocol.Pong, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return &protocol.Pong{Status: "ok", Role: roleManager, State: m.phase()}, nil
}
