package manager

import (
	"slices"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"evenodd/league/journal"
	"evenodd/league/protocol"
)

// A directory finds the registered agents by their ids and tokens. The ledger's lock
// guards the map, and is held by the callers of all methods that have no own lock.
type directory struct {
	*ledger
	options *Options
	keys    protocol.ManagerKeys
	agents  map[string]*agent

	unheard unheard // has a lock of its own

	players, referees []*agent // in order of ids; nil before the league has started
}

// all are the participants of a started league, players before referees.
func (d *directory) all() []*agent { return slices.Concat(d.players, d.referees) }

// add makes the agent for a registration in the state.
func (d *directory) add(known *journal.Agent) *agent {
	a := &agent{
		id: known.AgentID, player: known.Player, name: known.DisplayName,
		notices: make(chan []notice, maxNotices),
	}
	if o := d.options; o.Simulation == nil {
		a.queries = throttle{d.clock, rate.NewLimiter(rate.Limit(o.AsksPerSecond), o.AsksAtOnce)}
		a.moves = throttle{d.clock, rate.NewLimiter(movesPerSecond, movesAtOnce)}
	}
	a.expectReturn()
	if !a.player {
		a.slots = make(chan struct{}, max(known.Capacity, 1))
	}
	endpoint := known.Endpoint // the state's own may change
	a.endpoint.Store(&endpoint)
	a.proof.Store(d.prove(a.id, known.Generation))
	d.agents[a.id] = a
	return a
}

// prove derives an agent's token.
func (d *directory) prove(id string, generation int) *proof {
	token := protocol.DeriveToken(d.keys.Token, d.options.LeagueID, id, generation)
	token = token[:len(token)-protocol.MaxTokenLength+d.options.TokenLength]
	key := protocol.KeyOf(token)
	return &proof{token, key, key.ManagerCredential(d.options.LeagueID)}
}

// expired tells whether an agent's token is too old.
func (d *directory) expired(a *journal.Agent) bool {
	since, err := time.Parse(time.RFC3339, a.TokenSince)
	return d.options.TokenTTL > 0 && err == nil && d.clock.Now().Sub(since) > d.options.TokenTTL
}

// owner finds the agent that has a token, and the generation of that token: the
// current one, or the one before if the response with the current one may be lost.
func (d *directory) owner(token string) (*agent, int, error) {
	if token == "" {
		return nil, 0, protocol.Fault(protocol.ErrTokenMissing, "auth_token is required after registration").
			With("expected_format", "tok-{agent_id}-{hash}")
	}
	id, _, _ := strings.Cut(strings.TrimPrefix(token, "tok-"), "-")
	if a := d.agents[strings.ToUpper(id)]; a != nil {
		is := d.state.Agents[a.id]
		if protocol.SameToken(token, a.proof.Load().token) {
			return a, is.Generation, nil
		}
		if is.Generation > 1 && !is.Confirmed && protocol.SameToken(token, d.prove(a.id, is.Generation-1).token) {
			return a, is.Generation - 1, nil
		}
	}
	return nil, 0, unknownToken()
}

func unknownToken() error {
	return protocol.Fault(protocol.ErrTokenInvalid, "auth_token is not that of a registered agent").
		With("expected_format", "tok-{agent_id}-{hash}")
}

// authenticate finds the agent that has a token. The token must be the current one.
func (d *directory) authenticate(token string) (*agent, error) {
	a, generation, err := d.owner(token)
	if err != nil {
		return nil, err
	}
	if is := d.state.Agents[a.id]; generation != is.Generation || d.expired(is) {
		return nil, protocol.Fault(protocol.ErrTokenInvalid, "auth_token has expired: register again with it")
	}
	return a, d.confirm(a)
}

// confirm records that an agent has its token.
func (d *directory) confirm(a *agent) error {
	is := d.state.Agents[a.id]
	if is.Confirmed {
		a.confirmed.Store(true)
		return nil
	}
	err := d.record(&journal.AgentConfirmed{AgentID: a.id, Generation: is.Generation})
	a.confirmed.Store(err == nil)
	return err
}

// acknowledged confirms the token of an agent that accepted a message of the
// manager: it knows the credential that derives from the token. A third-party referee accepts the
// message without looking at the credential. The lock is not held.
// An event that cannot be recorded is recorded with a later message.
func (d *directory) acknowledged(a *agent) {
	if a.confirmed.Load() {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if a.player || d.state.Agents[a.id].ShowsAccessTokens() {
		_ = d.confirm(a)
	}
}

// sender authenticates the sender of a message.
func (d *directory) sender(e *protocol.Envelope) (*agent, error) {
	if a := d.agents[protocol.AgentOf(e.Sender)]; d.options.LenientAuth && e.AuthToken == "" && a != nil && a.player {
		return a, nil
	}
	a, err := d.authenticate(e.AuthToken)
	if err == nil {
		err = a.checkSender(e)
	}
	return a, err
}

// reporter is sender for a report. It also accepts an expired token: the referee was
// handed the match, and without its report the match would never have a result.
func (d *directory) reporter(q *protocol.MatchResultReport) (*agent, error) {
	if a := d.tokenless(q); a != nil {
		return a, nil
	}
	a, generation, err := d.owner(q.AuthToken)
	if err == nil && generation == d.state.Agents[a.id].Generation {
		err = d.confirm(a)
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
func (d *directory) tokenless(q *protocol.MatchResultReport) *agent {
	if !d.options.LenientAuth || q.AuthToken != "" {
		return nil
	}
	id := protocol.AgentOf(q.Sender)
	if q.NamelessSender() {
		matchID, _ := protocol.ParseMatchID(q.MatchID)
		fact, _, _, ok := d.state.Find(matchID)
		if !ok || len(fact.Attempts) == 0 {
			return nil
		}
		id = fact.Attempts[len(fact.Attempts)-1].Referee
	}
	a := d.agents[id]
	if a == nil || a.player || d.state.Agents[id].ShowsAccessTokens() {
		return nil
	}
	return a
}

// checkSender refuses a message that names another sender than the owner of its
// token.
func (a *agent) checkSender(e *protocol.Envelope) error {
	if !e.NamelessSender() && protocol.AgentOf(e.Sender) != a.id {
		return protocol.Fault(protocol.ErrNotAuthorized, "auth_token is that of %s, not of %.60s", a.id, e.Sender)
	}
	return nil
}
