package protocol

import (
	"slices"
	"strconv"
	"unsafe"

	"github.com/go-json-experiment/json"
)

// A playerReply is the answer of a player to a question of its referee.
type playerReply interface {
	message
	player() string
}

func (a *GameJoinAck) player() string          { return a.PlayerID }
func (a *ChooseParityResponse) player() string { return a.PlayerID }
func (a *GameMoveResponse) player() string     { return a.PlayerID }

// A ReplyTo is what a player's reply must match. AccessToken is "" if the reply needs none.
type ReplyTo struct{ ConversationID, PlayerID, AccessToken string }

// meaningful tells whether a reply has no meaning without a member. The referee judges these
// members, whatever form the league demands.
func meaningful(member string) bool {
	switch member {
	case "accept", "parity_choice", "move_data", "move_data.choice":
		return true
	}
	return false
}

// ReplyBreach returns the error of a player's reply that deviates from the field table or from to;
// nil for none. The meaning of such a reply can be clear nevertheless.
func (m *Method[Q, R]) ReplyBreach(r *R, to ReplyTo) *Error {
	reply := any(r).(playerReply)
	e := reply.envelope()
	if e.broken == nil && e.Sender == PlayerSender(to.PlayerID) && e.ConversationID == to.ConversationID && reply.player() == to.PlayerID &&
		(to.AccessToken == "" || SameToken(e.AuthToken, to.AccessToken)) &&
		allHold(m.replyChecks, unsafe.Pointer(r)) { //nolint:gosec // these are the checks of an R
		return nil
	}
	raw, err := json.Marshal(r)
	if err != nil {
		return Fault(ErrInvalidFieldType, "the message cannot be encoded")
	}
	return replyBreach(m.Result, raw, e.broken, to)
}

// RecordedBreach is ReplyBreach for the JSON of a reply to a method.
func RecordedBreach(method string, raw []byte, to ReplyTo) *Error {
	i := slices.IndexFunc(methodRows, func(m MethodRow) bool { return m.Name == method })
	return replyBreach(methodRows[i].Result, raw, nil, to)
}

// replyBreach finds all breaches. Raw lacks the unreadable members.
func replyBreach(messageType string, raw []byte, unreadable []FieldError, to ReplyTo) *Error {
	var broken []FieldError
	add := func(f FieldError) {
		if !meaningful(f.Field) && !slices.ContainsFunc(broken, func(b FieldError) bool { return b.Field == f.Field }) {
			broken = append(broken, f)
		}
	}
	members := shapes[messageType].fields
	for _, f := range unreadable {
		if i := slices.IndexFunc(members, func(m field) bool { return m.name == f.Field }); i >= 0 {
			f.kind = members[i].breach()
		}
		add(f)
	}
	for _, f := range Examine(messageType, raw) {
		add(f)
	}
	reply := ParseObject(raw)
	for _, must := range [...]struct{ name, be string }{
		{"sender", PlayerSender(to.PlayerID)}, {"conversation_id", to.ConversationID}, {"player_id", to.PlayerID},
	} {
		if got := reply.Text(must.name); got != must.be {
			add(FieldError{Field: must.name, Rule: "exactly " + strconv.Quote(must.be), Got: clip(got), kind: breachValue})
		}
	}
	token := reply.Text("auth_token")
	switch {
	case len(broken) > 0:
		return brokenFields(broken)
	case to.AccessToken == "" || SameToken(token, to.AccessToken):
		return nil
	case token == "" || token == NoToken:
		return Fault(ErrTokenMissing, "auth_token must be that of the question")
	}
	return Fault(ErrTokenInvalid, "auth_token is not that of the question")
}
