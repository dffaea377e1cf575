package league

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math"
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
	agentVersion string
	endpoint     string
	games        []string
	capacity     int
	auth         string // how a referee proves itself to players: RefereeAuthNone or "", which means by access tokens
	token        string // when it comes back
	conversation string
}

// A refusal is why an applicant is not registered.
type refusal struct {
	code    protocol.Code
	reason  string
	context map[string]any // the error data of 004 §2
	retry   time.Duration  // when a slot or name may become free; 0: never by waiting
}

func refuse(code protocol.Code, reason string) *refusal { return &refusal{code: code, reason: reason} }

// with adds a member to the error data.
func (r *refusal) with(key string, value any) *refusal {
	if r.context == nil {
		r.context = map[string]any{}
	}
	r.context[key] = value
	return r
}

func (m *Manager) registerReferee(ctx context.Context, _ string, q *protocol.RefereeRegisterRequest) (*protocol.RefereeRegisterResponse, error) {
	meta := &q.RefereeMeta
	if limit := m.options.MaxConcurrentMatches; meta.MaxConcurrentMatches > limit {
		return nil, protocol.Fault(protocol.ErrInvalidFieldType, "referee_meta.max_concurrent_matches: an integer from 1 to %d", limit)
	}
	a, no, err := m.admit(ctx, applicant{
		name: meta.DisplayName, wantedID: protocol.AgentOf(q.Sender), version: meta.ProtocolVersion, agentVersion: meta.Version,
		endpoint: meta.ContactEndpoint, games: meta.GameTypes, capacity: meta.MaxConcurrentMatches, auth: authOf(q),
		token: q.AuthToken, conversation: q.ConversationID,
	})
	if err != nil {
		return nil, err
	}
	response := &protocol.RefereeRegisterResponse{}
	response.Registration, response.RefereeID, response.AuthToken = m.registration(ctx, protocol.RegisterReferee.Name, q.Sender, a, no)
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
		name:   meta.DisplayName, wantedID: protocol.AgentOf(q.Sender), version: meta.ProtocolVersion, agentVersion: meta.Version,
		endpoint: meta.ContactEndpoint, games: meta.GameTypes,
		token: q.AuthToken, conversation: q.ConversationID,
	})
	if err != nil {
		return nil, err
	}
	response := &protocol.LeagueRegisterResponse{}
	response.Registration, response.PlayerID, response.AuthToken = m.registration(ctx, protocol.RegisterPlayer.Name, q.Sender, a, no)
	return response, nil
}

// registration is what the responses of both roles share: for a refusal, which it
// logs, without id and token.
func (m *Manager) registration(ctx context.Context, method, sender string, a *agent, no *refusal) (r protocol.Registration, id *string, token string) {
	r.LeagueID = m.options.LeagueID
	if no == nil {
		r.Status, r.ManagerAuth = protocol.StatusAccepted, protocol.ManagerAuthBearer
		return r, &a.id, a.proof.Load().token
	}
	m.refusals.write(ctx, refused{method, sender, no.code, no.reason})
	r.Status, r.RetryAfterSec = protocol.StatusRejected, int(math.Ceil(no.retry.Seconds()))
	r.Reason, r.ErrorCode, r.ErrorName, r.Context = &no.reason, string(no.code), no.code.Name(), no.context
	return r, nil, ""
}

// admit decides about an applicant: an agent, a refusal, or an error. It makes
// no call to the applicant, because most agents open their port only after the
// response. The manager pings the endpoint afterwards (awaitAnswers).
func (m *Manager) admit(ctx context.Context, a applicant) (*agent, *refusal, error) {
	if !protocol.SupportedVersion(a.version) {
		return nil, refuse(protocol.ErrProtocolVersion, "protocol version "+a.version+" is not supported: 2.0.0 to "+protocol.Version), nil
	}
	if a.token != "" {
		return m.welcomeBack(ctx, a)
	}
	no := m.checkEndpoint(ctx, a.endpoint)
	if no != nil {
		return nil, no, nil
	}
	registered, no, err := m.register(a)
	if registered != nil {
		err = m.durable() // a token that was given away is not forgotten
	}
	return registered, no, err
}

// register registers an applicant, or finds the agent whose registration this
// repeats. It drops the registrations that make way for the applicant.
func (m *Manager) register(a applicant) (*agent, *refusal, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known := m.repeated(a); known != nil {
		return known, nil, nil
	}
	silent, no := m.makeWay(a)
	m.queueUp(a, no)
	if no != nil {
		return nil, no, nil
	}
	for _, s := range silent {
		if err := m.drop(s, journal.DroppedSilent); err != nil {
			return nil, nil, err
		}
	}
	created := m.newAgent(m.freeID(a), a.player, a.name, a.endpoint, a.capacity, 1)
	created.registration = m.fingerprint(&a)
	event := &journal.AgentRegistered{
		AgentID: created.id, Role: roleOf(created), DisplayName: a.name, Endpoint: a.endpoint,
		Capacity: a.capacity, Registration: created.registration, Generation: 1, RefereeAuth: a.auth,
	}
	if !m.options.Listening {
		event.AwaitsAnswer, event.Version, event.ProtocolVersion, event.GameTypes = true, a.agentVersion, a.version, a.games
	}
	if err := m.record(event); err != nil {
		return nil, nil, err
	}
	m.agents[created.id] = created
	m.expectAnswer(created)
	// The conversation is not logged: it would let a reader ask for the response again.
	m.options.Log.Info().Str("id", created.id).Str("name", a.name).Str("endpoint", a.endpoint).
		Func(m.logAwaited).Msg("registered")
	m.enough()
	return created, nil, nil
}

func roleOf(a *agent) string {
	if a.player {
		return journal.RolePlayer
	}
	return journal.RoleReferee
}

// makeWay returns the registrations to drop for the applicant, or the refusal: the
// agents that have its name, its URL or the last slot can be dropped when they have
// been silent beyond the grace period. Free slots belong first to the applicants that
// have waited longer. M.mu is held.
func (m *Manager) makeWay(a applicant) (drop []*agent, no *refusal) {
	switch {
	case m.hasStarted():
		return nil, refuse(protocol.ErrLateRegistration, "the league has started")
	case !slices.Contains(a.games, m.options.GameType):
		return nil, refuse(protocol.ErrUnsupportedGame, "this league plays "+m.options.GameType)
	}
	count, droppable := 0, 0
	var sameURL, sameName, silent *agent // silent: the agent that has been silent for the longest time
	at := protocol.CanonicalURL(a.endpoint)
	for _, known := range m.agents {
		if known.player != a.player {
			continue
		}
		count++
		if known.url == at {
			sameURL = known
		}
		if a.player && known.name == a.name && !m.options.SameNames {
			sameName = known
		}
		if m.hasAnswered(known) {
			continue
		}
		if silent == nil || known.since.Before(silent.since) ||
			known.since.Equal(silent.since) && protocol.CompareIDs(known.id, silent.id) < 0 {
			silent = known
		}
		if m.graceLeft(known) == 0 {
			droppable++
		}
	}
	limit := m.options.MaxPlayers
	if !a.player {
		limit = m.options.MaxReferees
	}
	for _, conflict := range []struct {
		with    *agent
		refusal func(applicant) *refusal
	}{{sameName, nameTaken}, {sameURL, urlTaken}} {
		if conflict.with == nil || slices.Contains(drop, conflict.with) {
			continue
		}
		no := conflict.refusal(a)
		if m.graceLeft(conflict.with) > 0 {
			return nil, m.mayBecomeFree(no, conflict.with)
		}
		if ahead := m.ahead(a, no.code); len(ahead) > 0 {
			return nil, m.afterOthers(no, ahead)
		}
		drop = append(drop, conflict.with)
	}
	full := func() *refusal {
		return refuse(protocol.ErrLeagueFull, fmt.Sprintf("the league is full: it takes %d %ss", limit, a.role())).
			with("max_"+a.role()+"s", limit).with("current_"+a.role()+"s", count)
	}
	free := limit - count + droppable
	if free <= 0 {
		return nil, m.mayBecomeFree(full(), silent)
	}
	if ahead := m.ahead(a, protocol.ErrLeagueFull); len(ahead) >= free {
		return nil, m.afterOthers(full(), ahead)
	}
	if count-len(drop) >= limit && !slices.Contains(drop, silent) {
		drop = append(drop, silent)
	}
	return drop, nil
}

// role is the applicant's, for people.
func (a *applicant) role() string {
	if a.player {
		return "player"
	}
	return "referee"
}

func nameTaken(a applicant) *refusal {
	return refuse(protocol.ErrDuplicateName, "display_name "+strconv.Quote(a.name)+" is taken: choose another").
		with("display_name", a.name).with("suggestion", "Choose a different display_name")
}

func urlTaken(a applicant) *refusal {
	return refuse(protocol.ErrInvalidEndpoint, "another "+a.role()+" is registered at this contact_endpoint; to return as that agent, send its auth_token")
}

// mayBecomeFree adds to a refusal when to try again, if it is because of an
// agent that has not answered yet; nil is for none.
func (m *Manager) mayBecomeFree(no *refusal, because *agent) *refusal {
	if because != nil && !m.hasAnswered(because) {
		no.retry = m.graceLeft(because)
		no.reason += fmt.Sprintf("; %s has not answered yet: try again in %d s", because.id, int(math.Ceil(no.retry.Seconds())))
	}
	return no
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
		if known.player == a.player && known.registration == fingerprint &&
			known.name == a.name && known.address() == a.endpoint && !m.state.Agents[known.id].Confirmed {
			return known
		}
	}
	return nil
}

// resolveTimeout bounds the resolving of an endpoint's host during a registration.
const resolveTimeout = time.Second

// checkEndpoint refuses an endpoint that is malformed, whose host does not exist or
// is at addresses that this league does not call, or that is the manager's own. A
// host that cannot be resolved in time passes: the pings decide.
func (m *Manager) checkEndpoint(ctx context.Context, endpoint string) *refusal {
	u, err := url.Parse(endpoint)
	if err != nil || !protocol.ValidURL(endpoint) || !slices.Contains(m.options.Schemes, u.Scheme) || u.User != nil {
		return refuse(protocol.ErrInvalidEndpoint, "contact_endpoint must be an absolute URL with scheme "+
			strings.Join(m.options.Schemes, " or ")+" and without a password")
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return refuse(protocol.ErrInvalidEndpoint, "contact_endpoint must have a port from 1 to 65535, not "+port)
		}
	}
	if m.options.CheckHost == nil {
		return nil
	}
	limited, stop := context.WithTimeout(ctx, resolveTimeout)
	defer stop()
	if err := m.options.CheckHost(limited, protocol.HostPort(u)); err != nil {
		return refuse(protocol.ErrInvalidEndpoint, "contact_endpoint "+endpoint+": "+err.Error())
	}
	return nil
}

// freeID is the id that an applicant gets: the one it asked for, if that is well
// formed and free, else the lowest free one. The id of a dropped registration is
// never free.
func (m *Manager) freeID(a applicant) string {
	parse, format := protocol.ParseRefereeID, protocol.RefereeID
	if a.player {
		parse, format = protocol.ParsePlayerID, protocol.PlayerID
	}
	free := func(id string) bool { return m.agents[id] == nil && !m.state.Dropped[id] }
	if _, ok := parse(a.wantedID); ok && free(a.wantedID) {
		return a.wantedID
	}
	for !free(format(m.taken[a.player] + 1)) { // an id that is taken is never free again
		m.taken[a.player]++
	}
	return format(m.taken[a.player] + 1)
}

// reachable tells whether anybody answers at an endpoint now, whatever the
// answer.
func (m *Manager) reachable(ctx context.Context, endpoint string) bool {
	_, err := m.pingOnce(ctx, endpoint)
	return !protocol.Unreachable(err)
}

// pingTimeout is how long an agent has to answer a ping.
const pingTimeout = 2 * time.Second

// pingOnce pings an endpoint.
func (m *Manager) pingOnce(ctx context.Context, endpoint string) (*protocol.Pong, error) {
	pong, _, err := protocol.Ping.CallWithin(ctx, m.options.Caller, protocol.Peer{Endpoint: endpoint}, &protocol.ToolRequest{}, pingTimeout)
	return pong, err
}

// roleManager is what a manager says it is when it is pinged.
const roleManager = "league_manager"

// isManager tells whether a ping was answered by a league manager.
func isManager(pong *protocol.Pong, err error) bool { return err == nil && pong.Role == roleManager }

// answers tells whether an agent is there, and not merely no refusal.
func (m *Manager) answers(ctx context.Context, endpoint string) bool {
	_, err := m.pingOnce(ctx, endpoint)
	return answered(err)
}

// answered tells whether an agent answered a ping, in whatever way.
func answered(err error) bool { return protocol.Answered(err) && !protocol.Vacant(err) }

// registeredCounts counts the registered agents. M.mu is held.
func (m *Manager) registeredCounts() (players, referees int) {
	for _, a := range m.agents {
		if a.player {
			players++
		} else {
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
