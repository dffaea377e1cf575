package protocol

// The states of a match, as its file and get_match_state have them. The specification (003 §3.3) names
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

// MaxMessageType is the most bytes of a message type, or of an illegal choice, that a referee repeats or records; a
// longer one is cut.
const MaxMessageType = 60
