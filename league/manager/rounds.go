package manager

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"evenodd/league"
	"evenodd/league/decide"
	"evenodd/league/journal"
	"evenodd/league/protocol"
)

// playRound plays a whole round. It first sends what is left to tell about the round
// before. It returns when every match has a result. When starting ends, no more matches are
// handed out; when running ends, it waits for nothing more. It returns errOrganiser, and has
// announced nothing, if decisions of the organiser come first.
func (m *Manager) playRound(starting, running context.Context, round int, before roundEnd) error {
	before.post() // at once, because the deadline of these broadcasts has begun
	if err := m.wait(starting, m.options.Pace); err != nil {
		return err
	}
	if m.options.RoundBegins != nil {
		m.options.RoundBegins(round)
	}
	if err := m.atBarrier(starting); err != nil {
		return err
	}
	forfeited, err := m.openRound(round)
	if err == nil {
		err = m.durable()
	}
	if err != nil {
		return err
	}
	announcement := m.announce(running, m.players, m.matches)
	m.tellForfeits(running, m.matches...)
	if forfeited && m.options.Broadcast == journal.BroadcastMatch {
		m.tellTable(running)
	}
	announcement.wait()
	m.log.Info().Str("conversation_id", announcement.message.Conversation()).
		Int("round_id", round).Int("matches_count", len(m.matches)).Str("event_type",
		"ROUND_ANNOUNCEMENT_SENT").Msg("round announced")
	if err := m.wait(starting, m.options.AnnounceLead); err != nil {
		return err
	}
	m.play(starting, running, m.inOrder())
	if slices.ContainsFunc(m.matches, func(x *match) bool { return !x.over() }) {
		return starting.Err()
	}
	return nil
}

// wait waits for some seconds, or returns the error of ctx.
func (m *Manager) wait(ctx context.Context, seconds float64) error {
	if seconds > 0 {
		return m.clock.Sleep(ctx, protocol.Seconds(seconds))
	}
	return ctx.Err()
}

// play hands out matches, as many at once as the referees' capacity and the options allow. It returns when each of
// them has a result, or the contexts end as in playRound.
func (m *Manager) play(starting, running context.Context, matches []*match) {
	next := make(chan *match, len(matches))
	for _, x := range matches {
		next <- x
	}
	close(next)
	var playing sync.WaitGroup
	for range min(m.handovers(), len(matches)) {
		playing.Add(1)
		m.workers.Start(func() {
			defer playing.Done()
			var glances *time.Timer
			for x := range next {
				if starting.Err() == nil {
					h := &handover{match: x, glances: glances}
					m.resumeAttempt(h)
					m.handOver(starting, running, h)
					glances = h.glances
				}
			}
		})
	}
	playing.Wait()
}

// handovers is the number of matches that may run at once.
func (m *Manager) handovers() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for _, r := range m.referees {
		n += m.state.Agents[r.id].Capacity
	}
	if limit := m.options.Concurrency; limit > 0 {
		n = min(n, limit)
	}
	return n
}

// openRound makes the matches of a round, with the referees that were announced before,
// or chooses one for each. It ends the matches that are forfeited, and tells whether there are any. It
// returns errOrganiser instead of announcing the round if decisions of the organiser come first.
func (m *Manager) openRound(round int) (forfeited bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if round > m.state.Round {
		if m.organiserWaits() || !m.state.HasRound(round) { // a ruling may end a knockout
			return false, errOrganiser
		}
		if err := m.judgeAll(); err != nil { // again: a decision may have made some due
			return false, err
		}
		if !m.state.HasRound(round) { // a shutdown may leave fewer than two players
			return false, errOrganiser
		}
		announcement := m.state.Announcement(decide.ChooseReferees(m.state, round))
		if err := m.record(announcement); err != nil {
			return false, err
		}
		if announcement.RepeatedPairs+announcement.RepeatedByes > 0 {
			m.log.Warn().Int("round_id", round).Int("repeated_pairs", announcement.RepeatedPairs).
				Int("repeated_byes", announcement.RepeatedByes).Str("event_type", "ROUND_REPEATS").
				Msg("too few players are left for a round without repeated pairs and byes")
		}
	}
	referees := m.state.Rounds[round-1].Referees
	pairings := m.state.Pairings(round)
	m.matches = make([]*match, len(pairings))
	for i, p := range pairings {
		x, err := m.newMatch(league.MatchID{Round: round, Number: i + 1}, m.players[p.A], m.players[p.B], referees[i])
		if err != nil {
			return false, err
		}
		forfeited = forfeited || len(x.absent) > 0
		m.matches[i] = x
	}
	return forfeited, nil
}

// newMatch makes a match. It ends the match if a player forfeits it. M.mu is held.
func (m *Manager) newMatch(id league.MatchID, a, b *agent, referee string) (*match, error) {
	x := &match{id: id, a: a, b: b, announced: m.agents[referee], recorded: m.state.Match(id),
		name: id.String(), news: make(chan struct{}, 1)}
	_, err := m.forfeit(x)
	x.absent = x.recorded.Forfeited
	x.done.Store(x.recorded.Report != nil)
	return x, err
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
	m.log.Info().Stringer("match_id", x.id).Str("status", forfeit.Status).Str("reason", forfeit.Reason).
		Str("event_type", "MATCH_FORFEITED").Msg("match forfeited")
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

// announce tells the present ones of some players about matches.
func (m *Manager) announce(ctx context.Context, players []*agent,
	matches []*match) *broadcast[protocol.RoundAnnouncement] {
	m.mu.Lock()
	defer m.mu.Unlock()
	there := m.present(players)
	announcement := m.announcement(ctx, len(there), matches)
	post(nil, there, announcement.deliver)
	return announcement
}

// tellForfeits tells the players that are there that they win by default, by the GAME_OVER of a match without a
// referee. The round does not wait for it. A manager that resumes the round tells them again.
func (m *Manager) tellForfeits(ctx context.Context, matches ...*match) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, x := range matches {
		if len(x.absent) == 0 || x.recorded.Report == nil || x.recorded.Report.WinnerPlayerID == nil {
			continue
		}
		result := x.recorded.Report.Result
		b := newBroadcast(ctx, m, &protocol.NotifyMatchResult, 1, &protocol.GameOver{
			Envelope: m.stamp.Envelope(protocol.TypeGameOver, "conv-"+strings.ToLower(x.id.String())+"-forfeit"),
			MatchID:  x.id.String(), GameType: m.options.GameType, GameResult: &result,
		})
		b.end = b.end.Add(protocol.NotifyRound.Timeout) // it waits for the announcement before it
		post(nil, m.present([]*agent{m.agents[*result.WinnerPlayerID]}), b.deliver)
	}
}

// announcement is the announcement of matches of one round for so many players. In a large league each player
// is told its own match only: the work for a match does not depend on the league's size. M.mu is held.
func (m *Manager) announcement(ctx context.Context, receivers int,
	matches []*match) *broadcast[protocol.RoundAnnouncement] {
	round := matches[0].id.Round
	q := protocol.RoundAnnouncement{
		Envelope: m.stamp.Envelope(protocol.TypeRoundAnnouncement, fmt.Sprintf("conv-round-%d-announce", round)),
		LeagueID: m.options.LeagueID, RoundID: round, Matches: make([]protocol.AnnouncedMatch, len(matches)),
		Started: m.started,
	}
	for i, x := range matches {
		auth := protocol.RefereeAuthAccessToken
		if m.thirdParty(x.announced.id) {
			auth = protocol.RefereeAuthNone
		}
		q.Matches[i] = protocol.AnnouncedMatch{
			MatchID: x.name, GameType: m.options.GameType, PlayerAID: x.a.id, PlayerBID: x.b.id,
			RefereeEndpoint: x.announced.address(), RefereeID: x.announced.id,
			RefereeAuth: auth, ForfeitedBy: x.absent,
		}
	}
	if len(m.players) <= protocol.MaxAnnounced {
		return newBroadcast(ctx, m, &protocol.NotifyRound, receivers, &q)
	}
	all := q.Matches
	q.Matches, q.TotalMatches = []protocol.AnnouncedMatch{}, len(m.matches)
	b := newBroadcast(ctx, m, &protocol.NotifyRound, receivers, &q) // for players with a bye
	b.special = make(map[*agent]*protocol.Broadcast[protocol.RoundAnnouncement], 2*len(matches))
	for i, x := range matches {
		own := q
		own.Matches = all[i : i+1 : i+1]
		both := b.message.Variant(&own)
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
	patience          <-chan struct{} // until it is closed, the broadcasts wait for slow agents; nil: not at all
}

// post sends the broadcasts. M.mu is not held, because an agent may need it before it takes the next broadcast from
// a full queue. An agent never waits for the caller, which therefore cannot wait for ever.
func (e roundEnd) post() {
	post(e.patience, e.players, e.table, e.end)
	post(e.patience, e.referees, e.end, e.transcripts)
}

// smallLeague is the number of matches that stay in memory as they are: a few megabytes, and a tenth of the
// time of a match is saved.
const smallLeague = 5000

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
	m.writeMatches(round-1, round-1, false) // their referees have had the time of a round
	m.mu.Lock()
	if m.state.TotalMatches() > smallLeague {
		m.state.Condense(round - 1)
	}
	m.mu.Unlock()
	end := m.roundEnd(ctx, round)
	m.log.Info().Int("round_id", round).Int("wins", summary.Wins).Int("draws", summary.Draws).
		Int("technical_losses", summary.TechnicalLosses).Str("event_type",
		"ROUND_COMPLETED").Msg("round completed")
	return end, nil
}

// roundEnd makes the broadcasts about the last completed round. The head in them is that of
// its end, also when they are repeated in the next round.
func (m *Manager) roundEnd(ctx context.Context, round int) roundEnd {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := roundEnd{players: m.present(m.players), referees: m.present(m.referees),
		transcripts: m.deliverTranscripts(ctx, round)}
	if s := m.options.Simulation; s != nil && s.ExternalPlayers == 0 { // no agent of this process is really slow
		e.patience = ctx.Done()
	}
	e.table = m.standingsUpdate(ctx, round, len(e.players))
	summary := m.state.Rounds[round-1].Summary
	completed := &protocol.RoundCompleted{
		Envelope: m.stamp.Envelope(protocol.TypeRoundCompleted, fmt.Sprintf("conv-round-%d-complete", round)),
		LeagueID: m.options.LeagueID, RoundID: round,
		MatchesCompleted: &summary.TotalMatches, MatchesPlayed: &summary.TotalMatches, Summary: &summary,
		JournalHead: m.ended, JournalHeadSignature: m.options.signHead(m.ended),
	}
	if next := round + 1; m.state.HasRound(next) {
		completed.NextRoundID = &next
	}
	end := newBroadcast(ctx, m, &protocol.NotifyRoundCompleted, len(e.players)+len(e.referees), completed)
	m.tellResults(end, round)
	e.end = end.deliver
	return e
}

// standingsUpdate is the first rows of the table for so many players. M.mu is held.
func (m *Manager) standingsUpdate(ctx context.Context, round, receivers int) notice {
	m.newTable = false
	b := newBroadcast(ctx, m, &protocol.UpdateStandings, receivers, &protocol.StandingsUpdate{
		Envelope: m.stamp.Envelope(protocol.TypeStandingsUpdate, fmt.Sprintf("conv-round-%d-standings", round)),
		LeagueID: m.options.LeagueID, RoundID: round,
		Standings: decide.StandingRows(m.state, 0, protocol.MaxStandings), TotalPlayers: len(m.players),
	})
	return b.deliver
}
