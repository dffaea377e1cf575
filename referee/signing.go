package referee

import (
	crand "crypto/rand"
	"fmt"
	"slices"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/rules"
)

// signs tells whether a side signs its moves: the league does, and the player has a public
// key.
func (m *match) signs(s *matchSide) bool {
	return m.assignment.Started != "" && s.player.PublicKey != ""
}

// signatureRequest returns the members of a question that ask a side for a signature; none
// for a side that does not sign.
func (m *match) signatureRequest(s *matchSide) protocol.SignatureRequest {
	if !m.signs(s) {
		return protocol.SignatureRequest{}
	}
	return protocol.SignatureRequest{
		Sign: true, Started: m.assignment.Started, Turn: m.turn, RoleInMatch: s.role,
		DrawCommitment: m.commitment, EntropyCommitments: m.commitments, Moves: m.moves,
	}
}

// commitEntropies fixes the entropy commitments that the players are shown and sign.
func (m *match) commitEntropies() {
	if m.assignment.Started != "" {
		m.commitments = ofSides(m, func(s *matchSide) string { return s.entropyCommitment })
	}
}

// checkSignature returns an error for a legal move without a valid signature of a side that
// signs.
func (m *match) checkSignature(s *matchSide, a *move) error {
	if !m.signs(s) {
		return nil
	}
	if f, broken := a.envelope.BrokenField("signature"); broken {
		return invalid("signature must be a string of 128 hexadecimal digits, got %s", f.Got)
	}
	statement := &protocol.MoveStatement{
		Started: m.assignment.Started, MatchID: m.matchID, Attempt: m.attempt, RefereeID: m.member.AgentID,
		PlayerID: s.player.PlayerID, Turn: m.turn, Move: a.choice, DrawCommitment: m.commitment,
		EntropyCommitments: [2]string{m.sides[rules.SideA].entropyCommitment, m.sides[rules.SideB].entropyCommitment},
	}
	if s.entropyCommitment != "" {
		statement.Entropy = a.Entropy
	}
	if m.turn > 1 {
		statement.MovesHash = protocol.MovesHash(m.moves)
	}
	switch {
	case a.Signature == "":
		return invalid("signature is missing, although the question asks for one")
	case !statement.Verify(s.player.PublicKey, a.Signature):
		return invalid("signature does not match the question, the move and the player's public key")
	}
	s.signed = protocol.MoveSignature{Turn: m.turn, Signature: a.Signature}
	return nil
}

// collectMoves adds the legal moves of a turn, in a game of several turns.
func (m *match) collectMoves() {
	if m.game.MaxTurns() == 1 {
		return
	}
	moves := slices.Clip(m.moves) // questions hold the slice
	for i := range m.sides {
		if s := &m.sides[i]; s.moved == m.turn {
			moves = append(moves, protocol.PlayerMove{PlayerID: m.players[i], Move: s.move})
		}
	}
	m.moves = moves
}

// signatures returns the last signature of each side that signed.
func (m *match) signatures() league.PerPlayer[protocol.MoveSignature] {
	return ofSides(m, func(s *matchSide) protocol.MoveSignature { return s.signed })
}

// nonce returns the referee's secret for the commit–reveal draw of one attempt at a
// match: GAME_INVITATION holds its commitment, GAME_OVER and the report reveal it.
//
// The nonce derives from the referee's stored secret, so that a referee that is
// restarted within a match cannot draw again, and its report matches the
// commitment that the manager holds. A referee that stores nothing cannot continue
// a match: its nonces are random.
func (r *Referee) nonce(q *protocol.MatchAssignment) (s protocol.Secret) {
	switch {
	case r.options.Nonce != nil && q.AnnulledAttempts > 0: // a rematch draws anew
		return r.options.Nonce(fmt.Sprintf("%s/%d", q.MatchID, q.AnnulledAttempts))
	case r.options.Nonce != nil:
		return r.options.Nonce(q.MatchID)
	case r.options.Folder == "":
		_, _ = crand.Read(s[:]) // never fails
		return s
	}
	return r.Derive(fmt.Sprintf("nonce/%q/%q/%d", q.LeagueID, q.MatchID, q.Attempt))
}
