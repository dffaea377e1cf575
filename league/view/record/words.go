package record

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/lists"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/words"
)

// FormatInWords is the format of a league for people: "round-robin, 2 legs, openings of 6 plies".
func FormatInWords(d *journal.Created) string {
	text := formatOf(d.Tournament, d.Legs)
	if d.Openings > 0 {
		text += ", openings of " + words.Counted(d.Openings, "ply")
	}
	return text
}

func formatOf(t *journal.Tournament, legs int) string {
	switch {
	case t.IsSwiss():
		return "Swiss system"
	case t.HasBracket():
		return strings.ReplaceAll(t.Format(), "-", " ")
	case t.IsGauntlet():
		return fmt.Sprintf("gauntlet of %d, %s", t.Gauntlet, words.Counted(legs, "leg"))
	case t.IsSequential():
		return fmt.Sprintf("round-robin, at most %d legs", legs)
	case legs > 1:
		return fmt.Sprintf("round-robin, %d legs", legs)
	}
	return "round-robin"
}

// Milliseconds is a duration for people: "< 1 ms", "2.5 ms", "12 ms", "3.2 s".
func Milliseconds(ms float64) string {
	switch {
	case ms >= 10000:
		return fmt.Sprintf("%.0f s", ms/1000)
	case ms >= 999.5:
		return fmt.Sprintf("%.1f s", ms/1000)
	case ms >= 10:
		return fmt.Sprintf("%.0f ms", ms)
	case ms < 0.05:
		return "< 1 ms" // the times of old transcripts are whole milliseconds
	}
	return fmt.Sprintf("%.1f ms", ms)
}

// NoEvent is the error for a league whose journal has no event.
func NoEvent(leagueID string) error {
	return fmt.Errorf("league %s has no event yet: its manager begins it now, or ended before it could. "+
		"Try again in a moment", leagueID)
}

// ChampionLine names the champions of a league that is over.
func (l *League) ChampionLine() string {
	return ChampionLine(l.Standings(), l.Champion())
}

// ChampionLine names the champion, or all players that share the first rank, and the
// tie-break that decided: "Champion: Ann (P03) with 9 points, on head-to-head".
func ChampionLine(rows []league.Standing, champion league.Champion) string {
	if !rows[0].Tied {
		return fmt.Sprintf("Champion: %s (%s) with %s", rows[0].Name(), champion.PlayerID,
			words.Counted(champion.Points, "point")) + Because(champion)
	}
	first := lists.Filter(rows, func(r league.Standing) bool { return r.Rank == rows[0].Rank })
	sharing := lists.Map(first, func(r league.Standing) string { return r.Name() + " (" + r.PlayerID + ")" })
	return fmt.Sprintf("Champion: %s with %s", league.SharedBy(sharing), words.Counted(rows[0].Points, "point"))
}

// Because adds the reason, which may be the text of a third-party manager.
func Because(c league.Champion) string {
	if c.Reason == "" {
		return ""
	}
	return fmt.Sprintf(", %.200s", c.Reason)
}

// explained are the error codes of a match: what the player did, in words that follow its name,
// and what the code means and what to look at.
var explained = map[protocol.Code]struct{ failure, meaning string }{
	protocol.ErrTimeout: {"did not answer in time",
		"Look at what its program does so long, or whether it hangs."},
	protocol.ErrInvalidFieldType: {"sent an answer with a wrong type",
		"A member of the answer has the wrong type or value."},
	protocol.ErrMissingField: {"sent an incomplete answer",
		"A member of the answer is missing. Compare its name with the protocol."},
	protocol.ErrInvalidParityChoice: {"chose neither even nor odd",
		`The choice is not legal. It must be exactly "even" or "odd", in lower case, in the member parity_choice.`},
	protocol.ErrIllegalMove: {"made an illegal move",
		"The move is not legal. It must be exactly one of valid_options, in the member choice of move_data."},
	protocol.ErrMatchIDMismatch: {"answered for another match",
		"The answer is about another match. It must have the match_id of the question."},
	protocol.ErrProtocolVersion: {"answered in another protocol version",
		"The answer must have the protocol version of the question."},
	protocol.ErrRateLimited:     {"asked to wait", "Its server limits the calls, or is overloaded."},
	protocol.ErrMessageTooLarge: {"sent too large an answer", "Send a shorter answer: the protocol limits its bytes."},
}

// failureInWords says what a player did that failed with an error code. It follows the name of the player.
func failureInWords(code protocol.Code) string {
	if e, ok := explained[code]; ok {
		return e.failure
	}
	if name := code.Name(); name != "" {
		return fmt.Sprintf("failed (%s %s)", code, name)
	}
	return "failed"
}

// addresses are URLs, addresses of the network with or without a port, and what errors of the
// network name. They can be those of an agent.
var addresses = words.Pattern(`(?i)\b[a-z][a-z0-9+.-]*://[^\s"'<>)\\]+` +
	`|\b\d{1,3}(\.\d{1,3}){3}(:\d+)?\b|\[[0-9a-f.]*:[0-9a-f:.]*(%\w+)?\](:\d+)?` +
	`|\b(dial|lookup|read|write) (tcp|udp)?[46]? ?[^\s"'<>\\]+|\b(localhost|[a-z0-9-]+(\.[a-z0-9-]+)+):\d{2,5}\b`)

// HiddenAddress replaces an address in a text of others.
const HiddenAddress = "(an address)"

// Public is a text of others without what can be a token or an address.
func Public(text string) string {
	return addresses().ReplaceAllString(protocol.WithoutTokens(text), HiddenAddress)
}

// longestAnswer is the length in bytes at which a text of a player is cut.
const longestAnswer = 160

// excerpt is the beginning of a text of a player: visible and without tokens.
func excerpt(text string) string {
	return words.Escape(words.Clip(protocol.WithoutTokens(text), longestAnswer))
}

// answered is what a player answered, from the beginning of its response: the result or the
// error of JSON-RPC, else the response itself.
func answered(response string) string {
	response = strings.TrimSpace(response)
	members := protocol.ParseObject([]byte(response))
	if members.Has("jsonrpc") || members.Has("id") {
		for _, name := range []string{"result", "error"} {
			if value := members.Raw(name); value != nil {
				compact := slices.Clone(value)
				_ = compact.Compact() // it is JSON
				return excerpt(string(compact))
			}
		}
	}
	return excerpt(response)
}

// A messageSummary holds the members of any message of a match that are shown.
type messageSummary struct {
	MessageType       string               `json:"message_type"`
	Accept            *bool                `json:"accept"`
	RoleInMatch       string               `json:"role_in_match"`
	OpponentID        string               `json:"opponent_id"`
	DrawCommitment    string               `json:"draw_commitment"`
	EntropyCommitment string               `json:"entropy_commitment"`
	ParityChoice      string               `json:"parity_choice"`
	MoveData          protocol.MoveData    `json:"move_data"`
	MoveRequest       protocol.MoveRequest `json:"move_request"`
	Deadline          string               `json:"deadline"`
	GameResult        *league.Result       `json:"game_result"`
	ErrorCode         string               `json:"error_code"`
	ErrorName         string               `json:"error_name"`
	Consequence       string               `json:"consequence"`
	Status            string               `json:"status"`
	Fallback          bool                 `json:"fallback"`
}

// sentence is a message as a sentence, and what the message says beside it about the draw.
func sentence(e *store.Exchange) (says, bound string) {
	if len(e.Message) == 0 && e.Error != nil {
		return withoutMessage(e), ""
	}
	var w messageSummary
	readable := json.Unmarshal(e.Message, &w) == nil
	hasAnswer := readable && (w.Accept != nil || w.ParityChoice != "" || w.MoveData.Choice != "")
	w.MessageType = cmp.Or(e.MessageType, w.MessageType)
	switch {
	case e.Error != nil && e.Answer != "" && !hasAnswer:
		return "answered " + answered(e.Answer), ""
	case !readable:
		return cmp.Or(e.MessageType, "a message") + " (the message cannot be read)", ""
	case e.Error != nil && w.MessageType == "":
		return "an empty message, or one that the referee cannot read", ""
	}
	return excerpt(w.MessageType) + w.details(e.Error != nil), w.bound()
}

// bound is the commitment of a message to a part of the draw; "" for none.
func (w *messageSummary) bound() string {
	switch {
	case w.MessageType == protocol.TypeGameInvitation && w.DrawCommitment != "":
		return fmt.Sprintf("; I am bound to a nonce (%.12s…)", w.DrawCommitment)
	case w.MessageType == protocol.TypeGameJoinAck && w.EntropyCommitment != "":
		return fmt.Sprintf(", and am bound to my part of the draw (%.12s…)", w.EntropyCommitment)
	}
	return ""
}

// withoutMessage is the sentence of an exchange that has an error in place of a message.
func withoutMessage(e *store.Exchange) string {
	switch code := protocol.Code(e.Error.ErrorCode); {
	case e.Answer != "":
		return "answered " + answered(e.Answer)
	case e.Omission() == store.OmittedTooLarge:
		return "(an answer that is too large for the file)"
	case e.Omission() != "":
		return "(an answer that the file cannot hold)"
	case code == protocol.ErrTimeout, code == protocol.ErrConnection:
		return "(no answer)"
	case code == protocol.ErrRateLimited:
		return "(asks to wait)"
	}
	return "(an error in place of an answer)"
}

// details are what a message says. A choice stands in quotation marks if it is wrong.
func (w *messageSummary) details(wrong bool) string {
	choice := func(text string) string {
		switch {
		case text == "":
			return ": no choice"
		case wrong:
			return `: "` + excerpt(text) + `"`
		case isSpeech(text):
			text = quoted(excerpt(text))
		default:
			text = excerpt(text)
		}
		if w.Fallback {
			text += " (a fallback)"
		}
		return ": " + text
	}
	switch w.MessageType {
	case protocol.TypeGameInvitation:
		return fmt.Sprintf(": you are %s against %s", w.RoleInMatch, w.OpponentID)
	case protocol.TypeGameJoinAck:
		return w.joins()
	case protocol.TypeChooseParityCall:
		return ": " + strings.Join(protocol.MoveFormBy(protocol.ChooseParity.Name).Options, " or ") + ", until " + w.Deadline
	case protocol.TypeGameMoveCall:
		return fmt.Sprintf(": your move (%s)%s, %s, until %s", excerpt(w.MoveRequest.MoveType),
			positionOf(w.MoveRequest.Context), legalMoves(&w.MoveRequest), w.Deadline)
	case protocol.TypeChooseParityResponse:
		return choice(w.ParityChoice)
	case protocol.TypeGameMoveResponse:
		return choice(w.MoveData.Choice)
	case protocol.TypeGameError:
		return fmt.Sprintf(": %s %s. %s", w.ErrorCode, w.ErrorName, w.Consequence)
	case protocol.TypeGameOver:
		if w.GameResult != nil {
			return fmt.Sprintf(": %s. %s", w.GameResult.Status, w.GameResult.Reason)
		}
	}
	return ""
}

func (w *messageSummary) joins() string {
	if w.Accept == nil {
		return ": no clear answer"
	}
	return map[bool]string{true: ": I accept", false: ": I refuse"}[*w.Accept]
}

// positionOf formats the members of a GAME_MOVE_CALL's context that describe the
// position, in order of their names. The board and the rules of a game are shown elsewhere.
func positionOf(context map[string]any) string {
	var text strings.Builder
	view, hasView := context["view"]
	_, hasRules := context["rules"]
	for _, name := range slices.Sorted(maps.Keys(context)) {
		switch {
		case name == "opponent_id" || name == "round_id":
		case (hasView || hasRules) && (name == "board" || name == "rules" || name == "view" || name == "examples"):
		default:
			_, _ = fmt.Fprintf(&text, "; %s: %v", name, context[name]) // a builder never fails
		}
	}
	if hasView {
		shown, _ := json.Marshal(view, json.Deterministic(true)) // it was decoded from JSON
		text.WriteString("; view: " + excerpt(string(shown)))
	}
	return text.String()
}

// longestOptions is the length in bytes up to which a sentence lists all options.
const longestOptions = 300

// legalMoves are the moves that a question allows.
func legalMoves(q *protocol.MoveRequest) string {
	options := strings.Join(q.ValidOptions, ", ")
	switch {
	case q.Text > 0:
		return fmt.Sprintf("a text of at most %d bytes", q.Text)
	case len(options) > longestOptions:
		return fmt.Sprintf("one of %d options", len(q.ValidOptions))
	}
	return "one of " + options
}

// isSpeech tells whether a move is shown as speech, if no question tells: the moves of games on boards have no blanks.
func isSpeech(move string) bool { return strings.Contains(move, " ") }

// quoted is a move as speech.
func quoted(move string) string { return "“" + move + "”" }
