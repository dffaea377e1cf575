package decide

import (
	"cmp"
	"errors"
	"fmt"

	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/rules"
)

// credible returns the contradiction between a result and the rest of its report, the
// rules, or the draw to which the referee is bound; nil for none. A referee without a
// draw may leave out choices and number. A game of several turns is judged by its course,
// if that is known; else the audit judges it from the transcript.
func (p *Reports) credible(r *journal.MatchReported, fact *journal.Match, ids [2]string, course *rules.Course) error {
	var chance rules.Chance
	var drawn bool
	var moves [2]string
	switch {
	case r.Status == protocol.StatusTechnicalLoss: // its choices decide nothing
	case r.Status == protocol.StatusWin && r.WinnerPlayerID == nil:
		return errors.New("status WIN needs a winner")
	case r.Status == protocol.StatusDraw && r.WinnerPlayerID != nil:
		return fmt.Errorf("status DRAW has no winner, but result.winner is %s", *r.WinnerPlayerID)
	default:
		var err error
		if chance, drawn, err = p.revealed(r, fact, ids); err != nil {
			return err
		}
		moves = r.GameResult.Moves(ids)
	}
	verdict, decided, err := rules.Follows(p.Game, moves, r.DrawnNumber)
	switch {
	case err != nil:
		return p.breach(err, ids)
	case drawn && p.Game.MaxTurns() == 1:
		position := p.Game.Start()
		for _, side := range position.ToMove() {
			if moves[side] == "" { // a referee that reveals the draw knows the choices, and could hide the winner
				return fmt.Errorf("no choice reported for %s", ids[side])
			}
		}
		verdict, decided = position.Play(moves).Judge(chance), true
	case drawn && course != nil:
		verdict, decided = course.Position.Judge(chance), true
	}
	if decided && drawn && protocol.ValueOf(r.DrawnNumber) != verdict.Number {
		return fmt.Errorf("result.details.drawn_number: by the draw it is %d", verdict.Number)
	}
	if winner := verdict.WinnerOf(ids); decided && protocol.ValueOf(r.WinnerPlayerID) != winner {
		return fmt.Errorf("result.winner: by the rules of %s it is %s", p.GameType, cmp.Or(winner, "none"))
	}
	return nil
}

// breach is the error for a report with an illegal choice or number.
func (p *Reports) breach(err error, ids [2]string) error {
	var illegal *rules.IllegalMoveError
	if !errors.As(err, &illegal) {
		return fmt.Errorf("result.details.drawn_number: %w", err)
	}
	code := protocol.ErrIllegalMove
	if p.GameType == "even_odd" { // its illegal choices have a code of their own
		code = protocol.ErrInvalidParityChoice
	}
	return protocol.Fault(code, "result.details.choices: %s: %v, got %.60q", ids[illegal.Side], illegal, illegal.Move)
}

// revealed is the chance of a match by its commit–reveal draw. The draw must match the
// commitment that the referee gave when it accepted the match. Drawn is false if there is
// neither a draw nor a commitment.
func (p *Reports) revealed(r *journal.MatchReported, fact *journal.Match, ids [2]string) (chance rules.Chance, drawn bool, err error) {
	promised := ""
	if at := fact.Attempt(r.Number, r.RefereeID); at != nil {
		promised = at.Commitment
	}
	switch {
	case r.Draw == nil && promised == "":
		return chance, false, nil // the referee need not draw in this way
	case r.Draw == nil:
		return chance, false, errors.New("draw: it is missing, although a commitment was given with MATCH_ASSIGNMENT_ACK")
	case promised != "" && promised != r.Draw.Commitment:
		return chance, false, errors.New("draw.commitment: it is not the one given with MATCH_ASSIGNMENT_ACK")
	}
	nonce, ok := protocol.ParseSecret(r.Draw.Nonce)
	if !ok || !protocol.OpensDraw(r.Draw.Commitment, p.LeagueID, r.MatchID.String(), r.Number, r.RefereeID, nonce) {
		return chance, false, errors.New("draw.nonce: it does not belong to the commitment")
	}
	chance.Nonce = nonce
	for i, into := range []*[32]byte{&chance.EntropyA, &chance.EntropyB} {
		given, there := r.Draw.Entropies.Get(ids[i])
		if !there {
			continue
		}
		secret, ok := protocol.ParseSecret(given)
		if !ok {
			return chance, false, fmt.Errorf("draw.entropies: that of %s is not 64 hexadecimal digits", ids[i])
		}
		*into = secret
	}
	return chance, true, nil
}
