package record

import (
	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/rules"
	"evenodd/rules/evenodd"
)

// A Draw is the draw of a match, with its commitment computed again.
type Draw struct {
	*protocol.Draw

	CommitmentHolds bool `json:"commitment_holds"` // the nonce is that of the commitment
}

// A RecomputedDraw is a draw with its number computed again.
type RecomputedDraw struct {
	Draw

	Number *int `json:"number"` // null if it cannot be computed, or the game draws none
}

// NewDraw computes the commitment of an attempt's draw again; nil for no draw.
func NewDraw(d *protocol.Draw, leagueID, matchID string, attempt int, refereeID string) *Draw {
	if d == nil {
		return nil
	}
	_, opens := protocol.OpensDraw(d.Commitment, leagueID, matchID, attempt, refereeID, d.Nonce)
	return &Draw{d, opens}
}

// recomputeDraw computes the draw of a match again; nil if the file has none.
func recomputeDraw(doc *store.Match) *RecomputedDraw {
	draw := NewDraw(doc.Draw, doc.LeagueID, doc.MatchID, doc.Attempt, doc.RefereeID)
	if draw == nil {
		return nil
	}
	d := &RecomputedDraw{Draw: *draw}
	nonce, ok := protocol.ParseSecret(draw.Nonce)
	if !ok || doc.GameType != evenodd.Type || doc.Result == nil || doc.Result.Status == league.StatusTechnicalLoss {
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
