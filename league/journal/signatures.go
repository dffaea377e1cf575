package journal

import (
	"errors"

	"evenodd/league/protocol"
)

// A SignedMove is the last move of a player in a match, as far as its place in the match
// is concerned. The last signature of the player is over this move.
type SignedMove struct {
	Player int // index of the player in ids
	Turn   int // from 1
	Before int // the number of moves in earlier turns, in Moves
}

// Statement is what the player signs if the result is true.
func (d *MatchReported) Statement(started string, ids [2]string, at SignedMove) protocol.MoveStatement {
	id := ids[at.Player]
	s := protocol.MoveStatement{
		Started: started, MatchID: d.MatchID.String(), Attempt: d.Number, RefereeID: d.RefereeID, PlayerID: id, Turn: at.Turn,
	}
	if choice, _ := d.Choices.Get(id); choice != nil {
		s.Move = *choice
	}
	if d.Draw != nil {
		s.DrawCommitment = d.Draw.Commitment
		s.Entropy, _ = d.Draw.Entropies.Get(id)
		for i := range ids {
			s.EntropyCommitments[i], _ = d.Draw.EntropyCommitments.Get(ids[i])
		}
	}
	if at.Turn > 1 {
		s.MovesHash = protocol.MovesHash(d.Evidence.Moves[:at.Before])
	}
	return s
}

// CheckSignature returns an error unless the result has a valid signature of the player
// over this move.
func (d *MatchReported) CheckSignature(started string, ids [2]string, key string, at SignedMove) error {
	signature, ok := d.Signatures.Get(ids[at.Player])
	statement := d.Statement(started, ids, at)
	switch {
	case !ok:
		return errors.New("it is missing")
	case signature.Turn != at.Turn:
		return errors.New("it is of another turn than the last move")
	case !statement.Verify(key, signature.Signature):
		return errors.New("it is not over this match, draw, entropy and move")
	}
	return nil
}
