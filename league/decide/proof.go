package decide

import (
	"errors"
	"fmt"
	"slices"

	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/rules"
)

// A proof is what the signatures of a report must show. The zero proof needs none.
type proof struct {
	started string          // the hash of the event that started the league
	keys    [2]string       // of the players whose choices need a signature; "" for a player that needs none
	course  *rules.Course   // of a game of several turns, by the moves of the report; nil if they are not known
	fault   *protocol.Error // why the signatures do not prove the report; nil if they do
}

// proofOf is the proof that a report needs: a referee that relays signatures reports no
// choice of a player with a key without one. A result keeps only signatures that Prove
// verifies, so it loses those of a referee that relays none.
func (p *Reports) proofOf(s *journal.State, r *journal.MatchReported, ids [2]string, started string) (n proof) {
	if !s.Created.Signs() || !s.Agents[r.RefereeID].RelaysSignatures {
		r.Signatures, r.Evidence.Moves = nil, nil
		return n
	}
	n.started = started
	for i, id := range ids {
		if choice, _ := r.Choices.Get(id); choice != nil {
			n.keys[i] = s.Agents[id].PublicKey
		}
	}
	return n
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
func (c *Claim) NeedsProof() bool { return c.proof.started != "" }

// Prove verifies the signatures of a claim, and replays the moves of a game of several
// turns. Judge rejects a claim that they do not prove.
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
	at, err := p.lastMoves(c)
	if err != nil {
		return err
	}
	signed := make(protocol.PerPlayer[protocol.MoveSignature], 0, len(keys))
	for i, key := range keys {
		if key == "" {
			continue
		}
		if err := r.CheckSignature(c.proof.started, c.ids, key, at[i]); err != nil {
			return fmt.Errorf("signatures: that of %s: %w", c.ids[i], err)
		}
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
func (p *Reports) lastMoves(c *Claim) (at [2]journal.SignedMove, err error) {
	r := c.result
	at = [2]journal.SignedMove{{Player: 0, Turn: 1}, {Player: 1, Turn: 1}}
	needed := c.proof.keys != [2]string{}
	switch {
	case needed && r.Draw == nil:
		return at, errors.New("draw: it is missing, although players have signed its commitment")
	case p.Game.MaxTurns() == 1:
		r.Evidence.Moves = nil
		return at, nil
	case !needed && len(r.Evidence.Moves) == 0:
		return at, nil // neither player signs
	}
	moves := make([]rules.Move, len(r.Evidence.Moves))
	for i, m := range r.Evidence.Moves {
		moves[i] = rules.Move{Side: rules.Side(slices.Index(c.ids[:], m.PlayerID)), Text: m.Move}
	}
	course, err := rules.Replay(p.Game, moves)
	if err != nil {
		return at, fmt.Errorf("moves: %w", err)
	}
	for i, last := range course.Last {
		if choice, _ := r.Choices.Get(c.ids[i]); protocol.ValueOf(choice) != last.Text {
			return at, fmt.Errorf("moves: the last one of %s is %.40q, not %.40q", c.ids[i], last.Text, protocol.ValueOf(choice))
		}
		at[i].Turn, at[i].Before = last.Turn, last.Before
	}
	if !course.Over() && r.Status != protocol.StatusTechnicalLoss {
		return at, errors.New("moves: the game is not over")
	}
	c.proof.course = course
	return at, nil
}

// distrust removes all that a referee claims in a report that its signatures do not prove.
// If no other referee conducts the match, it is a draw without choices.
func (c *Claim) distrust() {
	r := c.result
	r.GameResult = protocol.GameResult{
		Status: protocol.StatusDraw, Choices: protocol.Both[*string](c.ids[0], nil, c.ids[1], nil),
		Reason: "the referee did not prove its result",
	}
	r.Score = protocol.Both(c.ids[0], 0, c.ids[1], 0)
	r.Draw, r.Evidence = nil, protocol.Evidence{}
}
