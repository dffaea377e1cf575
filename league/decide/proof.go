package decide

import (
	"errors"
	"fmt"
	"slices"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/rules"
)

// demand sets what the signatures of a claim must show: a referee that relays signatures reports no
// WIN or DRAW without the last signature of each player with a key, and no other result with a choice
// of such a player without one. A result keeps only signatures that Prove verifies, so it loses those
// of a referee that relays none.
func (p *Reports) demand(s *journal.State, c *Claim) {
	r := c.result
	switch {
	case p.Game.MaxTurns() == 1:
		r.Evidence.Moves = nil
	case r.Status == league.StatusTechnicalLoss && !Relays(s, r.RefereeID):
		if _, err := p.replay(r, c.ids); err != nil {
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

// Relays tells whether a referee reports signatures, in a league that signs.
func Relays(s *journal.State, refereeID string) bool {
	return s.Created.Signs() && s.Agents[refereeID].RelaysSignatures
}

// NeedsProof tells whether Prove has anything to do. It is slow, and needs no lock.
func (c *Claim) NeedsProof() bool { return c.relays }

// Prove verifies the signatures of a claim. Judge rejects a claim that they do not prove.
func (p *Reports) Prove(c *Claim) {
	if !c.NeedsProof() {
		return
	}
	if err := p.prove(c); err != nil {
		c.fault = protocol.Fault(protocol.ErrInvalidFieldType, "%v", err)
	}
}

func (p *Reports) prove(c *Claim) (err error) {
	r := c.result
	if c.signed, err = p.Verify(r, c.ids, c.keys, c.started); err != nil {
		return err
	}
	var signed league.PerPlayer[protocol.MoveSignature]
	for i, id := range c.ids {
		if c.signed[i] {
			signature, _ := r.Signatures.Get(id)
			signed = append(signed, league.Member[protocol.MoveSignature]{Name: id, Value: signature})
		}
	}
	r.Signatures = signed
	return nil
}

// Verify verifies the signatures of a result over the last moves of the players that have one of these
// keys, and the entropies that the signatures cover. Started is the hash of the event that started the
// league. The error names what is missing or wrong.
func (p *Reports) Verify(r *journal.MatchReported, ids, keys [2]string, started string) (signed [2]bool, err error) {
	at, err := p.lastMoves(r, ids)
	switch {
	case err != nil || keys == [2]string{}:
		return signed, err
	case r.Draw == nil:
		return signed, errors.New("draw: it is missing, although players have signed its commitment")
	case p.Game.MaxTurns() > 1 && len(r.Evidence.Moves) == 0:
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
func (p *Reports) lastMoves(r *journal.MatchReported, ids [2]string) (at [2]journal.SignedMove, err error) {
	at = [2]journal.SignedMove{{Player: 0, Turn: 1}, {Player: 1, Turn: 1}}
	if p.Game.MaxTurns() == 1 {
		return at, nil
	}
	course, err := p.replay(r, ids)
	if err != nil {
		return at, err
	}
	for i, last := range course.Last {
		at[i].Turn, at[i].Before = last.Turn, last.Before
	}
	return at, nil
}

// replay plays the moves of a report of a game of several turns. They must lead to the choices of
// the report, unless it names no moves.
func (p *Reports) replay(r *journal.MatchReported, ids [2]string) (*rules.Course, error) {
	moves := make([]rules.Move, len(r.Evidence.Moves))
	for i, m := range r.Evidence.Moves {
		moves[i] = rules.Move{Side: rules.Side(slices.Index(ids[:], m.PlayerID)), Text: m.Move}
	}
	course, err := rules.Replay(p.Game, moves)
	if err != nil {
		return nil, fmt.Errorf("moves: %w", err)
	}
	for i, last := range course.Last {
		if choice, _ := r.Choices.Get(ids[i]); len(moves) > 0 && protocol.ValueOf(choice) != last.Text {
			return nil, fmt.Errorf("moves: the last one of %s is %.40q, not %.40q", ids[i], last.Text, protocol.ValueOf(choice))
		}
	}
	return course, nil
}
