package decide

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/rules"
)

// Grade is the grade of evidence of a report; "" for a technical loss. Promised is the commitment to
// the draw that the referee gave when it accepted the match. Signed tells of which players the
// signature was verified. Missing and the error are those of credible.
func (j *ReportJudge) Grade(r *journal.MatchReported, promised string, ids [2]string, signed [2]bool) (grade,
	missing string, err error) {
	missing, err = j.credible(r, promised, ids)
	switch {
	case err != nil || r.Status == league.StatusTechnicalLoss:
	case missing != "":
		grade = journal.GradeStated
	case signed[0] && signed[1]:
		grade = journal.GradeProven
	default:
		grade = journal.GradeRecomputed
	}
	return grade, missing, err
}

// credible compares the result of a report with what it shows. Missing names what the report does
// not show of the moves of both players and of the draw; "" if it shows all. The error is the
// contradiction between the result and what the report shows, the rules, or the draw to which the
// referee is bound: promised is the commitment that it gave when it accepted the match.
func (j *ReportJudge) credible(r *journal.MatchReported, promised string, ids [2]string) (missing string, err error) {
	switch {
	case r.Status == league.StatusTechnicalLoss: // its choices and its number decide nothing
		return "", j.credibleLoss(r, promised, ids)
	case r.Status == league.StatusWin && r.WinnerPlayerID == nil:
		return "", errors.New("status WIN needs a winner")
	case r.Status == league.StatusDraw && r.WinnerPlayerID != nil:
		return "", fmt.Errorf("status DRAW has no winner, but result.winner is %s", *r.WinnerPlayerID)
	}
	_, numbered := j.Game.(rules.Numbered)
	if !numbered && protocol.ValueOf(r.DrawnNumber) != 0 {
		return "", fmt.Errorf("result.details.drawn_number: %s draws no number", j.GameType)
	}
	chance, drawn, err := j.Revealed(r, promised, ids)
	if err != nil {
		return "", err
	}
	verdict, decided, err := rules.Follows(j.Game, r.Result.Moves(ids), r.DrawnNumber)
	if err != nil {
		return "", j.breach(err, ids)
	}
	course, err := j.replay(r, ids)
	if err != nil {
		return "", err
	}
	switch missing = j.missing(course, ids); {
	case missing == "" && (drawn || !numbered):
		verdict, decided = course.Judge(chance), true
	case missing != "" && drawn && !rules.ListsMoves(j.Game):
		return "", errors.New(missing) // a referee that reveals the draw knows the choices, and could hide the winner
	case missing == "" && !decided:
		missing = "no drawn number reported"
	}
	if decided && drawn && protocol.ValueOf(r.DrawnNumber) != verdict.Number {
		return "", fmt.Errorf("result.details.drawn_number: by the draw it is %d", verdict.Number)
	}
	if winner := verdict.WinnerOf(ids); decided && protocol.ValueOf(r.WinnerPlayerID) != winner {
		return "", fmt.Errorf("result.winner: by the rules of %s it is %s", j.GameType, cmp.Or(winner, "none"))
	}
	return missing, nil
}

// credibleLoss returns an error for a technical loss against the evidence: the report opens the draw, and
// shows that a player that lost had made its move; or it names a fault of the winner alone.
func (j *ReportJudge) credibleLoss(r *journal.MatchReported, promised string, ids [2]string) error {
	_, drawn, err := j.Revealed(r, promised, ids)
	moves, winner := r.Result.Moves(ids), protocol.ValueOf(r.WinnerPlayerID)
	for i, id := range ids {
		_, failed := r.Faults.Get(id)
		_, winnerFailed := r.Faults.Get(winner)
		switch {
		case id == winner:
		case winnerFailed && !failed:
			return fmt.Errorf("result.details.faults: they name a failure of the winner, %s, and none of %s", winner, id)
		case err == nil && drawn && moves[i] != "" && !j.owes(r, ids, rules.Side(i)):
			return fmt.Errorf("result.details.status: %s chose %.40q, and the draw is opened: that is no technical loss of %s", id,
				moves[i], id)
		}
	}
	return nil
}

// owes tells whether a side has yet to move after the moves of a report.
func (j *ReportJudge) owes(r *journal.MatchReported, ids [2]string, side rules.Side) bool {
	if rules.ListsMoves(j.Game) {
		course, err := j.replay(r, ids)
		return err != nil || len(r.Evidence.Moves) == 0 || course.Owes(side)
	}
	return rules.Begin(j.Game).Check(side, r.Result.Moves(ids)[side]) != nil
}

// missing says which moves of a match a report does not name, after the course of those that it names; "" for none.
func (j *ReportJudge) missing(course rules.Course, ids [2]string) string {
	sides := course.ToMove()
	switch {
	case len(sides) == 0:
		return ""
	case rules.ListsMoves(j.Game):
		return "the moves reported do not end the game"
	}
	return "no choice reported for " + ids[sides[0]]
}

// breach is the error for a report with an illegal choice or number.
func (j *ReportJudge) breach(err error, ids [2]string) error {
	var illegal *rules.IllegalMoveError
	if !errors.As(err, &illegal) {
		return fmt.Errorf("result.details.drawn_number: %w", err)
	}
	return protocol.Fault(protocol.MoveFormOf(j.GameType).Illegal, "result.details.choices: %s: %v, got %.60q", ids[illegal.Side], illegal, illegal.Move)
}

// Revealed is the chance of a match by its commit–reveal draw. The draw must match the
// commitment that the referee gave when it accepted the match; "" for none. Drawn is false if
// there is neither a draw nor a commitment.
func (j *ReportJudge) Revealed(r *journal.MatchReported, promised string, ids [2]string) (chance rules.Chance, drawn bool,
	err error) {
	switch {
	case r.Draw == nil && promised == "":
		return chance, false, nil // the referee need not draw in this way
	case r.Draw == nil:
		return chance, false, errors.New("draw: it is missing, although a commitment was given with MATCH_ASSIGNMENT_ACK")
	case promised != "" && promised != r.Draw.Commitment:
		return chance, false, errors.New("draw.commitment: it is not the one given with MATCH_ASSIGNMENT_ACK")
	}
	nonce, ok := protocol.OpensDraw(r.Draw.Commitment, j.LeagueID, r.MatchID.String(), r.Number, r.RefereeID, r.Draw.Nonce)
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

// demand sets what the signatures of a claim must show: a referee that relays signatures reports no
// WIN or DRAW without the last signature of each player with a key, and no other result with a choice
// of such a player without one. A result keeps only signatures that Prove verifies, so it loses those
// of a referee that relays none.
func (j *ReportJudge) demand(s *journal.State, c *Claim) {
	r := c.result
	switch {
	case !rules.ListsMoves(j.Game):
		r.Evidence.Moves = nil
	case r.Status == league.StatusTechnicalLoss && !Relays(s, r.RefereeID):
		if _, err := j.replay(r, c.ids); err != nil {
			r.Evidence.Moves = nil // the loss counts whatever they are
		}
	}
	if !Relays(s, r.RefereeID) {
		r.Signatures = nil
		return
	}
	c.relays = true
	for i, id := range c.ids {
		if choice, _ := r.Choices.Get(id); choice != nil || r.Status != league.StatusTechnicalLoss {
			c.keys[i] = s.Agents[id].PublicKey
		}
	}
}

// Relays tells whether a referee reports signatures, in a league whose players sign their moves.
func Relays(s *journal.State, refereeID string) bool {
	return s.Created.Signs() && !s.Created.Plain() && s.Agents[refereeID].RelaysSignatures
}

// Prove verifies the signatures of a claim, if its referee relays any. Judge rejects a claim that they do not
// prove. Prove is slow, and needs no lock.
func (j *ReportJudge) Prove(c *Claim) {
	if !c.relays {
		return
	}
	r := c.result
	var err error
	if c.signed, err = j.Verify(r, c.ids, c.keys, c.started); err != nil {
		c.fault = protocol.Fault(protocol.ErrInvalidFieldType, "%v", err)
		return
	}
	var signed league.PerPlayer[protocol.MoveSignature]
	for i, id := range c.ids {
		if c.signed[i] {
			signature, _ := r.Signatures.Get(id)
			signed = append(signed, league.Member[protocol.MoveSignature]{Name: id, Value: signature})
		}
	}
	r.Signatures = signed
}

// Verify verifies the signatures of a result over the last moves of the players that have one of these
// keys, and the entropies that the signatures cover. Started is the hash of the event that started the
// league. The error names what is missing or wrong.
func (j *ReportJudge) Verify(r *journal.MatchReported, ids, keys [2]string, started string) (signed [2]bool, err error) {
	at, err := j.lastMoves(r, ids)
	switch {
	case err != nil || keys == [2]string{}:
		return signed, err
	case r.Draw == nil:
		return signed, errors.New("draw: it is missing, although players have signed its commitment")
	case rules.ListsMoves(j.Game) && len(r.Evidence.Moves) == 0:
		return signed, errors.New("moves: they are missing, although players have signed them")
	}
	for i, key := range keys {
		if key == "" {
			continue
		}
		if err := r.CheckSignature(started, ids, key, at[i]); err != nil {
			return signed, fmt.Errorf("signatures: that of %s: %w", ids[i], err)
		}
		signed[i] = true
	}
	return signed, checkEntropies(r, ids)
}

// checkEntropies returns an error unless each entropy belongs to its commitment, which the
// signatures cover, and none is missing.
func checkEntropies(r *journal.MatchReported, ids [2]string) error {
	for _, id := range ids {
		commitment, _ := r.Draw.EntropyCommitments.Get(id)
		text, revealed := r.Draw.Entropies.Get(id)
		choice, _ := r.Choices.Get(id)
		_, opens := protocol.OpensEntropy(commitment, r.MatchID.String(), id, text)
		switch {
		case !revealed && (commitment == "" || choice == nil):
		case !revealed:
			return fmt.Errorf("draw.entropies: that of %s is missing, although it made a commitment and a choice", id)
		case !opens:
			return fmt.Errorf("draw.entropies: that of %s does not belong to its commitment", id)
		}
	}
	return nil
}

// lastMoves are the last moves of the players. In a game of several turns they follow from
// the moves of the report, which must lead to its choices.
func (j *ReportJudge) lastMoves(r *journal.MatchReported, ids [2]string) (at [2]journal.SignedMove, err error) {
	at = [2]journal.SignedMove{{Player: 0, Turn: 1}, {Player: 1, Turn: 1}}
	if !rules.ListsMoves(j.Game) {
		return at, nil
	}
	course, err := j.replay(r, ids)
	if err != nil {
		return at, err
	}
	for i := range at {
		last := course.Last(rules.Side(i))
		at[i].Turn, at[i].Before = last.Turn, last.Before
	}
	return at, nil
}

// replay plays the moves of a report: in a game of one turn its choices, else those that must lead to
// the choices, unless it names no moves.
func (j *ReportJudge) replay(r *journal.MatchReported, ids [2]string) (rules.Course, error) {
	if !rules.ListsMoves(j.Game) {
		return rules.Begin(j.Game).PlayMade(r.Result.Moves(ids))
	}
	var moves []rules.Move
	for _, m := range r.Evidence.Moves {
		moves = append(moves, rules.Move{Side: rules.Side(slices.Index(ids[:], m.PlayerID)), Text: m.Move})
	}
	course, err := rules.Replay(j.Game, moves, nil)
	if err != nil {
		return course, fmt.Errorf("moves: %w", err)
	}
	for i, id := range ids {
		last := course.Last(rules.Side(i)).Text
		if choice, _ := r.Choices.Get(id); len(moves) > 0 && protocol.ValueOf(choice) != last {
			return course, fmt.Errorf("moves: the last one of %s is %.40q, not %.40q", id, last, protocol.ValueOf(choice))
		}
	}
	return course, nil
}
