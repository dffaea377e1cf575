package manager

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/protocol"
)

// participants are those of a started league, players before referees.
func (m *Manager) participants() []*agent { return slices.Concat(m.players, m.referees) }

// addAgent makes the agent for a registration in the state. M.mu is held.
func (m *Manager) addAgent(known *journal.Agent) *agent {
	a := &agent{
		id: known.AgentID, player: known.Player, name: known.DisplayName,
		notices: make(chan []notice, maxNotices),
	}
	if o := &m.options; o.Simulation == nil {
		a.queries = throttle{m.clock, rate.NewLimiter(rate.Limit(o.Limits.RequestsPerSecond), o.Limits.Burst)}
		a.moves = throttle{m.clock, rate.NewLimiter(movesPerSecond, movesAtOnce)}
	}
	a.expectReturn()
	if !a.player {
		a.slots = make(chan struct{}, max(known.Capacity, 1))
	}
	a.endpoint.Store(new(known.Endpoint)) // the state's own may change
	a.proof.Store(m.prove(a.id, known.Generation))
	m.agents[a.id] = a
	return a
}

// prove derives an agent's token.
func (m *Manager) prove(id string, generation int) *proof {
	token := protocol.DeriveToken(m.keys.Token, m.options.LeagueID, id, generation)
	token = token[:len(token)-protocol.MaxTokenLength+m.options.TokenLength]
	key := protocol.KeyOf(token)
	return &proof{token, key, key.ManagerCredential(m.options.LeagueID)}
}

// expired tells whether an agent's token is too old.
func (m *Manager) expired(a *journal.Agent) bool {
	since, err := time.Parse(time.RFC3339, a.TokenSince)
	lasts := protocol.Seconds(m.options.TokenTTL)
	return lasts > 0 && err == nil && m.clock.Now().Sub(since) > lasts
}

// owner finds the agent that has a token, and the generation of that token: the
// current one, or the one before if the response with the current one may be lost. M.mu is held.
func (m *Manager) owner(token string) (*agent, int, error) {
	if token == "" {
		return nil, 0, protocol.Fault(protocol.ErrTokenMissing, "auth_token is required after registration").
			With("expected_format", "tok-{agent_id}-{hash}")
	}
	id, _, _ := strings.Cut(strings.TrimPrefix(token, "tok-"), "-")
	if a := m.agents[strings.ToUpper(id)]; a != nil {
		is := m.state.Agents[a.id]
		if protocol.SameToken(token, a.proof.Load().token) {
			return a, is.Generation, nil
		}
		if is.Generation > 1 && !is.Confirmed && protocol.SameToken(token, m.prove(a.id, is.Generation-1).token) {
			return a, is.Generation - 1, nil
		}
	}
	return nil, 0, unknownToken()
}

func unknownToken() error {
	return protocol.Fault(protocol.ErrTokenInvalid, "auth_token is not that of a registered agent").
		With("expected_format", "tok-{agent_id}-{hash}")
}

// authenticate finds the agent that has a token. The token must be the current one. M.mu is
// held.
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
		return nil
	}
	return m.record(&journal.AgentConfirmed{AgentID: a.id, Generation: is.Generation})
}

// acknowledged confirms the token of an agent that accepted a message of the
// manager: it knows the credential that derives from the token. A third-party referee accepts the
// message without looking at the credential.
// An event that cannot be recorded is recorded with a later message.
func (m *Manager) acknowledged(a *agent) {
	shown := a.proof.Load()
	if a.confirmed.Load() == shown { // without the lock
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if (a.player || m.state.Agents[a.id].ShowsAccessTokens()) && m.confirm(a) == nil {
		a.confirmed.Store(shown)
	}
}

// sender authenticates the sender of a message. M.mu is held.
func (m *Manager) sender(e *protocol.Envelope) (*agent, error) {
	if a := m.agents[protocol.AgentOf(e.Sender)]; m.options.Lenient() && e.AuthToken == "" && a != nil && a.player {
		return a, nil
	}
	a, err := m.authenticate(e.AuthToken)
	if err == nil {
		err = a.checkSender(e)
	}
	return a, err
}

// reporter is sender for a report. It also accepts an expired token: the referee was
// handed the match, and without its report the match would never have a result.
func (m *Manager) reporter(q *protocol.MatchResultReport) (*agent, error) {
	if a := m.tokenless(q); a != nil {
		return a, nil
	}
	a, generation, err := m.owner(q.AuthToken)
	if err == nil && generation == m.state.Agents[a.id].Generation {
		err = m.confirm(a)
	}
	if err == nil {
		err = a.checkSender(&q.Envelope)
	}
	if err == nil && a.player {
		err = protocol.Fault(protocol.ErrRefereeNotRegistered, "%s is no referee", a.id)
	}
	return a, err
}

// tokenless is the third-party referee that sends a report without a token to a
// lenient league: the sender, or, if the report names no sender, the referee that has
// the match. Our referees show players access tokens and always send their token.
// Nil for none.
func (m *Manager) tokenless(q *protocol.MatchResultReport) *agent {
	if !m.options.Lenient() || q.AuthToken != "" {
		return nil
	}
	id := protocol.AgentOf(q.Sender)
	if q.NamelessSender() {
		matchID, _ := league.ParseMatchID(q.MatchID)
		recorded, _, _, ok := m.state.Find(matchID)
		if !ok || len(recorded.Attempts) == 0 {
			return nil
		}
		id = recorded.Attempts[len(recorded.Attempts)-1].Referee
	}
	a := m.agents[id]
	if a == nil || a.player || m.state.Agents[id].ShowsAccessTokens() {
		return nil
	}
	return a
}

// checkSender refuses a message that names another sender than the owner of its
// token.
func (a *agent) checkSender(e *protocol.Envelope) error {
	if e.Sender != "" && !e.NamelessSender() && protocol.AgentOf(e.Sender) != a.id {
		return protocol.Fault(protocol.ErrNotAuthorized, "auth_token is that of %s, not of %.60s", a.id, e.Sender)
	}
	return nil
}

// An agent is a registered player or referee as the manager calls it. The facts
// about it are in the league's state.
type agent struct {
	id        string
	player    bool
	name      string
	endpoint  atomic.Pointer[string]        // it may move while the league runs
	proof     atomic.Pointer[proof]         // it may get a new token
	confirmed atomic.Pointer[proof]         // the last that it has acknowledged
	told      atomic.Bool                   // it is being told that the league is over
	refusals  atomic.Int32                  // errors that it answered to that since it registered last
	returned  atomic.Pointer[chan struct{}] // closed, and replaced, when the agent registers again
	queries   throttle                      // and other requests for which the league does not wait
	moves     throttle                      // to another endpoint
	notices   chan []notice                 // broadcasts to the agent, in order
	slots     chan struct{}                 // matches that a referee conducts now
	asked     int                           // the last round whose transcripts the referee was asked for
	// it has said that a referee takes it for another player; guarded by Manager.mu
	complained bool
	back       bool   // it returned after the end, and has not acknowledged it since; guarded by Manager.mu
	obstacle   string // what the pings to the agent met before it answered, for people; "" for nothing
	pings      int    // that have met it
}

// A proof is an agent's token and the values that derive from it.
type proof struct {
	token      string
	key        *protocol.TokenKey
	credential string // proves the manager to the agent
}

// expectReturn makes the channel that is closed when the agent registers again, and
// returns the channel before.
func (a *agent) expectReturn() (before *chan struct{}) {
	return a.returned.Swap(new(make(chan struct{})))
}

func (a *agent) address() string { return *a.endpoint.Load() }

// peer is the agent as the receiver of a call.
func (a *agent) peer() protocol.Peer {
	return protocol.Peer{Endpoint: a.address(), Bearer: a.proof.Load().credential}
}

// maxNotices is the number of broadcasts that wait for a slow agent; more are dropped.
const maxNotices = 64

// sendNotices sends the agent its broadcasts one after the other, until ctx ends.
// Each agent has its own queue, so that a slow agent delays no other.
func (a *agent) sendNotices(ctx context.Context) {
	for {
		select {
		case notices := <-a.notices:
			deliver(a, notices, false)
		case <-ctx.Done():
			return
		}
	}
}

// The limits of moves. The journal keeps each move of an agent to another endpoint
// for ever; an agent that moves for a good reason does not reach them.
const (
	movesPerSecond = 0.1
	movesAtOnce    = 20
)

// A throttle bounds how often one agent may do something. It never delays the first
// report of a match. The zero value bounds nothing, as in a simulation, where no time
// passes.
type throttle struct {
	clock *protocol.Clock
	limit *rate.Limiter
}

// allow counts one more request, or refuses it with E022 and the time to wait.
func (t *throttle) allow() error {
	if t.limit == nil {
		return nil
	}
	now := t.clock.Now()
	one := t.limit.ReserveN(now, 1)
	wait := one.DelayFrom(now)
	if wait == 0 {
		return nil
	}
	one.CancelAt(now)
	return protocol.RateLimited(wait)
}

// Identify names the caller of an encoded request by a valid token, as a bearer credential
// or in the message: an agent, or the organiser. It returns "" for a caller without one. It
// serves the limits of a carrier; the handlers authenticate each message themselves.
func (m *Manager) Identify(bearer string, body []byte) string {
	for _, token := range []string{bearer, protocol.ClaimOf(body).Token} {
		if token == "" {
			continue
		}
		if m.organiser.is(token) {
			return "organiser"
		}
		m.mu.Lock()
		a, _, err := m.owner(token)
		m.mu.Unlock()
		if err == nil {
			return a.id
		}
	}
	return ""
}

// pingTimeout is how long an agent has to answer a ping.
const pingTimeout = 2 * time.Second

// ping pings an endpoint once.
func (m *Manager) ping(ctx context.Context, endpoint string) (*protocol.Pong, error) {
	pong, _, err := protocol.Ping.CallWithin(ctx, m.options.Caller, protocol.Peer{Endpoint: endpoint},
		&protocol.ToolRequest{}, pingTimeout)
	return pong, err
}

// answering tells of each agent whether it answers a ping. It pings all at once.
func (m *Manager) answering(agents []*agent, ping func(*agent) (*protocol.Pong, error)) []bool {
	there := make([]bool, len(agents))
	var pinging sync.WaitGroup
	for i, a := range agents {
		pinging.Go(m.guarded(func() {
			_, err := ping(a)
			there[i] = answered(err)
		}))
	}
	pinging.Wait()
	return there
}

// answered tells whether an agent answered a ping, with a pong or an error of its own.
func answered(err error) bool { return protocol.Answered(err) && !protocol.Vacant(err) }

// isManager tells whether a league manager answered a ping.
func isManager(pong *protocol.Pong, err error) bool {
	return err == nil && pong.Role == protocol.RoleManager
}
