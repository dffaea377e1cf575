package store

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
)

// The states in a match file's lifecycle. The specification (003 §3.3) names
// those from StateWaitingForPlayers to StateFinished.
const (
	StateAssigned          = "ASSIGNED" // the referee has the match, and has called no player yet
	StateWaitingForPlayers = "WAITING_FOR_PLAYERS"
	StateCollectingChoices = "COLLECTING_CHOICES"
	StateDrawingNumber     = "DRAWING_NUMBER"
	StateFinished          = "FINISHED"
	StateAcknowledged      = "ACKNOWLEDGED" // the manager has the result
	StateAbandoned         = "ABANDONED"    // another attempt replaced this one, or the referee stopped
	StateDisputed          = "DISPUTED"     // the manager rejected the report
)

// The bounds of a transcript. A match of our agents has some twenty exchanges of
// a few hundred bytes; the bounds keep a player from filling the disk.
const (
	MaxExchanges      = 400      // a match of 42 moves has 260 if each is refused once
	ReservedExchanges = 4        // of MaxExchanges: GAME_OVER to both players and its acknowledgements
	MaxMessage        = 64 << 10 // bytes of one message
	MaxMessageType    = 60       // bytes of Exchange.MessageType; a longer type is cut
	MaxDetail         = 1000     // bytes of ExchangeError.Detail
	MaxAnswer         = 500      // bytes of Exchange.Answer
)

// The directions of an exchange, as the referee sees it.
const (
	Sent     = "sent"
	Received = "received"
)

// The codes of Exchange.MessageOmitted.
const (
	OmittedTooLarge  = "too_large" // it has more than MaxMessage bytes
	OmittedUnencoded = "unencoded" // it has no encoding as JSON
)

// An Exchange is one message of a transcript without its token; or, received,
// the error that came instead of one.
type Exchange struct {
	At          string         `json:"at"` // with milliseconds
	Direction   string         `json:"direction"`
	PlayerID    string         `json:"player_id"`
	Method      string         `json:"method"`
	MessageType string         `json:"message_type,omitzero"`
	Try         int            `json:"try"` // from 1: which call attempt at this question it is
	Message     jsontext.Value `json:"message,omitzero"`
	Error       *ExchangeError `json:"error,omitzero"` // what was wrong with the response, or why there is none

	// MessageOmitted is why there was a message that the file does not hold: one
	// of the codes above. Read it with Omission.
	MessageOmitted string `json:"message_omitted,omitzero"`

	// Answer is the beginning of a response with an error as it arrived, without tokens: prose,
	// a page of HTML, a member with another name. At most MaxAnswer bytes and an ellipsis; "" if the
	// response came in memory.
	Answer string `json:"answer,omitzero"`

	// UnreadableMembers are the members of the message that the referee could not
	// read. Ask for one with Unreadable.
	UnreadableMembers []string `json:"unreadable_members,omitzero"`

	Timing *protocol.Timing `json:"timing,omitzero"` // received: where the time went, as far as the carrier knows

	// Void is a sentence for people: why a call attempt is void, because the fault
	// was the referee's and not the player's. The evidence is At, if the referee read
	// a response too late (protocol.Deadline), queued_ms of the timing, or one of the
	// two members below.
	Void    string  `json:"void,omitzero"`
	Stalled float64 `json:"stalled_ms,omitzero"` // how long the referee's process stalled when the window ended
	Local   bool    `json:"local,omitzero"`      // the call failed at the referee's side and never reached the player
}

// An ExchangeError is a failure by the catalogue.
type ExchangeError struct {
	ErrorCode string `json:"error_code"`
	ErrorName string `json:"error_name"`
	Detail    string `json:"detail"` // for people; no code reads it
}

// Omission is the code of a message that the file does not hold; "" for none.
func (e *Exchange) Omission() string {
	if len(e.Message) > 0 || e.Error == nil {
		return ""
	}
	return e.MessageOmitted
}

// Unreadable tells whether the referee could not read a member of the message.
func (e *Exchange) Unreadable(member string) bool {
	return slices.Contains(e.UnreadableMembers, member)
}
