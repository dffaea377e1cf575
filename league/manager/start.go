package manager

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"evenodd/league"
	"evenodd/league/decide"
	"evenodd/league/journal"
	"evenodd/league/pairing"
	"evenodd/league/protocol"
	"evenodd/league/words"
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
func (m *Manager) expectAnswer(a *agent) {
	if m.state.Agents[a.id].Answered {
		return
	}
	m.applicants.ExpectAnswer(m.state.Agents[a.id], m.clock.Now())
	select {
	case m.silent <- a:
	default: // more agents than the league takes have come and gone, and nobody pings
	}
}

// loggedIDs is the number of ids of silent agents in a log line.
const loggedIDs = 10

// logSilent adds to a log line how many agents have not answered, and the first of
// them. M.mu is held.
func (m *Manager) logSilent(line *zerolog.Event) {
	line.Int("awaited_count", m.applicants.Silent()).Strs("awaited", m.applicants.SilentIDs(loggedIDs))
}

// pingSilent pings the agents that have not answered, each until it answers or is
// dropped, until ctx ends.
func (m *Manager) pingSilent(ctx context.Context) {
	var pinging sync.WaitGroup
	defer pinging.Wait()
	slots := make(chan struct{}, pingsAtOnce)
	for {
		select {
		case a := <-m.silent:
			pinging.Go(m.guarded(func() { m.pingUntilAnswer(ctx, a, slots) }))
		case <-ctx.Done():
			return
		}
	}
}

// pingUntilAnswer pings one agent. Each ping takes a slot.
func (m *Manager) pingUntilAnswer(ctx context.Context, a *agent, slots chan struct{}) {
	warned := false
	for pings := 0; ; pings++ {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		pong, err := m.ping(ctx, a.address())
		<-slots
		if ctx.Err() != nil || m.pinged(a, pong, err, &warned, pings+1) ||
			m.clock.Sleep(ctx, protocol.Backoff(pings, firstPingPause, longPingPause)) != nil {
			return
		}
	}
}

// pinged records what the latest of some pings shows about an agent, and tells whether no more
// pings are needed.
func (m *Manager) pinged(a *agent, pong *protocol.Pong, err error, warned *bool, pings int) (done bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.agents[a.id] != a || m.state.Agents[a.id].Answered || m.state.Started != nil {
		return true
	}
	switch {
	case protocol.Forbidden(err): // the address it resolves to now: SSRF by DNS rebinding
		return m.dropRegistration(&journal.RegistrationDropped{AgentID: a.id, Reason: journal.DroppedForbidden}) == nil
	case isManager(pong, err):
		return m.dropRegistration(&journal.RegistrationDropped{AgentID: a.id, Reason: journal.DroppedManager}) == nil
	case answered(err):
		if m.record(&journal.AgentAnswered{AgentID: a.id}) != nil {
			return true
		}
		m.applicants.Forget(a.id)
		m.log.Info().Str("id", a.id).Func(m.logSilent).Str("event_type",
			"AGENT_REACHED").Msg("agent answered its first ping")
		m.startIfComplete()
		return true
	}
	a.obstacle, a.pings = obstacleOf(err), pings
	if m.applicants.GraceLeft(a.id, m.clock.Now()) == 0 && !*warned {
		*warned = true
		m.log.Warn().Err(err).Str("id", a.id).Str("name", a.name).Str("endpoint", a.address()).
			Str("event_type", "AGENT_SILENT").Msg(
			"no answer from the agent's endpoint within the grace period; another applicant may replace it")
	}
	return false
}

// obstacleAt says what the pings to an agent met, where, and how often; "" for nothing. M.mu is held.
func (m *Manager) obstacleAt(id string) string {
	a := m.agents[id]
	if a.obstacle == "" {
		return ""
	}
	return fmt.Sprintf("%s at %s, %d tries", a.obstacle, a.address(), a.pings)
}

// Obstacles are what the pings to agents that have not answered met, by their ids, without the addresses of agents. It
// is safe for concurrent use.
func (m *Manager) Obstacles() map[string]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	met := map[string]string{}
	for _, id := range m.applicants.SilentIDs(m.applicants.Silent()) {
		if a := m.agents[id]; a.obstacle != "" {
			met[id] = a.obstacle
		}
	}
	return met
}

// obstacleOf says in a few words why a ping got no answer.
func obstacleOf(err error) string {
	e := protocol.AsError(err)
	switch causes := strings.Split(e.Detail, ": "); {
	case protocol.Unreachable(err): // the last cause is that of the system, such as connection refused
		return causes[len(causes)-1]
	case e.Code == protocol.ErrTimeout:
		return "no answer within " + pingTimeout.String()
	}
	return fmt.Sprintf("%.200s", e.Detail)
}

// awaitStart returns when the league may start: see decide.Registrations.Due. Meanwhile it pings
// the agents that have not answered.
func (m *Manager) awaitStart(ctx context.Context) error {
	var window <-chan time.Time
	if length := m.options.RegistrationWindow; length > 0 {
		window = time.After(protocol.Seconds(length))
	}
	waiting, stop := context.WithCancel(ctx)
	var pinging sync.WaitGroup
	defer pinging.Wait()
	defer stop()
	defer m.options.Guard.Tell()
	pinging.Go(m.guarded(func() { m.pingSilent(waiting) }))
	timed, over := m.untilStart()
	for {
		select {
		case <-m.due:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-window:
			m.mu.Lock()
			m.applicants.WindowOver = true
			m.mu.Unlock()
			m.timeOver()
		case <-m.replanned:
			timed, over = m.untilStart()
		case <-timed:
			before := over
			if timed, over = m.untilStart(); over && !before {
				m.timeOver()
			}
		}
	}
}

// clockCheck is the longest time after which a manager that waits for a time reads the clock
// again: a timer does not count the time for which the machine sleeps.
const clockCheck = time.Minute

// untilStart is a channel that is due at the planned time of the start, or earlier; nil without one. Over tells that
// the time has passed. The channel is due then too, because a clock that was wrong may be set back.
func (m *Manager) untilStart() (due <-chan time.Time, over bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	start := decide.StartTime(m.state)
	if start.IsZero() {
		return nil, false
	}
	left := start.Sub(m.clock.Now())
	if left <= 0 {
		return time.After(clockCheck), true
	}
	return time.After(min(left, clockCheck)), false
}

// timeOver starts the league, or warns that too few have registered.
func (m *Manager) timeOver() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.startIfComplete() {
		m.log.Warn().Int("min_players", m.options.MinPlayers).Int("referees", m.options.Referees).
			Str("event_type", "TOO_FEW_REGISTERED").
			Msg("the time is over, but too few have registered: the league begins when there are enough")
	}
}

// startIfComplete starts the league if it is due. M.mu is held.
func (m *Manager) startIfComplete() bool {
	due := m.applicants.Due(m.state, m.clock.Now())
	if due {
		m.closeRegistration()
	}
	return due
}

// closeRegistration decides the start. M.mu is held.
func (m *Manager) closeRegistration() {
	if !m.applicants.Closed {
		m.applicants.Closed = true
		close(m.due)
	}
}

// mayStart returns why the league cannot start now. M.mu is held.
func (m *Manager) mayStart() error {
	if m.state.Completed != nil {
		return protocol.Fault(protocol.ErrLeagueComplete, "the league is over")
	}
	_, players := m.state.Registered(true)
	_, referees := m.state.Registered(false)
	if players < 2 || referees < 1 {
		return protocol.Fault(protocol.ErrLeagueNotStarted,
			"%s and %s have answered: a league needs 2 players and 1 referee", words.Counted(players, "player"),
			words.Counted(referees, "referee")).
			With("awaited", m.applicants.SilentIDs(protocol.MaxInactive))
	}
	if !m.state.HasReferee("") {
		return protocol.Fault(protocol.ErrLeagueNotStarted, "each referee that has answered is suspended: readmit one first")
	}
	return nil
}

// replan starts the league if it is due after a decision of the organiser, or now if the
// organiser starts it at once. M.mu is held.
func (m *Manager) replan(atOnce bool) error {
	signal(m.replanned)
	if atOnce {
		m.closeRegistration()
	} else {
		m.startIfComplete()
	}
	return m.fixParticipants()
}

// checkSize returns an error if the journal could not take the events with which the largest league of the options
// starts: agents would register in vain.
func (m *Manager) checkSize() error {
	o := &m.options
	if m.journal == nil || m.state.Started != nil {
		return nil
	}
	key, keys := "", map[string]string{}
	if o.Signatures != "" {
		key = o.ManagerKey // as long as that of an agent
	}
	ids := func(count int, id func(int) string) (list []string) {
		for n := range count {
			list = append(list, id(10*count+n)) // no id is granted twice, so that they may be longer
			keys[list[n]] = key
		}
		return list
	}
	started := &journal.Started{Players: ids(o.MaxPlayers, league.PlayerID), Referees: ids(o.MaxReferees, league.RefereeID)}
	matches, last := o.MaxPlayers/2, started.Players[o.MaxPlayers-1]
	if key != "" {
		started.Keys = keys
	}
	round := &journal.RoundAnnounced{
		Pairings: slices.Repeat([][2]string{{last, last}}, matches),
		Referees: slices.Repeat(started.Referees[o.MaxReferees-1:], matches),
	}
	if err := cmp.Or(m.journal.Check(started), m.journal.Check(round)); err != nil {
		return fmt.Errorf("a league of %d players and %d referees cannot start: %w, or admit fewer", o.MaxPlayers,
			o.MaxReferees, err)
	}
	return nil
}

// fixParticipants records the start if it is decided, with the agents that have answered: the
// registrations of the others are dropped. A decision of the organiser comes before or after the start. The
// lock is held.
func (m *Manager) fixParticipants() error {
	if m.state.Started != nil || !m.applicants.Closed {
		return nil
	}
	for _, id := range m.applicants.SilentIDs(m.applicants.Silent()) {
		if err := m.dropRegistration(&journal.RegistrationDropped{AgentID: id, Reason: journal.DroppedAtStart}); err != nil {
			return err
		}
	}
	started := &journal.Started{
		Players: m.state.IDs(true), Referees: m.state.IDs(false), Keys: m.state.PublicKeys(), Config: m.options.Config,
	}
	if m.state.Created.Tournament == nil {
		started.Algorithm = pairing.RoundRobinFor(m.options.sidesAlike(), m.drawLot())
	}
	if err := m.record(started); err != nil {
		return err
	}
	if missing := m.state.MissingSeeds(); len(missing) > 0 {
		m.log.Warn().Int("missing_count", len(missing)).Strs("missing", missing[:min(len(missing), loggedIDs)]).
			Str("event_type", "SEEDS_MISSING").
			Msg("no player has these names of the seeding; the players behind them move up")
	}
	m.log.Info().Int("players", len(started.Players)).Int("referees", len(started.Referees)).
		Int("rounds", m.state.TotalRounds()).Int("matches", m.state.TotalMatches()).Str("event_type",
		"LEAGUE_STARTED").Msg("the league begins")
	return nil
}

// drawLot draws the lot of a league: no player can know it before the start. That of a simulation follows from its
// seed.
func (m *Manager) drawLot() bool {
	lot := m.keys.Lot
	if simulated := m.state.Created.Simulation; simulated != nil {
		lot = protocol.Derive([32]byte{}, fmt.Sprintf("evenodd-side-v1 %d", simulated.Seed))
	}
	return lot[0]&1 == 1
}
