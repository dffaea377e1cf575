package dialect

import (
	"cmp"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
)

// adorn puts an answer, which is a JSON-RPC response, into the form in which the
// request was put, with the members that other makers look for beside those of
// the protocol. Nil, the answer to a notification, stays nil.
func (o *own) adorn(q *incoming, answer []byte) []byte {
	response := objectOf(answer)
	if response == nil {
		return answer
	}
	message := objectOf(response.get("result"))
	if message == nil {
		return q.refuse(response, answer)
	}
	o.enrich(q, &message)
	text := message.appendTo(nil)
	switch q.wrapped {
	case inNothing:
		return text
	case inTool:
		response.set("result", toolResult(text, false))
	case inEnvelope:
		message.fill("response", text)
		response.set("result", message.appendTo(nil))
	default:
		response.set("result", text)
		if o.readsRequests(q) { // shaped as a request, for those who read replies so, beside the result
			response.fill("method", quoted(strings.ToLower(message.text("message_type"))))
			response.fill("params", text)
		}
	}
	return response.appendTo(nil)
}

// refuse wraps a response that is an error.
func (q *incoming) refuse(response object, answer []byte) []byte {
	failure := objectOf(response.get("error"))
	if failure == nil {
		return answer
	}
	q.refused = failure.number("code")
	data := objectOf(failure.get("data"))
	switch {
	case q.wrapped == inNothing:
		bare := object{{"error", failure.get("message")}}
		for _, m := range data {
			bare.fill(m.name, m.value)
		}
		return bare.appendTo(nil)
	case q.wrapped == inTool && data.get("error_code") != nil: // the tool is there, and was not content
		return object{{"jsonrpc", response.raw("jsonrpc")}, {"result", toolResult(data.appendTo(nil), true)}, {"id", response.raw("id")}}.appendTo(nil)
	}
	return answer
}

// toolResult is a message as the result of a tool of MCP.
func toolResult(message jsontext.Value, failed bool) jsontext.Value {
	content := object{{"type", quoted("text")}, {"text", quoted(string(message))}}
	list := append(append([]byte{'['}, content.appendTo(nil)...), ']')
	return object{{"content", list}, {"isError", encoded(failed)}}.appendTo(nil)
}

// enrich adds what other makers look for in an answer, and learns from it who
// conducts a match.
func (o *own) enrich(q *incoming, message *object) {
	p := &q.params
	switch q.kind {
	case protocol.TypeGameInvitation:
		if accept := message.get("accept"); accept != nil {
			message.fill("accepted", accept)
		}
		if string(message.get("accept")) == "true" {
			o.learn(p.text("match_id"), func(a *acquaintance) {
				a.sender, a.game, a.asked, a.opponent = p.text("sender"), p.text("game_type"), q.lowered(), p.text("opponent_id")
			})
		}
	case protocol.TypeChooseParityCall:
		if choice := message.get("parity_choice"); choice != nil {
			message.fill("choice", choice)
		}
		o.learnName(p)
	case protocol.TypeGameOver:
		if won := outcomeFor(cmp.Or(o.match(p.text("match_id")).calledAs, message.text("player_id")), p); won != "" {
			message.fill("result", quoted(won))
		}
	case protocol.TypeMatchAssignment:
		message.set("status", quoted(startedWord(q.named, message.text("status"))))
	case protocol.TypeRoundAnnouncement:
		o.hearGame(*p)
		fallthrough
	case protocol.TypeMatchResultReport, protocol.TypeStandingsUpdate, protocol.TypeRoundCompleted, protocol.TypeLeagueCompleted:
		if league := p.get("league_id"); league.Kind() == '"' {
			message.fill("league_id", league)
		}
	}
}

// learnName remembers the id by which the referee of a match calls this player, if it is
// not the one that the manager assigned. Where the manager proves itself, ids agree.
func (o *own) learnName(question *object) {
	match, name, at := question.text("match_id"), question.text("player_id"), o.place()
	if at != nil && !at.strict && name != cmp.Or(o.match(match).calledAs, at.agentID) {
		o.learn(match, func(a *acquaintance) { a.calledAs = name })
	}
}

// outcomeFor is how a match ended for a player: WIN, LOSS, DRAW, or "" where it
// does not say.
func outcomeFor(playerID string, over *object) string {
	result := objectOf(over.get("game_result"))
	switch {
	case result == nil || playerID == "":
		return ""
	case result.text("status") == protocol.StatusDraw:
		return "DRAW"
	case result.text("winner_player_id") == playerID:
		return "WIN"
	case result.text("status") == protocol.StatusWin && !result.holds("winner_player_id"):
		return ""
	}
	return "LOSS"
}

// lowered tells whether a method was called by the type of its message, in lower
// case.
func (q *incoming) lowered() bool {
	lower := strings.ToLower(q.kind)
	return q.wrapped == inCall && q.named == lower
}

// readsRequests tells whether a caller may look for a reply in `params`: those
// who call methods by the message type in lower case do, throughout a match, for
// the replies that have a message type of their own and are no acknowledgements.
func (o *own) readsRequests(q *incoming) bool {
	switch q.kind {
	case protocol.TypeGameInvitation:
		return q.lowered()
	case protocol.TypeChooseParityCall, protocol.TypeGameMoveCall:
		return q.lowered() || o.match(q.params.text("match_id")).asked
	}
	return false
}
