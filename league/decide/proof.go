package decide

import (
	"errors"
	"fmt"
	"slices"

	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/rules"
)

// A proof is what the signatures of a report must show, and what Prove has found.
type proof struct {
	relays  bool            // the referee relays signatures, in a league that signs
	started string          // the hash of the event that started the league
	keys    [2]string       // of the players whose moves need a signature; "" for a player that needs none
	signed  [2]bool         // players whose signature was verified
	fault   *protocol.Error // why the signatures do not prove the report; nil if they do
}

// proofOf is the proof that a report needs: a referee that relays signatures reports no WIN or DRAW
// without the last signature of each player with a key, and no other result with a choice of such
// a player without one. A result keeps only signatures that Prove verifies, so it loses those of a
// referee that relays none.
func (p *Reports) proofOf(s *journal.State, r *journal.MatchReported, ids [2]string, started string) (n proof) {
	switch {
	case p.Game.MaxTurns() == 1:
		r.Evidence.Moves = nil
	case r.Status == protocol.StatusTechnicalLoss && !relays(s, r.RefereeID):
		if _, err := p.replay(r, ids); err != nil {
			r.Evidence.Moves = nil // the loss counts whatever they are
		}
	}
	if !relays(s, r.RefereeID) {
		r.Signatures = nil
		return n
	}
	n.relays, n.started = true, started
	for i, id := range ids {
		if choice, _ := r.Choices.Get(id); choice != nil || r.Status != protocol.StatusTechnicalLoss {
			n.keys[i] = s.Agents[id].PublicKey
		}
	}
	return n
}

// relays tells whether a referee reports signatures, in a league that signs.
func relays(s *journal.State, refereeID string) bool {
	return s.Created.Signs() && s.Agents[refereeID].RelaysSignatures
}

// Unsigned are the players with a key whose recorded choice has no signature, in the order
// of the match.
func Unsigned(s *journal.State, r *journal.MatchReported) (ids []string) {
	for _, c := range r.Choices {
		if _, signed := r.Signatures.Get(c.Name); c.Value != nil && !signed && s.Agents[c.Name].PublicKey != "" {
			ids = append(ids, c.Name)
		}
	}
	return ids
}

// NeedsProof tells whether Prove has anything to do. It is slow, and needs no lock.
func (c *Claim) NeedsProof() bool { return c.proof.relays }

// Prove verifies the signatures of a claim. Judge rejects a claim that they do not prove.
func (p *Reports) Prove(c *Claim) {
	if !c.NeedsProof() {
		return
	}
	if err := p.prove(c); err != nil {
		c.proof.fault = protocol.Fault(protocol.ErrInvalidFieldType, "%v", err)
	}
}

func (p *Reports) prove(c *Claim) error {
	r, keys := c.result, c.proof.keys
	at, err := p.lastMoves(r, c.ids)
	if err != nil {
		return err
	}
	switch needed := keys != [2]string{}; {
	case needed && r.Draw == nil:
		return errors.New("draw: it is missing, although players have signed its commitment")
	case needed && p.Game.MaxTurns() > 1 && len(r.Evidence.Moves) == 0:
		return errors.New("moves: they are missing, although players have signed them")
	}
	signed := make(protocol.PerPlayer[protocol.MoveSignature], 0, len(keys))
	for i, key := range keys {
		if key == "" {
			continue
		}
		if err := r.CheckSignature(c.proof.started, c.ids, key, at[i]); err != nil {
			return fmt.Errorf("signatures: that of %s: %w", c.ids[i], err)
		}
		c.proof.signed[i] = true
		signature, _ := r.Signatures.Get(c.ids[i])
		signed = append(signed, protocol.Member[protocol.MoveSignature]{Name: c.ids[i], Value: signature})
	}
	if r.Signatures = nil; len(signed) > 0 {
		r.Signatures = signed
		return c.checkEntropies()
	}
	return nil
}

// checkEntropies returns an error unless each entropy belongs to its commitment, which the
// signatures cover, and none is missing.
func (c *Claim) checkEntropies() error {
	r := c.result
	for _, id := range c.ids {
		commitment, _ := r.Draw.EntropyCommitments.Get(id)
		text, revealed := r.Draw.Entropies.Get(id)
		choice, _ := r.Choices.Get(id)
		entropy, ok := protocol.ParseSecret(text)
		switch {
		case !revealed && (commitment == "" || choice == nil):
		case !revealed:
			return fmt.Errorf("draw.entropies: that of %s is missing, although it made a commitment and a choice", id)
		case !ok || !protocol.OpensEntropy(commitment, r.MatchID.String(), id, entropy):
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
