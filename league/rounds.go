package league

import (
	"context"
	"fmt"
	"sync"

	"evenodd/league/protocol"
)

// A match is one match of the current round.
type match struct {
	id      string
	index   int // in schedule order, from 0
	a, b    *agent
	referee *agent          // the announced one
	done    chan struct{}   // closed when its result is recorded
	holders map[*agent]bool // referees that have it, or may have it; guarded by the manager's lock
}

// playRound is a whole round: announce, hand out, collect. It returns when
// every match has a result. What is still to be told of the round before goes
// out first.
func (m *Manager) playRound(ctx context.Context, round int, before roundEnd) error {
	matches := m.openRound(round)
	announcement := m.announcement(ctx, round, matches)
	m.post(m.players, before.table, before.end, announcement)
	m.post(m.referees, before.end)
	announcement.wait()
	m.options.Log.Info().Str("conversation_id", announcement.message.Conversation()).
		Int("round_id", round).Int("matches", len(matches)).Msg("round announced")
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
	return ctx.Err()
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
			a: m.players[p.A], b: m.players[p.B], referee: best, done: make(chan struct{}), holders: make(map[*agent]bool, 1),
		}
	}
	m.round, m.matches = round, matches
	return matches
}

// announcement tells every player the matches of the round.
func (m *Manager) announcement(ctx context.Context, round int, matches []*match) *broadcast[protocol.RoundAnnouncement] {
	announced := make([]protocol.AnnouncedMatch, len(matches))
	for i, x := range matches {
		announced[i] = protocol.AnnouncedMatch{
			MatchID: x.id, GameType: m.options.GameType, PlayerAID: x.a.id, PlayerBID: x.b.id,
			RefereeEndpoint: x.referee.address(), RefereeID: x.referee.id,
			RefereeAuth: protocol.RefereeAuthAccessToken,
		}
	}
	return newBroadcast(ctx, m, &protocol.NotifyRound, len(m.players), &protocol.RoundAnnouncement{
		Envelope: m.voice.Envelope(protocol.TypeRoundAnnouncement, fmt.Sprintf("conv-round-%d-announce", round)),
		LeagueID: m.options.LeagueID, RoundID: round, Matches: announced,
	})
}

// A roundEnd is what is to be told when a round is over: the table, to the
// players, and its end, to all. Nobody waits for these: each agent gets them in
// order, before the next announcement.
type roundEnd struct{ table, end notice }

func (m *Manager) endOfRound(ctx context.Context, round int) roundEnd {
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
	played := summary.TotalMatches
	completed := &protocol.RoundCompleted{
		Envelope: m.voice.Envelope(protocol.TypeRoundCompleted, fmt.Sprintf("conv-round-%d-complete", round)),
		LeagueID: m.options.LeagueID, RoundID: round,
		MatchesCompleted: &played, MatchesPlayed: &played, Summary: &summary,
	}
	if next := round + 1; next <= m.schedule.Rounds() {
		completed.NextRoundID = &next
	}
	m.options.Log.Info().Int("round_id", round).Int("wins", summary.Wins).Int("draws", summary.Draws).
		Int("technical_losses", summary.TechnicalLosses).Msg("round completed")
	return roundEnd{
		table: m.standingsUpdate(ctx, round, rows),
		end:   newBroadcast(ctx, m, &protocol.NotifyRoundCompleted, len(m.players)+len(m.referees), completed),
	}
}

// standingsUpdate tells every player the first rows of the table.
func (m *Manager) standingsUpdate(ctx context.Context, round int, rows []protocol.StandingRow) notice {
	return newBroadcast(ctx, m, &protocol.UpdateStandings, len(m.players), &protocol.StandingsUpdate{
		Envelope: m.voice.Envelope(protocol.TypeStandingsUpdate, fmt.Sprintf("conv-round-%d-standings", round)),
		LeagueID: m.options.LeagueID, RoundID: round, Standings: rows, TotalPlayers: len(m.players),
	})
}
