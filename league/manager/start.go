package manager

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

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

// awaitStart returns when the league may start: see decide.StartRule. Meanwhile it pings
// the agents that have not answered.
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
	timed := r.untilStart()
	for {
		select {
		case <-r.due:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-window:
			r.mu.Lock()
			r.decide.Start.WindowOver = true
			r.mu.Unlock()
			r.timeOver(protocol.EventTooFewRegistered, "the registration window is over, but too few have registered: the league begins when there are enough")
		case <-r.replanned:
			timed = r.untilStart()
		case <-timed:
			if timed = r.untilStart(); timed == nil {
				r.timeOver(protocol.EventTooFewAtStart, "the time of the start has come, but too few have registered: the league begins when there are enough")
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
	left := r.decide.Start.Time(r.state).Sub(r.clock.Now())
	if left <= 0 {
		return nil
	}
	return time.After(min(left, clockCheck))
}

// timeOver starts the league, or warns that too few have registered.
func (r *registrations) timeOver(event, warning string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.startIfComplete() {
		r.options.Log.Warn().Int("min_players", r.options.MinPlayers).Int("referees", r.options.Referees).
			Str("event_type", event).Msg(warning)
	}
}

// answered is the number of players and referees that have answered. The lock is held.
func (r *registrations) answered() (players, referees int) {
	_, players = r.state.Registered(true)
	_, referees = r.state.Registered(false)
	return players, referees
}

// startIfComplete starts the league if it is due. The lock is held.
func (r *registrations) startIfComplete() bool {
	due := r.decide.Start.Due(r.state, r.clock.Now())
	if due {
		r.close()
	}
	return due
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
	if err := r.mayStart(); err != nil {
		return err
	}
	r.close()
	return r.fixParticipants()
}

// mayStart returns why the league cannot start now. The lock is held.
func (r *registrations) mayStart() error {
	if r.state.Completed != nil {
		return protocol.Fault(protocol.ErrLeagueComplete, "the league is over")
	}
	if players, referees := r.answered(); players < 2 || referees < 1 {
		return protocol.Fault(protocol.ErrLeagueNotStarted,
			"%s and %s have answered: a league needs 2 players and 1 referee", protocol.Counted(players, "player"), protocol.Counted(referees, "referee")).
			With("awaited", r.decide.SilentIDs(protocol.MaxInactive))
	}
	if !r.state.HasReferee() {
		return protocol.Fault(protocol.ErrLeagueNotStarted, "each referee that has answered is suspended: readmit one first")
	}
	return nil
}

// PlanStart records an organiser's decision when the league starts: at a time, or now if at
// is zero. A time in the past means as soon as two players and one referee have answered. The
// decision replaces the manager's rules, also after a restart. PlanStart returns the number
// of its event, when it was made, and one sentence about what happens next. An error means
// that the league has started or cannot start yet, or that the event is not durable.
func (m *Manager) PlanStart(by journal.Decision, at time.Time) (event int, when, about string, err error) {
	event, when, about, err = m.registrations.plan(by, at)
	if err == nil {
		err = m.durable()
	}
	return event, when, about, err
}

func (r *registrations) plan(by journal.Decision, at time.Time) (event int, when, about string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.beginIfDecided(); err != nil {
		return 0, "", "", err
	}
	now := r.clock.Now()
	atOnce := at.IsZero()
	if atOnce {
		if err := r.mayStart(); err != nil {
			return 0, "", "", err
		}
		at = now
	}
	planned, err := decide.PlanStart(r.state, by, at)
	if err == nil {
		err = r.record(planned)
	}
	if err != nil {
		return 0, "", "", err
	}
	event, when = r.state.Events, protocol.FormatTimestamp(now)
	r.options.Log.Info().Str("start_at", planned.StartAt).Str("by", planned.By).
		Str("event_type", protocol.EventStartPlanned).Msg("an organiser has planned the start")
	select {
	case r.replanned <- struct{}{}:
	default: // awaitStart looks anyway
	}
	switch {
	case at.After(now):
		return event, when, "The league starts at " + planned.StartAt + " with the agents that have answered then.", nil
	case !atOnce && !r.startIfComplete():
		return event, when, "The league starts as soon as enough players and a referee have answered.", nil
	}
	r.close()
	if err := r.fixParticipants(); err != nil {
		return event, when, "", err
	}
	return event, when, fmt.Sprintf("The league starts now: players %d, referees %d.", len(r.state.Started.Players), len(r.state.Started.Referees)), nil
}

// beginIfDecided records the start if it is decided, but Run has not recorded it yet: a
// decision of the organiser comes before or after the start. The lock is held.
func (r *registrations) beginIfDecided() error {
	if !r.decide.Closed {
		return nil
	}
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
