package league

import (
	"context"
	"slices"
	"sync"
	"time"

	"evenodd/league/decide"
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
	files.Go(func() { m.files.run(writing) })
	if err := m.registrations.awaitStart(stop); err != nil {
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
		running.Go(func() { a.sendNotices(notifiers) })
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
	for ; round <= m.state.TotalRounds(); round++ {
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

// createSchedule takes up who takes part, and with that who meets whom.
func (m *Manager) createSchedule() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.registrations.fixParticipants(); err != nil {
		return err
	}
	for _, id := range m.state.Started.Players {
		m.players = append(m.players, m.agents[id])
	}
	for _, id := range m.state.Started.Referees {
		m.referees = append(m.referees, m.agents[id])
	}
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
		m.files.rewrite()
		before = m.roundEnd(ctx, round-1)
	}
	return round, before
}

// complete makes the table final and tells everybody that the league is over.
func (m *Manager) complete(ctx context.Context, last roundEnd) (*protocol.LeagueCompleted, error) {
	m.mu.Lock()
	rows := decide.StandingRows(m.state, 0, protocol.MaxStandings)
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
		TotalRounds: m.state.TotalRounds(), TotalMatches: m.state.TotalMatches(),
		Champion: champion, FinalStandings: rows, TotalPlayers: len(m.players), JournalHead: head,
	}
	completed := m.completed
	m.mu.Unlock()
	if err := m.durable(); err != nil {
		return nil, err
	}
	m.writeMatches(m.state.TotalRounds(), m.state.TotalRounds())
	if !before || !m.files.upToDate() {
		m.files.rewrite()
	}
	m.options.Log.Info().Str("champion", champion.PlayerID).Int("points", champion.Points).Str("event_type", protocol.EventLeagueCompleted).Msg("the league is over")
	if m.options.Over != nil {
		m.options.Over()
	}
	m.tellCompleted(ctx, last, completed)
	return completed, context.Cause(ctx)
}

// tellLate tells an agent that registers again after the end of the league that it is
// over, also if it knew before a crash. M.mu is held.
func (m *Manager) tellLate(a *agent) {
	if m.completed == nil || !a.told.CompareAndSwap(false, true) {
		return
	}
	select {
	case m.late <- a:
	default: // it registers again
		a.told.Store(false)
	}
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
				a.told.Store(false)
			})
		case <-ctx.Done():
			return
		}
	}
}
