package record

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/league/store"
)

// longestAnswer is the length in bytes at which a text of a player is cut.
const longestAnswer = 160

// excerpt is the beginning of a text of a player: visible and without tokens.
func excerpt(text string) string {
	return protocol.Escape(protocol.Clip(protocol.WithoutTokens(text), longestAnswer))
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

// sentence is a message as a sentence.
func sentence(e *store.Exchange) string {
	if len(e.Message) == 0 && e.Error != nil {
		return withoutMessage(e)
	}
	var w messageSummary
	readable := json.Unmarshal(e.Message, &w) == nil
	hasAnswer := readable && (w.Accept != nil || w.ParityChoice != "" || w.MoveData.Choice != "")
	w.MessageType = cmp.Or(e.MessageType, w.MessageType)
	switch {
	case e.Error != nil && e.Answer != "" && !hasAnswer:
		return "answered " + answered(e.Answer)
	case !readable:
		return cmp.Or(e.MessageType, "a message") + " (the message cannot be read)"
	case e.Error != nil && w.MessageType == "":
		return "an empty message, or one that the referee cannot read"
	}
	return excerpt(w.MessageType) + w.details(e.Error != nil)
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
		case w.Fallback:
			return ": " + excerpt(text) + " (a fallback)"
		}
		return ": " + excerpt(text)
	}
	switch w.MessageType {
	case protocol.TypeGameInvitation:
		text := fmt.Sprintf(": you are %s against %s", w.RoleInMatch, w.OpponentID)
		if w.DrawCommitment != "" {
			text += fmt.Sprintf("; I am bound to a nonce (%.12s…)", w.DrawCommitment)
		}
		return text
	case protocol.TypeGameJoinAck:
		return w.joins()
	case protocol.TypeChooseParityCall:
		return ": even or odd, until " + w.Deadline
	case protocol.TypeGameMoveCall:
		return fmt.Sprintf(": your move (%s)%s, one of %s, until %s", w.MoveRequest.MoveType,
			positionOf(w.MoveRequest.Context), strings.Join(w.MoveRequest.ValidOptions, ", "), w.Deadline)
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
	text := ": no clear answer"
	if w.Accept != nil {
		text = map[bool]string{true: ": I accept", false: ": I refuse"}[*w.Accept]
	}
	if w.EntropyCommitment != "" {
		text += fmt.Sprintf(", and am bound to my part of the draw (%.12s…)", w.EntropyCommitment)
	}
	return text
}

// positionOf formats the members of a GAME_MOVE_CALL's context that describe the
// position, in order of their names.
func positionOf(context map[string]any) string {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(context)) {
		if name != "opponent_id" && name != "round_id" {
			_, _ = fmt.Fprintf(&text, "; %s: %v", name, context[name]) // a builder never fails
		}
	}
	return text.String()
}
