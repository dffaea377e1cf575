package dialect

import (
	"bytes"
	"cmp"
	"context"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"evenodd/league/protocol"
)

// own is what is known of the agent that a dialect translates for.
type own struct {
	options Options

	mu       sync.Mutex    // never held while anybody is called
	member   *place        // nil before it is in a league
	game     string        // of that league, as its rounds are announced; "" before
	joining  chan struct{} // closed when the last registration was answered, or failed
	known    matches       // those that others have spoken of
	waiting  []start       // matches that the agent, a referee, had no room for
	starting bool          // somebody begins them
	again    bool          // and is to look again
	results  map[string]*outcome
	deferred deferrals

	expecting int // how many wait for those
}

func newOwn(o Options) *own { return &own{options: o, results: map[string]*outcome{}} }

// A place is the agent's in a league. It is immutable.
type place struct {
	referee  bool
	leagueID string
	agentID  string
	strict   bool // the manager proves itself; it is one of ours
}

// place is where the agent is, nil before it is anywhere.
func (o *own) place() *place {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.member
}

// league is the id of the league that the agent is in or runs; "" for none.
func (o *own) league() string {
	if at := o.place(); at != nil {
		return at.leagueID
	}
	return o.options.League
}

// settled is where the agent is, after waiting for the answer to its
// registration: a manager may begin the league before that has been read.
func (o *own) settled(ctx context.Context) *place {
	o.mu.Lock()
	pending := o.joining
	o.mu.Unlock()
	if pending != nil && o.place() == nil {
		ctx, cancel := context.WithTimeout(ctx, soon)
		defer cancel()
		select {
		case <-pending:
		case <-ctx.Done():
		}
	}
	return o.place()
}

// soon is how long this side waits for what should come at once.
const soon = 2 * time.Second

// calling learns from a call that this agent makes, in the form of the protocol;
// what it returns, from the end of the call, whatever came of it.
func (o *own) calling(ctx context.Context, method string, request []byte) (ended func()) {
	switch method {
	case protocol.RegisterPlayer.Name, protocol.RegisterReferee.Name:
		pending := make(chan struct{})
		o.mu.Lock()
		o.joining = pending
		o.mu.Unlock()
		return func() { close(pending) }
	case protocol.ReportMatchResult.Name:
		reported := o.reporting(request)
		return func() {
			reported()
			o.startWaiting(context.WithoutCancel(ctx))
		}
	}
	return func() {}
}

// called learns from the answer to such a call, in the form of the protocol, the
// agent's place in a league.
func (o *own) called(method string, answer []byte) {
	switch method {
	case protocol.RegisterPlayer.Name, protocol.RegisterReferee.Name:
		o.joined(method == protocol.RegisterReferee.Name, answer)
	}
}

// joined reads what a registration has brought. Whatever was known of another
// league is forgotten.
func (o *own) joined(referee bool, answer []byte) {
	var response struct {
		Result struct {
			Status      string `json:"status"`
			LeagueID    string `json:"league_id"`
			PlayerID    string `json:"player_id"`
			RefereeID   string `json:"referee_id"`
			ManagerAuth string `json:"manager_auth"`
		} `json:"result"`
	}
	if json.Unmarshal(answer, &response) != nil || response.Result.Status != protocol.StatusAccepted {
		return
	}
	r := &response.Result
	p := &place{referee: referee, leagueID: r.LeagueID, agentID: r.PlayerID, strict: r.ManagerAuth == protocol.ManagerAuthBearer}
	if referee {
		p.agentID = r.RefereeID
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.member != nil && *o.member != *p {
		o.known, o.waiting, o.game = matches{}, nil, ""
	}
	o.member = p
}

// serve answers what others sent, in the form in which they sent it.
func (o *own) serve(ctx context.Context, from netip.Addr, path string, body []byte, serve func(ctx context.Context, body []byte) []byte) (status int, answer []byte) {
	if path != home {
		return o.serveElsewhere(ctx, path, body, serve)
	}
	if o.plainRequest(body) {
		answer = serve(ctx, body)
		if !bytes.HasPrefix(answer, []byte(invalidHead)) {
			o.hearPlain(body, answer)
			return httpOK, answer
		}
		return httpOK, o.secondTry(ctx, body, answer, serve)
	}
	q := unwrapped(body)
	if q != nil && o.isPosted(q) {
		return httpOK, o.takePosted(ctx, from, q)
	}
	if q == nil || !q.resolve() {
		return httpOK, serve(ctx, body)
	}
	return httpOK, o.answer(ctx, q, body, serve)
}

// invalidHead begins the answer to a request with an invalid field (E002, E003).
const invalidHead = `{"jsonrpc":"2.0","error":{"code":-32602,`

// secondTry serves a request that looked spec-compliant and was refused for an
// invalid field, if there is something in it to put right. A refused request
// had no effect.
func (o *own) secondTry(ctx context.Context, body, refusal []byte, serve func(ctx context.Context, body []byte) []byte) []byte {
	q := unwrapped(body)
	if q == nil || !q.resolve() || q.kind == protocol.TypeMatchAssignment || !o.complete(q) {
		return refusal
	}
	return o.adorn(q, serve(ctx, q.canonical()))
}

// answer answers one request of a caller, who may speak another dialect.
func (o *own) answer(ctx context.Context, q *incoming, body []byte, serve func(ctx context.Context, body []byte) []byte) []byte {
	if q.kind == protocol.TypeMatchAssignment || q.kind == protocol.TypeRoundAnnouncement {
		if answer, done := o.begin(ctx, q, serve); done {
			return answer
		}
	}
	canonical := body
	if o.complete(q) {
		canonical = q.canonical()
	}
	answer := serve(ctx, canonical)
	if o.end(q, answer) {
		answer = serve(ctx, q.canonical())
	}
	return o.adorn(q, answer)
}

// matches is what is remembered of the matches that others have spoken of, the
// last ones.
type matches struct {
	byID  map[string]acquaintance
	order []string
	next  int // in order, which one is forgotten next
}

// An acquaintance is a match, as its referee spoke of it.
type acquaintance struct {
	round   int    // as announced; 0 when it was not
	game    string // as the invitation names it; "" when it does not
	lenient bool   // the league of this agent, a referee, takes answers without token
	sender  string // of the invitation
	asked   bool   // its referee reads replies that are shaped as requests

	opponent string // as the invitation names it
	calledAs string // the player_id of the last question, where the manager does not prove itself
}

// maxMatches is how many matches are remembered. Anybody may speak of any.
const maxMatches = 1000

// match is what is known of a match.
func (o *own) match(id string) acquaintance {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.known.byID[id]
}

// gameOf is the game of a match: as its referee named it, else that of the league,
// else usualGame.
func (o *own) gameOf(matchID string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return cmp.Or(o.known.byID[matchID].game, o.game, o.options.Game, usualGame)
}

// hearPlain is hearGame for a request in the form of our agents, if it announces a
// round and was accepted.
func (o *own) hearPlain(body, answer []byte) {
	if !bytes.HasPrefix(body, []byte(requestHead+protocol.NotifyRound.Name+`"`)) || !bytes.HasPrefix(answer, []byte(resultHead)) {
		return
	}
	if asked, ok := cutRequest(body); ok {
		o.hearGame(objectOf(asked.message))
	}
}

// hearGame learns the game of the league from the announcement of a round.
func (o *own) hearGame(announcement object) {
	const longest = 200
	for _, m := range announced(announcement) {
		if game := m.text("game_type"); game != "" && len(game) <= longest {
			o.mu.Lock()
			o.game = strings.Clone(game)
			o.mu.Unlock()
			return
		}
	}
}

// learn changes what is known of a match.
func (o *own) learn(id string, change func(*acquaintance)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	k := &o.known
	if k.byID == nil {
		k.byID = map[string]acquaintance{}
	}
	a, there := k.byID[id]
	change(&a)
	switch {
	case there:
	case len(k.order) < maxMatches:
		k.order = append(k.order, strings.Clone(id))
	default:
		delete(k.byID, k.order[k.next])
		k.order[k.next] = strings.Clone(id)
		k.next = (k.next + 1) % maxMatches
	}
	k.byID[id] = a
}
