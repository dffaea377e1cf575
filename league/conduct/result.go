package conduct

import (
	"fmt"
	"time"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/rules"
)

// Result is the result of a match that Next has ended: by the rules of the game, or by technical losses.
func (m *Match) Result() *league.Result {
	a, b := &m.sides[0], &m.sides[1]
	var result *league.Result
	if m.Decided() {
		result = m.technicalLoss()
	} else {
		result = league.ResultOf(m.course.Judge(m.chance()), [2]string{a.player.PlayerID, b.player.PlayerID})
	}
	result.Fallbacks = ofSides(m, nil, func(s *side) int { return s.fallbacks })
	return result
}

// chance returns the random values of the match, as far as they are revealed.
func (m *Match) chance() rules.Chance {
	chance := rules.Chance{Nonce: m.nonce}
	chance.EntropyA, _ = protocol.ParseSecret(m.sides[rules.SideA].entropy)
	chance.EntropyB, _ = protocol.ParseSecret(m.sides[rules.SideB].entropy)
	return chance
}

// technicalLoss is the result of a match that one or both sides have lost technically.
func (m *Match) technicalLoss() *league.Result {
	a, b := &m.sides[0], &m.sides[1]
	result := &league.Result{
		Status: league.StatusTechnicalLoss, Faults: ofSides(m, nil, func(s *side) string { return string(s.fault) }),
		Choices: league.Both(a.player.PlayerID, protocol.NonZero(a.move), b.player.PlayerID, protocol.NonZero(b.move)),
	}
	for i := range m.sides {
		s, other := &m.sides[i], m.sides[1-i].player.PlayerID
		if s.lost == "" {
			continue
		}
		if m.plain { // the report has no status: the missing choice shows the loss
			result.Choices[i].Value = nil
		}
		if m.sides[1-i].lost == "" {
			result.WinnerPlayerID = &other
			result.Reason = s.player.PlayerID + " " + s.lost + " - " + other + " wins by default"
		}
	}
	if result.WinnerPlayerID == nil {
		result.Reason = fmt.Sprintf("%s %s, %s %s - both lose", a.player.PlayerID, a.lost, b.player.PlayerID, b.lost)
	}
	return result
}

// ofSides returns the values of both sides by player, without zero values, and nil if there are no others. It puts
// them into room, which may be nil.
func ofSides[V comparable](m *Match, room *[2]league.Member[V], value func(s *side) V) (values league.PerPlayer[V]) {
	for i := range m.sides {
		if v := value(&m.sides[i]); v != *new(V) {
			if values == nil && room == nil {
				room = new([2]league.Member[V])
			}
			if values == nil {
				values = room[:0]
			}
			values = append(values, league.Member[V]{Name: m.sides[i].player.PlayerID, Value: v})
		}
	}
	return values
}

// ScoreAndDraw returns the points of both players by the league's scoring, which the manager computes again, and the
// draw.
func (m *Match) ScoreAndDraw(result *league.Result) (league.PerPlayer[int], *protocol.Draw) {
	end := new(ending)
	for i := range m.sides {
		id := m.sides[i].player.PlayerID
		end.score[i] = league.Member[int]{Name: id, Value: m.assignment.Scoring.For(result.Outcome(id))}
	}
	return end.score[:], m.drawIn(end)
}

// Draw reveals the nonce and the entropies that the players revealed; nil in a plain match.
func (m *Match) Draw() *protocol.Draw { return m.drawIn(new(ending)) }

func (m *Match) drawIn(end *ending) *protocol.Draw {
	if m.plain {
		return nil
	}
	end.draw = protocol.Draw{Commitment: m.commitment, Nonce: m.revealed,
		Entropies: ofSides(m, &end.entropies, func(s *side) string { return s.entropy })}
	if m.signatures() != nil {
		end.draw.EntropyCommitments = m.commitments
	}
	return &end.draw
}

// Evidence is what proves the result, without the digest of a transcript; empty in a plain match.
func (m *Match) Evidence() protocol.Evidence {
	if m.plain {
		return protocol.Evidence{}
	}
	return protocol.Evidence{Signatures: m.signatures(), Moves: m.Moves(), Opening: m.assignment.Opening, Draws: m.drawn()}
}

// drawn returns the draws so far, as messages have them.
func (m *Match) drawn() (list []protocol.Drawn) {
	for _, d := range m.course.Draws() {
		list = append(list, protocol.Drawn(d))
	}
	return list
}

// signatures returns the last signature of each side that signed.
func (m *Match) signatures() league.PerPlayer[protocol.MoveSignature] {
	return ofSides(m, nil, func(s *side) protocol.MoveSignature { return s.signature })
}

// GameOver is the GAME_OVER to a side, with a result and a draw of this match. It shows all of a game that hides
// something.
func (m *Match) GameOver(of rules.Side, result *league.Result, draw *protocol.Draw, now time.Time) *protocol.GameOver {
	over := m.sides[of].messages.gameOver.New()
	*over = protocol.GameOver{
		Envelope: m.envelope(protocol.TypeGameOver, &m.sides[of], now),
		MatchID:  m.assignment.MatchID, GameType: m.assignment.GameType, GameResult: result, Draw: draw,
	}
	if m.hidden {
		over.Moves, over.Draws = m.Moves(), m.drawn()
	}
	return protocol.Plain(over)
}
