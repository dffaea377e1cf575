package protocol

import "evenodd/league"

// The message types of the protocol: the eighteen of spec 003 table 11, the
// generic moves of §3.8 and the assignment of a match. The method table alone has the types of
// the other results.
const (
	TypeRefereeRegisterRequest = "REFEREE_REGISTER_REQUEST"
	TypeLeagueRegisterRequest  = "LEAGUE_REGISTER_REQUEST"
	TypeRoundAnnouncement      = "ROUND_ANNOUNCEMENT"
	TypeRoundCompleted         = "ROUND_COMPLETED"
	TypeLeagueCompleted        = "LEAGUE_COMPLETED"
	TypeGameInvitation         = "GAME_INVITATION"
	TypeGameJoinAck            = "GAME_JOIN_ACK"
	TypeChooseParityCall       = "CHOOSE_PARITY_CALL"
	TypeChooseParityResponse   = "CHOOSE_PARITY_RESPONSE"
	TypeGameOver               = "GAME_OVER"
	TypeMatchResultReport      = "MATCH_RESULT_REPORT"
	TypeStandingsUpdate        = "LEAGUE_STANDINGS_UPDATE"
	TypeLeagueError            = "LEAGUE_ERROR"
	TypeGameError              = "GAME_ERROR"
	TypeLeagueQuery            = "LEAGUE_QUERY"

	TypeGameMoveCall     = "GAME_MOVE_CALL"
	TypeGameMoveResponse = "GAME_MOVE_RESPONSE"
	TypeMatchAssignment  = "MATCH_ASSIGNMENT"
)

// The values of fields.
const (
	StatusAccepted     = "ACCEPTED"
	StatusRejected     = "REJECTED"
	StatusBusy         = "BUSY"
	StatusAcknowledged = "ACKNOWLEDGED"

	RolePlayerA = "PLAYER_A"
	RolePlayerB = "PLAYER_B"

	RefereeAuthAccessToken = "access_token"
	RefereeAuthNone        = "none"
	ManagerAuthBearer      = "bearer"
)

// An Envelope is the part common to all messages (spec 003 §2.4).
type Envelope struct {
	Protocol    string `json:"protocol,omitzero" rule:"required,is=league.v2"`
	MessageType string `json:"message_type,omitzero" rule:"required,type"`
	// agent that sends the message, by the id that it was given
	Sender    string `json:"sender,omitzero" rule:"required,sender"`
	Timestamp string `json:"timestamp,omitzero" rule:"required,timestamp"`
	// id of the conversation; a reply has that of its request
	ConversationID string `json:"conversation_id,omitzero" rule:"required,max=128"`
	// [proof](#tokens) of the sender's identity
	AuthToken string `json:"auth_token,omitzero" rule:"null,upto=300"`

	plain    bool         // Plain leaves out what chapter 4 lacks
	broken   []FieldError // members of a reply that could not be read
	breaches []FieldError // of the rules, in a player's reply that was decoded
}

func (e *Envelope) envelope() *Envelope { return e }

// Conversation returns the id that all messages of an exchange share.
func (e *Envelope) Conversation() string { return e.ConversationID }

// From returns the sender as it names itself.
func (e *Envelope) From() string { return e.Sender }

// Type returns the message type.
func (e *Envelope) Type() string { return e.MessageType }

// Broken returns the members of a reply that could not be decoded, with their values, and those that a
// report lacks because they break a rule. It is empty for messages of this side.
func (e *Envelope) Broken() []FieldError { return e.broken }

// Refusal returns the error of a message with broken members; nil if it has none.
func (e *Envelope) Refusal() *Error {
	if len(e.broken) == 0 {
		return nil
	}
	return brokenFields(e.broken)
}

// BrokenField returns a member of a reply that could not be decoded.
func (e *Envelope) BrokenField(name string) (FieldError, bool) {
	for _, f := range e.broken {
		if f.Field == name {
			return f, true
		}
	}
	return FieldError{}, false
}

// A message is anything with an envelope.
type message interface {
	envelope() *Envelope
}

// AgentMeta describes an agent in its registration.
type AgentMeta struct {
	DisplayName string `json:"display_name" rule:"name,min=1"`
	// version of the agent's program
	Version string `json:"version" rule:"version"`
	// version of the protocol, `2.0.0` to `2.1.0`; absent means `2.1.0`
	ProtocolVersion string `json:"protocol_version,omitzero" rule:"version"`
	// games that the agent plays or conducts; the league's game must be among them
	GameTypes []string `json:"game_types" rule:"min=1"`
	// URL at which the agent is called, such as `http://localhost:8101/mcp`
	ContactEndpoint string `json:"contact_endpoint" rule:"max=300"`
	// whether the agent takes messages of up to 64 KB, as leagues of some games need them
	LargeMessages bool `json:"large_messages,omitzero"`
}

// RefereeMeta describes a referee in its registration (002 §3.1.2).
type RefereeMeta struct {
	AgentMeta
	// matches that the referee conducts at the same time
	MaxConcurrentMatches int    `json:"max_concurrent_matches" rule:"min=1,capacity"`
	PublicKey            string `json:"public_key,omitzero" rule:"key"`
	// whether the referee verifies the signatures of players and reports them
	RelaysSignatures bool `json:"relays_signatures,omitzero"`
	// what the referee knows of matches that some leagues need: `openings`, `time_bank`
	Features []string `json:"features,omitzero"`
}

// The features of referees. A league that needs one admits no referee that does not declare it.
const (
	FeatureOpenings = "openings"
	FeatureTimeBank = "time_bank"
)

// PlayerMeta describes a player in its registration (002 §3.3.2).
type PlayerMeta struct {
	AgentMeta
	PublicKey string `json:"public_key,omitzero" rule:"key"`
}

// RefereeRegisterRequest is REFEREE_REGISTER_REQUEST (spec 003 §4.1.1). RefereeAuth is
// RefereeAuthAccessToken from a referee that sends players their access tokens.
// Third-party referees omit it, and send none. RegistrationCode proves that the applicant
// may use its display name, in a league with a roster.
type RefereeRegisterRequest struct {
	Envelope
	RefereeMeta RefereeMeta `json:"referee_meta"`
	// whether the referee shows players their access tokens; absent means `none`
	RefereeAuth string `json:"referee_auth,omitzero" rule:"is=access_token|none"`

	RegistrationCode string `json:"registration_code,omitzero" rule:"null,upto=128"`
}

// LeagueRegisterRequest is LEAGUE_REGISTER_REQUEST (spec 003 §4.2.1). RegistrationCode is
// that of a RefereeRegisterRequest.
type LeagueRegisterRequest struct {
	Envelope
	PlayerMeta       PlayerMeta `json:"player_meta"`
	RegistrationCode string     `json:"registration_code,omitzero" rule:"null,upto=128"`
}

// Registration holds the fields of both registration responses. A refusal has status
// REJECTED, a null id, a reason, an error code, and the error data of 004 §2.1 and §2.2 as context.
type Registration struct {
	Status    string  `json:"status" rule:"is=ACCEPTED|REJECTED"`
	LeagueID  string  `json:"league_id,omitzero"`
	Reason    *string `json:"reason" rule:"optional,null,upto=500"`
	ErrorCode string  `json:"error_code,omitzero" rule:"code"`
	ErrorName string  `json:"error_name,omitzero"`
	// `bearer`: the manager's calls have a [credential](#tokens)
	ManagerAuth string `json:"manager_auth,omitzero"`
	// Ed25519 key of a manager that signs
	ManagerKey string `json:"manager_key,omitzero" rule:"key"`

	Context map[string]any `json:"context,omitzero"`
	// seconds after which the same registration may succeed
	RetryAfterSec int `json:"retry_after_sec,omitzero"`
}

// RefereeRegisterResponse is REFEREE_REGISTER_RESPONSE (spec 003 §4.1.2).
type RefereeRegisterResponse struct {
	Envelope
	// id of the referee from now on; null if it was rejected
	RefereeID *string `json:"referee_id" rule:"optional,null"`
	Registration
}

// LeagueRegisterResponse is LEAGUE_REGISTER_RESPONSE (spec 003 §4.2.2).
type LeagueRegisterResponse struct {
	Envelope
	// id of the player from now on; null if it was rejected
	PlayerID *string `json:"player_id" rule:"optional,null"`
	Registration
}

// An AnnouncedMatch is a match of a ROUND_ANNOUNCEMENT. A match that a suspended or shut
// down player forfeits is not played.
type AnnouncedMatch struct {
	MatchID         string `json:"match_id"`
	GameType        string `json:"game_type"`
	PlayerAID       string `json:"player_A_id"`
	PlayerBID       string `json:"player_B_id"`
	RefereeEndpoint string `json:"referee_endpoint" rule:"url"`
	RefereeID       string `json:"referee_id,omitzero" rule:"added"`
	// `access_token`: the player refuses any caller in this match that does not show its access token
	RefereeAuth string `json:"referee_auth,omitzero" rule:"is=access_token|none"`
	// players that forfeit the match, which is not played
	ForfeitedBy []string `json:"forfeited_by,omitzero" rule:"added"`
}

// RoundAnnouncement is ROUND_ANNOUNCEMENT (spec 003 §4.3.1). In a league of more than
// MaxAnnounced players it lists only the match of its receiver, and none for a bye;
// agents query the other matches.
type RoundAnnouncement struct {
	Envelope
	LeagueID string `json:"league_id"`
	RoundID  int    `json:"round_id" rule:"min=1"`
	// matches of the round; in a league of more than 100 players only that of the receiver
	Matches []AnnouncedMatch `json:"matches"`
	// matches of the round, if `matches` does not have all of them
	TotalMatches int    `json:"total_matches,omitzero" rule:"min=1,added"`
	Started      string `json:"started,omitzero" rule:"digest,added"`
}

// MaxAnnounced limits the players of a league whose announcements list all matches.
const MaxAnnounced = 100

// An Ack is any acknowledgement of 004; the message type in the envelope tells which.
type Ack struct {
	Envelope
	Status    string `json:"status,omitzero" rule:"required"`
	PlayerID  string `json:"player_id,omitzero"`
	RefereeID string `json:"referee_id,omitzero"`
	RoundID   int    `json:"round_id,omitzero" rule:"min=1"`
	MatchID   string `json:"match_id,omitzero"`
}

// StandingsUpdate is LEAGUE_STANDINGS_UPDATE (spec 003 §4.7.1).
type StandingsUpdate struct {
	Envelope
	LeagueID     string        `json:"league_id"`
	RoundID      int           `json:"round_id" rule:"min=1"`
	Standings    []StandingRow `json:"standings" rule:"min=1"`
	TotalPlayers int           `json:"total_players,omitzero" rule:"min=1,added"`
}

// A RoundSummary counts the results of a round (002 §4.2.2).
type RoundSummary struct {
	TotalMatches    int `json:"total_matches"`
	Wins            int `json:"wins"`
	Draws           int `json:"draws"`
	TechnicalLosses int `json:"technical_losses"`
}

// RoundCompleted is ROUND_COMPLETED (spec 003 §4.8.1). NextRoundID is null after the last
// round. JournalHead is the hash of the last event of the manager's journal. All agents
// receive it, so that a truncated journal can be detected.
type RoundCompleted struct {
	Envelope
	LeagueID         string `json:"league_id"`
	RoundID          int    `json:"round_id" rule:"min=1"`
	MatchesCompleted *int   `json:"matches_completed,omitzero"`
	MatchesPlayed    *int   `json:"matches_played,omitzero" rule:"added"`
	// number of the next round; null after the last one
	NextRoundID *int          `json:"next_round_id" rule:"null,min=1"`
	Summary     *RoundSummary `json:"summary,omitzero"`
	JournalHead string        `json:"journal_head,omitzero" rule:"digest,added"`

	JournalHeadSignature string `json:"journal_head_signature,omitzero" rule:"signature,added"`
	// results of the receiver's matches in the round, as recorded
	Results []RoundResult `json:"results,omitzero" rule:"added"`
}

// A RoundResult is a result as the manager recorded it. Players compare it with their own
// decisions.
type RoundResult struct {
	MatchID string `json:"match_id"`
	// number of the attempt; absent for a match that was not played
	Attempt     int                       `json:"attempt,omitzero" rule:"min=1"`
	Status      string                    `json:"status" rule:"is=WIN|DRAW|TECHNICAL_LOSS"`
	Winner      *string                   `json:"winner" rule:"null"`
	DrawnNumber *int                      `json:"drawn_number" rule:"optional,null"`
	Choices     league.PerPlayer[*string] `json:"choices" rule:"each,null,upto=2000"`
}

// LeagueCompleted is LEAGUE_COMPLETED (spec 003 §4.8.2).
type LeagueCompleted struct {
	Envelope
	LeagueID     string          `json:"league_id"`
	TotalRounds  int             `json:"total_rounds" rule:"min=0"`
	TotalMatches int             `json:"total_matches" rule:"min=0"`
	Champion     league.Champion `json:"champion"`
	// the final table, at most its first 100 rows
	FinalStandings []FinalRow `json:"final_standings" rule:"min=1"`
	TotalPlayers   int        `json:"total_players,omitzero" rule:"min=1,added"`
	JournalHead    string     `json:"journal_head,omitzero" rule:"digest,added"`

	JournalHeadSignature string `json:"journal_head_signature,omitzero" rule:"signature,added"`
}

// LeagueError is LEAGUE_ERROR (spec 003 §4.10.1).
type LeagueError struct {
	Envelope
	ErrorCode        string `json:"error_code" rule:"code"`
	ErrorName        string `json:"error_name,omitzero" rule:"added"`
	ErrorDescription string `json:"error_description" rule:"upto=500"`
	// message or method that was refused
	OriginalMessageType string `json:"original_message_type,omitzero"`
	// details; `detail` is a sentence for people, `fields` lists the members that break a rule
	Context map[string]any `json:"context,omitzero"`
	// whether the same call may succeed later
	Retryable *bool `json:"retryable,omitzero" rule:"added"`
}
