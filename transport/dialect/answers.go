package dialect

import (
	"cmp"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
)

// Answer translates the response of our agent into the form of the request, and adds the
// members that third-party agents look for. It returns nil for nil, the answer to a
// notification.
func (q *Request) Answer(response []byte, f *Facts) []byte {
	o := protocol.ParseObject(response)
	if o == nil {
		return response
	}
	message := protocol.ParseObject(o.Get("result"))
	if message == nil {
		return q.answerError(o, response)
	}
	q.addAliases(&message, f)
	text := message.Append(nil)
	switch q.wrapping {
	case inNothing:
		return text
	case inTool:
		o.Set("result", toolResult(text, false))
	case inEnvelope:
		Fill(&message, "response", text)
		o.Set("result", message.Append(nil))
	default:
		o.Set("result", text)
		if q.readsParams(f) {
			Fill(&o, "method", protocol.Quote(strings.ToLower(message.Text("message_type"))))
			Fill(&o, "params", text)
		}
	}
	return o.Append(nil)
}

// answerError translates a response that is an error.
func (q *Request) answerError(o protocol.Object, response []byte) []byte {
	failure := protocol.ParseObject(o.Get("error"))
	if failure == nil {
		return response
	}
	q.refused = failure.Integer("code")
	data := protocol.ParseObject(failure.Get("data"))
	switch {
	case q.wrapping == inNothing:
		bare := protocol.Object{{Name: "error", Value: failure.Get("message")}}
		for _, m := range data {
			bare.Add(m.Name, m.Value)
		}
		return bare.Append(nil)
	case q.wrapping == inTool && data.Get("error_code") != nil: // the tool exists, and rejected the arguments
		return ResultBody(o.Raw("id"), toolResult(data.Append(nil), true))
	}
	return response
}

// BareError is the HTTP status and the body of an error as the answer to a message that
// was posted alone.
func BareError(response protocol.Object) (status int, body []byte) {
	q := &Request{wrapping: inNothing}
	body = q.answerError(response, nil)
	return q.HTTPStatus(), body
}

// HTTPStatus is the status of the answer to a message that was posted alone.
func (q *Request) HTTPStatus() int {
	if q.refused != 0 {
		return httpBadRequest
	}
	return httpOK
}

// QueryWithoutToken is the JSON-RPC code for a query without a token, or with a wrong
// one (004 §7).
const QueryWithoutToken = 6001

// toolResult is a message as the result of a tool of MCP.
func toolResult(message jsontext.Value, failed bool) jsontext.Value {
	content := protocol.Object{{Name: "type", Value: protocol.Quote("text")}, {Name: "text", Value: protocol.Quote(string(message))}}
	array := append(append([]byte{'['}, content.Append(nil)...), ']')
	return protocol.Object{{Name: "content", Value: array}, {Name: "isError", Value: encoded(failed)}}.Append(nil)
}

// addAliases adds what third-party agents look for in an answer.
func (q *Request) addAliases(message *protocol.Object, f *Facts) {
	p := &q.Params
	switch q.Kind {
	case protocol.TypeGameInvitation:
		Fill(message, "accepted", message.Get("accept"))
	case protocol.TypeChooseParityCall:
		Fill(message, "choice", message.Get("parity_choice"))
	case protocol.TypeGameOver:
		if result := resultFor(cmp.Or(f.Match.CalledAs, message.Text("player_id")), p); result != "" {
			Fill(message, "result", protocol.Quote(result))
		}
	case protocol.TypeRoundAnnouncement, protocol.TypeMatchResultReport, protocol.TypeStandingsUpdate, protocol.TypeRoundCompleted,
		protocol.TypeLeagueCompleted:
		if league := p.Get("league_id"); league.Kind() == '"' {
			Fill(message, "league_id", league)
		}
	}
}

// resultFor is the result of a match for a player: WIN, LOSS or DRAW; "" if GAME_OVER does
// not tell it.
func resultFor(playerID string, over *protocol.Object) string {
	result := protocol.ParseObject(over.Get("game_result"))
	switch {
	case result == nil || playerID == "":
		return ""
	case result.Text("status") == protocol.StatusDraw:
		return "DRAW"
	case result.Text("winner_player_id") == playerID:
		return "WIN"
	case result.Text("status") == protocol.StatusWin && result.Get("winner_player_id") == nil:
		return ""
	}
	return "LOSS"
}

// readsParams tells whether the caller looks for a reply in `params`: a caller that names
// methods by the message type in lower case does, for all replies of a match that
// are no acknowledgements.
func (q *Request) readsParams(f *Facts) bool {
	switch q.Kind {
	case protocol.TypeGameInvitation:
		return q.lowerCase()
	case protocol.TypeChooseParityCall, protocol.TypeGameMoveCall:
		return q.lowerCase() || f.Match.InParams
	}
	return false
}

// Learn returns what the answer to the request changes about its match; nil for nothing.
func (q *Request) Learn(response []byte, f *Facts) func(*Match) {
	p := &q.Params
	switch q.Kind {
	case protocol.TypeGameInvitation:
		if string(protocol.ParseObject(response).Object("result").Get("accept")) != "true" {
			return nil
		}
		return func(m *Match) {
			m.Referee, m.Game, m.InParams, m.Opponent = p.Text("sender"), p.Text("game_type"), q.lowerCase(), p.Text("opponent_id")
		}
	case protocol.TypeChooseParityCall:
		name := p.Text("player_id")
		if !f.thirdPartyManager() || name == cmp.Or(f.Match.CalledAs, f.AgentID) || !Succeeded(response) {
			return nil // our manager and its referees use the assigned id
		}
		return func(m *Match) { m.CalledAs = name }
	}
	return nil
}

// RunMatchAnswer is the result of a match as the answer to the request to run it.
func RunMatchAnswer(report *protocol.MatchResultReport) []byte {
	return protocol.Object{
		{Name: "match_id", Value: protocol.Quote(report.MatchID)}, {Name: "winner", Value: encoded(report.Result.Winner)},
		{Name: "result", Value: encoded(report.Result.GameResult())},
	}.Append(nil)
}
