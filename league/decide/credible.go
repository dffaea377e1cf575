package decide

import (
	"cmp"
	"errors"
	"fmt"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/rules"
)

// Grade is the grade of evidence of a report; "" for a technical loss. Promised is the commitment to
// the draw that the referee gave when it accepted the match. Signed tells of which players the
// signature was verified. The error is a contradiction between the result and what the report shows.
func (p *Reports) Grade(r *journal.MatchReported, promised string, ids [2]string, signed [2]bool) (string, error) {
	missing, err := p.credible(r, promised, ids)
	switch {
	case err != nil || r.Status == league.StatusTechnicalLoss:
		return "", err
	case missing != "":
		return journal.GradeStated, nil
	case signed[0] && signed[1]:
		return journal.GradeProven, nil
	}
	return journal.GradeRecomputed, nil
}

// credible compares the result of a report with what it shows. Missing names what the report does
// not show of the moves of both players and of the draw; "" if it shows all. The error is the
// contradiction between the result and what the report shows, the rules, or the draw to which the
// referee is bound: promised is the commitment that it gave when it accepted the match.
func (p *Reports) credible(r *journal.MatchReported, promised string, ids [2]string) (missing string, err error) {
	switch {
	case r.Status == league.StatusTechnicalLoss: // its choices and its number decide nothing
		return "", nil
	case r.Status == league.StatusWin && r.WinnerPlayerID == nil:
		return "", errors.New("status WIN needs a winner")
	case r.Status == league.StatusDraw && r.WinnerPlayerID != nil:
		return "", fmt.Errorf("status DRAW has no winner, but result.winner is %s", *r.WinnerPlayerID)
	}
	_, numbered := p.Game.(rules.Numbered)
	if !numbered && protocol.ValueOf(r.DrawnNumber) != 0 {
		return "", fmt.Errorf("result.details.drawn_number: %s draws no number", p.GameType)
	}
	chance, drawn, err := p.Revealed(r, promised, ids)
	if err != nil {
		return "", err
	}
	verdict, decided, err := rules.Follows(p.Game, r.Result.Moves(ids), r.DrawnNumber)
	if err != nil {
		return "", p.breach(err, ids)
	}
	end, missing, err := p.end(r, ids)
	switch {
	case err != nil:
		return "", err
	case missing == "" && (drawn || !numbered):
		verdict, decided = end.Judge(chance), true
	case missing != "" && drawn && p.Game.MaxTurns() == 1:
		return "", errors.New(missing) // a referee that reveals the draw knows the choices, and could hide the winner
	case missing == "" && !decided:
		missing = "no drawn number reported"
	}
	if decided && drawn && protocol.ValueOf(r.DrawnNumber) != verdict.Number {
		return "", fmt.Errorf("result.details.drawn_number: by the draw it is %d", verdict.Number)
	}
	if winner := verdict.WinnerOf(ids); decided && protocol.ValueOf(r.WinnerPlayerID) != winner {
		return "", fmt.Errorf("result.winner: by the rules of %s it is %s", p.GameType, cmp.Or(winner, "none"))
	}
	return missing, nil
}

// end is the last position of a match by the moves of a report. Missing says which moves are not
// reported; "" for none.
func (p *Reports) end(r *journal.MatchReported, ids [2]string) (end rules.Position, missing string, err error) {
	if p.Game.MaxTurns() > 1 {
		course, err := p.replay(r, ids)
		switch {
		case err != nil:
			return nil, "", err
		case !course.Over():
			return nil, "the moves reported do not end the game", nil
		}
		return course.Position, "", nil
	}
	position, moves := p.Game.Start(), r.Result.Moves(ids)
	for _, side := range position.ToMove() {
		if moves[side] == "" {
			return nil, "no choice reported for " + ids[side], nil
		}
	}
	return position.Play(moves), "", nil
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

// Revealed is the chance of a match by its commit–reveal draw. The draw must match the
// commitment that the referee gave when it accepted the match; "" for none. Drawn is false if
// there is neither a draw nor a commitment.
func (p *Reports) Revealed(r *journal.MatchReported, promised string, ids [2]string) (chance rules.Chance, drawn bool,
	err error) {
	switch {
	case r.Draw == nil && promised == "":
		return chance, false, nil // the referee need not draw in this way
	case r.Draw == nil:
		return chance, false, errors.New("draw: it is missing, although a commitment was given with MATCH_ASSIGNMENT_ACK")
	case promised != "" && promised != r.Draw.Commitment:
		return chance, false, errors.New("draw.commitment: it is not the one given with MATCH_ASSIGNMENT_ACK")
	}
	nonce, ok := protocol.OpensDraw(r.Draw.Commitment, p.LeagueID, r.MatchID.String(), r.Number, r.RefereeID, r.Draw.Nonce)
	if !ok {
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
