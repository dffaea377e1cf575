package protocol

import (
	"math"
	"time"
)

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
// (spec 003 §2.9.4). Backoff is how the delay grows from one retry to the next:
// BackoffFixed, also when it is empty, BackoffLinear or BackoffExponential.
type RetryPolicy struct {
	MaxRetries int     `json:"max_retries"`
	Delay      float64 `json:"delay_sec"`
	Backoff    string  `json:"backoff_strategy,omitzero"`
}

// The ways in which the delay between retries grows (spec 003 §9.3.1).
const (
	BackoffFixed       = "fixed"
	BackoffLinear      = "linear"
	BackoffExponential = "exponential"
)

// Pause is the delay before the n-th retry, from 1.
func (p RetryPolicy) Pause(n int) time.Duration {
	factor := 1.0
	switch p.Backoff {
	case BackoffLinear:
		factor = float64(n)
	case BackoffExponential:
		factor = math.Pow(2, float64(n-1))
	}
	return Seconds(p.Delay * factor)
}

// LongestMatch is the most time one attempt at a match can take from
// assignment to report when every call waits as long as it may. Turns is how
// often, one after another, somebody is asked for a move.
func (t Timeouts) LongestMatch(retry RetryPolicy, turns int) time.Duration {
	calls := float64(retry.MaxRetries + 1)
	waits := 0.0
	for n := 1; n <= retry.MaxRetries; n++ {
		waits += retry.Pause(n).Seconds()
	}
	seconds := calls*t.GameJoinAck + waits + float64(turns)*(calls*t.Move+waits) + t.GameOver + calls*t.Generic
	return Seconds(seconds)
}

// Seconds makes a duration of the protocol's seconds.
func Seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// DefaultTimeouts are the response times of spec 003 table 5.
func DefaultTimeouts() Timeouts { return Timeouts{GameJoinAck: 5, Move: 30, GameOver: 5, Generic: 10} }

// DefaultRetryPolicy is spec 003 §2.9.4: three retries, 2 s apart.
func DefaultRetryPolicy() RetryPolicy { return RetryPolicy{MaxRetries: 3, Delay: 2} }

// Scoring is what outcomes are worth (spec 003 table 8).
type Scoring struct {
	Win           int `json:"win_points"`
	Draw          int `json:"draw_points"`
	Loss          int `json:"loss_points"`
	TechnicalLoss int `json:"technical_loss_points"`
}

// MatchAssignment hands one attempt at a match to a referee; the parameters of
// start_match. No document of the specification defines it. A referee that shows no
// access tokens gets none, and is told its id: some find their matches by that.
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
	Replies     string         `json:"replies,omitzero"`
	RefereeID   string         `json:"referee_id,omitzero"`
	Auth        string         `json:"auth,omitzero"`
}

// RepliesStrict in an assignment has the referee refuse every reply that is not
// as the protocol has it; without it a reply counts whose meaning is clear.
const RepliesStrict = "strict"

// AuthLenient in an assignment says that the league takes answers without a token
// from the address of the player that was asked.
const AuthLenient = "lenient"

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
// there is none; a choice that was never made is null. Faults is, of each player
// that lost technically by a failure, the code of the one that decided it, such
// as E001; a refused invitation is none.
type GameResult struct {
	Status         string             `json:"status,omitzero"`
	WinnerPlayerID *string            `json:"winner_player_id"`
	DrawnNumber    *int               `json:"drawn_number"`
	NumberParity   *string            `json:"number_parity"`
	Choices        PerPlayer[*string] `json:"choices"`
	Reason         string             `json:"reason,omitzero"`
	Faults         PerPlayer[string]  `json:"faults,omitzero"`
}

// Moves are the choices of two players; "" for one that was never made.
func (r *GameResult) Moves(ids [2]string) (moves [2]string) {
	for i, id := range ids {
		if choice, _ := r.Choices.Get(id); choice != nil {
			moves[i] = *choice
		}
	}
	return moves
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
	Faults      PerPlayer[string]  `json:"faults,omitzero"` // as in GameResult
}

// A MatchResult is what a referee reports. Winner is null for a draw and for a
// double loss.
type MatchResult struct {
	Winner  *string        `json:"winner"`
	Score   PerPlayer[int] `json:"score"`
	Details *ResultDetails `json:"details,omitzero"`
}

// GameResult returns the result as GAME_OVER has it.
func (r *MatchResult) GameResult() *GameResult {
	d := r.Details
	if d == nil {
		return &GameResult{WinnerPlayerID: r.Winner}
	}
	g := &GameResult{
		Status: d.Status, WinnerPlayerID: r.Winner, DrawnNumber: d.DrawnNumber, Choices: d.Choices, Reason: d.Reason, Faults: d.Faults,
	}
	if d.DrawnNumber != nil {
		parity := [...]string{"even", "odd"}[*d.DrawnNumber&1]
		g.NumberParity = &parity
	}
	return g
}

// MatchResultReport is MATCH_RESULT_REPORT (spec 003 §4.6.2).
type MatchResultReport struct {
	Envelope
	LeagueID string      `json:"league_id,omitzero"`
	RoundID  int         `json:"round_id,omitzero"`
	MatchID  string      `json:"match_id,omitzero"`
	GameType string      `json:"game_type,omitzero"`
	Attempt  int         `json:"attempt,omitzero"`
	Result   MatchResult `json:"result"`
	Draw     *Draw       `json:"draw,omitzero"`
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
