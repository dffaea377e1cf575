package manager

import (
	"context"
	"errors"
	"sync"
	"time"

	"evenodd/league/decide"
	"evenodd/league/journal"
	"evenodd/league/lists"
	"evenodd/league/protocol"
)

// Run waits until the league may start, plays it, and returns its final message when
// every agent has it or is gone, or 25 s after the last result; Linger continues to send it.
// If the league is over already, Run only tells the agents that do not know it. When ctx
// ends, running matches may go on for StopWithin; then Run returns the error of ctx. It also
// returns an error if the journal cannot be written.
func (m *Manager) Run(ctx context.Context) (*protocol.LeagueCompleted, error) {
	begun := ctx
	if m.options.StopWithin > 0 {
		begun = context.WithoutCancel(ctx)
	}
	running, end := context.WithCancelCause(begun) // for what has begun
	defer end(nil)
	starting, halt := context.WithCancelCause(ctx) // for what would begin
	defer halt(nil)
	go m.guarded(func() { // ends when the journal fails or is closed, at the latest
		if err := m.options.Files.Failed(); err != nil {
			halt(err)
			end(err)
		}
	})()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(m.options.StopWithin, func() { end(ctx.Err()) }) })()
	completed, err := m.run(starting, running)
	if err != nil && context.Cause(starting) != nil {
		err = context.Cause(starting)
	}
	return completed, err
}

// run is Run with two contexts: starting for what would begin, running for what has begun.
func (m *Manager) run(starting, running context.Context) (*protocol.LeagueCompleted, error) {
	writing, stopWriting := context.WithCancel(running)
	var files sync.WaitGroup
	defer files.Wait()
	defer stopWriting()
	files.Go(m.guarded(func() { m.files.run(writing) }))
	files.Go(m.guarded(func() { m.refusals.run(writing) }))
	if err := m.awaitStart(starting); err != nil {
		return nil, err
	}
	var watching sync.WaitGroup
	defer watching.Wait()
	notifiers, stopNotifiers := context.WithCancel(running) // also cuts off broadcasts
	m.workers = protocol.NewWorkers(m.options.Guard)
	defer m.workers.Stop()
	defer stopNotifiers()
	defer m.options.Guard.Tell()
	if err := m.start(notifiers); err != nil {
		return nil, err
	}
	for _, a := range m.participants() {
		m.workers.Start(func() { a.sendNotices(notifiers) })
	}
	if m.options.Simulation == nil {
		watching.Go(m.guarded(func() { m.watch(notifiers) }))
	}
	return m.playRounds(starting, notifiers)
}

// playRounds plays all rounds that are left, and completes the league. Between two rounds the
// organiser's decisions come first.
func (m *Manager) playRounds(starting, running context.Context) (*protocol.LeagueCompleted, error) {
	round, last := m.resumeAt(running)
	for {
		if err := m.carryOut(starting, running, &last); err != nil {
			return nil, err
		}
		if more := locked(m, func() bool { return m.state.HasRound(round) }); !more {
			completed, err := m.complete(running, last)
			if errors.Is(err, errOrganiser) {
				continue
			}
			return completed, err
		}
		err := m.playRound(starting, running, round, last)
		if errors.Is(err, errOrganiser) {
			last = roundEnd{} // it is posted
			continue
		}
		if err == nil {
			last, err = m.endOfRound(running, round)
		}
		if err != nil {
			return nil, err
		}
		round++
	}
}

// start fixes the participants. Running is the context of broadcasts that a report causes.
func (m *Manager) start(running context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.life = running
	if err := m.fixParticipants(); err != nil {
		return err
	}
	byID := func(id string) *agent { return m.agents[id] }
	m.players, m.referees = lists.Map(m.state.Started.Players, byID), lists.Map(m.state.Started.Referees, byID)
	return nil
}

// resumeAt returns the round with which the league continues, and the broadcasts about the
// round before: again after a restart, because the journal does not know which agents
// were told.
func (m *Manager) resumeAt(ctx context.Context) (round int, before roundEnd) {
	m.mu.Lock()
	round = m.state.CompletedRounds() + 1
	announced, over := m.state.Round, m.state.Completed != nil
	m.mu.Unlock()
	if !m.resumed {
		return round, before
	}
	m.writeMatches(1, announced, true)
	if round > 1 && !over {
		before = m.roundEnd(ctx, round-1)
	}
	return round, before
}

// complete makes the table final and tells all agents that the league is over.
func (m *Manager) complete(ctx context.Context, last roundEnd) (*protocol.LeagueCompleted, error) {
	completed, until, err := m.recordEnd()
	if err == nil {
		err = m.durable()
	}
	if err != nil {
		return nil, err
	}
	m.writeMatches(completed.TotalRounds, completed.TotalRounds, false)
	m.files.write()
	m.log.Info().Str("champion", completed.Champion.PlayerID).Int("points", completed.Champion.Points).
		Str("event_type", "LEAGUE_OVER").Msg("the league is over")
	if m.options.Over != nil {
		m.options.Over(completed)
	}
	last.post()
	m.tellAll(ctx, m.deliverTranscripts(ctx, completed.TotalRounds), until)
	return completed, context.Cause(ctx)
}

// recordEnd records the end of the league, unless it was recorded before, and makes the
// final message, which Run sends until a time. It returns errOrganiser if decisions of the organiser come first.
func (m *Manager) recordEnd() (completed *protocol.LeagueCompleted, until time.Time, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	rows := decide.StandingRows(m.state, 0, protocol.MaxStandings)
	champion := m.state.Champion()
	until = time.Now().Add(endPatience)
	if !m.recorded.IsZero() { // the last event is that of the last result
		until = until.Add(-m.clock.Now().Sub(m.recorded))
	}
	if m.state.Completed == nil {
		if m.organiserWaits() || m.state.HasRound(m.state.Round+1) { // a ruling may continue a knockout
			return nil, until, errOrganiser
		}
		recorded := champion
		recorded.Reason = "" // follows from the table
		err = m.record(&journal.LeagueCompleted{Champion: recorded})
	}
	head := m.head()
	completed = &protocol.LeagueCompleted{
		Envelope:    m.stamp.Envelope(protocol.TypeLeagueCompleted, "conv-league-complete"),
		LeagueID:    m.options.LeagueID,
		TotalRounds: m.state.TotalRounds(), TotalMatches: m.state.TotalMatches(),
		Champion: champion, FinalStandings: protocol.FinalRows(rows), TotalPlayers: len(m.players),
		JournalHead: head, JournalHeadSignature: m.options.signHead(head),
	}
	for _, a := range m.participants() { // until they are told, a query is no return
		a.told.Store(!m.state.Agents[a.id].Informed)
	}
	m.completed = protocol.Many(completed)
	return completed, until, err
}
