package league

import (
	"context"
	"slices"
	"sync"
	"time"

	"evenodd/league/journal"
	"evenodd/league/protocol"
)

// Run waits until the league may begin, plays it, and returns its final
// message when every agent has it or cannot be told. A league that is over
// already is only told to those who do not know. When ctx ends, matches that
// run may go on for StopWithin; then Run ends with the error of ctx. It ends
// with an error, too, when the journal cannot be written.
func (m *Manager) Run(ctx context.Context) (*protocol.LeagueCompleted, error) {
	work, end := context.WithCancelCause(context.WithoutCancel(ctx)) // what has begun
	defer end(nil)
	stop, halt := context.WithCancelCause(ctx) // what would begin
	defer halt(nil)
	go func() { // ends when the journal fails or is closed, at the latest
		if err := m.journal.Failed(); err != nil {
			halt(err)
			end(err)
		}
	}()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(m.options.StopWithin, func() { end(ctx.Err()) }) })()
	completed, err := m.run(stop, work)
	if err != nil && context.Cause(stop) != nil {
		err = context.Cause(stop)
	}
	return completed, err
}

// run is Run with the two contexts: of what would begin, and of what has begun.
func (m *Manager) run(stop, work context.Context) (*protocol.LeagueCompleted, error) {
	writing, stopWriting := context.WithCancel(work)
	var files sync.WaitGroup
	defer files.Wait()
	defer stopWriting()
	files.Go(func() { m.writeWhenChanged(writing) })
	if err := m.awaitStart(stop); err != nil {
		return nil, err
	}
	m.mu.Lock()
	m.life = work
	m.mu.Unlock()
	notifiers, silence := context.WithCancel(work)
	var running sync.WaitGroup
	defer running.Wait()
	defer silence()
	if err := m.createSchedule(); err != nil {
		return nil, err
	}
	for _, a := range slices.Concat(m.players, m.referees) {
		running.Go(func() { a.notify(notifiers) })
	}
	for range m.conductors() {
		running.Go(func() {
			for play := range m.dispatch {
				play()
			}
		})
	}
	defer close(m.dispatch)
	if m.options.Simulation == nil {
		running.Go(func() { m.watch(notifiers) })
	}
	round, last := m.takeUp(work)
	for ; round <= m.state.Schedule.Rounds(); round++ {
		if err := m.playRound(stop, work, round, last); err != nil {
			return nil, err
		}
		var err error
		if last, err = m.endOfRound(work, round); err != nil {
			return nil, err
		}
	}
	return m.complete(work, last)
}

// awaitStart returns when the league may begin: enough agents have registered
// and answered, somebody starts it, or the registration window is over and there
// are enough. Meanwhile it pings the agents that have not answered.
func (m *Manager) awaitStart(ctx context.Context) error {
	var window <-chan time.Time
	if length := m.options.RegistrationWindow; length > 0 && m.state.Started == nil {
		timer := time.NewTimer(length)
		defer timer.Stop()
		window = timer.C
	}
	waiting, stop := context.WithCancel(ctx)
	var pinging sync.WaitGroup
	defer pinging.Wait()
	defer stop()
	pinging.Go(func() { m.awaitAnswers(waiting) })
	for {
		select {
		case <-m.started:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-window:
			m.mu.Lock()
			m.windowOver = true
			if !m.enough() {
				m.options.Log.Warn().Int("min_players", m.options.MinPlayers).Int("referees", m.options.Referees).
					Str("event_type", protocol.EventTooFewRegistered).Msg("the registration window is over, but too few have registered: the league begins when there are enough")
			}
			m.mu.Unlock()
		}
	}
}

// enough begins the league when as many agents have registered and answered as
// it waits for. M.mu is held.
func (m *Manager) enough() bool {
	players, referees := m.answeredCounts()
	wanted := m.options.Players
	if m.windowOver {
		wanted = m.options.MinPlayers
	}
	enough := wanted > 0 && players >= wanted && referees >= m.options.Referees
	if enough {
		m.begin()
	}
	return enough
}

// createSchedule takes up who takes part, and with that who meets whom.
func (m *Manager) createSchedule() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.start(); err != nil {
		return err
	}
	for i, id := range m.state.Started.Players {
		m.agents[id].index = i
		m.players = append(m.players, m.agents[id])
	}
	for _, id := range m.state.Started.Referees {
		m.referees = append(m.referees, m.agents[id])
	}
	return nil
}

// start fixes who takes part: those who have registered until now. M.mu is held.
func (m *Manager) start() error {
	if m.state.Started != nil {
		return nil
	}
	if err := m.dropSilent(); err != nil {
		return err
	}
	started := &journal.Started{Algorithm: journal.Algorithm}
	for id, a := range m.agents {
		if a.player {
			started.Players = append(started.Players, id)
		} else {
			started.Referees = append(started.Referees, id)
		}
	}
	slices.SortFunc(started.Players, protocol.CompareIDs)
	slices.SortFunc(started.Referees, protocol.CompareIDs)
	if err := m.record(started); err != nil {
		return err
	}
	m.options.Log.Info().Int("players", len(started.Players)).Int("referees", len(started.Referees)).
		Int("rounds", m.state.Schedule.Rounds()).Int("matches", m.state.Schedule.Matches()).Str("event_type", protocol.EventLeagueStarted).Msg("the league begins")
	return nil
}

// takeUp is the round to go on with, and what is to be told of the one before:
// once more, when it is not known who was told.
func (m *Manager) takeUp(ctx context.Context) (round int, before roundEnd) {
	m.mu.Lock()
	round = m.state.Round + 1
	if m.state.Open() {
		round--
	}
	over := m.state.Completed != nil
	m.mu.Unlock()
	if !m.resumed {
		return round, before
	}
	m.writeMatches(1, round-1)
	if round > 1 && !over {
		m.rewriteFiles()
		before = m.roundEnd(ctx, round-1)
	}
	return round, before
}

// complete makes the table final and tells everybody that the league is over.
func (m *Manager) complete(ctx context.Context, last roundEnd) (*protocol.LeagueCompleted, error) {
	m.mu.Lock()
	rows := m.standings(0, protocol.MaxStandings)
	first := rows[0]
	champion := protocol.Champion{PlayerID: first.PlayerID, DisplayName: first.DisplayName, Points: first.Points}
	before := m.state.Completed != nil
	if !before {
		if err := m.record(&journal.LeagueCompleted{Champion: champion}); err != nil {
			m.mu.Unlock()
			return nil, err
		}
	}
	_, head := m.journal.Last()
	m.completed = &protocol.LeagueCompleted{
		Envelope:    m.stamp.Envelope(protocol.TypeLeagueCompleted, "conv-league-complete"),
		LeagueID:    m.options.LeagueID,
		TotalRounds: m.state.Schedule.Rounds(), TotalMatches: m.state.Schedule.Matches(),
		Champion: champion, FinalStandings: rows, TotalPlayers: len(m.players), JournalHead: head,
	}
	completed := m.completed
	m.mu.Unlock()
	if err := m.durable(); err != nil {
		return nil, err
	}
	m.writeMatches(m.state.Schedule.Rounds(), m.state.Schedule.Rounds())
	if !before || !m.filesComplete() {
		m.rewriteFiles()
	}
	m.options.Log.Info().Str("champion", champion.PlayerID).Int("points", champion.Points).Str("event_type", protocol.EventLeagueCompleted).Msg("the league is over")
	if m.options.Over != nil {
		m.options.Over()
	}
	m.tellCompleted(ctx, last, completed)
	return completed, context.Cause(ctx)
}

// Linger tells agents that come back after the end that it is over, until ctx
// ends.
func (m *Manager) Linger(ctx context.Context) {
	m.mu.Lock()
	completed := m.completed
	m.mu.Unlock()
	var telling sync.WaitGroup
	defer telling.Wait()
	for completed != nil {
		select {
		case a := <-m.late:
			telling.Go(func() { // a slow one keeps nobody waiting
				(&farewell{manager: m, ctx: ctx, message: protocol.Many(completed), told: newBarrier(1)}).deliver(a)
				a.late.Store(false)
			})
		case <-ctx.Done():
			return
		}
	}
}

// phase is the manager's state (004 §9.2); m.mu is held.
func (m *Manager) phase() string {
	switch {
	case m.state.Completed != nil:
		return StateLeagueCompleted
	case m.state.Started != nil:
		return StateRunningLeague
	case m.hasStarted():
		return StateCreatingSchedule
	}
	return StateWaitingForRegistrations
}
