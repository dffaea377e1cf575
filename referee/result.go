package referee

import (
	"fmt"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/rules"
)

// decide makes the result of the match: by the rules of the game, or by technical
// losses.
func (m *match) decide() *league.Result {
	a, b := &m.sides[0], &m.sides[1]
	if a.lost != "" || b.lost != "" {
		return m.technicalLoss()
	}
	verdict := m.position.Judge(rules.Chance{Nonce: m.nonce, EntropyA: a.entropy, EntropyB: b.entropy})
	result := &league.Result{
		Status: league.StatusDraw, Reason: verdict.Reason(m.players), Fallbacks: m.fallbacks(),
		Choices: league.Both(
			m.players[0], protocol.NonZero(verdict.Moves[0]), m.players[1], protocol.NonZero(verdict.Moves[1])),
	}
	if verdict.Winner != rules.NoSide {
		winner := m.players[verdict.Winner]
		result.Status, result.WinnerPlayerID = league.StatusWin, &winner
	}
	if verdict.Number > 0 {
		result.DrawnNumber, result.NumberParity = &verdict.Number, &verdict.Parity
	}
	return result
}

// ofSides returns the values of both sides by player, without zero values.
func ofSides[V comparable](m *match, value func(s *matchSide) V) (values league.PerPlayer[V]) {
	for i := range m.sides {
		if v := value(&m.sides[i]); v != *new(V) {
			values = append(values, league.Member[V]{Name: m.players[i], Value: v})
		}
	}
	return values
}

func (m *match) fallbacks() league.PerPlayer[int] {
	return ofSides(m, func(s *matchSide) int { return s.fallbacks })
}

// technicalLoss makes the result of a match that one or both sides have lost
// technically.
func (m *match) technicalLoss() *league.Result {
	result := &league.Result{
		Status: league.StatusTechnicalLoss,
		Choices: league.Both(
			m.players[0], protocol.NonZero(m.sides[0].move), m.players[1], protocol.NonZero(m.sides[1].move)),
		Fallbacks: m.fallbacks(), Faults: ofSides(m, func(s *matchSide) string { return string(s.fault) }),
	}
	for i := range m.sides {
		id, s, other := m.players[i], &m.sides[i], m.players[1-i]
		if m.plain && s.lost != "" { // the report has no status: the missing choice shows the loss
			result.Choices[i].Value = nil
		}
		if s.lost != "" && m.sides[1-i].lost == "" {
			result.WinnerPlayerID = &other
			result.Reason = id + " " + s.lost + " - " + other + " wins by default"
		}
	}
	if result.WinnerPlayerID == nil {
		result.Reason = fmt.Sprintf("%s %s, %s %s - both lose", m.players[0], m.sides[0].lost, m.players[1], m.sides[1].lost)
	}
	return result
}

// finish decides the match, makes its report, and writes the match file. It returns
// false if another attempt has replaced this one.
func (m *match) finish() bool {
	doc, result := m.document(), m.decide()
	doc.Result = &store.MatchResult{Result: *result, Score: m.score(result)}
	if !m.plain {
		doc.Evidence = protocol.Evidence{Signatures: m.signatures(), Moves: m.moves}
	}
	report := m.reportOf(doc)
	m.mu.Lock()
	if m.abandoned.Load() {
		m.mu.Unlock()
		return false
	}
	m.state, m.final, m.result, m.reporting = protocol.StateFinished, report, result, true
	m.mu.Unlock()
	m.fileResult(doc)
	return true
}

// reportOf makes the report of a match from its document.
func (m *match) reportOf(doc *store.Match) *protocol.MatchResultReport {
	r := doc.Result
	report := &protocol.MatchResultReport{
		Envelope: m.referee.Stamp().Envelope(protocol.TypeMatchResultReport, m.conversation),
		LeagueID: m.member.LeagueID, RoundID: doc.RoundID, MatchID: m.matchID, GameType: doc.GameType, Attempt: m.attempt,
		Result: protocol.MatchResult{Winner: r.WinnerPlayerID, Score: r.Score, Details: &protocol.ResultDetails{
			DrawnNumber: r.DrawnNumber, Choices: r.Choices, Status: r.Status, Reason: r.Reason,
			Faults: r.Faults, Fallbacks: r.Fallbacks,
		}},
		Draw: doc.Draw, Evidence: doc.Evidence,
	}
	report.AuthToken = m.member.Token
	report.SetPlain(doc.Members == protocol.MembersPlain)
	return report
}

// draw reveals the nonce and the entropies that the players revealed; nil in a plain match.
func (m *match) draw() *protocol.Draw {
	if m.plain {
		return nil
	}
	draw := &protocol.Draw{
		Commitment: m.commitment, Nonce: m.nonce.Hex(),
		Entropies: ofSides(m, func(s *matchSide) string { return s.entropyText }),
	}
	if m.signatures() != nil {
		draw.EntropyCommitments = m.commitments
	}
	return draw
}

// score returns the points of both players by the league's scoring. The manager computes
// them again.
func (m *match) score(result *league.Result) league.PerPlayer[int] {
	points := func(id string) int { return m.assignment.Scoring.For(result.Outcome(id)) }
	return league.Both(m.players[0], points(m.players[0]), m.players[1], points(m.players[1]))
}
