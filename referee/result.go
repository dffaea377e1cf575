package referee

import (
	"fmt"
	"slices"

	table "evenodd/league"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/rules"
)

// decide makes the result of the match: by the rules of the game, or by technical
// losses.
func (m *match) decide() *protocol.GameResult {
	a, b := &m.sides[0], &m.sides[1]
	if a.lost != "" || b.lost != "" {
		return m.technicalLoss()
	}
	verdict := m.position.Judge(rules.Chance{Nonce: m.nonce, EntropyA: a.entropy, EntropyB: b.entropy})
	r := &struct { // one allocation; the result may outlive the match
		protocol.GameResult

		players, moves [2]string
		choices        [2]protocol.Member[*string]
		number         int
		parity         string
	}{players: m.players, moves: verdict.Moves, number: verdict.Number, parity: verdict.Parity}
	for i := range r.choices {
		r.choices[i].Name = r.players[i]
		if r.moves[i] != "" {
			r.choices[i].Value = &r.moves[i]
		}
	}
	r.Status, r.Choices, r.Reason = protocol.StatusDraw, r.choices[:], verdict.Reason(m.players)
	if verdict.Winner != rules.NoSide {
		r.Status, r.WinnerPlayerID = protocol.StatusWin, &r.players[verdict.Winner]
	}
	if verdict.Number > 0 {
		r.DrawnNumber, r.NumberParity = &r.number, &r.parity
	}
	r.Fallbacks = m.fallbacks()
	return &r.GameResult
}

// fallbacks returns the number of fallbacks of each player that had any.
func (m *match) fallbacks() (counts protocol.PerPlayer[int]) {
	for i := range m.sides {
		if n := m.sides[i].fallbacks; n > 0 {
			counts = append(counts, protocol.Member[int]{Name: m.players[i], Value: n})
		}
	}
	return counts
}

// technicalLoss makes the result of a match that one or both sides have lost
// technically.
func (m *match) technicalLoss() *protocol.GameResult {
	result := &protocol.GameResult{
		Status: protocol.StatusTechnicalLoss,
		Choices: protocol.Both(
			m.players[0], protocol.NonZero(m.sides[0].move), m.players[1], protocol.NonZero(m.sides[1].move)),
		Fallbacks: m.fallbacks(),
	}
	for i := range m.sides {
		id, s, other := m.players[i], &m.sides[i], m.players[1-i]
		if s.fault != "" {
			result.Faults = append(result.Faults, protocol.Member[string]{Name: id, Value: string(s.fault)})
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
	result, a := m.decide(), m.assignment
	r := m.reportOf(result)
	report := &r.MatchResultReport
	report.RoundID, report.GameType = a.RoundID, a.GameType
	r.score = m.score(result)
	m.draw(&r.reveal)
	report.Result.Score, report.Draw, report.Evidence = r.score[:], &r.reveal.Draw, m.evidence()
	m.mu.Lock()
	if m.abandoned.Load() {
		m.mu.Unlock()
		return false
	}
	m.state, m.final, m.result, m.reporting = store.StateFinished, report, result, true
	m.mu.Unlock()
	m.fileResult()
	return true
}

// A report is a MATCH_RESULT_REPORT with its parts, in one allocation.
type report struct {
	protocol.MatchResultReport

	details protocol.ResultDetails
	score   [2]protocol.Member[int]
	reveal  reveal
}

// A reveal is a draw with its entropies.
type reveal struct {
	protocol.Draw

	entropies [2]protocol.Member[string]
}

// reportOf makes the report of a result. The caller adds the round, the game, the score and
// the draw.
func (m *match) reportOf(result *protocol.GameResult) *report {
	r := &report{
		MatchResultReport: protocol.MatchResultReport{
			Envelope: m.referee.Stamp().Envelope(protocol.TypeMatchResultReport, m.conversation),
			LeagueID: m.member.LeagueID, MatchID: m.matchID, Attempt: m.attempt,
			Result: protocol.MatchResult{Winner: result.WinnerPlayerID},
		},
		details: protocol.ResultDetails{
			DrawnNumber: result.DrawnNumber, Choices: result.Choices, Status: result.Status, Reason: result.Reason,
			Faults: result.Faults, Fallbacks: result.Fallbacks,
		},
	}
	r.AuthToken, r.Result.Details = m.member.Token, &r.details
	return r
}

// draw reveals the nonce and the entropies that the players revealed.
func (m *match) draw(draw *reveal) {
	draw.Commitment, draw.Nonce = m.commitment, m.nonceText
	for i := range m.sides {
		s := &m.sides[i]
		if s.entropyText != "" {
			draw.Entropies = append(draw.entropies[:len(draw.Entropies)], protocol.Member[string]{Name: m.players[i], Value: s.entropyText})
		}
		if s.signed.Signature != "" {
			draw.EntropyCommitments = m.commitments
		}
	}
}

// score returns the points of both players by the league's scoring. The manager computes
// them again.
func (m *match) score(result *protocol.GameResult) [2]protocol.Member[int] {
	s := m.assignment.Scoring
	ended := table.Result{A: 0, B: 1, Winner: table.None, Technical: result.Status == protocol.StatusTechnicalLoss}
	if winner := result.WinnerPlayerID; winner != nil {
		ended.Winner = slices.Index(m.players[:], *winner)
	}
	a, b := table.Scoring{Win: s.Win, Draw: s.Draw, Loss: s.Loss, TechnicalLoss: s.TechnicalLoss}.Points(ended)
	return [2]protocol.Member[int]{{Name: m.players[0], Value: a}, {Name: m.players[1], Value: b}}
}
