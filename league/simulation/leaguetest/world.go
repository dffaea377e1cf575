package leaguetest

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
	"evenodd/league/journal"
	"evenodd/league/manager"
	"evenodd/league/membership"
	"evenodd/league/protocol"
	"evenodd/player"
	"evenodd/player/strategy"
	"evenodd/referee"
	"evenodd/rules"
	"evenodd/rules/evenodd"
	"evenodd/transport"
)

const (
	LeagueID    = "league_of_tests"
	ManagerHost = "manager" // host of the league manager
)

// A World is a league in virtual time, with all its agents.
type World struct {
	T        *testing.T
	carrier  string
	Seed     string
	Game     rules.Game
	Program  manager.Program // of the Game, if it is a rules.Program; nil for any other game
	Network  Network
	log      zerolog.Logger
	Clock    *protocol.Clock
	Recorder *Recorder
	Secret   [32]byte
	Manager  *manager.Manager

	// Untrusted is the caller of a program without a token. Its messages may be invalid.
	Untrusted protocol.Caller

	Context    context.Context
	Cancel     context.CancelFunc
	Background sync.WaitGroup
	run        *ManagerRun               // of StartManager
	Final      *protocol.LeagueCompleted // of the last Run of a manager that has returned
	closed     bool

	mu     sync.Mutex
	agents []*Agent

	Shared func() *manager.Shared // what managers with folders share; nil for nothing

	ManagerTraits []Option // of the managers that start from now on: their clocks and pauses

	Unchecked map[string]bool // hosts whose messages may be invalid
	Varies    bool            // the result depends on random secrets
}

// OnEveryCarrier runs a scenario once on each carrier: values in memory, encoded
// messages in memory, and HTTP over pipes. It is for scenarios that depend on the
// encoded bytes or on connections; all others run InMemory. The GAME_ERRORs, their
// times and the results must be the same on all carriers.
func OnEveryCarrier(t *testing.T, scenario func(t *testing.T, w *World)) {
	t.Helper()
	t.Parallel()
	var first *summary
	for _, carrier := range []string{Memory, Wire, HTTP} {
		t.Run(carrier, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := run(t, carrier, scenario)
				if w.Varies {
					return
				}
				if first == nil {
					first = w.summary()
				}
				assert.Equal(t, first, w.summary(), "the carriers differ")
			})
		})
	}
}

// InMemory runs a scenario in virtual time on the bus that passes values.
func InMemory(t *testing.T, scenario func(t *testing.T, w *World)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { run(t, Memory, scenario) })
}

// RunOnWire runs a scenario as a subtest, like OnWire.
func RunOnWire(t *testing.T, name string, scenario func(t *testing.T, w *World)) {
	t.Run(name, func(t *testing.T) { OnWire(t, scenario) })
}

// RunInMemory runs a scenario as a subtest, like InMemory.
func RunInMemory(t *testing.T, name string, scenario func(t *testing.T, w *World)) {
	t.Run(name, func(t *testing.T) { InMemory(t, scenario) })
}

// run ends when all goroutines of the world have ended: a goroutine that waits in
// vain fails the test.
func run(t *testing.T, carrier string, scenario func(t *testing.T, w *World)) *World {
	w := NewWorld(t, carrier, zerolog.Nop())
	scenario(t, w)
	synctest.Wait()
	w.Close()
	w.CheckMessages()
	return w
}

func NewWorld(t *testing.T, kind string, log zerolog.Logger) *World {
	w := &World{
		T: t, carrier: kind, Network: newNetwork(kind), log: log, Clock: protocol.SystemClock(), Game: evenodd.Game{},
		Recorder: &Recorder{began: time.Now()}, Secret: SecretOf("manager"),
		Unchecked: map[string]bool{"untrusted": true},
	}
	w.Untrusted = w.Caller("untrusted", 1<<20)
	w.Context, w.Cancel = context.WithCancel(context.Background())
	t.Cleanup(w.Close)
	return w
}

// Close ends all agents, also after a failed scenario.
func (w *World) Close() {
	if w.closed {
		return
	}
	w.closed = true
	w.Cancel()
	for _, a := range w.Agents() {
		if a.Referee != nil {
			a.Referee.Close()
		}
	}
	w.Background.Wait()
	for _, a := range slices.Backward(w.Agents()) {
		a.Stop()
	}
	w.Network.Close()
}

func (w *World) Agents() []*Agent {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.agents)
}

// SecretOf derives 32 bytes from names.
func SecretOf(parts ...string) [32]byte { return sha256.Sum256([]byte(strings.Join(parts, "/"))) }

// Now returns the time since the start of the World.
func (w *World) Now() time.Duration { return w.Recorder.now() }

// WaitUntil waits until a time of the World, and until all agents are idle then.
func (w *World) WaitUntil(moment time.Duration) {
	time.Sleep(moment - w.Now())
	synctest.Wait()
}

// Caller returns the caller of the agent of a host.
func (w *World) Caller(host string, maxReply int64) protocol.Caller {
	return transport.Logged(&recordingCaller{host, w.Recorder, w.Network.Caller(maxReply)}, w.log)
}

// Open connects an agent to the network.
func (w *World) Open(a *Agent, mux *transport.Mux) {
	a.Mux = mux
	a.Stop = w.Network.Listen(a.Host, mux, len(a.Script) > 0)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.agents = append(w.agents, a)
}

// StartManager runs a league for a number of players and referees. It starts when all of
// them have registered; with players 0 only by start_league.
func (w *World) StartManager(players, referees int, change ...func(*manager.Options)) *manager.Manager {
	w.T.Helper()
	w.run = &ManagerRun{World: w, Agent: NewAgent(ManagerHost, w.ManagerTraits), Done: make(chan struct{})}
	require.NoError(w.T, w.run.Start(w.managerOptions(w.run.Agent, players, referees, change)))
	return w.Manager
}

// Rules are those of a league with the usual settings.
func Rules(leagueID, game string, players, referees int) journal.Created {
	return journal.Created{
		LeagueID: leagueID, GameType: game, RegistrationGrace: 30,
		SuspendAfter: journal.DefaultSuspendAfter, ShutdownAfter: journal.DefaultShutdownAfter,
		Configuration: journal.Configuration{
			Timeouts: protocol.DefaultTimeouts(), RetryPolicy: protocol.DefaultRetryPolicy(), UniqueDisplayNames: true,
			Participants: journal.Participants{Players: players, Referees: referees},
		},
	}
}

func (w *World) managerOptions(a *Agent, players, referees int, change []func(*manager.Options)) manager.Options {
	o := manager.Options{Created: Rules(LeagueID, w.Game.Info().Type, players, referees), Games: rules.NewRegistry(w.Game),
		Secret: &w.Secret, Caller: w.Pausing(a, w.Caller(a.Host, 64<<10)), Clock: w.ClockOf(a), Log: w.log,
	}
	if w.Program != nil {
		o.Program = w.Program
	}
	for _, set := range change {
		set(&o)
	}
	return o
}

// Finish waits until the league is over and all agents are idle.
func (w *World) Finish() *protocol.LeagueCompleted {
	w.T.Helper()
	return w.run.Finish()
}

// NewPlayer starts a player with its options. It does not register.
func (w *World) NewPlayer(id string, traits ...Option) *Agent {
	w.T.Helper()
	return w.playerWith(id, traits, func(*player.Options) {})
}

// playerWith is NewPlayer with changed player.Options.
func (w *World) playerWith(id string, traits []Option, change func(*player.Options)) *Agent {
	w.T.Helper()
	a := NewAgent(id, traits)
	decide, err := strategy.New(a.strategy)
	require.NoError(w.T, err)
	if a.Decide != nil {
		decide = a.Decide
	}
	o := player.Options{
		Options: w.options(a, 1<<20),
		Games:   []string{w.Game.Info().Type}, Strategy: decide, StrictReferees: a.verifiesReferees,
		Rules: rules.NewRegistry(w.Game),
	}
	if !a.randomSecrets {
		o.Entropy = func(matchID string, _ int) protocol.Secret { return w.Entropy(matchID, id) }
		o.Random = func(_, decision string) *rand.Rand { return KeyedRandom(w.Seed, "choice", decision, id) }
	}
	change(&o)
	a.Caller = o.Caller
	a.Player, err = player.New(o)
	require.NoError(w.T, err)
	return w.mount(a, a.Player.Mount)
}

// mount connects an agent with the handlers that mount registers.
func (w *World) mount(a *Agent, mount func(protocol.Mux)) *Agent {
	mux := transport.NewMux(w.log)
	mount(w.PausingMux(a, Scripted{mux, a.Script}))
	w.Open(a, mux)
	return a
}

// options are the options that players and referees share. The agent's calls read
// replies of at most so many bytes.
func (w *World) options(a *Agent, maxReply int64) membership.Options {
	o := membership.Options{
		Name: a.name, Endpoint: EndpointOf(a.Host), Manager: EndpointOf(ManagerHost),
		Caller: w.Pausing(a, w.Caller(a.Host, maxReply)), Clock: w.ClockOf(a), Log: w.log, Large: w.Game.Info().Large,
	}
	if a.league != "" {
		o.Leagues = []string{a.league}
	}
	if a.wantsID {
		o.ID = a.ID
	}
	if a.unsigned {
		o.SigningKey = func() *protocol.SigningKey { return nil }
	}
	return o
}

// NewReferee starts a referee with its options. It does not register.
func (w *World) NewReferee(id string, traits ...Option) *Agent {
	w.T.Helper()
	return w.RefereeWith(id, traits, func(*referee.Options) {})
}

// RefereeWith is NewReferee with changed referee.Options.
func (w *World) RefereeWith(id string, traits []Option, change func(*referee.Options)) *Agent {
	w.T.Helper()
	a := NewAgent(id, traits)
	o := referee.Options{Options: w.options(a, 64<<10), MaxConcurrent: a.capacity, Games: rules.NewRegistry(w.Game)}
	if w.Program != nil {
		o.Programs = map[string]referee.Program{w.Game.Info().Type: w.Program}
	}
	if !a.randomSecrets {
		o.Nonce = w.Nonce
	}
	if len(a.pauses) > 0 {
		o.Stalls = w.StallsOf(a)
	}
	change(&o)
	a.Caller = o.Caller
	var err error
	a.Referee, err = referee.New(o)
	require.NoError(w.T, err)
	return w.mount(a, a.Referee.Mount)
}

// Player calls NewPlayer and registers the player.
func (w *World) Player(id string, traits ...Option) *Agent {
	w.T.Helper()
	a := w.NewPlayer(id, traits...)
	require.NoError(w.T, a.Player.Register(w.Context))
	return a
}

// Referee calls NewReferee and registers the referee.
func (w *World) Referee(id string, traits ...Option) *Agent {
	w.T.Helper()
	a := w.NewReferee(id, traits...)
	require.NoError(w.T, a.Referee.Register(w.Context))
	return a
}

// Players registers players P01, P02, … with the same options.
func (w *World) Players(n int, traits ...Option) []*Agent {
	w.T.Helper()
	list := make([]*Agent, n)
	for i := range list {
		list[i] = w.Player(league.PlayerID(i+1), traits...)
	}
	return list
}

func (w *World) Nonce(matchID string) protocol.Secret { return SecretOf(w.Seed, "nonce", matchID) }

func (w *World) Entropy(matchID, id string) protocol.Secret {
	return SecretOf(w.Seed, "entropy", matchID, id)
}

// Token returns the token that the manager gave to an agent.
func (w *World) Token(id string) string { return w.TokenOf(id, 1) }

// TokenOf returns the token of a generation.
func (w *World) TokenOf(id string, generation int) string {
	return protocol.DeriveToken(protocol.ManagerKeysOf(w.Secret).Token, LeagueID, id, generation)
}

// ManagerCredential returns the credential that authenticates the manager to an agent.
func (w *World) ManagerCredential(id string) string {
	return protocol.KeyOf(w.Token(id)).ManagerCredential(LeagueID)
}

// AccessToken returns the token that authenticates a referee to a player in one attempt at
// a match.
func (w *World) AccessToken(playerID, matchID string, attempt int, refereeID string) string {
	return protocol.KeyOf(w.Token(playerID)).AccessToken(LeagueID, matchID, attempt, refereeID)
}

// A summary contains what must be the same on each carrier.
type summary struct {
	GameErrors []GameError
	Results    []string
}

// summary returns the reported results, and the GAME_ERRORs with their time since the
// start of the match.
func (w *World) summary() *summary {
	o := &summary{GameErrors: w.GameErrors()}
	for i := range o.GameErrors { // the match starts after the registration of its referee, which has jitter
		start := Times(w.Calls(protocol.Invite.Name))[0]
		o.GameErrors[i].At -= start
		o.GameErrors[i].Next = max(o.GameErrors[i].Next-start, -1).Round(time.Second)
	}
	for _, e := range w.Calls(protocol.ReportMatchResult.Name) {
		q := Decode[protocol.MatchResultReport](e.Message)
		o.Results = append(o.Results, fmt.Sprintf("%s %s %s", q.MatchID, e.From, Encode(q.Result)))
	}
	slices.Sort(o.Results)
	o.Results = slices.Compact(o.Results)
	return o
}

// CheckMessages validates each message of our agents and each answer that is not scripted.
// It runs on the memory bus only, because messages do not depend on the carrier.
func (w *World) CheckMessages() {
	w.T.Helper()
	if w.carrier != Memory {
		return
	}
	written := map[string]Script{}
	for _, a := range w.Agents() {
		written[a.Host] = a.Script
	}
	for _, e := range w.Recorder.All(func(*Exchange) bool { return true }) {
		asked := Decode[protocol.Envelope](e.Message)
		if !w.Unchecked[e.From] && asked.MessageType != "" {
			assert.Empty(w.T, protocol.Examine(asked.MessageType, e.Message), "%s from %s", e.Method, e.From)
		}
		if _, made := written[e.To][e.Method]; made || e.Answer == nil || asked.MessageType == "" {
			continue
		}
		answer := Decode[protocol.Envelope](e.Answer)
		assert.Empty(w.T, protocol.Examine(answer.MessageType, e.Answer), "the answer to %s from %s", e.Method, e.To)
		assert.Equal(w.T, asked.ConversationID, answer.ConversationID, "the answer to %s from %s", e.Method, e.To)
	}
}
