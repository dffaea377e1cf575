package manager

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"evenodd/league"
	"evenodd/league/decide"
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
	r.applicants.ExpectAnswer(a.id, r.clock.Now())
	select {
	case r.silent <- a:
	default: // more agents than the league takes have come and gone, and nobody pings
	}
}

// loggedIDs is the number of ids of silent agents in a log line.
const loggedIDs = 10

// logSilent adds to a log line how many agents have not answered, and the first of
// them. The lock is held.
func (r *registrations) logSilent(line *zerolog.Event) {
	line.Int("awaited_count", r.applicants.Silent()).Strs("awaited", r.applicants.SilentIDs(loggedIDs))
}

// pingSilent pings the agents that have not answered, each until it answers or is
// dropped, until ctx ends.
func (r *registrations) pingSilent(ctx context.Context) {
	var pinging sync.WaitGroup
	defer pinging.Wait()
	slots := make(chan struct{}, pingsAtOnce)
	for {
		select {
		case a := <-r.silent:
			pinging.Go(func() { r.pingUntilAnswer(ctx, a, slots) })
		case <-ctx.Done():
			return
		}
	}
}

// pingUntilAnswer pings one agent. Each ping takes a slot.
func (r *registrations) pingUntilAnswer(ctx context.Context, a *agent, slots chan struct{}) {
	warned := false
	for pings := 0; ; pings++ {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		pong, err := r.ping(ctx, a.address())
		<-slots
		if ctx.Err() != nil || r.pinged(a, pong, err, &warned) ||
			r.clock.Sleep(ctx, protocol.Backoff(pings, firstPingPause, longPingPause)) != nil {
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
		r.applicants.Forget(a.id)
		r.log.Info().Str("id", a.id).Func(r.logSilent).Str("event_type",
			"AGENT_ANSWERED_ITS_FIRST_PING").Msg("agent answered its first ping")
		r.startIfComplete()
		return true
	case r.applicants.GraceLeft(a.id, r.clock.Now()) == 0 && !*warned:
		*warned = true
		r.log.Warn().Err(err).Str("id", a.id).Str("name", a.name).Str("endpoint", a.address()).
			Str("event_type", "AGENT_SILENT").Msg(
			"no answer from the agent's endpoint within the grace period; another applicant may replace it")
	}
	return false
}

// awaitStart returns when the league may start: see decide.Registrations.Due. Meanwhile it pings
// the agents that have not answered.
func (r *registrations) awaitStart(ctx context.Context) error {
	var window <-chan time.Time
	if length := r.options.RegistrationWindow; length > 0 {
		window = time.After(protocol.Seconds(length))
	}
	waiting, stop := context.WithCancel(ctx)
	var pinging sync.WaitGroup
	defer pinging.Wait()
	defer stop()
	pinging.Go(func() { r.pingSilent(waiting) })
	timed := r.untilStart()
	for {
		select {
		case <-r.due:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-window:
			r.mu.Lock()
			r.applicants.WindowOver = true
			r.mu.Unlock()
			r.timeOver()
		case <-r.replanned:
			timed = r.untilStart()
		case <-timed:
			if timed = r.untilStart(); timed == nil {
				r.timeOver()
			}
		}
	}
}

// clockCheck is the longest time after which a manager that waits for a time reads the clock
// again: a timer does not count the time for which the machine sleeps.
const clockCheck = time.Minute

// untilStart is a channel that is due at the planned time of the start, or earlier; nil if
// there is none, or it has passed.
func (r *registrations) untilStart() <-chan time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	left := decide.StartTime(r.state).Sub(r.clock.Now())
	if left <= 0 {
		return nil
	}
	return time.After(min(left, clockCheck))
}

// timeOver starts the league, or warns that too few have registered.
func (r *registrations) timeOver() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.startIfComplete() {
		r.log.Warn().Int("min_players", r.options.MinPlayers).Int("referees", r.options.Referees).
			Str("event_type", "TOO_FEW_REGISTERED").
			Msg("the time is over, but too few have registered: the league begins when there are enough")
	}
}

// startIfComplete starts the league if it is due. The lock is held.
func (r *registrations) startIfComplete() bool {
	due := r.applicants.Due(r.state, r.clock.Now())
	if due {
		r.close()
	}
	return due
}

// close decides the start. The lock is held.
func (r *registrations) close() {
	if !r.applicants.Closed {
		r.applicants.Closed = true
		close(r.due)
	}
}

// mayStart returns why the league cannot start now. The lock is held.
func (r *registrations) mayStart() error {
	if r.state.Completed != nil {
		return protocol.Fault(protocol.ErrLeagueComplete, "the league is over")
	}
	_, players := r.state.Registered(true)
	_, referees := r.state.Registered(false)
	if players < 2 || referees < 1 {
		return protocol.Fault(protocol.ErrLeagueNotStarted,
			"%s and %s have answered: a league needs 2 players and 1 referee", protocol.Counted(players, "player"),
			protocol.Counted(referees, "referee")).
			With("awaited", r.applicants.SilentIDs(protocol.MaxInactive))
	}
	if !r.state.HasReferee("") {
		return protocol.Fault(protocol.ErrLeagueNotStarted, "each referee that has answered is suspended: readmit one first")
	}
	return nil
}

// replan starts the league if it is due after a decision of the organiser, or now if the
// organiser starts it at once. The lock is held.
func (r *registrations) replan(atOnce bool) error {
	select {
	case r.replanned <- struct{}{}:
	default: // awaitStart looks anyway
	}
	if atOnce {
		r.close()
	} else {
		r.startIfComplete()
	}
	return r.fixParticipants()
}

// fixParticipants records the start if it is decided, with the agents that have answered: the
// registrations of the others are dropped. A decision of the organiser comes before or after the start. The
// lock is held.
func (r *registrations) fixParticipants() error {
	if r.state.Started != nil || !r.applicants.Closed {
		return nil
	}
	for _, id := range r.applicants.SilentIDs(r.applicants.Silent()) {
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
	slices.SortFunc(started.Players, league.CompareIDs)
	slices.SortFunc(started.Referees, league.CompareIDs)
	if err := r.record(started); err != nil {
		return err
	}
	if missing := r.state.MissingSeeds(); len(missing) > 0 {
		r.log.Warn().Int("missing_count", len(missing)).Strs("missing", missing[:min(len(missing), loggedIDs)]).
			Str("event_type", "SEEDS_MISSING").
			Msg("no player has these names of the seeding; the players behind them move up")
	}
	r.log.Info().Int("players", len(started.Players)).Int("referees", len(started.Referees)).
		Int("rounds", r.state.TotalRounds()).Int("matches", r.state.TotalMatches()).Str("event_type",
		"THE_LEAGUE_BEGINS").Msg("the league begins")
	return nil
}
