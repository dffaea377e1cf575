package dialect

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/transport"
)

// Answer translates the response of our agent into the form of the request, and adds the
// members that third-party agents look for. It returns nil for nil, the answer to a
// notification. Learn changes what is known of the match; nil for no change.
func (q *Request) Answer(response []byte, f *Facts) (answer []byte, learn func(*Match)) {
	o := protocol.ParseObject(response)
	if o == nil {
		return response, nil
	}
	message := protocol.ParseObject(o.Get("result"))
	if message == nil {
		return q.answerError(o, response), nil
	}
	learn = q.learn(message)
	q.addAliases(&message)
	text := message.Append(nil)
	switch q.wrapping {
	case inNothing:
		return text, learn
	case inTool:
		o.Set("result", toolResult(text, false))
	case inEnvelope:
		message.Fill("response", text)
		o.Set("result", message.Append(nil))
	default:
		o.Set("result", text)
		if q.readsParams(f) {
			o.FillText("method", strings.ToLower(message.Text("message_type")))
			o.Fill("params", text)
		}
	}
	return o.Append(nil), learn
}

// answerError translates a response that is an error.
func (q *Request) answerError(o protocol.Object, response []byte) []byte {
	failure := protocol.ParseObject(o.Get("error"))
	if failure == nil {
		return response
	}
	data := protocol.ParseObject(failure.Get("data"))
	switch {
	case q.wrapping == inNothing:
		bare := protocol.Object{{Name: "error", Value: failure.Get("message")}}
		for _, m := range data {
			bare.Add(m.Name, m.Value)
		}
		return bare.Append(nil)
	case q.wrapping == inTool && data.Get("error_code") != nil: // the tool exists, and rejected the arguments
		return transport.ResultBody(toolResult(data.Append(nil), true), o.Raw("id"))
	}
	return response
}

// BareError is a response with an error as the answer to a message that was posted alone.
func BareError(response []byte) []byte {
	q := &Request{wrapping: inNothing}
	return q.answerError(protocol.ParseObject(response), response)
}

// toolResult is a message as the result of a tool of MCP.
func toolResult(message jsontext.Value, failed bool) jsontext.Value {
	content := protocol.Object{
		{Name: "type", Value: protocol.Quote("text")}, {Name: "text", Value: protocol.Quote(string(message))},
	}
	array := append(append([]byte{'['}, content.Append(nil)...), ']')
	return protocol.Object{{Name: "content", Value: array}, {Name: "isError", Value: encoded(failed)}}.Append(nil)
}

// addAliases adds what third-party agents look for in an answer.
func (q *Request) addAliases(message *protocol.Object) {
	p := &q.Params
	switch q.Kind {
	case protocol.TypeGameInvitation:
		message.Fill("accepted", message.Get("accept"))
	case protocol.TypeChooseParityCall:
		message.Fill("choice", message.Get("parity_choice"))
	case protocol.TypeGameOver:
		if result := resultFor(message.Text("player_id"), p); result != "" {
			message.FillText("result", result)
		}
	case protocol.TypeRoundAnnouncement, protocol.TypeMatchResultReport, protocol.TypeStandingsUpdate,
		protocol.TypeRoundCompleted, protocol.TypeLeagueCompleted:
		if league := p.Get("league_id"); league.Kind() == '"' {
			message.Fill("league_id", league)
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
	case result.Text("status") == league.StatusDraw:
		return "DRAW"
	case result.Text("winner_player_id") == playerID:
		return "WIN"
	case result.Text("status") == league.StatusWin && result.Get("winner_player_id") == nil:
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

// learn returns what a result of the request changes about its match; nil for nothing.
func (q *Request) learn(message protocol.Object) func(*Match) {
	p := &q.Params
	if q.Kind != protocol.TypeGameInvitation || string(message.Get("accept")) != "true" {
		return nil
	}
	return func(m *Match) {
		m.Referee, m.Game, m.Opponent = p.Text("sender"), p.Text("game_type"), p.Text("opponent_id")
		m.InParams = q.lowerCase()
	}
}

// RunMatchAnswer is the result of a match as the answer to the request to run it.
func RunMatchAnswer(report *protocol.MatchResultReport) []byte {
	return protocol.Object{
		{Name: "match_id", Value: protocol.Quote(report.MatchID)}, {Name: "winner", Value: encoded(report.Result.WinnerPlayerID)},
		{Name: "result", Value: encoded(report.Result.Result)},
	}.Append(nil)
}
