package league

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"evenodd/league/protocol"
)

// A match is one match of the current round.
type match struct {
	id          string
	index       int // in schedule order, from 0
	a, b        *agent
	referee     *agent
	done        chan struct{} // closed when its result is recorded
	assignments []assignment  // guarded by the manager's lock
}

// An assignment is one attempt at a match.
type assignment struct {
	referee    *agent
	attempt    int
	commitment string
}

// playRound is a whole round: announce, hand out, collect, publish. It returns
// when every match has a result.
func (m *Manager) playRound(ctx context.Context, round int) error {
	matches := m.openRound(round)
	m.announceRound(ctx, round, matches)
	if lead := m.options.AnnounceLead; lead > 0 {
		if err := m.options.Clock.Sleep(ctx, lead); err != nil {
			return err
		}
	}
	var playing sync.WaitGroup
	for _, x := range matches {
		playing.Add(1)
		select {
		case m.dispatch <- func() { defer playing.Done(); m.conductMatch(ctx, x) }:
		case <-ctx.Done():
			playing.Done()
		}
	}
	playing.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	m.publishRound(ctx, round)
	return nil
}

// conductors are how many matches may run at once: what the options allow and
// the referees can do, and no more than a round has.
func (m *Manager) conductors() int {
	n := 0
	for _, r := range m.referees {
		n += r.capacity
	}
	if limit := m.options.Concurrency; limit > 0 {
		n = min(n, limit)
	}
	return min(n, m.schedule.MatchesPerRound())
}

// openRound makes the matches of a round and chooses a referee for each: the
// one with the least to do in this round for what it can do at once, then in
// the whole league, then with the lower id.
func (m *Manager) openRound(round int) []*match {
	m.mu.Lock()
	defer m.mu.Unlock()
	pairings := m.schedule.Round(round)
	matches := make([]*match, len(pairings))
	load := make(map[*agent]int, len(m.referees))
	for i, p := range pairings {
		best := m.referees[0]
		for _, r := range m.referees[1:] {
			x, y := load[r]*best.capacity, load[best]*r.capacity
			if x < y || x == y && m.assigned[r.id] < m.assigned[best.id] {
				best = r
			}
		}
		load[best]++
		m.assigned[best.id]++
		matches[i] = &match{
			id: protocol.MatchID(round, i+1), index: m.schedule.Index(round, i+1),
			a: m.players[p.A], b: m.players[p.B], referee: best, done: make(chan struct{}),
		}
	}
	m.round, m.matches = round, matches
	return matches
}

// announceRound tells every player the matches of the round, and waits until
// all know, 10 s at most.
func (m *Manager) announceRound(ctx context.Context, round int, matches []*match) {
	announced := make([]protocol.AnnouncedMatch, len(matches))
	for i, x := range matches {
		announced[i] = protocol.AnnouncedMatch{
			MatchID: x.id, GameType: m.options.GameType, PlayerAID: x.a.id, PlayerBID: x.b.id,
			RefereeEndpoint: x.referee.address(), RefereeID: x.referee.id,
			RefereeAuth: protocol.RefereeAuthAccessToken,
		}
	}
	message := protocol.Many(&protocol.RoundAnnouncement{
		Envelope: m.voice.Envelope(protocol.TypeRoundAnnouncement, fmt.Sprintf("conv-round-%d-announce", round)),
		LeagueID: m.options.LeagueID, RoundID: round, Matches: announced,
	})
	broadcast(ctx, m, &protocol.NotifyRound, message, m.players).wait()
	m.options.Log.Info().Str("conversation_id", fmt.Sprintf("conv-round-%d-announce", round)).
		Int("round_id", round).Int("matches", len(matches)).Msg("round announced")
}

// publishRound sends the table and the end of the round. Nobody waits for
// these: each agent gets them in order, before the next announcement.
func (m *Manager) publishRound(ctx context.Context, round int) {
	m.mu.Lock()
	rows := m.standings(0, protocol.MaxStandings)
	summary := protocol.RoundSummary{TotalMatches: len(m.matches)}
	for _, x := range m.matches {
		switch m.results[x.index].status {
		case protocol.StatusWin:
			summary.Wins++
		case protocol.StatusDraw:
			summary.Draws++
		default:
			summary.TechnicalLosses++
		}
	}
	m.mu.Unlock()
	m.broadcastStandings(ctx, round, rows)
	played := summary.TotalMatches
	completed := &protocol.RoundCompleted{
		Envelope: m.voice.Envelope(protocol.TypeRoundCompleted, fmt.Sprintf("conv-round-%d-complete", round)),
		LeagueID: m.options.LeagueID, RoundID: round,
		MatchesCompleted: &played, MatchesPlayed: &played, Summary: &summary,
	}
	if next := round + 1; next <= m.schedule.Rounds() {
		completed.NextRoundID = &next
	}
	broadcast(ctx, m, &protocol.NotifyRoundCompleted, protocol.Many(completed), m.players, m.referees)
	m.options.Log.Info().Int("round_id", round).Int("wins", summary.Wins).Int("draws", summary.Draws).
		Int("technical_losses", summary.TechnicalLosses).Msg("round completed")
}

// broadcastStandings sends the first rows of the table to every player.
func (m *Manager) broadcastStandings(ctx context.Context, round int, rows []protocol.StandingRow) {
	message := protocol.Many(&protocol.StandingsUpdate{
		Envelope: m.voice.Envelope(protocol.TypeStandingsUpdate, fmt.Sprintf("conv-round-%d-standings", round)),
		LeagueID: m.options.LeagueID, RoundID: round, Standings: rows, TotalPlayers: len(m.players),
	})
	broadcast(ctx, m, &protocol.UpdateStandings, message, m.players)
}

// broadcastCompleted tells every agent that the league is over, and waits until
// all know. Agents end by this message, so it is tried again where nobody
// answered: after 2, 4 and 8 seconds.
func (m *Manager) broadcastCompleted(ctx context.Context, completed *protocol.LeagueCompleted) {
	message := protocol.Many(completed)
	var telling sync.WaitGroup
	for _, group := range [][]*agent{m.players, m.referees} {
		for _, a := range group {
			told := make(chan struct{})
			telling.Go(func() {
				select {
				case a.notices <- func(ctx context.Context) { defer close(told); m.insist(ctx, a, message) }:
				case <-ctx.Done():
					return
				}
				select {
				case <-told:
				case <-ctx.Done():
				}
			})
		}
	}
	telling.Wait()
}

func (m *Manager) insist(ctx context.Context, a *agent, message *protocol.Broadcast[protocol.LeagueCompleted]) {
	for pause := 2 * time.Second; pause <= 16*time.Second; pause *= 2 {
		e := protocol.AsError(send(ctx, m, &protocol.NotifyLeagueCompleted, a, message))
		if e == nil || e.Remote || !e.Code.Retryable() || pause > 8*time.Second ||
			m.options.Clock.Sleep(ctx, pause) != nil {
			return
		}
	}
}

// A broadcasting is a broadcast on its way. It has one deadline, that of its
// method, for all receivers together: an agent that takes its time for one
// message has less for the next, and never holds up the league.
type broadcasting struct {
	ctx     context.Context //nolint:containedctx // ends with the deadline, or when all have answered
	cancel  context.CancelFunc
	missing atomic.Int64
}

// broadcast puts a message into the queue of every agent of the groups.
func broadcast[Q any](ctx context.Context, m *Manager, method *protocol.Method[Q, protocol.Ack], message *protocol.Broadcast[Q], groups ...[]*agent) *broadcasting {
	b := &broadcasting{}
	b.ctx, b.cancel = context.WithTimeout(ctx, method.Timeout)
	b.missing.Add(1) // this function, until all are queued
	for _, group := range groups {
		for _, a := range group {
			b.missing.Add(1)
			queued := a.enqueue(func(context.Context) {
				_ = send(b.ctx, m, method, a, message) // logged there
				b.arrive()
			})
			if !queued {
				m.options.Log.Warn().Str("id", a.id).Str("message_type", message.Type()).
					Msg("the agent is too slow, a broadcast to it was dropped")
				b.arrive()
			}
		}
	}
	b.arrive()
	return b
}

// arrive counts one receiver as done; the last ends the broadcast.
func (b *broadcasting) arrive() {
	if b.missing.Add(-1) == 0 {
		b.cancel()
	}
}

// wait returns when all have answered or the time is over.
func (b *broadcasting) wait() { <-b.ctx.Done() }

// send calls one receiver of a broadcast. A failure is logged and changes
// nothing.
func send[Q any](ctx context.Context, m *Manager, method *protocol.Method[Q, protocol.Ack], a *agent, message *protocol.Broadcast[Q]) error {
	_, err := method.CallMany(ctx, m.options.Caller, m.peer(a), message)
	if err != nil && !errors.Is(err, context.Canceled) {
		m.options.Log.Warn().Err(err).Str("conversation_id", message.Conversation()).
			Str("message_type", message.Type()).Str("id", a.id).Msg("a broadcast was not acknowledged")
	}
	return err
}

// peer is where an agent is, and what proves the manager to it.
func (m *Manager) peer(a *agent) protocol.Peer {
	return protocol.Peer{Endpoint: a.address(), Bearer: a.credential}
}
