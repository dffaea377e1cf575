// Package simulation plays a whole league in one process: manager, referees
// and players, the very code that runs apart, joined by channels or by HTTP on
// loopback ports. Everything that chance decides derives from a seed and from
// what is being decided, so that the same seed gives the same league whatever
// carries it and however many matches run at once.
package simulation

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/rs/zerolog"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/simulation/faults"
	"evenodd/league/store"
	"evenodd/player"
	"evenodd/player/strategy"
	"evenodd/player/strategy/external"
	"evenodd/referee"
	"evenodd/transport"
)

// A Result is a finished league.
type Result struct {
	LeagueID  string
	GameType  string
	Seed      uint64
	Faults    string // that went wrong, as Options have them
	Players   int
	Rounds    int
	Champion  protocol.Champion
	Standings []Standing
	Results   []league.MatchRecord

	Losses   []Loss   // technical ones of a league with players from outside
	Breaches []Breach // of the protocol, in such a league
}

// A Standing is a row of the final table with the player's strategy.
type Standing struct {
	league.Standing
	Strategy string // External for a player from outside
	Endpoint string // of such a player
}

// Run plays the league. It ends early with ctx.
func Run(ctx context.Context, o Options) (*Result, error) {
	return runOn(ctx, o, newNetwork(o.Transport))
}

// runOn plays the league on a network, and closes it.
func runOn(ctx context.Context, o Options, n network) (*Result, error) {
	defer n.close()
	if len(o.Strategies) == 0 {
		o.Strategies = []string{"random"}
	}
	if o.Concurrency == 0 {
		o.Concurrency = 16
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if err := o.resume(); err != nil {
		return nil, err
	}
	if o.Outside != nil {
		n = reaching{n, o.Outside}
	}
	s := &simulated{options: &o, clock: protocol.SystemClock(), net: n}
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

// nextRound is the round that the league plays first.
func (o *Options) nextRound() int {
	if o.Keep == nil {
		return 1
	}
	if state := o.Keep.State; state.Open() {
		return state.Round
	}
	return o.Keep.State.Round + 1
}

// resume takes what the league derives from out of its journal, if it has begun.
func (o *Options) resume() error {
	if o.Keep == nil || o.Keep.State.Created == nil {
		return nil
	}
	created := o.Keep.State.Created
	from := created.Simulation
	if from == nil {
		return fmt.Errorf("the league %s in %s is a real one, no simulation", created.LeagueID, o.Keep.Folder)
	}
	if from.Outside > 0 || o.Outside != nil {
		return fmt.Errorf("the league %s cannot go on: players that run elsewhere take part in it, and nobody knows what they remember", created.LeagueID)
	}
	for _, name := range from.Strategies { // a folder that somebody else made runs nothing on this machine
		if external.Runs(name) && !slices.Contains(o.Strategies, name) {
			return fmt.Errorf("the league %s was played by programs: name %q with --strategies as well, to run it", created.LeagueID, name)
		}
	}
	o.Seed, o.Players, o.Referees, o.Strategies, o.Faults = from.Seed, from.Players, from.Referees, from.Strategies, from.Faults
	o.LeagueID, o.GameType, o.Legs = created.LeagueID, created.GameType, created.Legs
	return o.Validate()
}

// folder is where the agents keep their files; "" for nowhere.
func (o *Options) folder() store.Folder {
	if o.Keep == nil {
		return ""
	}
	return o.Keep.Folder
}

// past is what a player of a league that goes on has played: the journal knows
// it better than the player's own file. What the player never learned is not
// part of it.
func (s *simulated) past(id string) []store.HistoryMatch {
	if s.options.Keep == nil {
		return nil
	}
	past := []store.HistoryMatch{}
	state := s.options.Keep.State
	place, takesPart := state.PlayerIndex(id)
	for round := 1; takesPart && round <= state.Round; round++ {
		_, number, ok := state.Opponent(round, place)
		if !ok {
			continue
		}
		r := state.Rounds[round-1].Matches[number-1].Report
		if r != nil && (s.faulty == nil || s.faulty.learnsResult(r.MatchID, id)) {
			past = append(past, *player.Seen(id, r.MatchID.String(), r.Number, &r.Outcome))
		}
	}
	return past
}

// simulated is a league while it runs.
type simulated struct {
	options *Options
	clock   *protocol.Clock
	net     network
	faulty  *faultyNetwork // net with faults; nil for none
	manager *league.Manager
	address string // of the manager
	stops   []func()

	strategies []strategy.Strategy // of the players, to be closed
	seats      *seats              // of the players from outside, nil when there are none
	witness    *witness            // likewise
}

func (s *simulated) run(ctx context.Context) (*Result, error) {
	o := s.options
	if err := s.startManager(ctx); err != nil {
		return nil, err
	}
	if o.Outside != nil {
		s.watchOutside()
	}
	for i := range o.Referees {
		if err := s.startReferee(ctx, i+1); err != nil {
			return nil, err
		}
	}
	if o.Outside != nil {
		if err := s.seatOutside(ctx); err != nil {
			return nil, err
		}
	}
	for i := o.outside(); i < o.Players; i++ {
		if err := s.startPlayer(ctx, i+1); err != nil {
			return nil, err
		}
	}
	completed, err := s.manager.Run(ctx)
	if err != nil {
		return nil, err
	}
	return s.result(completed), nil
}

// join gives an agent a place on the network: build makes it for the endpoint,
// and what it mounts is served there.
func (s *simulated) join(ctx context.Context, name, sender string, build func(agentContext) (mount func(protocol.Mux), err error)) (endpoint string, err error) {
	log := s.options.Log.With().Str("agent_id", sender).Logger()
	place, err := s.net.reserve(ctx, name)
	if err != nil {
		return "", err
	}
	var caller protocol.Caller = s.net
	if s.faulty != nil {
		caller = s.faulty.caller(name)
	}
	if decorate := s.options.decorate; decorate != nil {
		caller = decorate(caller)
	}
	mount, err := build(agentContext{endpoint: place.endpoint, caller: transport.Logged(caller, log), log: log})
	if err != nil {
		return "", errors.Join(err, place.giveUp())
	}
	mux := transport.NewMux(log)
	mount(mux)
	s.stops = append(s.stops, place.serve(mux))
	return place.endpoint, nil
}

// agentContext is what an agent gets from the simulation.
type agentContext struct {
	endpoint string
	caller   protocol.Caller
	log      zerolog.Logger
}

func (s *simulated) startManager(ctx context.Context) error {
	o := s.options
	address, err := s.join(ctx, "manager", protocol.ManagerSender, func(a agentContext) (func(protocol.Mux), error) {
		options := o.Rules
		options.LeagueID, options.GameType, options.Games = o.LeagueID, o.GameType, o.Games
		options.Players, options.Referees, options.Legs = o.Players, o.Referees, o.Legs
		options.MaxPlayers, options.MaxReferees = o.Players, o.Referees
		options.Concurrency, options.MaxConcurrentMatches = o.Concurrency, o.Concurrency
		options.Schemes = []string{Memory, "http", "https"}
		options.Caller, options.Clock, options.Log, options.Progress = a.caller, s.clock, a.log, o.Progress
		options.Files, options.Listening = o.Keep, true
		options.Simulation = &journal.Simulation{Seed: o.Seed, Players: o.Players, Referees: o.Referees, Strategies: o.Strategies, Faults: o.Faults, Outside: o.outside()}
		if s.faulty != nil {
			options.Pace, options.RoundBegins, options.Glance = 0, s.faulty.beginRound, glance
		}
		if options.Timeouts == (protocol.Timeouts{}) {
			options.Timeouts, options.Retry = protocol.DefaultTimeouts(), protocol.DefaultRetryPolicy()
		}
		switch {
		case s.faulty != nil:
			options.Timeouts = unending(options.Timeouts)
		case o.Outside != nil:
			options.Timeouts = o.Outside.hurry(options.Timeouts)
		}
		manager, err := league.New(options)
		if err != nil {
			return nil, err
		}
		s.manager = manager
		return manager.Mount, nil
	})
	s.address = address
	return err
}

// unending are timeouts that are over by what is lost alone, and never because this
// process stood still: then a try would be void, and the faults would come at others.
func unending(t protocol.Timeouts) protocol.Timeouts {
	const patience = 1000
	t.GameJoinAck, t.Move, t.GameOver = patience*t.GameJoinAck, patience*t.Move, patience*t.GameOver
	return t
}

// out tells whether an agent's part in the league was over before: it is not let
// in again, and nobody calls it any more.
func (o *Options) out(id string) bool {
	if o.Keep == nil {
		return false
	}
	a := o.Keep.State.Agents[id]
	return a != nil && a.Shutdown != ""
}

// died tells whether a referee has died in an earlier life of the league: of a
// match that it was to get.
func (s *simulated) died(id string) bool {
	if s.faulty == nil || s.options.Keep == nil {
		return false
	}
	state := s.options.Keep.State
	for round := 1; round <= state.Round; round++ {
		if !faults.In(s.faulty.plan.RefereeCrash, id, round) {
			continue
		}
		for i := range state.Rounds[round-1].Matches {
			had := func(a journal.Attempt) bool { return a.Referee == id }
			if slices.ContainsFunc(state.Rounds[round-1].Matches[i].Attempts, had) {
				return true
			}
		}
	}
	return false
}

func (s *simulated) startReferee(ctx context.Context, n int) error {
	o, id := s.options, protocol.RefereeID(n)
	if s.died(id) || o.out(id) {
		return nil
	}
	var r *referee.Referee
	_, err := s.join(ctx, id, protocol.RefereeSender(id), func(a agentContext) (_ func(protocol.Mux), err error) {
		options := referee.Options{
			Name: fmt.Sprintf("Referee %02d", n), ID: id, Endpoint: a.endpoint, Manager: s.address,
			MaxConcurrent: o.Concurrency, Games: o.Games, Folder: o.folder(),
			Caller: a.caller, Clock: s.clock, Log: a.log,
			Nonce: func(matchID string) protocol.Secret { return Nonce(o.Seed, matchID) },
		}
		if s.witness != nil {
			options.Caller, options.Stalls, options.Warned = s.witness.caller(a.caller), s.witness.stalls.Longest, s.witness.warned
		}
		r, err = referee.New(options)
		if err != nil {
			return nil, err
		}
		return r.Mount, nil
	})
	if err != nil {
		return err
	}
	s.stops = append(s.stops, r.Close)
	if err := r.Register(ctx); err != nil {
		return err
	}
	r.Rest(ctx) // what it had finished before is part of the players' past
	return ctx.Err()
}

func (s *simulated) startPlayer(ctx context.Context, n int) error {
	o, id := s.options, protocol.PlayerID(n)
	tools := o.Tools
	tools.Log = o.Log.With().Str("agent_id", protocol.PlayerSender(id)).Logger()
	decide, err := external.Open(s.strategyOf(n), tools)
	if err != nil {
		return err
	}
	s.strategies = append(s.strategies, decide)
	if s.faulty != nil {
		decide = &steady{Strategy: decide}
	}
	var p *player.Player
	endpoint, err := s.join(ctx, id, protocol.PlayerSender(id), func(a agentContext) (_ func(protocol.Mux), err error) {
		p, err = player.New(player.Options{
			Name: s.nameOf(n), ID: id, Endpoint: a.endpoint, Manager: s.address,
			Games: []string{o.GameType}, Strategy: decide, Folder: o.folder(), Past: s.past(id),
			Caller: a.caller, Clock: s.clock, Log: a.log,
			Entropy: func(matchID string, _ int) protocol.Secret { return Entropy(o.Seed, matchID, id) },
			Random:  func(playerID, decision string) *rand.Rand { return Random(o.Seed, playerID, decision) },
		})
		if err != nil {
			return nil, err
		}
		return p.Mount, nil
	})
	if err != nil {
		return err
	}
	if o.out(id) {
		return nil
	}
	if err := p.Register(ctx); err != nil {
		return err
	}
	if s.seats != nil { // its id may be another than it asked for
		s.seats.take(p.ID(), &taken{endpoint: endpoint, strategy: s.strategyOf(n)})
	}
	return nil
}

// nameOf is the name of the n-th player: one that no outside player has taken.
func (s *simulated) nameOf(n int) string {
	name := fmt.Sprintf("Player %02d", n)
	for s.seats != nil && s.seats.named(name) {
		name += " (built-in)"
	}
	return name
}

// strategyOf is the strategy of the n-th player: they are taken in turn, by those
// that need one.
func (s *simulated) strategyOf(n int) string {
	return s.options.Strategies[(n-1-s.options.outside())%len(s.options.Strategies)]
}

func (s *simulated) result(completed *protocol.LeagueCompleted) *Result {
	o := s.options
	r := &Result{
		LeagueID: o.LeagueID, GameType: o.GameType, Seed: o.Seed, Faults: o.Faults,
		Players: o.Players, Rounds: completed.TotalRounds,
		Champion: completed.Champion, Results: s.manager.Results(),
	}
	for _, row := range s.manager.Standings() {
		n, _ := protocol.ParsePlayerID(row.PlayerID)
		if s.seats == nil {
			r.Standings = append(r.Standings, Standing{Standing: row, Strategy: s.strategyOf(n)})
			continue
		}
		r.Standings = append(r.Standings, s.seats.standing(row))
	}
	if s.witness != nil {
		r.Losses, r.Breaches = s.witness.losses(r.Results, s.seats), s.witness.breaches()
	}
	return r
}

// close ends what was started, the last first: nobody is left who could call.
func (s *simulated) close() {
	if s.faulty != nil {
		s.faulty.stopping.Store(true)
	}
	for _, stop := range slices.Backward(s.stops) {
		stop()
	}
	var ending sync.WaitGroup // at once: each may take its time
	for _, decide := range s.strategies {
		ending.Go(func() { external.Close(decide) })
	}
	ending.Wait()
}
