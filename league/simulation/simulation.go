// Package simulation plays a whole league in one process: the same manager, referees and
// players that run as processes, connected in memory or by HTTP on loopback ports.
// Every random decision derives from a seed and the key of the decision, so that the
// same seed gives the same league, whatever the carrier and the number of matches at
// once. Only commands may import this package, because it depends on all roles and
// carriers.
package simulation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/manager"
	"evenodd/league/membership"
	"evenodd/league/protocol"
	"evenodd/league/simulation/memdisk"
	"evenodd/league/view/record"
	"evenodd/player"
	"evenodd/player/strategy"
	"evenodd/player/strategy/external"
	"evenodd/referee"
	"evenodd/transport"
)

// A Result is a finished league.
type Result struct {
	*record.Results // Players in the order of the table, external ones with their endpoints

	State *journal.State // at the end; nobody may change it

	// Totals are those of the players whose strategies are external, by id.
	Totals map[string]strategy.Totals

	Losses   []Loss   // technical ones, in a league with external players
	Breaches []Breach // of the specification, in such a league

	Unwritten error // why files in the data folder could not be written; nil if all are

	Disk *memdisk.Disk // of a league with faults of its disk; else nil
}

// Matches describes the matches, in schedule order.
func (r *Result) Matches() iter.Seq[record.Match] { return (&record.League{State: r.State}).Played() }

// Run plays the league, until ctx ends.
func Run(ctx context.Context, o Options) (*Result, error) {
	return runBy(ctx, o, func() network { return newNetwork(o.Transport) })
}

// runBy is Run with a function that makes a network.
func runBy(ctx context.Context, o Options, connect func() network) (*Result, error) {
	if plan, err := o.plan(); err == nil && plan != nil && plan.Disk > 0 && o.Files == nil {
		return runOnDisk(ctx, o, plan, connect)
	}
	return runOn(ctx, o, connect())
}

// runOn plays the league on a network, and closes the network.
func runOn(ctx context.Context, o Options, n network) (*Result, error) {
	defer n.close()
	if len(o.Strategies) == 0 && len(o.Entrants) == 0 {
		o.Strategies = []string{"random"}
	}
	o.Concurrency = cmp.Or(o.Concurrency, 16)
	o.Sign = o.Sign || o.Files != nil || o.RequiresSignatures()
	if err := o.resume(); err != nil {
		return nil, err
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	s := &runningLeague{options: &o, clock: protocol.SystemClock(), net: n, roster: newRoster(nil)}
	if o.External != nil {
		s.net, s.roster = externalNetwork{n, o.External}, newRoster(o.External.Players)
		s.roster.closed = o.External.Wait == 0
	}
	plan, err := o.plan()
	if err != nil {
		return nil, err
	}
	if plan != nil {
		s.faulty = newFaultyNetwork(n, plan, o.Seed, o.nextRound(), o.Injected)
		s.clock = freeClock()
	}
	defer s.close()
	return s.run(ctx)
}

// runningLeague is a running league.
type runningLeague struct {
	options *Options
	clock   *protocol.Clock
	net     network
	faulty  *faultyNetwork // net with faults; nil for none
	manager *manager.Manager
	address string // of the manager
	stuck   func(reason string)
	anew    bool // the league begins: identities in the folder are of another one
	stops   []func()

	referees   []*referee.Referee
	strategies []strategy.Strategy // of the players, to be closed
	roster     *roster
	heads      protocol.HeadVerifier // of the players
	observer   *observer             // nil without external players
}

func (s *runningLeague) run(ctx context.Context) (*Result, error) {
	o := s.options
	running, stuck := context.WithCancelCause(ctx)
	defer stuck(nil)
	s.stuck = func(reason string) { stuck(errors.New(reason)) }
	s.anew = o.state().Created == nil
	if err := s.startManager(ctx); err != nil {
		return nil, err
	}
	if o.External != nil { // time is real
		s.observer = &observer{stalls: referee.WatchStalls(), last: map[playerInMatch]*Loss{}, problems: map[Breach]int{}}
		s.stops = append(s.stops, s.observer.stalls.Stop)
	}
	starting, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go func() { // ends when the journal fails or is closed, at the latest
		if err := o.Files.Failed(); err != nil {
			stop(err)
		}
	}()
	if err := s.startAgents(starting); err != nil {
		return nil, cmp.Or(context.Cause(starting), err)
	}
	if _, err := s.manager.Run(running); err != nil {
		if ctx.Err() == nil {
			err = cmp.Or(context.Cause(running), err)
		}
		return nil, err
	}
	if s.faulty == nil { // else a referee may have died, and nobody answers its reports
		for _, r := range s.referees {
			r.Rest(ctx) // it has yet to read the answer to its last report
		}
	}
	if head := s.manager.Seal(); o.Sealed != nil {
		o.Sealed(head)
	}
	return s.result(), nil
}

// startAgents starts referees and players, and registers them.
func (s *runningLeague) startAgents(ctx context.Context) error {
	o := s.options
	for i := range o.Referees {
		if err := s.startReferee(ctx, i+1); err != nil {
			return err
		}
	}
	if o.External != nil {
		if err := s.registerExternal(ctx); err != nil {
			return err
		}
	}
	for i := o.externalPlayers(); i < o.Players; i++ {
		if err := s.startPlayer(ctx, i+1); err != nil {
			return err
		}
	}
	return nil
}

// An agent is a manager, a referee or a player.
type agent interface{ Mount(mux protocol.Mux) }

// connect connects an agent to the network. It returns the options that the agent gets from the simulation, and the
// function that serves it.
func (s *runningLeague) connect(ctx context.Context, id, sender string) (membership.Options, func(agent), error) {
	endpoint, serve, err := s.net.reserve(ctx, id)
	if err != nil {
		return membership.Options{}, nil, err
	}
	var caller protocol.Caller = s.net
	if s.faulty != nil {
		caller = &faultyCaller{s.faulty, id}
	}
	if m := s.options.machine; m != nil {
		caller = machineCaller{caller, m}
	}
	log := s.options.Log.With().Str("agent_id", sender).Logger()
	o := membership.Options{
		ID: id, Endpoint: endpoint, Manager: s.address, Folder: s.options.folder(), Caller: transport.Logged(caller, log),
		Clock: s.clock, Log: log, SigningKey: s.keyOf(id), Anew: s.anew,
	}
	o.Large = s.large()
	return o, func(a agent) {
		mux := transport.NewMux(log)
		if s.options.prompt(id) {
			mux.SetPrompt()
		}
		a.Mount(mux)
		s.stops = append(s.stops, serve(mux))
	}, nil
}

// keyOf returns the signing key of an agent, or nil in a league that does not sign.
func (s *runningLeague) keyOf(id string) func() *protocol.SigningKey {
	var key *protocol.SigningKey
	if s.options.Sign {
		key = SigningKey(s.options.Seed, id)
	}
	return func() *protocol.SigningKey { return key }
}

func (s *runningLeague) startManager(ctx context.Context) error {
	c, start, err := s.connect(ctx, "manager", protocol.ManagerSender)
	if err != nil {
		return err
	}
	o := s.options
	options := o.Rules
	options.MaxPlayers, options.MaxReferees, options.MaxConcurrentMatches = o.Players, o.Referees, o.Concurrency
	options.Schemes, options.RegistrationGrace, options.Pace = []string{Memory, "http", "https"}, 0, 0
	options.Caller, options.Clock, options.Log, options.SigningKey = c.Caller, s.clock, c.Log, c.SigningKey()
	options.Signatures = ""
	if o.Sign {
		options.Signatures = cmp.Or(o.Signatures, journal.SignaturesOptional)
	}
	options.Stuck = s.stuck
	options.Simulation = o.record()
	if program := o.Programs[o.GameType]; program != nil {
		options.Program = program
	}
	if options.Timeouts == (protocol.Timeouts{}) {
		options.Timeouts, options.RetryPolicy = protocol.DefaultTimeouts(), protocol.DefaultRetryPolicy()
		options.SuspendAfter, options.ShutdownAfter = journal.DefaultSuspendAfter, journal.DefaultShutdownAfter
		options.UniqueDisplayNames = true
	}
	switch {
	case s.faulty != nil:
		options.RoundBegins, options.Glance = s.faulty.beforeRound(options.RoundBegins), glance
		s.faulty.annulled = func(matchID string) int { return s.manager.AnnulledResults(matchID) }
		options.Timeouts = withoutTimeouts(options.Timeouts)
	case o.External != nil:
		options.Timeouts = o.External.shorten(options.Timeouts)
	}
	options.RoundBegins = s.paced(ctx, options.RoundBegins)
	s.manager, err = manager.New(options)
	if err != nil {
		return err
	}
	s.address = c.Endpoint
	start(s.manager)
	return nil
}

// paced is begin, which may be nil, after the pause before a round.
func (s *runningLeague) paced(ctx context.Context, begin func(round int)) func(round int) {
	pace := protocol.Seconds(s.options.Pace)
	if pace <= 0 {
		return begin
	}
	return func(round int) {
		_ = protocol.SystemClock().Sleep(ctx, pace) // the manager finds that ctx has ended
		if begin != nil {
			begin(round)
		}
	}
}

// withoutTimeouts is t with timeouts that no stall of this process can exceed. A stall
// would make a call attempt void, and then the faults would hit other attempts.
func withoutTimeouts(t protocol.Timeouts) protocol.Timeouts {
	const factor = 1000
	t.GameJoinAck, t.Move, t.GameOver = float64(factor*t.GameJoinAck), float64(factor*t.Move), float64(factor*t.GameOver)
	return t
}

func (s *runningLeague) startReferee(ctx context.Context, n int) error {
	o, id := s.options, league.RefereeID(n)
	if s.hasDied(id) || o.isOut(id) {
		return nil
	}
	c, start, err := s.connect(ctx, id, protocol.RefereeSender(id))
	if err != nil {
		return err
	}
	c.Name = fmt.Sprintf("Referee %02d", n)
	options := referee.Options{
		Options: c, MaxConcurrent: o.Concurrency, Games: o.Games, Programs: o.Programs, Instant: o.instant,
		Nonce: func(matchID string) protocol.Secret {
			id, _, _ := strings.Cut(matchID, "/")
			return Nonce(o.Seed, s.key(id))
		},
	}
	if s.observer != nil {
		options.Caller, options.Stalls, options.Warned = &observedCaller{c.Caller, s.observer}, s.observer.stalls.Longest,
			s.observer.warned
	}
	r, err := referee.New(options)
	if err != nil {
		return err
	}
	start(r)
	s.stops, s.referees = append(s.stops, r.Close), append(s.referees, r)
	if err := r.Register(ctx); err != nil {
		return err
	}
	r.Rest(ctx) // reports of an earlier process become part of the players' past
	return ctx.Err()
}

func (s *runningLeague) startPlayer(ctx context.Context, n int) error {
	o, id := s.options, league.PlayerID(n)
	c, start, err := s.connect(ctx, id, protocol.PlayerSender(id))
	if err != nil {
		return err
	}
	entrant := o.entrant(n)
	entrant.Tools.Log = c.Log
	decide, err := external.Open(entrant.Strategy, entrant.Tools)
	if err != nil {
		return err
	}
	s.strategies = append(s.strategies, decide)
	opened := decide
	if s.faulty != nil {
		decide = &repeatable{Strategy: decide, key: s.key}
	}
	c.Name = s.nameOf(n)
	p, err := player.New(player.Options{
		Options: c, Games: []string{o.GameType}, Strategy: decide, Past: s.past(id), Heads: &s.heads,
		SlowHistory: true, Rules: o.Games,
		Entropy: func(matchID string, _ int) protocol.Secret { return Entropy(o.Seed, s.key(matchID), id) },
		Random:  func(playerID, decision string) *rand.Rand { return Random(o.Seed, playerID, s.key(decision)) },
	})
	if err != nil {
		return err
	}
	start(p)
	game, _ := o.Games.Game(o.GameType) // the manager has it
	if _, counted := external.Totals(opened); counted || game.Info().Hidden {
		s.stops = append(s.stops, func() { _ = p.Close() }) // the history lacks the totals; the last check may be running
	}
	own, shown := id, entrant.Strategy
	if len(o.Entrants) > 0 {
		shown = entrant.record().Strategy
	}
	if !o.isOut(id) {
		if err := p.Register(ctx); err != nil {
			return err
		}
		own = p.ID() // the manager may have given it another id
	}
	s.roster.update(func() {
		s.roster.players = append(s.roster.players,
			&entry{id: own, endpoint: c.Endpoint, strategy: shown, decide: opened})
	})
	return nil
}

// entrant is the n-th player. Without entrants the built-in players have numbers as names, and take the strategies
// in turn.
func (o *Options) entrant(n int) Entrant {
	if n <= len(o.Entrants) {
		return o.Entrants[n-1]
	}
	e := Entrant{Name: fmt.Sprintf("Player %02d", n), Tools: o.Tools}
	if own := n - 1 - o.externalPlayers(); own >= 0 && len(o.Strategies) > 0 {
		e.Strategy = o.Strategies[own%len(o.Strategies)]
	}
	return e
}

// instant tells whether a player decides by a built-in strategy. Such players take no time from their time banks, so
// that the league follows from the seed on any machine.
func (o *Options) instant(playerID string) bool {
	n, ok := league.ParsePlayerID(playerID)
	return ok && n > o.externalPlayers() && slices.Contains(strategy.Names(), o.entrant(n).Strategy)
}

// nameOf is the name of the n-th player, which differs from those of external players.
func (s *runningLeague) nameOf(n int) string {
	name := s.options.entrant(n).Name
	for len(s.options.Entrants) == 0 && s.roster.hasName(name) {
		name += " (built-in)"
	}
	return name
}

func (s *runningLeague) result() *Result {
	state := s.manager.State()
	r := &Result{
		Results: (&record.League{State: state}).Results(s.options.Games), State: state,
		Totals: map[string]strategy.Totals{}, Unwritten: s.manager.FinishFiles(),
	}
	players := s.roster.byID()
	for i := range r.Players {
		row := &r.Players[i]
		e := players[row.PlayerID]
		if row.Strategy = e.strategy; e.strategy == ExternalStrategy {
			row.Endpoint = e.endpoint
		}
		if totals, ok := external.Totals(e.decide); ok {
			r.Totals[row.PlayerID] = totals
		}
	}
	if s.observer != nil {
		r.Losses, r.Breaches = s.observer.losses(state, players), s.observer.breaches()
	}
	return r
}

// close stops all agents, the last one first, so that none is called after its end.
func (s *runningLeague) close() {
	if s.faulty != nil {
		s.faulty.stopping.Store(true)
	}
	for _, stop := range slices.Backward(s.stops) {
		stop()
	}
	var ending sync.WaitGroup // at the same time, because each may be slow
	for _, decide := range s.strategies {
		ending.Go(func() { external.Close(decide) })
	}
	ending.Wait()
}
