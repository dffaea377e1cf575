package page

import (
	"encoding/hex"
	"strconv"

	"evenodd/league/protocol"
	"evenodd/league/view/record"
	"evenodd/rules"
	"evenodd/rules/evenodd"
)

// A matchDraw is the draw of a match with all that a reader needs to compute it again.
type matchDraw struct {
	*record.Conversation

	Nonce, Commitment  string
	EntropyA, EntropyB string
	Number             string // of the result; "" for none

	// The bytes whose hashes are the commitment and the number, in hexadecimal; "" if a value
	// is not valid, or there is no number.
	CommitmentInput, NumberInput string
}

// matchDrawOf is the draw of a conversation; nil for none.
func matchDrawOf(c *record.Conversation) *matchDraw {
	if c.Draw == nil {
		return nil
	}
	entropy := func(id string) string {
		text, _ := c.Draw.Entropies.Get(id)
		return digestOnly(text)
	}
	d := &matchDraw{
		Conversation: c, Nonce: digestOnly(c.Draw.Nonce), Commitment: digestOnly(c.Draw.Commitment),
		EntropyA: entropy(c.PlayerA.PlayerID), EntropyB: entropy(c.PlayerB.PlayerID),
	}
	nonce, ok := protocol.ParseSecret(d.Nonce)
	if !ok {
		return d
	}
	d.CommitmentInput = hex.EncodeToString(protocol.DrawInput(c.LeagueID, c.MatchID, c.Attempt, c.RefereeID, nonce))
	if c.GameType == evenodd.Type && c.Result != nil && c.Result.DrawnNumber != nil {
		d.Number = strconv.Itoa(*c.Result.DrawnNumber)
		a, _ := protocol.ParseSecret(d.EntropyA) // none is zeros
		b, _ := protocol.ParseSecret(d.EntropyB)
		d.NumberInput = hex.EncodeToString(evenodd.NumberInput(rules.Chance{Nonce: nonce, EntropyA: a, EntropyB: b}))
	}
	return d
}

// digestOnly is a text of 64 hexadecimal digits; "" for any other.
func digestOnly(text string) string {
	if _, ok := protocol.ParseSecret(text); !ok {
		return ""
	}
	return text
}
