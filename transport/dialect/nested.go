package dialect

import (
	"cmp"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
)

// An edition of the exercise prints the messages of a match with other members:
// game_invitation holds members that the specification has at the top, parity_context is
// the specification's context, and all have league_id and round_id.

// nestedInvitation are the members of game_invitation.
var nestedInvitation = []string{"game_type", "match_id", "role_in_match", "opponent_id"}

// Nest returns a message with the members of that edition beside its own. League is the
// id of the league, if the message has none; "" if it is not known.
func Nest(message jsontext.Value, league string) jsontext.Value {
	m := protocol.ParseObject(message)
	switch kind := m.Text("message_type"); kind {
	case protocol.TypeGameInvitation:
		m.Set(byType[kind].nested, only(protocol.ParseObject(message), nestedInvitation...).Append(nil))
	case protocol.TypeChooseParityCall:
		context := m.Object("context")
		context.Fill("valid_options", jsontext.Value(`["even","odd"]`))
		m.Set(byType[kind].nested, context.Append(nil))
	}
	m.FillText("league_id", cmp.Or(league, UsualLeague))
	m.Fill("round_id", encoded(roundOf(m.Text("match_id"))))
	return m.Append(nil)
}
