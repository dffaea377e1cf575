package dialect

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
)

// A question is what is known of a method that is called: its messages, and the
// names it goes by elsewhere.
type question struct {
	method  string
	request string   // message type
	answer  string   // the same, of the result
	others  []string // names of the method that were seen, or are likely
	notice  bool     // nothing depends on its answer
}

// questionOf is what is known of a method; false for the tools, which every agent
// has in its own way or not at all.
func questionOf(method string) (question, bool) {
	for i := range questions {
		if questions[i].method == method {
			return questions[i], true
		}
	}
	return question{}, false
}

// questions are the methods that have messages. Names as they were seen at agents
// of other makers, and those that follow from them by analogy.
var questions = [...]question{
	{protocol.ChooseParity.Name, protocol.TypeChooseParityCall, protocol.TypeChooseParityResponse,
		[]string{"parity_choose", "receive_parity_call", "parity_call"}, false},
	{protocol.Invite.Name, protocol.TypeGameInvitation, protocol.TypeGameJoinAck,
		[]string{"receive_game_invitation"}, false},
	{protocol.NotifyMatchResult.Name, protocol.TypeGameOver, protocol.TypeGameOverAck,
		[]string{"receive_game_over", "handle_game_over"}, true},
	{protocol.MakeMove.Name, protocol.TypeGameMoveCall, protocol.TypeGameMoveResponse,
		[]string{"receive_move_call", "receive_game_move_call"}, false},
	{protocol.ReportMatchResult.Name, protocol.TypeMatchResultReport, protocol.TypeMatchResultAck,
		[]string{"receive_match_result", "receive_match_result_report"}, false},
	{protocol.NotifyRound.Name, protocol.TypeRoundAnnouncement, protocol.TypeRoundAnnouncementAck,
		[]string{"receive_round_announcement"}, true},
	{protocol.UpdateStandings.Name, protocol.TypeStandingsUpdate, protocol.TypeStandingsUpdateAck,
		[]string{"receive_standings_update", "standings_update"}, true},
	{protocol.NotifyRoundCompleted.Name, protocol.TypeRoundCompleted, protocol.TypeRoundCompletedAck,
		[]string{"receive_round_completed"}, true},
	{protocol.NotifyLeagueCompleted.Name, protocol.TypeLeagueCompleted, protocol.TypeLeagueCompletedAck,
		[]string{"receive_league_completed"}, true},
	{protocol.NotifyGameError.Name, protocol.TypeGameError, protocol.TypeGameErrorAck,
		[]string{"receive_game_error"}, true},
	{protocol.RegisterPlayer.Name, protocol.TypeLeagueRegisterRequest, protocol.TypeLeagueRegisterResponse,
		[]string{"league_register", "receive_league_register_request"}, false},
	{protocol.RegisterReferee.Name, protocol.TypeRefereeRegisterRequest, protocol.TypeRefereeRegisterResponse,
		[]string{"referee_register", "receive_referee_register_request"}, false},
	{protocol.Query.Name, protocol.TypeLeagueQuery, protocol.TypeLeagueQueryResponse,
		[]string{"receive_league_query"}, false},
}

// A style is a way to put all questions.
type style int

const (
	styleOwn     style = iota // by the name of the protocol
	styleType                 // by the message type
	styleLower                // by the message type in lower case
	styleName                 // by one of the other names
	styleBrief                // by the name of the protocol, without what ours add to the message
	styleSpelled              // by the name of the protocol, the members in all spellings
	styleMCP                  // by mcp_message (spec 003 §5.11.2)
	styleHandle               // by handle_message, the message in params.message
	styleTool                 // by tools/call, as MCP has it
	styleBare                 // by the message alone, without JSON-RPC
)

// A form is one way to put one question.
type form struct {
	style style
	name  string // of the method, or the tool
	path  string // where it is posted; "" for the endpoint itself
}

// String names a form for people.
func (f form) String() string {
	switch f.style {
	case styleBrief:
		return f.name + " without additions"
	case styleSpelled:
		return f.name + " in camelCase"
	case styleTool:
		return "tools/call " + f.name
	case styleHandle:
		return handleMessage
	case styleMCP:
		return mcpMessage
	case styleBare:
		return "the message without JSON-RPC" + strings.Replace(f.path, "/", " at /", 1)
	}
	return f.name
}

const (
	mcpMessage    = "mcp_message"
	handleMessage = "handle_message"
)

// forms are the ways to put a question, the protocol's first: about a dozen.
func (q *question) forms() []form {
	all := []form{
		{style: styleOwn, name: q.method},
		{style: styleType, name: q.request},
		{style: styleLower, name: strings.ToLower(q.request)},
	}
	for _, name := range q.others {
		all = append(all, form{style: styleName, name: name})
	}
	return append(all,
		form{style: styleBrief, name: q.method},
		form{style: styleSpelled, name: q.method},
		form{style: styleMCP, name: mcpMessage},
		form{style: styleHandle, name: handleMessage},
		form{style: styleTool, name: q.method},
		form{style: styleBare},
	)
}

// byStyle puts the forms of a style first, and leaves the others in their order.
// A notice is put to those who speak JSON-RPC in no other wrapping, and the other
// way round: many refuse it under any name, and nothing is lost by it.
func byStyle(all []form, first style, notice bool) []form {
	ordered := make([]form, 0, len(all))
	for _, f := range all {
		if f.style == first {
			ordered = append(ordered, f)
		}
	}
	for _, f := range all {
		if f.style != first && (!notice || f.style.wrapping() == first.wrapping()) {
			ordered = append(ordered, f)
		}
	}
	return ordered
}

// wrapping is what a style shares with those that differ from it in names alone.
func (s style) wrapping() style {
	if s <= styleMCP {
		return styleOwn
	}
	return s
}

// rewrites tells whether a form changes the message itself.
func (f form) rewrites() bool { return f.style == styleBrief || f.style == styleSpelled }

// encode puts a message into the form of a request.
func (f form) encode(message, id []byte) []byte {
	switch f.style {
	case styleBrief:
		message = brief(message)
	case styleSpelled:
		message = inAllSpellings(message)
	}
	b := make([]byte, 0, len(message)+128)
	switch f.style {
	case styleBare:
		return append(b, message...)
	case styleHandle:
		b = append(append(b, `{"jsonrpc":"2.0","method":"`+handleMessage+`","params":{"message":`...), message...)
		b = append(b, '}')
	case styleTool:
		b = append(append(b, `{"jsonrpc":"2.0","method":"tools/call","params":{"name":`...), quoted(f.name)...)
		b = append(append(append(b, `,"arguments":`...), message...), '}')
	default:
		b = append(append(b, `{"jsonrpc":"2.0","method":`...), quoted(f.name)...)
		b = append(append(b, `,"params":`...), message...)
	}
	return append(append(append(b, `,"id":`...), id...), '}')
}

// A request is one that goes out in the form of the protocol, taken apart.
type request struct {
	method  string
	message jsontext.Value // the params
	id      []byte
}

// cutRequest takes a request in the plain form of the protocol apart, without
// reading its message: whether that is JSON shows when it is read.
func cutRequest(body []byte) (q request, ok bool) {
	rest, ok := bytes.CutPrefix(body, []byte(requestHead))
	if !ok || !bytes.HasSuffix(rest, []byte("}")) {
		return request{}, false
	}
	method, rest, ok := bytes.Cut(rest[:len(rest)-1], []byte(paramsHead))
	end := bytes.LastIndex(rest, []byte(idHead))
	if !ok || end < 0 {
		return request{}, false
	}
	return request{method: string(method), message: rest[:end], id: rest[end+len(idHead):]}, true
}

// How a request in plain form begins and ends.
const (
	requestHead = `{"jsonrpc":"2.0","method":"`
	paramsHead  = `","params":`
	idHead      = `,"id":`
)
