package dialect

import (
	"cmp"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
)

// nested are the messages that an edition of the exercise prints with other members, and
// one of these members: game_invitation holds members that the specification has at
// the top, parity_context is its context, and all have league_id and round_id.
var nested = map[string]string{
	protocol.TypeGameInvitation:   "game_invitation",
	protocol.TypeChooseParityCall: "parity_context",
	protocol.TypeGameOver:         "league_id",
}

// nestedInvitation are the members of game_invitation.
var nestedInvitation = []string{"game_type", "match_id", "role_in_match", "opponent_id"}

// HasNested tells whether the message of a method has another form with nested members.
func (m *Method) HasNested() bool { return nested[m.Request] != "" }

// Nest returns a message with the members of that edition beside its own. League is the
// id of the league, if the message has none; "" if it is not known.
func Nest(message jsontext.Value, league string) jsontext.Value {
	m := protocol.ParseObject(message)
	switch kind := m.Text("message_type"); kind {
	case protocol.TypeGameInvitation:
		m.Set(nested[kind], only(protocol.ParseObject(message), nestedInvitation...).Append(nil))
	case protocol.TypeChooseParityCall:
		context := m.Object("context")
		Fill(&context, "valid_options", jsontext.Value(`["even","odd"]`))
		m.Set(nested[kind], context.Append(nil))
	}
	Fill(&m, "league_id", protocol.Quote(cmp.Or(league, UsualLeague)))
	Fill(&m, "round_id", encoded(roundOf(m.Text("match_id"))))
	return m.Append(nil)
}
