package record

import (
	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/rules"
	"evenodd/rules/evenodd"
)

// A RecomputedDraw is the draw of a match, computed again.
type RecomputedDraw struct {
	*protocol.Draw
	CommitmentHolds bool `json:"commitment_holds"`
	Number          *int `json:"number"` // null if it cannot be computed, or the game draws none
}

// recomputeDraw computes the draw of a match again; nil if the file has none.
func recomputeDraw(doc *store.Match) *RecomputedDraw {
	if doc.Draw == nil {
		return nil
	}
	d := &RecomputedDraw{Draw: doc.Draw}
	nonce, ok := protocol.ParseSecret(doc.Draw.Nonce)
	if !ok {
		return d
	}
	d.CommitmentHolds = protocol.OpensDraw(doc.Draw.Commitment, doc.LeagueID, doc.MatchID, doc.Attempt,
		doc.RefereeID, nonce)
	if doc.GameType != evenodd.Type || doc.Result == nil || doc.Result.Status == league.StatusTechnicalLoss {
		return d
	}
	players := [2]string{doc.PlayerA.PlayerID, doc.PlayerB.PlayerID}
	start := evenodd.Game{}.Start()
	for side, move := range doc.Result.Moves(players) {
		if start.Check(rules.Side(side), move) != nil {
			return d
		}
	}
	number := evenodd.Number(rules.Chance{Nonce: nonce, EntropyA: entropyOf(doc, players[0]),
		EntropyB: entropyOf(doc, players[1])})
	d.Number = &number
	return d
}

// entropyOf is the entropy of a player in the draw: zeros for none.
func entropyOf(doc *store.Match, player string) protocol.Secret {
	text, _ := doc.Draw.Entropies.Get(player)
	secret, _ := protocol.ParseSecret(text)
	return secret
}
