package league

import (
	"context"
	"fmt"
	"sync"

	"evenodd/league/decide"
	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/store"
)

// A match is one match of the current round.
type match struct {
	id      protocol.MatchID
	fact    *journal.Match // what is known of it; guarded by the manager's lock
	a, b    *agent
	referee *agent        // the announced one
	absent  []string      // who forfeits it
	done    chan struct{} // closed when its result is on disk
	handing chan struct{} // closed when the handing over that goes on is recorded; nil when none does; guarded by the manager's lock
	handed  int           // the attempt of that handing over

	claims  map[int]claim // of rejected reports, by attempt; guarded by the manager's lock
	doubted chan struct{} // tells that claims has changed
	pings   *pings        // of the players; nil before the first; guarded by the manager's lock
}

// attempt identifies an attempt at the match.
func (x *match) attempt(number int) protocol.Attempt {
	return protocol.Attempt{MatchID: x.id, Number: number}
}

// playRound is a whole round: announce, hand out, collect. It returns when
// every match has a result. What is still to be told of the round before goes
// out first. When stop ends nothing more is handed out, and when work ends
// nothing more is waited for.
func (m *Manager) playRound(stop, work context.Context, round int, before roundEnd) error {
	m.postEnd(before) // at once: the time to deliver it runs already
	if pace := m.options.Pace; pace > 0 {
		if err := m.options.Clock.Sleep(stop, pace); err != nil {
			return err
		}
	}
	if err := stop.Err(); err != nil {
		return err
	}
	if begins := m.options.RoundBegins; begins != nil {
		begins()
	}
	if err := m.atBarrier(stop); err != nil {
		return err
	}
	matches, forfeits, err := m.openRound(round)
	if err == nil {
		err = m.durable()
	}
	if err != nil {
		return err
	}
	announcement := m.announce(work, round, matches, forfeits)
	announcement.wait()
	m.options.Log.Info().Str("conversation_id", announcement.message.Conversation()).
		Int("round_id", round).Int("matches_count", len(matches)).Str("event_type", protocol.EventRoundAnnounced).Msg("round announced")
	if lead := m.options.AnnounceLead; lead > 0 {
		if err := m.options.Clock.Sleep(stop, lead); err != nil {
			return err
		}
	}
	var playing sync.WaitGroup
	for _, x := range m.inOrder(matches) {
		if m.recordedMatch(x) {
			continue
		}
		playing.Add(1)
		select {
		case m.dispatch <- func() { defer playing.Done(); m.conductMatch(stop, work, x) }:
		case <-stop.Done():
			playing.Done()
		}
	}
	playing.Wait()
	for _, x := range matches {
		if !m.recordedMatch(x) {
			return stop.Err()
		}
	}
	return nil
}

// conductors are how many matches may run at once: what the options allow and
// the referees can do, and no more than a round has.
func (m *Manager) conductors() int {
	n := 0
	for _, r := range m.referees {
		n += m.state.Agents[r.id].Capacity
	}
	if limit := m.options.Concurrency; limit > 0 {
		n = min(n, limit)
	}
	return min(n, len(m.players)/2)
}

// openRound makes the matches of a round, with the referees that were announced
// before, or chooses one for each, and ends those that are forfeited: so many.
func (m *Manager) openRound(round int) (_ []*match, forfeits int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if round > m.state.Round {
		if err := m.record(&journal.RoundAnnounced{RoundID: round, Referees: m.workload.Choose(m.state, round)}); err != nil {
			return nil, 0, err
		}
	}
	referees := m.state.Rounds[round-1].Referees
	pairings := m.state.Pairings(round)
	matches := make([]*match, len(pairings))
	for i, p := range pairings {
		x := &match{
			id: protocol.MatchID{Round: round, Number: i + 1}, fact: &m.state.Rounds[round-1].Matches[i],
			a: m.players[p.A], b: m.players[p.B], referee: m.agents[referees[i]], done: make(chan struct{}),
			claims: map[int]claim{}, doubted: make(chan struct{}, 1),
		}
		forfeited, err := m.forfeitMatch(x)
		if err != nil {
			return nil, 0, err
		}
		if forfeited {
			forfeits++
		}
		if x.fact.Report != nil {
			x.absent = x.fact.Forfeited
			close(x.done)
		}
		matches[i] = x
	}
	m.matches = matches
	return matches, forfeits, nil
}

// announce tells every player that is there the matches of the round, and, where
// the table is told after every result, what the forfeits made of it.
func (m *Manager) announce(ctx context.Context, round int, matches []*match, forfeits int) *broadcast[protocol.RoundAnnouncement] {
	m.mu.Lock()
	there := m.present(m.players)
	announcement := m.announcement(ctx, round, len(there), matches)
	var table notice
	if forfeits > 0 && m.options.EveryMatch {
		table = m.standingsUpdate(ctx, round, len(there), decide.StandingRows(m.state, 0, protocol.MaxStandings))
	}
	m.mu.Unlock()
	m.post(there, announcement, table)
	return announcement
}

// announcement is what so many players are told of a round. M.mu is held.
func (m *Manager) announcement(ctx context.Context, round, receivers int, matches []*match) *broadcast[protocol.RoundAnnouncement] {
	announced := make([]protocol.AnnouncedMatch, len(matches))
	for i, x := range matches {
		auth := protocol.RefereeAuthAccessToken
		if !m.state.Agents[x.referee.id].Proves() {
			auth = protocol.RefereeAuthNone
		}
		announced[i] = protocol.AnnouncedMatch{
			MatchID: x.id.String(), GameType: m.options.GameType, PlayerAID: x.a.id, PlayerBID: x.b.id,
			RefereeEndpoint: x.referee.address(), RefereeID: x.referee.id,
			RefereeAuth: auth, ForfeitedBy: x.absent,
		}
	}
	return newBroadcast(ctx, m, &protocol.NotifyRound, receivers, &protocol.RoundAnnouncement{
		Envelope: m.stamp.Envelope(protocol.TypeRoundAnnouncement, fmt.Sprintf("conv-round-%d-announce", round)),
		LeagueID: m.options.LeagueID, RoundID: round, Matches: announced,
	})
}

// A roundEnd is what is to be told when a round is over: the table, to the
// players, and its end, to all that are there. Nobody waits for these: each agent
// gets them in order, before the next announcement.
type roundEnd struct {
	table, end        notice
	players, referees []*agent
}

// postEnd has everybody told of the end of a round, if there is one to tell of.
func (m *Manager) postEnd(last roundEnd) {
	if last.end != nil {
		m.post(last.players, last.table, last.end)
		m.post(last.referees, last.end)
	}
}

// endOfRound closes a round: in the journal, in the files, and in what is to be
// told.
func (m *Manager) endOfRound(ctx context.Context, round int) (roundEnd, error) {
	m.mu.Lock()
	err := m.record(&journal.RoundCompleted{RoundID: round, Summary: m.state.Summary(round)})
	m.mu.Unlock()
	if err == nil {
		err = m.durable()
	}
	if err != nil {
		return roundEnd{}, err
	}
	if round < m.state.TotalRounds() { // after the last, the end of the league writes them
		m.files.write()
	}
	m.writeMatches(round-1, round-1) // their referees have had a round's time
	end := m.roundEnd(ctx, round)
	summary := m.state.Rounds[round-1].Summary
	m.options.Log.Info().Int("round_id", round).Int("wins", summary.Wins).Int("draws", summary.Draws).
		Int("technical_losses", summary.TechnicalLosses).Str("event_type", protocol.EventRoundCompleted).Msg("round completed")
	return end, nil
}

// roundEnd is what is to be told of a completed round.
func (m *Manager) roundEnd(ctx context.Context, round int) roundEnd {
	m.mu.Lock()
	rows := decide.StandingRows(m.state, 0, protocol.MaxStandings)
	summary := m.state.Rounds[round-1].Summary
	_, head := m.journal.Last()
	players, referees := m.present(m.players), m.present(m.referees)
	m.mu.Unlock()
	if m.durable() != nil {
		head = "" // the manager ends
	}
	played := summary.TotalMatches
	completed := &protocol.RoundCompleted{
		Envelope: m.stamp.Envelope(protocol.TypeRoundCompleted, fmt.Sprintf("conv-round-%d-complete", round)),
		LeagueID: m.options.LeagueID, RoundID: round,
		MatchesCompleted: &played, MatchesPlayed: &played, Summary: &summary, JournalHead: head,
	}
	if next := round + 1; next <= m.state.TotalRounds() {
		completed.NextRoundID = &next
	}
	return roundEnd{
		table:   m.standingsUpdate(ctx, round, len(players), rows),
		end:     newBroadcast(ctx, m, &protocol.NotifyRoundCompleted, len(players)+len(referees), completed),
		players: players, referees: referees,
	}
}

// standingsUpdate tells so many players the first rows of the table.
func (m *Manager) standingsUpdate(ctx context.Context, round, receivers int, rows []protocol.StandingRow) notice {
	return newBroadcast(ctx, m, &protocol.UpdateStandings, receivers, &protocol.StandingsUpdate{
		Envelope: m.stamp.Envelope(protocol.TypeStandingsUpdate, fmt.Sprintf("conv-round-%d-standings", round)),
		LeagueID: m.options.LeagueID, RoundID: round, Standings: rows, TotalPlayers: len(m.players),
	})
}

// writeMatches writes the files of the matches of some rounds that have none, because
// their referee has its files elsewhere or writes none.
func (m *Manager) writeMatches(from, to int) {
	for round := max(from, 1); round <= to; round++ {
		for i, pair := range m.state.Pairings(round) {
			report := m.state.Rounds[round-1].Matches[i].Report
			m.writeMatch(round, report, m.players[pair.A], m.players[pair.B])
		}
	}
}

// writeMatch writes the file of a match, if there is none.
func (m *Manager) writeMatch(round int, r *journal.MatchReported, a, b *agent) {
	m.files.addMatch(r.MatchID.String(), func() *store.Match {
		now := m.clock.Timestamp()
		return &store.Match{
			SchemaVersion: store.SchemaVersion, LastUpdated: now, LeagueID: m.options.LeagueID, RoundID: round,
			MatchID: r.MatchID.String(), GameType: m.options.GameType, Attempt: r.Number,
			RefereeID: r.RefereeID, WrittenBy: store.WrittenByManager,
			PlayerA:    store.MatchPlayer{PlayerID: a.id, DisplayName: a.name},
			PlayerB:    store.MatchPlayer{PlayerID: b.id, DisplayName: b.name},
			Lifecycle:  store.Lifecycle{State: store.StateAcknowledged, States: []store.StateEntry{{State: store.StateAcknowledged, At: now}}},
			Transcript: []store.Exchange{}, Draw: r.Draw,
			Result:  &store.MatchResult{GameResult: r.Outcome, Score: r.Score},
			Scoring: scoringOf(m.options.Scoring),
		}
	})
}
