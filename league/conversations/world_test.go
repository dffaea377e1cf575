package conversations

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/player"
	"evenodd/player/strategy"
	"evenodd/referee"
	"evenodd/rules"
	"evenodd/rules/evenodd"
	"evenodd/transport"
)

const (
	leagueID = "league_of_tests"
	theBoss  = "manager" // the host of the league manager
)

// A world is a league in a bubble of virtual time.
type world struct {
	t       *testing.T
	kind    string
	seed    string
	game    rules.Game
	net     network
	log     zerolog.Logger
	clock   *protocol.Clock
	record  *record
	secret  [32]byte
	manager *league.Manager

	// stranger is the carrier of somebody whose messages may be wrong.
	stranger protocol.Caller

	life    context.Context
	end     context.CancelFunc
	running sync.WaitGroup
	over    chan struct{} // closed when the manager's Run returns
	final   *protocol.LeagueCompleted
	failed  error
	closed  bool

	mu     sync.Mutex
	actors []*actor

	unchecked map[string]bool // hosts whose messages may be wrong
	varies    bool            // what happens depends on real chance
}

// onEveryCarrier tells a story in a world of its own on each carrier. It must
// end the same on all of them: the same complaints at the same time, and the
// same results. No goroutine may be left: a bubble does not end before its
// goroutines, and one that waits in vain is a failure.
func onEveryCarrier(t *testing.T, story func(t *testing.T, w *world)) {
	t.Helper()
	t.Parallel()
	var first *outcome
	for _, kind := range []string{byValue, byWire, byHTTP} {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, kind, zerolog.Nop())
				story(t, w)
				synctest.Wait()
				w.close()
				w.checkMessages()
				if w.varies {
					return
				}
				if first == nil {
					first = w.outcome()
				}
				assert.Equal(t, first, w.outcome(), "the carriers differ")
			})
		})
	}
}

func newWorld(t *testing.T, kind string, log zerolog.Logger) *world {
	w := &world{
		t: t, kind: kind, net: newNetwork(kind), log: log, clock: protocol.SystemClock(), game: evenodd.Game{},
		record: &record{began: time.Now()}, secret: secretOf("manager"), over: make(chan struct{}),
		unchecked: map[string]bool{"stranger": true},
	}
	w.stranger = w.caller("stranger", 1<<20)
	w.life, w.end = context.WithCancel(context.Background())
	t.Cleanup(w.close)
	return w
}

// close ends everything, also when the story broke off.
func (w *world) close() {
	if w.closed {
		return
	}
	w.closed = true
	w.end()
	for _, a := range w.everybody() {
		if a.referee != nil {
			a.referee.Close()
		}
	}
	w.running.Wait()
	for _, a := range slices.Backward(w.everybody()) {
		a.stop()
	}
	w.net.close()
}

func (w *world) everybody() []*actor {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.actors)
}

// secretOf makes 32 bytes of a name.
func secretOf(parts ...string) [32]byte { return sha256.Sum256([]byte(strings.Join(parts, "/"))) }

// now is the time that has passed in the world.
func (w *world) now() time.Duration { return w.record.now() }

// at waits until a time of the world, and until nobody has anything to do then.
func (w *world) at(moment time.Duration) {
	time.Sleep(moment - w.now())
	synctest.Wait()
}

// caller is a carrier as the agent of a host has it.
func (w *world) caller(host string, maxReply int64) protocol.Caller {
	return transport.Logged(&scribe{host, w.record, w.net.caller(maxReply)}, w.log)
}

// open puts an agent on the network.
func (w *world) open(a *actor, mux *transport.Mux) {
	a.mux = mux
	a.stop = w.net.listen(a.host, mux, len(a.parts) > 0)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.actors = append(w.actors, a)
}

// startManager runs a league for as many players and referees, on its own when
// they are there; players 0: only by start_league.
func (w *world) startManager(players, referees int, change ...func(*league.Options)) *league.Manager {
	w.t.Helper()
	a := newActor(theBoss, nil)
	o := league.Options{
		LeagueID: leagueID, GameType: w.game.Info().Type, Games: rules.NewRegistry(w.game),
		Players: players, Referees: referees,
		Timeouts: protocol.DefaultTimeouts(), Retry: protocol.DefaultRetryPolicy(),
		Secret: &w.secret, Caller: w.caller(theBoss, 64<<10), Clock: w.clock, Log: w.log,
	}
	for _, set := range change {
		set(&o)
	}
	m, err := league.New(o)
	require.NoError(w.t, err)
	mux := transport.NewMux(w.log)
	m.Mount(mux)
	w.open(a, mux)
	w.manager = m
	w.running.Go(func() {
		defer close(w.over)
		w.final, w.failed = m.Run(w.life)
	})
	return m
}

// finish waits until the league is over, and what goes on beside it.
func (w *world) finish() *protocol.LeagueCompleted {
	w.t.Helper()
	<-w.over
	synctest.Wait()
	require.NoError(w.t, w.failed)
	return w.final
}

// newPlayer makes a player of ours, with parts of its own, and puts it on the
// network. It does not register yet.
func (w *world) newPlayer(id string, traits ...trait) *actor {
	w.t.Helper()
	a := newActor(id, traits)
	decide, err := strategy.New(a.strategy)
	require.NoError(w.t, err)
	if a.decide != nil {
		decide = a.decide
	}
	o := player.Options{
		Name: a.name, LeagueID: a.league, Games: []string{w.game.Info().Type}, Endpoint: endpointOf(a.host),
		Manager: endpointOf(theBoss), Strategy: decide, StrictReferees: a.strict,
		Caller: w.caller(a.host, 1<<20), Clock: w.clock, Log: w.log,
	}
	a.caller = o.Caller
	if a.wantsID {
		o.ID = id
	}
	if !a.chance {
		o.Entropy = func(matchID string, _ int) protocol.Secret { return w.entropy(matchID, id) }
		o.Random = func(_, decision string) *rand.Rand { return keyed(w.seed, "choice", decision, id) }
	}
	a.player, err = player.New(o)
	require.NoError(w.t, err)
	mux := transport.NewMux(w.log)
	a.player.Mount(scripted{mux, a.parts})
	w.open(a, mux)
	return a
}

// newReferee is newPlayer for a referee.
func (w *world) newReferee(id string, traits ...trait) *actor {
	w.t.Helper()
	return w.refereeWith(id, traits, func(*referee.Options) {})
}

// refereeWith is newReferee for one whose options are changed.
func (w *world) refereeWith(id string, traits []trait, change func(*referee.Options)) *actor {
	w.t.Helper()
	a := newActor(id, traits)
	o := referee.Options{
		Name: a.name, LeagueID: a.league, Endpoint: endpointOf(a.host), Manager: endpointOf(theBoss),
		MaxConcurrent: a.capacity, Games: rules.NewRegistry(w.game),
		Caller: w.caller(a.host, 64<<10), Clock: w.clock, Log: w.log,
	}
	if a.wantsID {
		o.ID = id
	}
	if !a.chance {
		o.Nonce = w.nonce
	}
	change(&o)
	a.caller = o.Caller
	var err error
	a.referee, err = referee.New(o)
	require.NoError(w.t, err)
	mux := transport.NewMux(w.log)
	a.referee.Mount(scripted{mux, a.parts})
	w.open(a, mux)
	return a
}

// player is newPlayer and its registration.
func (w *world) player(id string, traits ...trait) *actor {
	w.t.Helper()
	a := w.newPlayer(id, traits...)
	require.NoError(w.t, a.player.Register(w.life))
	return a
}

// referee is newReferee and its registration.
func (w *world) referee(id string, traits ...trait) *actor {
	w.t.Helper()
	a := w.newReferee(id, traits...)
	require.NoError(w.t, a.referee.Register(w.life))
	return a
}

// players registers players P01, P02, …, ordinary ones or all with the same
// traits.
func (w *world) players(n int, traits ...trait) []*actor {
	w.t.Helper()
	list := make([]*actor, n)
	for i := range list {
		list[i] = w.player(protocol.PlayerID(i+1), traits...)
	}
	return list
}

func (w *world) nonce(matchID string) protocol.Secret { return secretOf(w.seed, "nonce", matchID) }

func (w *world) entropy(matchID, id string) protocol.Secret {
	return secretOf(w.seed, "entropy", matchID, id)
}

// token is the token that the manager gave an agent.
func (w *world) token(id string) string { return protocol.DeriveToken(w.secret, leagueID, id, 1) }

// credential is what proves the manager to an agent.
func (w *world) credential(id string) string {
	return protocol.KeyOf(w.token(id)).ManagerCredential(leagueID)
}

// access is what proves a referee to a player in an attempt at a match.
func (w *world) access(playerID, matchID string, attempt int, refereeID string) string {
	return protocol.KeyOf(w.token(playerID)).AccessToken(leagueID, matchID, attempt, refereeID)
}

// An outcome is what must not depend on the carrier.
type outcome struct {
	Complaints []complaint
	Results    []string
}

// outcome collects the results as they were reported, and the complaints with
// their time since the match began.
func (w *world) outcome() *outcome {
	o := &outcome{Complaints: w.complaints()}
	for i := range o.Complaints { // the match begins when its referee has registered, which may be later by a jitter
		start := times(w.said(protocol.Invite.Name))[0]
		o.Complaints[i].At -= start
		o.Complaints[i].Next = max(o.Complaints[i].Next-start, -1).Round(time.Second)
	}
	for _, e := range w.said(protocol.ReportMatchResult.Name) {
		q := read[protocol.MatchResultReport](e.message)
		o.Results = append(o.Results, fmt.Sprintf("%s %s %s", q.MatchID, e.from, written(q.Result)))
	}
	slices.Sort(o.Results)
	o.Results = slices.Compact(o.Results)
	return o
}

// checkMessages holds every message of an agent of ours, and every answer that
// no script wrote, against the protocol. They do not depend on the carrier.
func (w *world) checkMessages() {
	w.t.Helper()
	if w.kind != byValue {
		return
	}
	written := map[string]script{}
	for _, a := range w.everybody() {
		written[a.host] = a.parts
	}
	for _, e := range w.record.all(func(*exchange) bool { return true }) {
		asked := read[protocol.Envelope](e.message)
		if !w.unchecked[e.from] && asked.MessageType != "" {
			assert.Empty(w.t, protocol.Examine(asked.MessageType, e.message), "%s from %s", e.method, e.from)
		}
		if _, made := written[e.to][e.method]; made || e.answer == nil || asked.MessageType == "" {
			continue
		}
		answer := read[protocol.Envelope](e.answer)
		assert.Empty(w.t, protocol.Examine(answer.MessageType, e.answer), "the answer to %s from %s", e.method, e.to)
		assert.Equal(w.t, asked.ConversationID, answer.ConversationID, "the answer to %s from %s", e.method, e.to)
	}
}
