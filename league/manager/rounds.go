package manager

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"evenodd/league/decide"
	"evenodd/league/journal"
	"evenodd/league/protocol"
)

// playRound plays a whole round. It first sends what is left to tell about the round
// before. It returns when every match has a result. When stop ends, no more matches are
// handed out; when work ends, it waits for nothing more. It returns errOrganiser, and has
// announced nothing, if decisions of the organiser come first.
func (m *Manager) playRound(stop, work context.Context, round int, before roundEnd) error {
	before.post() // at once, because the deadline of these broadcasts has begun
	if pace := m.options.Pace; pace > 0 {
		if err := m.clock.Sleep(stop, pace); err != nil {
			return err
		}
	}
	if err := stop.Err(); err != nil {
		return err
	}
	if m.options.RoundBegins != nil {
		m.options.RoundBegins()
	}
	if err := m.atBarrier(stop); err != nil {
		return err
	}
	forfeits, err := m.openRound(round)
	if err == nil {
		err = m.durable()
	}
	if err != nil {
		return err
	}
	announcement := m.announce(work, round, forfeits)
	announcement.wait()
	m.options.Log.Info().Str("conversation_id", announcement.message.Conversation()).
		Int("round_id", round).Int("matches_count", len(m.matches)).Str("event_type", protocol.EventRoundAnnounced).Msg("round announced")
	if lead := m.options.AnnounceLead; lead > 0 {
		if err := m.clock.Sleep(stop, lead); err != nil {
			return err
		}
	}
	m.play(stop, work, m.inOrder())
	if slices.ContainsFunc(m.matches, func(x *match) bool { return !x.over() }) {
		return stop.Err()
	}
	return nil
}

// play hands out matches, and returns when each of them has a result, or the contexts end as
// in playRound.
func (m *Manager) play(stop, work context.Context, matches []*match) {
	var playing sync.WaitGroup
	for _, x := range matches {
		playing.Add(1)
		m.dispatch <- dispatched{x, stop, work, &playing}
	}
	playing.Wait()
}

// conductors is the number of matches that may run at once: the bound of the options, of
// the referees' capacity, and of the matches in a round.
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

// openRound makes the matches of a round, with the referees that were announced before,
// or chooses one for each. It ends the matches that are forfeited, and counts them. It returns
// errOrganiser instead of announcing the round if decisions of the organiser come first.
func (m *Manager) openRound(round int) (forfeits int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if round > m.state.Round {
		if m.organiserWaits() || !m.state.HasRound(round) { // a ruling may end a knockout
			return 0, errOrganiser
		}
		if err := m.judgeAll(); err != nil { // again: a decision may have made some due
			return 0, err
		}
		if err := m.record(m.state.Announcement(decide.ChooseReferees(m.state, round))); err != nil {
			return 0, err
		}
	}
	referees := m.state.Rounds[round-1].Referees
	pairings := m.state.Pairings(round)
	matches := make([]match, len(pairings)) // in one allocation
	m.matches = make([]*match, 0, len(pairings))
	for i, p := range pairings {
		x := &matches[i]
		x.id = protocol.MatchID{Round: round, Number: i + 1}
		x.fact, x.a, x.b, x.announced = m.state.Match(x.id), m.players[p.A], m.players[p.B], m.agents[referees[i]]
		forfeited, err := m.forfeit(x)
		if err != nil {
			return 0, err
		}
		if forfeited {
			forfeits++
		}
		if x.fact.Report != nil {
			x.absent = x.fact.Forfeited
			x.done.Store(true)
		}
		m.matches = append(m.matches, x)
	}
	return forfeits, nil
}

// forfeit ends a match with a player that takes no part, unless a referee holds the match: a
// running match finishes. It tells whether it has ended the match. M.mu is held.
func (m *Manager) forfeit(x *match) (forfeited bool, err error) {
	if decide.Holder(m.state, x.id) != "" {
		return false, nil
	}
	forfeit, err := decide.Forfeit(m.state, x.id)
	if err == nil && forfeit != nil {
		err = m.record(forfeit)
	}
	if err != nil || forfeit == nil {
		return false, err
	}
	m.options.Log.Info().Stringer("match_id", x.id).Str("status", forfeit.Status).Str("reason", forfeit.Reason).
		Str("event_type", protocol.EventMatchForfeited).Msg("match forfeited")
	m.progress()
	return true, nil
}

// inOrder are the matches of the round in the order in which they are handed out: those of
// players that failed lately come last, so that they delay no other. One with a result is among
// them, because this manager may not have asked its players (see askPlayers).
func (m *Manager) inOrder() []*match {
	m.mu.Lock()
	defer m.mu.Unlock()
	matches := slices.Clone(m.matches)
	failures := func(x *match) int { return m.state.Agents[x.a.id].Failures + m.state.Agents[x.b.id].Failures }
	slices.SortStableFunc(matches, func(x, y *match) int { return cmp.Compare(failures(x), failures(y)) })
	return matches
}

// announce tells every present player the matches of the round, or only its own match if
// the league is too large: the work for a match does not depend on the league's size. If the league broadcasts
// the standings after every result, it also tells them the points of the forfeits.
func (m *Manager) announce(ctx context.Context, round, forfeits int) *broadcast[protocol.RoundAnnouncement] {
	m.mu.Lock()
	defer m.mu.Unlock()
	there := m.present(m.players)
	announcement := m.announcement(ctx, round, len(there), m.matches)
	var table notice
	if forfeits > 0 && m.options.EveryMatch {
		table = m.standingsUpdate(ctx, round, len(there))
	}
	post(there, announcement.deliver, table)
	return announcement
}

// announcement is the announcement of matches for so many players. M.mu is held.
func (m *Manager) announcement(ctx context.Context, round, receivers int, matches []*match) *broadcast[protocol.RoundAnnouncement] {
	q := protocol.RoundAnnouncement{
		Envelope: m.stamp.Envelope(protocol.TypeRoundAnnouncement, fmt.Sprintf("conv-round-%d-announce", round)),
		LeagueID: m.options.LeagueID, RoundID: round, Matches: make([]protocol.AnnouncedMatch, len(matches)), Started: m.started,
	}
	for i, x := range matches {
		auth := protocol.RefereeAuthAccessToken
		if m.thirdParty(x.announced.id) {
			auth = protocol.RefereeAuthNone
		}
		q.Matches[i] = protocol.AnnouncedMatch{
			MatchID: x.id.String(), GameType: m.options.GameType, PlayerAID: x.a.id, PlayerBID: x.b.id,
			RefereeEndpoint: x.announced.address(), RefereeID: x.announced.id,
			RefereeAuth: auth, ForfeitedBy: x.absent,
		}
	}
	if len(m.players) <= protocol.MaxAnnounced {
		return newBroadcast(ctx, m.directory, &protocol.NotifyRound, receivers, &q)
	}
	all := q.Matches
	q.Matches, q.TotalMatches = []protocol.AnnouncedMatch{}, len(m.matches)
	b := newBroadcast(ctx, m.directory, &protocol.NotifyRound, receivers, &q) // for players with a bye
	b.special = make(map[*agent]*protocol.Broadcast[protocol.RoundAnnouncement], 2*len(matches))
	for i, x := range matches {
		own := q
		own.Matches = all[i : i+1 : i+1]
		both := protocol.Many(&own)
		b.special[x.a], b.special[x.b] = both, both
	}
	return b
}

// A roundEnd is what the manager tells about the end of a round: the table to the
// players, and the end to all agents. Nobody waits for these broadcasts: each agent gets
// them in order, before the next announcement. The zero roundEnd tells nothing.
type roundEnd struct {
	table, end        notice
	transcripts       notice // asks referees for transcripts
	players, referees []*agent
}

func (e roundEnd) post() {
	post(e.players, e.table, e.end)
	post(e.referees, e.end, e.transcripts)
}

// endOfRound completes a round in the journal.
func (m *Manager) endOfRound(ctx context.Context, round int) (roundEnd, error) {
	m.mu.Lock()
	summary := m.state.Summary(round)
	err := m.record(&journal.RoundCompleted{RoundID: round, Summary: summary})
	m.mu.Unlock()
	if err == nil {
		err = m.durable()
	}
	if err != nil {
		return roundEnd{}, err
	}
	m.unheard.summarize(&m.options.Log)
	m.writeMatches(round-1, round-1, false) // their referees have had the time of a round
	m.writeDecided()
	m.mu.Lock()
	m.state.Condense(round - 1)
	m.mu.Unlock()
	end := m.roundEnd(ctx, round)
	m.options.Log.Info().Int("round_id", round).Int("wins", summary.Wins).Int("draws", summary.Draws).
		Int("technical_losses", summary.TechnicalLosses).Str("event_type", protocol.EventRoundCompleted).Msg("round completed")
	return end, nil
}

// roundEnd makes the broadcasts about the last completed round. The head in them is that of
// its end, also when they are repeated in the next round.
func (m *Manager) roundEnd(ctx context.Context, round int) roundEnd {
	m.mu.Lock()
	e := roundEnd{players: m.present(m.players), referees: m.present(m.referees)}
	e.table = m.standingsUpdate(ctx, round, len(e.players))
	summary, head, results := m.state.Rounds[round-1].Summary, m.ended, resultsOf(m.state, round)
	more := m.state.HasRound(round + 1)
	m.mu.Unlock()
	if m.durable() != nil {
		head = "" // the manager ends
	}
	completed := &protocol.RoundCompleted{
		Envelope: m.stamp.Envelope(protocol.TypeRoundCompleted, fmt.Sprintf("conv-round-%d-complete", round)),
		LeagueID: m.options.LeagueID, RoundID: round,
		MatchesCompleted: &summary.TotalMatches, MatchesPlayed: &summary.TotalMatches, Summary: &summary,
		JournalHead: head, JournalHeadSignature: m.options.signHead(head),
	}
	if next := round + 1; more {
		completed.NextRoundID = &next
	}
	e.transcripts = m.deliverTranscripts(ctx, round)
	end := newBroadcast(ctx, m.directory, &protocol.NotifyRoundCompleted, len(e.players)+len(e.referees), completed)
	m.tellResults(end, round, results)
	e.end = end.deliver
	return e
}

// standingsUpdate is the first rows of the table for so many players. M.mu is held.
func (m *Manager) standingsUpdate(ctx context.Context, round, receivers int) notice {
	m.organiser.newTable = false
	b := newBroadcast(ctx, m.directory, &protocol.UpdateStandings, receivers, &protocol.StandingsUpdate{
		Envelope: m.stamp.Envelope(protocol.TypeStandingsUpdate, fmt.Sprintf("conv-round-%d-standings", round)),
		LeagueID: m.options.LeagueID, RoundID: round,
		Standings: decide.StandingRows(m.state, 0, protocol.MaxStandings), TotalPlayers: len(m.players),
	})
	return b.deliver
}
