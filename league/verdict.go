package league

import (
	"cmp"
	"errors"
	"fmt"

	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/rules"
)

// possible returns what in a result contradicts the rest of it, the rules, or the
// draw that the referee is bound to; nil for nothing. A referee without a draw may
// leave out choices and number. Games of many moves cannot be judged from the
// last ones: the audit does it from the transcript.
func (m *Manager) possible(r *journal.MatchReported, fact *journal.Match, a, b *agent) error {
	ids := [2]string{a.id, b.id}
	var chance *rules.Chance
	var moves [2]string
	switch {
	case r.Status == protocol.StatusTechnicalLoss: // its choices decide nothing
	case r.Status == protocol.StatusWin && r.WinnerPlayerID == nil:
		return errors.New("status WIN needs a winner")
	case r.Status == protocol.StatusDraw && r.WinnerPlayerID != nil:
		return fmt.Errorf("status DRAW has no winner, but result.winner is %s", *r.WinnerPlayerID)
	default:
		var err error
		if chance, err = m.bound(r, fact, ids); err != nil {
			return err
		}
		moves = r.Moves(ids)
	}
	verdict, decided, err := rules.Follows(m.game, moves, r.DrawnNumber)
	var illegal *rules.IllegalMoveError
	switch {
	case errors.As(err, &illegal):
		return protocol.Fault(m.illegalMove(), "result.details.choices: %s: %v, got %.60q", ids[illegal.Side], illegal, illegal.Move)
	case err != nil:
		return fmt.Errorf("result.details.drawn_number: %w", err)
	case chance != nil && m.turns == 1:
		if verdict, err = m.drawn(r, ids, *chance); err != nil {
			return err
		}
		decided = true
	}
	if winner := verdict.WinnerOf(ids); decided && textOf(r.WinnerPlayerID) != winner {
		return fmt.Errorf("result.winner: by the rules of %s it is %s", m.options.GameType, cmp.Or(winner, "none"))
	}
	return nil
}

// drawn is the verdict that a revealed draw makes of the choices of a match of
// one turn. Its number must be the reported one.
func (m *Manager) drawn(r *journal.MatchReported, ids [2]string, chance rules.Chance) (rules.Verdict, error) {
	position, moves := m.game.Start(), r.Moves(ids)
	for _, seat := range position.ToMove() {
		if moves[seat] == "" { // a referee that tells the draw knows it, and would hide who won
			return rules.Verdict{}, fmt.Errorf("no choice reported for %s", ids[seat])
		}
	}
	verdict := position.Play(moves).Judge(chance)
	if numberOf(r.DrawnNumber) != verdict.Number {
		return verdict, fmt.Errorf("result.details.drawn_number: by the draw it is %d", verdict.Number)
	}
	return verdict, nil
}

// illegalMove is the error of a move that the rules do not allow.
func (m *Manager) illegalMove() protocol.Code {
	if m.options.GameType == evenOdd {
		return protocol.ErrInvalidParityChoice
	}
	return protocol.ErrIllegalMove
}

// evenOdd is the game whose illegal moves have an error of their own.
const evenOdd = "even_odd"

// bound is the chance of a match as its draw reveals it, which must be what the
// referee has promised; nil when there is no draw to tell, and none was promised.
func (m *Manager) bound(r *journal.MatchReported, fact *journal.Match, ids [2]string) (*rules.Chance, error) {
	promised := ""
	for _, at := range fact.Attempts {
		if at.Number == r.Number && at.Referee == r.RefereeID {
			promised = at.Commitment
		}
	}
	switch {
	case r.Draw == nil && promised == "":
		return nil, nil //nolint:nilnil // nothing is wrong with that
	case r.Draw == nil:
		return nil, errors.New("draw: it is missing, although a commitment was given with MATCH_ASSIGNMENT_ACK")
	case promised != "" && promised != r.Draw.Commitment:
		return nil, errors.New("draw.commitment: it is not the one given with MATCH_ASSIGNMENT_ACK")
	}
	chance := &rules.Chance{}
	nonce, ok := protocol.ParseSecret(r.Draw.Nonce)
	if !ok || protocol.DrawCommitment(m.options.LeagueID, r.MatchID.String(), r.Number, r.RefereeID, nonce) != r.Draw.Commitment {
		return nil, errors.New("draw.nonce: it does not belong to the commitment")
	}
	chance.Nonce = nonce
	for i, into := range []*[32]byte{&chance.EntropyA, &chance.EntropyB} {
		given, there := r.Draw.Entropies.Get(ids[i])
		if !there {
			continue
		}
		secret, ok := protocol.ParseSecret(given)
		if !ok {
			return nil, fmt.Errorf("draw.entropies: that of %s is not 64 hexadecimal digits", ids[i])
		}
		*into = secret
	}
	return chance, nil
}
