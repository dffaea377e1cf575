package protocol

// maxGot is the length in bytes to which a breach shows a value.
const maxGot = 60

// ReplyBreach returns the first breach of the protocol's form in a reply of a player; nil for none.
// The meaning of such a reply can be clear nevertheless. PlayerID is that of the reply, the last
// two arguments are those that the reply must have.
func ReplyBreach(e *Envelope, playerID, wantConversation, wantPlayer string) *Error {
	for _, f := range e.Broken() {
		switch f.Field {
		case "protocol", "message_type", "sender", "timestamp", "conversation_id", "player_id":
			return Fault(ErrInvalidFieldType, "%s cannot be read, got %s", f.Field, Clip(f.Got, maxGot))
		}
	}
	switch {
	case e.Protocol != "" && e.Protocol != Name:
		return Fault(ErrProtocolVersion, "protocol must be %s, got %.60q", Name, e.Protocol)
	case e.Protocol == "" || e.MessageType == "" || e.Sender == "" || e.ConversationID == "":
		return Fault(ErrMissingField, "the envelope is not complete")
	case playerID == "":
		return Fault(ErrMissingField, "player_id is missing")
	case !ValidTimestamp(e.Timestamp):
		return Fault(ErrInvalidTimestamp, "the timestamp is not in UTC")
	case e.ConversationID != wantConversation:
		return Fault(ErrNotAuthorized, "conversation_id is not that of the request")
	case playerID != wantPlayer:
		return Fault(ErrNotAuthorized, "player_id is not the player's")
	}
	return nil
}
