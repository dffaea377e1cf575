package league

import (
	"errors"
	"fmt"

	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/rules"
)

// possible tells what speaks against a result, as far as it can be known: an
// audit would find it, and nobody gets a result that cannot be. A referee of
// another maker, which has no draw to tell, may leave out how it came about. Games
// of many moves cannot be judged from the last ones: the audit does it from the
// transcript.
func (m *Manager) possible(r *journal.MatchReported, fact *journal.Match, a, b *agent) error {
	if r.Status == protocol.StatusTechnicalLoss {
		return nil
	}
	ids := [2]string{a.id, b.id}
	chance, err := m.bound(r, fact, ids)
	if err != nil || m.turns > 1 {
		return err
	}
	position := m.game.Start()
	var moves [2]string
	for _, seat := range position.ToMove() {
		choice, _ := r.Choices.Get(ids[seat])
		switch {
		case choice == nil && chance == nil:
			return nil // it was not told
		case choice == nil: // whoever tells the draw knows it, and would hide who won
			return fmt.Errorf("result.details.choices: that of %s is missing", ids[seat])
		}
		moves[seat] = *choice
		if err := position.Check(seat, *choice); err != nil {
			return fmt.Errorf("result.details.choices: %s: %w", ids[seat], err)
		}
	}
	if chance == nil {
		return nil
	}
	verdict := position.Play(moves).Judge(*chance)
	winner := ""
	if verdict.Winner != rules.NoSeat {
		winner = ids[verdict.Winner]
	}
	switch {
	case numberOf(r.DrawnNumber) != verdict.Number:
		return fmt.Errorf("result.details.drawn_number: by the draw it is %d", verdict.Number)
	case textOf(r.WinnerPlayerID) != winner:
		return fmt.Errorf("result.winner: by the rules of %s it is another, or none", m.options.GameType)
	}
	return nil
}

// keepMoves takes what is no move out of the choices that a referee of another maker
// reports: who won is its word all the same.
func (m *Manager) keepMoves(r *journal.MatchReported) {
	if m.turns > 1 {
		return
	}
	position := m.game.Start()
	for _, seat := range position.ToMove() {
		if c := &r.Choices[seat]; c.Value != nil && position.Check(seat, *c.Value) != nil {
			c.Value = nil
		}
	}
}

// checkWord warns of a result that nothing but the referee's word stands for, where
// its own number and choices speak against it: a referee of another maker draws as it
// likes, and is asked no second time.
func (m *Manager) checkWord(q *protocol.MatchResultReport, r *journal.MatchReported) {
	if r.Draw != nil || r.Status == protocol.StatusTechnicalLoss {
		return
	}
	warn := m.options.Log.Warn().Str("conversation_id", q.ConversationID).Str("match_id", r.MatchID).Str("referee_id", r.RefereeID)
	if journal.Contradicts(&r.Outcome) {
		warn.Int("drawn_number", numberOf(r.DrawnNumber)).Str("winner", textOf(r.WinnerPlayerID)).
			Msg("the referee's number and choices speak for another result; it showed no draw, and its word counts")
		return
	}
	warn.Msg("the referee showed no draw: its result cannot be checked")
}

// bound is the chance of a match as its draw reveals it, which must be what the
// referee has promised; nil when there is no draw to tell, and none was promised.
func (m *Manager) bound(r *journal.MatchReported, fact *journal.Match, ids [2]string) (*rules.Chance, error) {
	promised := ""
	for _, at := range fact.Attempts {
		if at.Number == r.Attempt && at.Referee == r.RefereeID {
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
	if !ok || protocol.DrawCommitment(m.options.LeagueID, r.MatchID, r.Attempt, r.RefereeID, nonce) != r.Draw.Commitment {
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
