package protocol

import (
	"slices"
	"strconv"

	"evenodd/league/lists"
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
	return slices.Contains([]string{"accept", "parity_choice", "move_data", "move_data.choice"}, member)
}

// ReplyBreach returns the error of a player's reply that deviates from the rules of its members or
// from to; nil for none. The meaning of such a reply can be clear nevertheless. A reply of the same
// process was not decoded and can deviate from to only.
func (m *Method[Q, R]) ReplyBreach(r *R, to ReplyTo) *Error {
	reply := any(r).(playerReply)
	e := reply.envelope()
	return to.breach(e, reply.player(), e.breaches)
}

// Recorded reads a reply from its JSON, as a carrier reads it: members that cannot be read are listed in its envelope.
func (m *Method[Q, R]) Recorded(raw []byte) (*R, error) {
	r, err := m.decode(raw)
	if err != nil {
		return nil, err
	}
	return r.(*R), nil
}

// RecordedBreach is ReplyBreach for the JSON of a reply to a method.
func RecordedBreach(method string, raw []byte, to ReplyTo) *Error {
	var reply GameJoinAck // each reply has its envelope and its player_id
	_ = decodeLeniently(raw, &reply)
	i := slices.IndexFunc(methodRows, func(m MethodRow) bool { return m.Name == method })
	return to.breach(&reply.Envelope, reply.PlayerID, Examine(methodRows[i].Result, raw))
}

// breach returns the error of a reply with broken members.
func (to *ReplyTo) breach(e *Envelope, player string, broken []FieldError) *Error {
	broken = lists.Filter(broken, func(f FieldError) bool { return !meaningful(f.Field) })
	got := [...]string{e.Sender, e.ConversationID, player}
	must := [len(got)]string{PlayerSender(to.PlayerID), to.ConversationID, to.PlayerID}
	for i, name := range [len(got)]string{"sender", "conversation_id", "player_id"} {
		said := slices.ContainsFunc(broken, func(f FieldError) bool { return f.Field == name })
		if got[i] != must[i] && !said {
			rule := "exactly " + strconv.Quote(must[i])
			broken = append(broken, FieldError{Field: name, Rule: rule, Got: clip(got[i]), kind: breachValue})
		}
	}
	switch {
	case len(broken) > 0:
		return brokenFields(broken)
	case to.AccessToken == "" || SameToken(e.AuthToken, to.AccessToken):
		return nil
	case e.AuthToken == "" || e.AuthToken == NoToken:
		return Fault(ErrTokenMissing, "auth_token must be that of the question")
	}
	return Fault(ErrTokenInvalid, "auth_token is not that of the question")
}
