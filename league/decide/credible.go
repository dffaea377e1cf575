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
// signature was verified, and asked is the whole inquiry about the report. Missing and the error are those of credible.
func (j *ReportJudge) Grade(r *journal.MatchReported, promised string, ids [2]string, signed [2]bool,
	asked *Inquiry) (grade, missing string, err error) {
	missing, err = j.credible(r, promised, ids, asked)
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
func (j *ReportJudge) credible(r *journal.MatchReported, promised string, ids [2]string,
	asked *Inquiry) (missing string, err error) {
	switch {
	case r.Status == league.StatusTechnicalLoss: // its choices and its number decide nothing
		return "", j.credibleLoss(r, promised, ids, asked)
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
	after, err := j.replay(r, ids, asked)
	if err == nil && drawn {
		err = CheckDraws(r, chance)
	}
	if err != nil {
		return "", err
	}
	switch missing = j.missing(after, ids); {
	case missing == "" && !drawn && rules.HasDraws(j.Game):
		missing = "the secrets of the draws are not reported"
	case missing == "" && (drawn || !numbered):
		verdict, decided = after.judge(j.Game, chance), true
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
func (j *ReportJudge) credibleLoss(r *journal.MatchReported, promised string, ids [2]string, asked *Inquiry) error {
	chance, drawn, err := j.Revealed(r, promised, ids)
	if err == nil && drawn {
		if err := CheckDraws(r, chance); err != nil {
			return err
		}
	}
	moves, winner := r.Result.Moves(ids), protocol.ValueOf(r.WinnerPlayerID)
	for i, id := range ids {
		_, failed := r.Faults.Get(id)
		_, winnerFailed := r.Faults.Get(winner)
		answered := moves[i]
		for _, m := range r.Evidence.Moves {
			if m.PlayerID == id && m.Turn == 1 && m.Move == rules.Ready {
				answered = cmp.Or(answered, m.Move)
			}
		}
		switch {
		case id == winner:
		case winnerFailed && !failed:
			return fmt.Errorf("result.details.faults: they name a failure of the winner, %s, and none of %s", winner, id)
		case err == nil && drawn && answered != "" && !j.owes(r, ids, rules.Side(i), asked):
			return fmt.Errorf("result.details.status: %s chose %.40q, and the draw is opened: that is no technical loss of %s", id,
				answered, id)
		}
	}
	return nil
}

// owes tells whether a side has yet to move after the moves of a report.
func (j *ReportJudge) owes(r *journal.MatchReported, ids [2]string, side rules.Side, asked *Inquiry) bool {
	if rules.ListsMoves(j.Game) {
		after, err := j.replay(r, ids, asked)
		return err != nil || len(r.Evidence.Moves) == 0 || after.owes[side]
	}
	return rules.Begin(j.Game).Check(side, r.Result.Moves(ids)[side]) != nil
}

// missing says which moves of a match a report does not name, after those that it names; "" for none.
func (j *ReportJudge) missing(after position, ids [2]string) string {
	switch {
	case after.over:
		return ""
	case rules.ListsMoves(j.Game):
		return "the moves reported do not end the game"
	}
	return "no choice reported for " + ids[slices.Index(after.owes[:], true)]
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
// of such a player without one. Each signature over a move that is shown must be right, also if the move is no choice,
// as the answer to the ready turn. A result keeps only signatures that Prove verifies, so it loses those
// of a referee that relays none, and only what its game can have.
func (j *ReportJudge) demand(s *journal.State, c *Claim) {
	r := c.result
	if !rules.ListsMoves(j.Game) {
		r.Evidence.Moves = nil
	}
	if !rules.HasDraws(j.Game) {
		r.Draws = nil
	}
	if s.Created.Openings == 0 {
		r.Opening = nil
	}
	if !rules.HasViews(j.Game) {
		r.Evidence.Moves = slices.Clone(r.Evidence.Moves) // the message stays as it is
		for i := range r.Evidence.Moves {
			r.Evidence.Moves[i].Turn, r.Evidence.Moves[i].Secret = 0, false
		}
	}
	c.asked = j.Inquire(r, c.ids)
	if !Relays(s, r.RefereeID) {
		r.Signatures = nil
		return
	}
	c.relays = true
	for i, id := range c.ids {
		choice, _ := r.Choices.Get(id)
		_, relayed := r.Signatures.Get(id)
		if choice != nil || r.Status != league.StatusTechnicalLoss || relayed && hasMove(r, id) {
			c.keys[i] = s.Agents[id].PublicKey
		}
	}
}

// hasMove tells whether a report of a game of several turns shows a move of a player.
func hasMove(r *journal.MatchReported, id string) bool {
	return slices.ContainsFunc(r.Evidence.Moves, func(m protocol.PlayerMove) bool { return m.PlayerID == id })
}

// Relays tells whether a referee reports signatures, in a league whose players sign their moves.
func Relays(s *journal.State, refereeID string) bool {
	return s.Created.Signs() && !s.Created.Plain() && s.Agents[refereeID].RelaysSignatures
}

// Asks returns the history that the program of the game is to be asked about, before Prove; false if nothing is to be
// asked. A late claim needs no answer. See Inquiry.
func (c *Claim) Asks() (history []rules.Entry, due bool) {
	if c.Late {
		return nil, false
	}
	return c.asked.Asks()
}

// Told takes what the program says of the history of Asks, or the error with which it failed. A claim that cannot be
// judged for that fails by Judgement.Failed.
func (c *Claim) Told(state *rules.State, err error) { c.asked.Told(state, err) }

// Prove verifies the signatures of a claim, if its referee relays any. Judge rejects a claim that they do not
// prove. Prove is slow, and needs no lock.
func (j *ReportJudge) Prove(c *Claim) {
	r := c.result
	if !c.relays {
		if r.Status != league.StatusTechnicalLoss || !rules.ListsMoves(j.Game) || c.asked.Failure() != nil {
			return
		}
		if _, err := j.replay(r, c.ids, c.asked); err != nil {
			r.Evidence.Moves, r.Draws = nil, nil // the loss counts whatever they are
			c.asked = j.Inquire(r, c.ids)
		}
		return
	}
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
		if key == "" || at[i].Turn == 0 { // a match can end before a side is to move
			continue
		}
		signature, _ := r.Signatures.Get(ids[i])
		if hidden := rules.Hides(j.Game); hidden != (signature.ViewHash != "") && signature.Turn > 0 {
			return signed, fmt.Errorf("signatures: that of %s needs a view_hash in a game that hides something, and in no other",
				ids[i])
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
	var last [2]rules.LastMove
	if asked := j.Inquire(r, ids); asked != nil { // what the program says of the moves is no part of the signatures
		if err = asked.wrong; err == nil {
			err = j.leadTo(r, ids, asked.last)
		}
		last = asked.last
	} else {
		var after position
		after, err = j.replay(r, ids, nil)
		last = after.last
	}
	if err != nil {
		return at, err
	}
	for i := range at {
		at[i].Turn, at[i].Before = last[i].Turn, last[i].Before
	}
	return at, nil
}

// replay plays the moves of a report: in a game of one turn its choices, else those that must lead to
// the choices, unless it names no moves. Those of the game of a program were played by the inquiry.
func (j *ReportJudge) replay(r *journal.MatchReported, ids [2]string, asked *Inquiry) (after position, err error) {
	if !rules.ListsMoves(j.Game) {
		course, err := rules.Begin(j.Game).PlayMade(r.Result.Moves(ids))
		return positionOf(course), err
	}
	if _, program := j.Game.(*rules.Program); program && asked == nil {
		return after, errUnasked
	} else if program {
		after, err = asked.reached()
	} else {
		after, err = j.replayCourse(r, ids)
	}
	if err == nil {
		err = j.leadTo(r, ids, after.last)
	}
	return after, err
}

// replayCourse plays the moves of a report, and makes its draws.
func (j *ReportJudge) replayCourse(r *journal.MatchReported, ids [2]string) (after position, err error) {
	moves := make([]rules.Move, 0, len(r.Evidence.Moves))
	for _, m := range r.Evidence.Moves {
		moves = append(moves, rules.Move{Side: rules.Side(slices.Index(ids[:], m.PlayerID)), Text: m.Move, Turn: m.Turn})
	}
	course, err := rules.BeginAfter(j.Game, r.Opening)
	if err != nil {
		return positionOf(course), err
	}
	course, err = course.Replay(moves, reportedDraws(r.Draws))
	after = positionOf(course)
	_, misdrawn := errors.AsType[*drawsError](err)
	switch n := len(course.Draws()); {
	case misdrawn:
		return after, err
	case err != nil:
		return after, fmt.Errorf("moves: %w", err)
	case n < len(r.Draws):
		return after, fmt.Errorf("draws: there are %d, but the moves lead to %d", len(r.Draws), n)
	}
	return after, nil
}

// leadTo returns an error if the moves of a report, unless it names none, do not lead to its choices.
func (j *ReportJudge) leadTo(r *journal.MatchReported, ids [2]string, last [2]rules.LastMove) error {
	for i, id := range ids {
		choice, _ := r.Choices.Get(id)
		if made := choiceOf(j.Game, last[i]); len(r.Evidence.Moves) > 0 && protocol.ValueOf(choice) != made {
			return fmt.Errorf("moves: the last one of %s is %.40q, not %.40q", id, made, protocol.ValueOf(choice))
		}
	}
	return nil
}

// choiceOf is the choice of a side that has a last move. The answer to the ready turn is none.
func choiceOf(game rules.Game, last rules.LastMove) string {
	if last.Turn == 1 && rules.HasDraws(game) {
		return ""
	}
	return last.Text
}
