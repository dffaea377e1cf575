package manager

import (
	"context"
	"slices"
	"sync"
	"time"

	"evenodd/league"
	"evenodd/league/decide"
	"evenodd/league/journal"
	"evenodd/league/lists"
	"evenodd/league/protocol"
	"evenodd/league/store"
)

// askPlayers asks the players of a match whether an invitation or a question of the attempt reached
// them, unless the result itself shows it, and records the players that say no. The round waits for the answers, so
// that no result depends on their time; no report does.
func (m *Manager) askPlayers(ctx context.Context, x *match) {
	m.mu.Lock()
	r := x.recorded.Report
	var asked []*agent
	for _, p := range []*agent{x.a, x.b} {
		if r != nil && m.doubts(r, p.id) && !slices.Contains(x.recorded.Disputed, p.id) &&
			!slices.Contains(x.recorded.Refuted, p.id) {
			asked = append(asked, p)
		}
	}
	m.mu.Unlock()
	if len(asked) == 0 {
		return
	}
	var denying []*agent
	for i, reached := range m.reached(ctx, asked, r.Attempt, pingTimeout) {
		if reached != nil && !*reached {
			denying = append(denying, asked[i])
		}
	}
	if len(denying) == 0 {
		return
	}
	doc := m.transcriptAgainst(ctx, r)
	for _, p := range denying {
		m.denied(p, r, doc != nil && doc.HasAnswer(p.id))
	}
}

// reached asks players at once whether an invitation or a question of an attempt has reached them. Nil is the answer of
// a player that does not tell: an error and an answer without the member prove nothing, because third-party players
// give them.
func (m *Manager) reached(ctx context.Context, players []*agent, attempt league.Attempt,
	limit time.Duration) []*bool {
	says := make([]*bool, len(players))
	var asking sync.WaitGroup
	for i, p := range players {
		asking.Go(m.guarded(func() {
			if pong, err := m.pingAbout(ctx, p, attempt, limit); err == nil {
				says[i] = pong.Asked
			}
		}))
	}
	asking.Wait()
	return says
}

// askAboutLater asks the players that lost an attempt technically whether a later one has reached them. A player that
// cannot tell has lost, so that it has more time than for another ping.
func (m *Manager) askAboutLater(ctx context.Context, c *decide.Claim) {
	m.mu.Lock()
	attempts, losers := c.Later(m.state)
	players := lists.Map(losers, func(id string) *agent { return m.agents[id] })
	m.mu.Unlock()
	for _, later := range attempts { // a referee that hangs up changes nothing
		for _, reached := range m.reached(context.WithoutCancel(ctx), players, later, longestAnswer) {
			if reached != nil && *reached {
				c.Overtaken()
				return
			}
		}
	}
}

// doubts tells whether the part of a player in a result needs its confirmation: it lost technically, or
// the result is not proven, and no signature shows that the attempt reached it. A league that does not sign proves
// nothing, so that only the word of a referee alone counts there. M.mu is held.
func (m *Manager) doubts(r *journal.MatchReported, playerID string) bool {
	_, signed := r.Signatures.Get(playerID)
	switch {
	case r.Number == 0 || signed: // a forfeit and a ruling have no attempt
		return false
	case r.Status == league.StatusTechnicalLoss:
		return r.WinnerPlayerID != nil && *r.WinnerPlayerID != playerID
	}
	return r.Grade == journal.GradeStated || r.Grade == journal.GradeRecomputed && m.state.Created.Signs()
}

// pingAbout pings a player about an attempt.
func (m *Manager) pingAbout(ctx context.Context, p *agent, attempt league.Attempt,
	limit time.Duration) (*protocol.Pong, error) {
	q := &protocol.ToolRequest{
		Envelope: m.stamp.Envelope("", protocol.ConversationOf(attempt)), LeagueID: m.options.LeagueID,
		MatchID: attempt.MatchID.String(), Attempt: attempt.Number,
	}
	pong, _, err := protocol.Ping.CallWithin(ctx, m.options.Caller, p.peer(), q, limit)
	return pong, err
}

// transcriptAgainst is the transcript that can contradict a denial of a result: a referee that relays signatures
// reported its digest before the players were asked. Nil if the referee does not deliver it in the time of a ping, for
// which the round waits, and for any other referee, whose transcript proves no more than its report.
func (m *Manager) transcriptAgainst(ctx context.Context, r *journal.MatchReported) *store.Match {
	m.mu.Lock()
	referee, relays := m.agents[r.RefereeID], decide.Relays(m.state, r.RefereeID)
	m.mu.Unlock()
	if r.TranscriptDigest == "" || !relays {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	doc, err := m.askForTranscript(ctx, referee, r.MatchID.String(), r.Number)
	if err != nil || doc.Digest() != r.TranscriptDigest {
		return nil
	}
	return doc
}

// denied records that a player denies a result, which stays. Answered tells that the transcript has an answer of the
// player, so that its denial does not count.
func (m *Manager) denied(p *agent, r *journal.MatchReported, answered bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.record(&journal.ResultDenied{Attempt: r.Attempt, PlayerID: p.id, Answered: answered}) != nil {
		return // an organiser has decided the match meanwhile
	}
	if answered {
		m.log.Warn().Stringer("match_id", r.MatchID).Str("referee_id", r.RefereeID).Str("player_id", p.id).
			Str("event_type", "DENIAL_CONTRADICTED").
			Msg("a player denies the result, but the transcript has its answer: the denial does not count")
		return
	}
	m.log.Warn().Stringer("match_id", r.MatchID).Int("attempt", r.Number).Str("referee_id",
		r.RefereeID).Str("player_id", p.id).Str("status", r.Status).
		Str("event_type", "RESULT_DENIED").Msg("a player denies the result: nothing of this attempt reached it")
}
