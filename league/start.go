package league

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"evenodd/league/journal"
	"evenodd/league/protocol"
)

// The pings of agents that have not answered: the first pause between two pings of one
// agent, the longest, and how many pings run at once.
const (
	firstPingPause = 50 * time.Millisecond
	longPingPause  = 5 * time.Second
	pingsAtOnce    = 32
)

// expectAnswer has a registered agent pinged until it answers, unless it has. The lock
// is held.
func (r *registrations) expectAnswer(a *agent) {
	if r.state.Agents[a.id].Answered {
		return
	}
	r.decide.ExpectAnswer(a.id, r.clock.Now())
	r.newSilent = append(r.newSilent, a)
	select {
	case r.wake <- struct{}{}:
	default: // pingSilent looks anyway
	}
}

// loggedIDs is the number of ids of silent agents in a log line.
const loggedIDs = 10

// logSilent adds to a log line how many agents have not answered, and the first of
// them. The lock is held.
func (r *registrations) logSilent(line *zerolog.Event) {
	line.Int("awaited_count", r.decide.Silent()).Strs("awaited", r.decide.SilentIDs(loggedIDs))
}

// pingSilent pings the agents that have not answered, each until it answers or is
// dropped, until ctx ends.
func (r *registrations) pingSilent(ctx context.Context) {
	var pinging sync.WaitGroup
	defer pinging.Wait()
	slots := make(chan struct{}, pingsAtOnce)
	for {
		r.mu.Lock()
		silent := r.newSilent
		r.newSilent = nil
		r.mu.Unlock()
		for _, a := range silent {
			pinging.Go(func() { r.pingUntilAnswer(ctx, a, slots) })
		}
		select {
		case <-r.wake:
		case <-ctx.Done():
			return
		}
	}
}

// pingUntilAnswer pings one agent. Each ping takes a slot.
func (r *registrations) pingUntilAnswer(ctx context.Context, a *agent, slots chan struct{}) {
	warned := false
	for pause := firstPingPause; ; pause = min(2*pause, longPingPause) {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		pong, err := r.ping(ctx, a.address())
		<-slots
		if ctx.Err() != nil || r.pinged(a, pong, err, &warned) || r.clock.Sleep(ctx, pause) != nil {
			return
		}
	}
}

// pinged records what a ping shows about an agent, and tells whether no more pings are
// needed.
func (r *registrations) pinged(a *agent, pong *protocol.Pong, err error, warned *bool) (done bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.agents[a.id] != a || r.state.Agents[a.id].Answered || r.state.Started != nil {
		return true
	}
	switch {
	case protocol.Forbidden(err): // the address it resolves to now: SSRF by DNS rebinding
		return r.drop(&journal.RegistrationDropped{AgentID: a.id, Reason: journal.DroppedForbidden}) == nil
	case isManager(pong, err):
		return r.drop(&journal.RegistrationDropped{AgentID: a.id, Reason: journal.DroppedManager}) == nil
	case answered(err):
		if r.record(&journal.AgentAnswered{AgentID: a.id}) != nil {
			return true
		}
		r.decide.Forget(a.id)
		r.options.Log.Info().Str("id", a.id).Func(r.logSilent).Str("event_type", protocol.EventAgentAnswered).Msg("agent answered its first ping")
		r.startIfComplete()
		return true
	case r.decide.GraceLeft(a.id, r.clock.Now()) == 0 && !*warned:
		*warned = true
		r.options.Log.Warn().Err(err).Str("id", a.id).Str("name", a.name).Str("endpoint", a.address()).
			Str("event_type", protocol.EventAgentSilent).Msg("no answer from the agent's endpoint within the grace period; another applicant may replace it")
	}
	return false
}

// awaitStart returns when the league may start: when enough agents have registered and
// answered, when the registration window is over and there are enough, or when the
// operator calls start_league. Meanwhile it pings the agents that have not answered.
func (r *registrations) awaitStart(ctx context.Context) error {
	var window <-chan time.Time
	if length := r.options.RegistrationWindow; length > 0 {
		timer := time.NewTimer(length)
		defer timer.Stop()
		window = timer.C
	}
	waiting, stop := context.WithCancel(ctx)
	var pinging sync.WaitGroup
	defer pinging.Wait()
	defer stop()
	pinging.Go(func() { r.pingSilent(waiting) })
	for {
		select {
		case <-r.due:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-window:
			r.mu.Lock()
			r.windowOver = true
			if !r.startIfComplete() {
				r.options.Log.Warn().Int("min_players", r.options.MinPlayers).Int("referees", r.options.Referees).
					Str("event_type", protocol.EventTooFewRegistered).Msg("the registration window is over, but too few have registered: the league begins when there are enough")
			}
			r.mu.Unlock()
		}
	}
}

// answered is the number of players and referees that have answered. The lock is held.
func (r *registrations) answered() (players, referees int) {
	_, players = r.state.Registered(true)
	_, referees = r.state.Registered(false)
	return players, referees
}

// startIfComplete starts the league when as many agents have registered and answered
// as it waits for. The lock is held.
func (r *registrations) startIfComplete() bool {
	players, referees := r.answered()
	wanted := r.options.Players
	if r.windowOver {
		wanted = r.options.MinPlayers
	}
	complete := wanted > 0 && players >= wanted && referees >= r.options.Referees
	if complete {
		r.close()
	}
	return complete
}

// close decides the start. The lock is held.
func (r *registrations) close() {
	if !r.decide.Closed {
		r.decide.Closed = true
		close(r.due)
	}
}

// startByHand starts the league for start_league, with the agents that have answered.
func (r *registrations) startByHand() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state.Completed != nil {
		return protocol.Fault(protocol.ErrLeagueComplete, "the league is over")
	}
	if players, referees := r.answered(); players < 2 || referees < 1 {
		return protocol.Fault(protocol.ErrLeagueNotStarted,
			"%d players and %d referees have answered: a league needs 2 and 1", players, referees).
			With("awaited", r.decide.SilentIDs(protocol.MaxInactive))
	}
	r.close()
	return r.fixParticipants()
}

// fixParticipants records the start, with the agents that have answered: the
// registrations of the others are dropped. The lock is held.
func (r *registrations) fixParticipants() error {
	if r.state.Started != nil {
		return nil
	}
	for _, id := range r.decide.SilentIDs(r.decide.Silent()) {
		if err := r.drop(&journal.RegistrationDropped{AgentID: id, Reason: journal.DroppedAtStart}); err != nil {
			return err
		}
	}
	started := &journal.Started{Keys: r.state.PublicKeys()}
	if r.state.Created.Tournament == nil {
		started.Algorithm = journal.Algorithm
	}
	for id, a := range r.agents {
		if a.player {
			started.Players = append(started.Players, id)
		} else {
			started.Referees = append(started.Referees, id)
		}
	}
	slices.SortFunc(started.Players, protocol.CompareIDs)
	slices.SortFunc(started.Referees, protocol.CompareIDs)
	if err := r.record(started); err != nil {
		return err
	}
	r.logMissingSeeds()
	r.options.Log.Info().Int("players", len(started.Players)).Int("referees", len(started.Referees)).
		Int("rounds", r.state.TotalRounds()).Int("matches", r.state.TotalMatches()).Str("event_type", protocol.EventLeagueStarted).Msg("the league begins")
	return nil
}

// logMissingSeeds warns of names in the seeding that no player has. The lock is held.
func (r *registrations) logMissingSeeds() {
	if missing := r.state.MissingSeeds(); len(missing) > 0 {
		r.options.Log.Warn().Int("missing_count", len(missing)).Strs("missing", missing[:min(len(missing), loggedIDs)]).
			Str("event_type", protocol.EventSeedsMissing).Msg("no player has these names of the seeding; the players behind them move up")
	}
}
