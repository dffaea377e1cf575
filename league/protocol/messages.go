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

// RefereeRegisterRequest is REFEREE_REGISTER_REQUEST (spec 003 §4.1.1).
type RefereeRegisterRequest struct {
	Envelope
	RefereeMeta RefereeMeta `json:"referee_meta,omitzero"`
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

// An AnnouncedMatch is one match of a ROUND_ANNOUNCEMENT.
type AnnouncedMatch struct {
	MatchID         string `json:"match_id,omitzero"`
	GameType        string `json:"game_type,omitzero"`
	PlayerAID       string `json:"player_A_id,omitzero"`
	PlayerBID       string `json:"player_B_id,omitzero"`
	RefereeEndpoint string `json:"referee_endpoint,omitzero"`
	RefereeID       string `json:"referee_id,omitzero"`
	RefereeAuth     string `json:"referee_auth,omitzero"`
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

// A Record is how a player stands: matches won, lost and drawn, and points.
type Record struct {
	Wins   int  `json:"wins"`
	Losses int  `json:"losses"`
	Draws  int  `json:"draws"`
	Points *int `json:"points,omitzero"`
}

// An AssignedPlayer is a seat of a MATCH_ASSIGNMENT. The access token is that
// of this referee towards this player in this attempt.
type AssignedPlayer struct {
	PlayerID    string `json:"player_id,omitzero"`
	Endpoint    string `json:"endpoint,omitzero"`
	DisplayName string `json:"display_name,omitzero"`
	Standings   Record `json:"standings"`
	AccessToken string `json:"access_token,omitzero"`
}

// Timeouts are the response times of a match, in seconds (spec 003 table 5).
type Timeouts struct {
	GameJoinAck float64 `json:"game_join_ack_timeout_sec"`
	Move        float64 `json:"move_timeout_sec"`
	GameOver    float64 `json:"game_over_timeout_sec"`
	Generic     float64 `json:"generic_response_timeout_sec"`
}

// RetryPolicy is how often and after how many seconds a call is made again
// (spec 003 §2.9.4).
type RetryPolicy struct {
	MaxRetries int     `json:"max_retries"`
	Delay      float64 `json:"delay_sec"`
}

// Scoring is what outcomes are worth (spec 003 table 8).
type Scoring struct {
	Win           int `json:"win_points"`
	Draw          int `json:"draw_points"`
	Loss          int `json:"loss_points"`
	TechnicalLoss int `json:"technical_loss_points"`
}

// MatchAssignment hands one attempt at a match to a referee; the parameters of
// start_match. No document of the specification defines it.
type MatchAssignment struct {
	Envelope
	LeagueID    string         `json:"league_id,omitzero"`
	RoundID     int            `json:"round_id,omitzero"`
	MatchID     string         `json:"match_id,omitzero"`
	Attempt     int            `json:"attempt,omitzero"`
	GameType    string         `json:"game_type,omitzero"`
	PlayerA     AssignedPlayer `json:"player_A,omitzero"`
	PlayerB     AssignedPlayer `json:"player_B,omitzero"`
	Timeouts    Timeouts       `json:"timeouts"`
	RetryPolicy RetryPolicy    `json:"retry_policy"`
	Scoring     Scoring        `json:"scoring"`
}

// MatchAssignmentAck answers it at once; the result comes as
// MATCH_RESULT_REPORT. Status is ACCEPTED, BUSY (ask later, or another) or
// REJECTED, with a reason.
type MatchAssignmentAck struct {
	Envelope
	Status         string `json:"status,omitzero"`
	MatchID        string `json:"match_id,omitzero"`
	Attempt        int    `json:"attempt,omitzero"`
	RefereeID      string `json:"referee_id,omitzero"`
	DrawCommitment string `json:"draw_commitment,omitzero"`
	Reason         string `json:"reason,omitzero"`
}

// GameInvitation is GAME_INVITATION (spec 003 §4.4.1).
type GameInvitation struct {
	Envelope
	LeagueID       string `json:"league_id,omitzero"`
	RoundID        int    `json:"round_id,omitzero"`
	MatchID        string `json:"match_id,omitzero"`
	GameType       string `json:"game_type,omitzero"`
	RoleInMatch    string `json:"role_in_match,omitzero"`
	OpponentID     string `json:"opponent_id,omitzero"`
	Attempt        int    `json:"attempt,omitzero"`
	DrawCommitment string `json:"draw_commitment,omitzero"`
}

// GameJoinAck is GAME_JOIN_ACK (spec 003 §4.4.2).
type GameJoinAck struct {
	Envelope
	MatchID           string `json:"match_id,omitzero"`
	PlayerID          string `json:"player_id,omitzero"`
	ArrivalTimestamp  string `json:"arrival_timestamp,omitzero"`
	Accept            *bool  `json:"accept,omitzero"`
	EntropyCommitment string `json:"entropy_commitment,omitzero"`
}

// A ChoiceContext tells a player what it may want to know before it chooses.
type ChoiceContext struct {
	OpponentID    string  `json:"opponent_id,omitzero"`
	RoundID       int     `json:"round_id,omitzero"`
	YourStandings *Record `json:"your_standings,omitzero"`
}

// ChooseParityCall is CHOOSE_PARITY_CALL (spec 003 §4.5.1).
type ChooseParityCall struct {
	Envelope
	MatchID  string        `json:"match_id,omitzero"`
	PlayerID string        `json:"player_id,omitzero"`
	GameType string        `json:"game_type,omitzero"`
	Context  ChoiceContext `json:"context,omitzero"`
	Deadline string        `json:"deadline,omitzero"`
}

// ChooseParityResponse is CHOOSE_PARITY_RESPONSE (spec 003 §4.5.2).
type ChooseParityResponse struct {
	Envelope
	MatchID      string `json:"match_id,omitzero"`
	PlayerID     string `json:"player_id,omitzero"`
	ParityChoice string `json:"parity_choice,omitzero"`
	Entropy      string `json:"entropy,omitzero"`
}

// A MoveRequest says what kind of move is asked, and what is allowed.
type MoveRequest struct {
	MoveType     string         `json:"move_type,omitzero"`
	ValidOptions []string       `json:"valid_options,omitzero"`
	Context      map[string]any `json:"context,omitzero"`
}

// GameMoveCall is GAME_MOVE_CALL (spec 003 §3.8.2).
type GameMoveCall struct {
	Envelope
	MatchID     string      `json:"match_id,omitzero"`
	PlayerID    string      `json:"player_id,omitzero"`
	GameType    string      `json:"game_type,omitzero"`
	MoveRequest MoveRequest `json:"move_request,omitzero"`
	Deadline    string      `json:"deadline,omitzero"`
}

// MoveData is a player's move.
type MoveData struct {
	MoveType string `json:"move_type,omitzero"`
	Choice   string `json:"choice,omitzero"`
}

// GameMoveResponse is GAME_MOVE_RESPONSE (spec 003 §3.8.2).
type GameMoveResponse struct {
	Envelope
	MatchID  string   `json:"match_id,omitzero"`
	PlayerID string   `json:"player_id,omitzero"`
	GameType string   `json:"game_type,omitzero"`
	MoveData MoveData `json:"move_data,omitzero"`
	Entropy  string   `json:"entropy,omitzero"`
}

// A Draw reveals how a number came about: hexadecimal digests and secrets, so
// that anyone can recompute it.
type Draw struct {
	Commitment string            `json:"commitment"`
	Nonce      string            `json:"nonce"`
	Entropies  PerPlayer[string] `json:"entropies,omitzero"`
}

// A GameResult is how a match ended. Winner, number and parity are null where
// there is none; a choice that was never made is null.
type GameResult struct {
	Status         string             `json:"status,omitzero"`
	WinnerPlayerID *string            `json:"winner_player_id"`
	DrawnNumber    *int               `json:"drawn_number"`
	NumberParity   *string            `json:"number_parity"`
	Choices        PerPlayer[*string] `json:"choices"`
	Reason         string             `json:"reason,omitzero"`
}

// GameOver is GAME_OVER (spec 003 §4.6.1). Reason is accepted here too.
type GameOver struct {
	Envelope
	MatchID    string      `json:"match_id,omitzero"`
	GameType   string      `json:"game_type,omitzero"`
	GameResult *GameResult `json:"game_result,omitzero"`
	Draw       *Draw       `json:"draw,omitzero"`
	Reason     string      `json:"reason,omitzero"`
}

// ResultDetails are the particulars of a reported result.
type ResultDetails struct {
	DrawnNumber *int               `json:"drawn_number"`
	Choices     PerPlayer[*string] `json:"choices"`
	Status      string             `json:"status,omitzero"`
	Reason      string             `json:"reason,omitzero"`
}

// A MatchResult is what a referee reports. Winner is null for a draw and for a
// double loss.
type MatchResult struct {
	Winner  *string        `json:"winner"`
	Score   PerPlayer[int] `json:"score"`
	Details *ResultDetails `json:"details,omitzero"`
}

// MatchResultReport is MATCH_RESULT_REPORT (spec 003 §4.6.2).
type MatchResultReport struct {
	Envelope
	LeagueID string      `json:"league_id,omitzero"`
	RoundID  int         `json:"round_id,omitzero"`
	MatchID  string      `json:"match_id,omitzero"`
	GameType string      `json:"game_type,omitzero"`
	Attempt  int         `json:"attempt,omitzero"`
	Result   MatchResult `json:"result,omitzero"`
	Draw     *Draw       `json:"draw,omitzero"`
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
// after the last round.
type RoundCompleted struct {
	Envelope
	LeagueID         string        `json:"league_id,omitzero"`
	RoundID          int           `json:"round_id,omitzero"`
	MatchesCompleted *int          `json:"matches_completed,omitzero"`
	MatchesPlayed    *int          `json:"matches_played,omitzero"`
	NextRoundID      *int          `json:"next_round_id"`
	Summary          *RoundSummary `json:"summary,omitzero"`
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
}

// QueryParams are the parameters of a query; which count depends on its type.
// Offset and Limit page through the standings: limit 1 to 100, 0 means 100.
type QueryParams struct {
	PlayerID string `json:"player_id,omitzero"`
	RoundID  int    `json:"round_id,omitzero"`
	Offset   int    `json:"offset,omitzero"`
	Limit    int    `json:"limit,omitzero"`
}

// LeagueQuery is LEAGUE_QUERY (spec 003 §4.9.1).
type LeagueQuery struct {
	Envelope
	LeagueID    string      `json:"league_id,omitzero"`
	QueryType   string      `json:"query_type,omitzero"`
	QueryParams QueryParams `json:"query_params,omitzero"`
}

// A QueryError says why a query could not be answered (002 §8.2.1).
type QueryError struct {
	ErrorCode        string `json:"error_code"`
	ErrorName        string `json:"error_name"`
	ErrorDescription string `json:"error_description"`
}

// StandingsData answers GET_STANDINGS.
type StandingsData struct {
	Standings    []StandingRow `json:"standings,omitzero"`
	TotalPlayers int           `json:"total_players,omitzero"`
	Offset       int           `json:"offset,omitzero"`
}

// StatusData answers GET_STATUS: the manager's state (004 §9.2) and counts.
type StatusData struct {
	State    string   `json:"state,omitzero"`
	Rounds   *int     `json:"rounds,omitzero"`
	Matches  *int     `json:"matches,omitzero"`
	Recorded *int     `json:"recorded,omitzero"`
	Players  *int     `json:"players,omitzero"`
	Referees *int     `json:"referees,omitzero"`
	Games    []string `json:"games,omitzero"`
}

// A NextMatch is the next match of a player. The referee's endpoint is null
// until the round is announced.
type NextMatch struct {
	MatchID         string  `json:"match_id"`
	RoundID         int     `json:"round_id"`
	OpponentID      string  `json:"opponent_id"`
	RefereeEndpoint *string `json:"referee_endpoint"`
}

// NextMatchData answers GET_NEXT_MATCH; null when no match is left.
type NextMatchData struct {
	NextMatch *NextMatch `json:"next_match"`
}

// A ScheduledMatch is one match of GET_SCHEDULE.
type ScheduledMatch struct {
	MatchID         string  `json:"match_id"`
	RoundID         int     `json:"round_id"`
	PlayerAID       string  `json:"player_A_id"`
	PlayerBID       string  `json:"player_B_id"`
	RefereeEndpoint *string `json:"referee_endpoint"`
	Status          string  `json:"status"` // SCHEDULED, or as reported: WIN, DRAW, TECHNICAL_LOSS
	WinnerPlayerID  *string `json:"winner_player_id"`
}

// ScheduleData answers GET_SCHEDULE for one round, and says how many there are.
type ScheduleData struct {
	RoundID int              `json:"round_id"`
	Rounds  int              `json:"rounds"`
	Matches []ScheduledMatch `json:"matches"`
}

// PlayerStatsData answers GET_PLAYER_STATS.
type PlayerStatsData struct {
	StandingRow
	TechnicalLosses int    `json:"technical_losses"`
	State           string `json:"state"`
}

// LeagueQueryResponse is LEAGUE_QUERY_RESPONSE. The data of GET_STANDINGS and
// GET_STATUS stands at the top level as well (004 §7.1).
type LeagueQueryResponse struct {
	Envelope
	QueryType    string      `json:"query_type,omitzero"`
	Success      *bool       `json:"success,omitzero"`
	Data         any         `json:"data,omitzero"`
	Error        *QueryError `json:"error,omitzero"`
	CurrentRound *int        `json:"current_round,omitzero"`
	StandingsData
	StatusData
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

// RetryInfo says what comes after a GAME_ERROR: the number of the retry that
// is coming, from 1; when; and the seconds left to answer.
type RetryInfo struct {
	RetryCount    int      `json:"retry_count"`
	MaxRetries    int      `json:"max_retries"`
	NextRetryAt   string   `json:"next_retry_at,omitzero"`
	TimeRemaining *float64 `json:"time_remaining,omitzero"`
}

// GameError is GAME_ERROR, in both shapes the documents have (spec 003 §2.9.2
// and §4.10.2).
type GameError struct {
	Envelope
	MatchID          string         `json:"match_id,omitzero"`
	PlayerID         string         `json:"player_id,omitzero"`
	ErrorCode        string         `json:"error_code,omitzero"`
	ErrorName        string         `json:"error_name,omitzero"`
	ErrorDescription string         `json:"error_description,omitzero"`
	AffectedPlayer   string         `json:"affected_player,omitzero"`
	ActionRequired   string         `json:"action_required,omitzero"`
	GameState        string         `json:"game_state,omitzero"`
	Retryable        *bool          `json:"retryable,omitzero"`
	RetryCount       *int           `json:"retry_count,omitzero"`
	MaxRetries       *int           `json:"max_retries,omitzero"`
	RetryInfo        *RetryInfo     `json:"retry_info,omitzero"`
	Context          map[string]any `json:"context,omitzero"`
	Consequence      string         `json:"consequence,omitzero"`
}

// A ToolRequest asks one of the debugging and control tools of spec 003
// §8.11; only the token is required.
type ToolRequest struct {
	Envelope
	LeagueID string `json:"league_id,omitzero"`
	MatchID  string `json:"match_id,omitzero"`
	PlayerID string `json:"player_id,omitzero"`
}

// Pong answers ping.
type Pong struct {
	Envelope
	Status string `json:"status,omitzero"`
	Role   string `json:"role,omitzero"`
	State  string `json:"state,omitzero"`
}

// LeagueStarted answers start_league.
type LeagueStarted struct {
	Envelope
	Status   string `json:"status,omitzero"`
	LeagueID string `json:"league_id,omitzero"`
	Players  int    `json:"players"`
	Referees int    `json:"referees"`
	Rounds   int    `json:"rounds"`
	Matches  int    `json:"matches"`
}

// MatchState answers get_match_state. Choices and draw are told of finished
// matches only.
type MatchState struct {
	Envelope
	MatchID    string      `json:"match_id"`
	State      string      `json:"state"`
	Attempt    int         `json:"attempt"`
	PlayerAID  string      `json:"player_A_id"`
	PlayerBID  string      `json:"player_B_id"`
	GameResult *GameResult `json:"game_result,omitzero"`
	Draw       *Draw       `json:"draw,omitzero"`
}

// A PlayedMatch is one match of a player's history, as it saw it.
type PlayedMatch struct {
	MatchID        string `json:"match_id"`
	OpponentID     string `json:"opponent_id"`
	Result         string `json:"result"` // WIN, LOSS, DRAW, TECHNICAL_WIN or TECHNICAL_LOSS
	MyChoice       string `json:"my_choice,omitzero"`
	OpponentChoice string `json:"opponent_choice,omitzero"`
	DrawnNumber    int    `json:"drawn_number,omitzero"`
}

// PlayerStats are a player's own counts (spec 003 §9.4.4).
type PlayerStats struct {
	TotalMatches int `json:"total_matches"`
	Wins         int `json:"wins"`
	Losses       int `json:"losses"`
	Draws        int `json:"draws"`
}

// PlayerState answers get_player_state; finished matches only.
type PlayerState struct {
	Envelope
	PlayerID string        `json:"player_id"`
	State    string        `json:"state"`
	Strategy string        `json:"strategy,omitzero"`
	Stats    PlayerStats   `json:"stats"`
	Matches  []PlayedMatch `json:"matches"`
}
