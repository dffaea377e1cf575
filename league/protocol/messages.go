package protocol

// The message types of the protocol: the eighteen of spec 003 table 11, the
// generic moves of §3.8, the assignment of a match, and the acknowledgements
// of 004.
const (
	TypeRefereeRegisterRequest  = "REFEREE_REGISTER_REQUEST"
	TypeRefereeRegisterResponse = "REFEREE_REGISTER_RESPONSE"
	TypeLeagueRegisterRequest   = "LEAGUE_REGISTER_REQUEST"
	TypeLeagueRegisterResponse  = "LEAGUE_REGISTER_RESPONSE"
	TypeRoundAnnouncement       = "ROUND_ANNOUNCEMENT"
	TypeRoundCompleted          = "ROUND_COMPLETED"
	TypeLeagueCompleted         = "LEAGUE_COMPLETED"
	TypeGameInvitation          = "GAME_INVITATION"
	TypeGameJoinAck             = "GAME_JOIN_ACK"
	TypeChooseParityCall        = "CHOOSE_PARITY_CALL"
	TypeChooseParityResponse    = "CHOOSE_PARITY_RESPONSE"
	TypeGameOver                = "GAME_OVER"
	TypeMatchResultReport       = "MATCH_RESULT_REPORT"
	TypeStandingsUpdate         = "LEAGUE_STANDINGS_UPDATE"
	TypeLeagueError             = "LEAGUE_ERROR"
	TypeGameError               = "GAME_ERROR"
	TypeLeagueQuery             = "LEAGUE_QUERY"
	TypeLeagueQueryResponse     = "LEAGUE_QUERY_RESPONSE"

	TypeGameMoveCall       = "GAME_MOVE_CALL"
	TypeGameMoveResponse   = "GAME_MOVE_RESPONSE"
	TypeMatchAssignment    = "MATCH_ASSIGNMENT"
	TypeMatchAssignmentAck = "MATCH_ASSIGNMENT_ACK"

	TypeRoundAnnouncementAck = "ROUND_ANNOUNCEMENT_ACK"
	TypeStandingsUpdateAck   = "STANDINGS_UPDATE_ACK"
	TypeRoundCompletedAck    = "ROUND_COMPLETED_ACK"
	TypeLeagueCompletedAck   = "LEAGUE_COMPLETED_ACK"
	TypeGameOverAck          = "GAME_OVER_ACK"
	TypeGameErrorAck         = "GAME_ERROR_ACK"
	TypeMatchResultAck       = "MATCH_RESULT_ACK"
)

// Words of the protocol.
const (
	StatusAccepted     = "ACCEPTED"
	StatusRejected     = "REJECTED"
	StatusBusy         = "BUSY"
	StatusAcknowledged = "ACKNOWLEDGED"

	StatusWin           = "WIN"
	StatusDraw          = "DRAW"
	StatusTechnicalLoss = "TECHNICAL_LOSS"

	RolePlayerA = "PLAYER_A"
	RolePlayerB = "PLAYER_B"

	RefereeAuthAccessToken = "access_token"
	RefereeAuthNone        = "none"
	ManagerAuthBearer      = "bearer"

	QueryStandings   = "GET_STANDINGS"
	QuerySchedule    = "GET_SCHEDULE"
	QueryNextMatch   = "GET_NEXT_MATCH"
	QueryPlayerStats = "GET_PLAYER_STATS"
	QueryStatus      = "GET_STATUS"
)

// An Envelope is the part common to all messages (spec 003 §2.4).
type Envelope struct {
	Protocol       string `json:"protocol,omitzero"`
	MessageType    string `json:"message_type,omitzero"`
	Sender         string `json:"sender,omitzero"`
	Timestamp      string `json:"timestamp,omitzero"`
	ConversationID string `json:"conversation_id,omitzero"`
	AuthToken      string `json:"auth_token,omitzero"`

	broken []FieldError // members of a reply that could not be read
}

func (e *Envelope) envelope() *Envelope { return e }

// Conversation is the id that ties the messages of one exchange together.
func (e *Envelope) Conversation() string { return e.ConversationID }

// Type is the message type.
func (e *Envelope) Type() string { return e.MessageType }

// Broken lists the members of a reply that were there but could not be read,
// with what they were. Empty for everything this side made itself.
func (e *Envelope) Broken() []FieldError { return e.broken }

// BrokenField finds a member of a reply that could not be read.
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

// RefereeMeta is what a referee says of itself (002 §3.1.2).
type RefereeMeta struct {
	DisplayName          string   `json:"display_name,omitzero"`
	Version              string   `json:"version,omitzero"`
	ProtocolVersion      string   `json:"protocol_version,omitzero"`
	GameTypes            []string `json:"game_types,omitzero"`
	ContactEndpoint      string   `json:"contact_endpoint,omitzero"`
	MaxConcurrentMatches int      `json:"max_concurrent_matches,omitzero"`
}

// PlayerMeta is what a player says of itself (002 §3.3.2).
type PlayerMeta struct {
	DisplayName     string   `json:"display_name,omitzero"`
	Version         string   `json:"version,omitzero"`
	ProtocolVersion string   `json:"protocol_version,omitzero"`
	GameTypes       []string `json:"game_types,omitzero"`
	ContactEndpoint string   `json:"contact_endpoint,omitzero"`
}

// RefereeRegisterRequest is REFEREE_REGISTER_REQUEST (spec 003 §4.1.1). RefereeAuth
// is RefereeAuthAccessToken from a referee that shows players their access tokens;
// those of other makers do not say it, and do not show any.
type RefereeRegisterRequest struct {
	Envelope
	RefereeMeta RefereeMeta `json:"referee_meta,omitzero"`
	RefereeAuth string      `json:"referee_auth,omitzero"`
}

// LeagueRegisterRequest is LEAGUE_REGISTER_REQUEST (spec 003 §4.2.1).
type LeagueRegisterRequest struct {
	Envelope
	PlayerMeta PlayerMeta `json:"player_meta,omitzero"`
}

// Registration is what both registration responses have in common. A refusal
// has status REJECTED, a null id, a reason for people and an error code.
type Registration struct {
	Status      string  `json:"status,omitzero"`
	LeagueID    string  `json:"league_id,omitzero"`
	Reason      *string `json:"reason"`
	ErrorCode   string  `json:"error_code,omitzero"`
	ErrorName   string  `json:"error_name,omitzero"`
	ManagerAuth string  `json:"manager_auth,omitzero"`

	// Of a refusal: the seconds after which the same registration may succeed.
	RetryAfterSec int `json:"retry_after_sec,omitzero"`
}

// RefereeRegisterResponse is REFEREE_REGISTER_RESPONSE (spec 003 §4.1.2).
type RefereeRegisterResponse struct {
	Envelope
	RefereeID *string `json:"referee_id"`
	Registration
}

// LeagueRegisterResponse is LEAGUE_REGISTER_RESPONSE (spec 003 §4.2.2).
type LeagueRegisterResponse struct {
	Envelope
	PlayerID *string `json:"player_id"`
	Registration
}

// An AnnouncedMatch is one match of a ROUND_ANNOUNCEMENT. One that players
// forfeit, because they are suspended or shut down, is not played.
type AnnouncedMatch struct {
	MatchID         string   `json:"match_id,omitzero"`
	GameType        string   `json:"game_type,omitzero"`
	PlayerAID       string   `json:"player_A_id,omitzero"`
	PlayerBID       string   `json:"player_B_id,omitzero"`
	RefereeEndpoint string   `json:"referee_endpoint,omitzero"`
	RefereeID       string   `json:"referee_id,omitzero"`
	RefereeAuth     string   `json:"referee_auth,omitzero"`
	ForfeitedBy     []string `json:"forfeited_by,omitzero"`
}

// RoundAnnouncement is ROUND_ANNOUNCEMENT (spec 003 §4.3.1).
type RoundAnnouncement struct {
	Envelope
	LeagueID string           `json:"league_id,omitzero"`
	RoundID  int              `json:"round_id,omitzero"`
	Matches  []AnnouncedMatch `json:"matches,omitzero"`
}

// An Ack is any acknowledgement of 004; the envelope's type says of what.
type Ack struct {
	Envelope
	Status    string `json:"status,omitzero"`
	PlayerID  string `json:"player_id,omitzero"`
	RefereeID string `json:"referee_id,omitzero"`
	RoundID   int    `json:"round_id,omitzero"`
	MatchID   string `json:"match_id,omitzero"`
}

// A StandingRow is one line of the table (spec 003 §4.7.1).
type StandingRow struct {
	Rank        int    `json:"rank,omitzero"`
	PlayerID    string `json:"player_id,omitzero"`
	DisplayName string `json:"display_name,omitzero"`
	Played      int    `json:"played"`
	Wins        int    `json:"wins"`
	Draws       int    `json:"draws"`
	Losses      int    `json:"losses"`
	Points      int    `json:"points"`
}

// MaxStandings is how many rows a broadcast has at most (002 §14.1); the rest
// is asked for.
const MaxStandings = 100

// StandingsUpdate is LEAGUE_STANDINGS_UPDATE (spec 003 §4.7.1).
type StandingsUpdate struct {
	Envelope
	LeagueID     string        `json:"league_id,omitzero"`
	RoundID      int           `json:"round_id,omitzero"`
	Standings    []StandingRow `json:"standings,omitzero"`
	TotalPlayers int           `json:"total_players,omitzero"`
}

// A RoundSummary counts how the matches of a round ended (002 §4.2.2).
type RoundSummary struct {
	TotalMatches    int `json:"total_matches"`
	Wins            int `json:"wins"`
	Draws           int `json:"draws"`
	TechnicalLosses int `json:"technical_losses"`
}

// RoundCompleted is ROUND_COMPLETED (spec 003 §4.8.1). NextRoundID is null
// after the last round. JournalHead is the hash of the last event of the
// manager's journal: with it in the hands of all agents nobody can cut the tail
// off unseen.
type RoundCompleted struct {
	Envelope
	LeagueID         string        `json:"league_id,omitzero"`
	RoundID          int           `json:"round_id,omitzero"`
	MatchesCompleted *int          `json:"matches_completed,omitzero"`
	MatchesPlayed    *int          `json:"matches_played,omitzero"`
	NextRoundID      *int          `json:"next_round_id"`
	Summary          *RoundSummary `json:"summary,omitzero"`
	JournalHead      string        `json:"journal_head,omitzero"`
}

// A Champion is who won a league.
type Champion struct {
	PlayerID    string `json:"player_id,omitzero"`
	DisplayName string `json:"display_name,omitzero"`
	Points      int    `json:"points"`
}

// LeagueCompleted is LEAGUE_COMPLETED (spec 003 §4.8.2).
type LeagueCompleted struct {
	Envelope
	LeagueID       string        `json:"league_id,omitzero"`
	TotalRounds    int           `json:"total_rounds,omitzero"`
	TotalMatches   int           `json:"total_matches,omitzero"`
	Champion       Champion      `json:"champion,omitzero"`
	FinalStandings []StandingRow `json:"final_standings,omitzero"`
	TotalPlayers   int           `json:"total_players,omitzero"`
	JournalHead    string        `json:"journal_head,omitzero"`
}

// LeagueError is LEAGUE_ERROR (spec 003 §4.10.1).
type LeagueError struct {
	Envelope
	ErrorCode           string         `json:"error_code,omitzero"`
	ErrorName           string         `json:"error_name,omitzero"`
	ErrorDescription    string         `json:"error_description,omitzero"`
	OriginalMessageType string         `json:"original_message_type,omitzero"`
	Context             map[string]any `json:"context,omitzero"`
	Retryable           *bool          `json:"retryable,omitzero"`
}
