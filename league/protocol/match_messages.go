package protocol

import (
	"cmp"
	"net/netip"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league"
)

// A Record holds the matches won, lost and drawn by a player, and its points.
type Record struct {
	Wins   int  `json:"wins"`
	Losses int  `json:"losses"`
	Draws  int  `json:"draws"`
	Points *int `json:"points,omitzero" rule:"added"`
}

// An AssignedPlayer is a side of a MATCH_ASSIGNMENT. The access token is for this
// referee's calls of this player in this attempt.
type AssignedPlayer struct {
	PlayerID    string `json:"player_id,omitzero" rule:"required"`
	Endpoint    string `json:"endpoint,omitzero" rule:"required,url"`
	DisplayName string `json:"display_name,omitzero" rule:"name,min=1"`
	// record of the player in the league
	Standings Record `json:"standings" rule:"optional"`
	// `auth_token` of the referee's messages to this player in this attempt
	AccessToken string `json:"access_token,omitzero"`
	PublicKey   string `json:"public_key,omitzero" rule:"key"`
}

// The ways in which the delay between retries grows (spec 003 §9.3.1).
const (
	BackoffFixed       = "fixed"
	BackoffLinear      = "linear"
	BackoffExponential = "exponential"
)

// A GameID identifies the rules of a game that is a program, beside its type. It is empty for the games of this
// program. Version is what the program calls its rules, of at most 200 characters. Digest is the SHA-256 of its files,
// in hexadecimal digits.
type GameID struct {
	// version of the rules, if the game is a program
	Version string `json:"game_version,omitzero"`
	// SHA-256 of the files of the game, if it is a program
	Digest string `json:"game_digest,omitzero" rule:"digest"`
}

// MatchAssignment assigns an attempt at a match to a referee, as the request of
// start_match. The specification does not define it. For a third-party referee, which
// sends no access tokens, it contains the referee's id in their place, because some find
// their matches by it.
//
// AllowedEndpoints lists the networks in which the manager calls agents, in CIDR notation,
// against SSRF: our referee calls the players nowhere else. Third-party managers send none.
type MatchAssignment struct {
	Envelope
	LeagueID string `json:"league_id"`
	RoundID  int    `json:"round_id" rule:"min=1"`
	MatchID  string `json:"match_id,omitzero" rule:"required"`
	Attempt  int    `json:"attempt" rule:"min=1"`
	GameType string `json:"game_type"`
	GameID
	PlayerA AssignedPlayer `json:"player_A"`
	PlayerB AssignedPlayer `json:"player_B"`
	// times that players and the manager have, in seconds
	Timeouts Timeouts `json:"timeouts"`
	// how calls of players are retried
	RetryPolicy RetryPolicy        `json:"retry_policy"`
	Scoring     league.MatchPoints `json:"scoring"`
	// `strict`: the referee refuses each reply that is not exactly as this page says
	Replies string `json:"replies,omitzero" rule:"is=strict"`
	// `plain`: messages of the match have the [members of chapter 4 alone](#members-of-chapter-4-alone)
	Members string `json:"members,omitzero" rule:"is=plain"`
	// id of a third-party referee, which gets no access tokens
	RefereeID string `json:"referee_id,omitzero"`
	// `lenient`: answers without a token count if they come from the player's address
	Auth    string `json:"auth,omitzero" rule:"is=lenient"`
	Started string `json:"started,omitzero" rule:"digest"`
	// time of each player for all moves, in a league with [time banks](#time-banks)
	TimeBank *TimeBank `json:"time_bank,omitzero"`

	// networks in which the referee may call players; absent means all
	AllowedEndpoints []string `json:"allowed_endpoints,omitzero" rule:"min=1,each,network"`

	// number of the last attempt whose result is annulled; the match is played again
	AnnulledAttempts int `json:"annulled_attempts,omitzero" rule:"min=1"`

	// plies with which the match [begins](formats.md#openings), those of `player_A` and `player_B` in turn
	Opening []string `json:"opening,omitzero" rule:"min=1,each,max=2000"`
}

// Networks returns the allowed endpoints; nil if the assignment lists none. An entry that is
// no network allows nothing.
func (a *MatchAssignment) Networks() []netip.Prefix {
	if a.AllowedEndpoints == nil {
		return nil
	}
	networks := make([]netip.Prefix, 0, len(a.AllowedEndpoints))
	for _, text := range a.AllowedEndpoints {
		if network, err := netip.ParsePrefix(text); err == nil {
			networks = append(networks, network.Masked())
		}
	}
	return networks
}

// RepliesStrict in an assignment makes the referee refuse every reply that is not
// spec-compliant. Without it a reply counts if its meaning is clear.
const RepliesStrict = "strict"

// MembersPlain in an assignment makes the messages of the match plain: see Plain.
const MembersPlain = "plain"

// AuthLenient in an assignment makes the league accept answers without a token from the
// address of the player.
const AuthLenient = "lenient"

// MatchAssignmentAck answers MATCH_ASSIGNMENT at once; the result follows as
// MATCH_RESULT_REPORT. Status is ACCEPTED, BUSY (retry later, or use another referee) or
// REJECTED, with a reason.
type MatchAssignmentAck struct {
	Envelope
	// `BUSY`: the manager tries again later or another referee; `REJECTED`: another referee
	Status         string `json:"status,omitzero" rule:"required,is=ACCEPTED|BUSY|REJECTED"`
	MatchID        string `json:"match_id,omitzero" rule:"required"`
	Attempt        int    `json:"attempt,omitzero" rule:"required,min=1"`
	RefereeID      string `json:"referee_id,omitzero"`
	DrawCommitment string `json:"draw_commitment,omitzero" rule:"digest"`
	// digest of the referee's program of the game; the manager does not use a referee with another one than its own
	GameDigest string `json:"game_digest,omitzero" rule:"digest"`
	Reason     string `json:"reason,omitzero" rule:"upto=500"`
}

// AcknowledgesAll is the reason in the acceptance of a match by a referee that answers every request in the same way.
const AcknowledgesAll = "it acknowledges every request"

// GameInvitation is GAME_INVITATION (spec 003 §4.4.1).
type GameInvitation struct {
	Envelope
	LeagueID       string `json:"league_id"`
	RoundID        int    `json:"round_id" rule:"min=1"`
	MatchID        string `json:"match_id"`
	GameType       string `json:"game_type"`
	RoleInMatch    string `json:"role_in_match" rule:"is=PLAYER_A|PLAYER_B"`
	OpponentID     string `json:"opponent_id"`
	Attempt        int    `json:"attempt,omitzero" rule:"min=1,added"`
	DrawCommitment string `json:"draw_commitment,omitzero" rule:"digest,added"`
}

// GameJoinAck is GAME_JOIN_ACK (spec 003 §4.4.2).
type GameJoinAck struct {
	Envelope
	MatchID  string `json:"match_id,omitzero" rule:"required"`
	PlayerID string `json:"player_id,omitzero" rule:"required"`
	// time at which the player received the invitation
	ArrivalTimestamp string `json:"arrival_timestamp,omitzero" rule:"required,timestamp"`
	// whether the player takes part; `false` loses the match
	Accept *bool `json:"accept,omitzero" rule:"required"`
	// [commitment](#the-draw) of the player to its entropy
	EntropyCommitment string `json:"entropy_commitment,omitzero" rule:"digest,added"`
}

// A ChoiceContext contains information for a player's choice.
type ChoiceContext struct {
	OpponentID string `json:"opponent_id,omitzero"`
	RoundID    int    `json:"round_id,omitzero" rule:"min=1"`
	// record of the receiver in the league
	YourStandings *Record `json:"your_standings,omitzero"`
}

// A SignatureRequest asks a player to sign its answer. It is empty, but for Opening, unless the league signs
// and the player has a public key. The statement that it signs has the entropy commitments of
// PLAYER_A and PLAYER_B in this order, of which RoleInMatch is that of the receiver.
type SignatureRequest struct {
	// `true`: the player must sign its answer
	Sign               bool                     `json:"sign,omitzero"`
	Started            string                   `json:"started,omitzero" rule:"digest"`
	Turn               int                      `json:"turn,omitzero" rule:"min=1"`
	RoleInMatch        string                   `json:"role_in_match,omitzero" rule:"is=PLAYER_A|PLAYER_B"`
	DrawCommitment     string                   `json:"draw_commitment,omitzero" rule:"digest"`
	EntropyCommitments league.PerPlayer[string] `json:"entropy_commitments,omitzero" rule:"each,digest"`
	// all legal moves of earlier turns, `PLAYER_A` before `PLAYER_B` within a turn
	Moves []PlayerMove `json:"moves,omitzero"`
	// hash of `context.view`, in a game that hides something: the player [signs it](evidence.md#signatures), too
	ViewHash string `json:"view_hash,omitzero" rule:"digest"`
	// plies with which the match has [begun](formats.md#openings), those of `PLAYER_A` and `PLAYER_B` in turn, also
	// where no signature is asked for
	Opening []string `json:"opening,omitzero" rule:"min=1,each,max=2000"`
}

// ChooseParityCall is CHOOSE_PARITY_CALL (spec 003 §4.5.1).
type ChooseParityCall struct {
	Envelope
	MatchID  string        `json:"match_id"`
	PlayerID string        `json:"player_id"`
	GameType string        `json:"game_type"`
	Context  ChoiceContext `json:"context,omitzero"`
	Deadline string        `json:"deadline" rule:"timestamp"`
	// milliseconds in the player's [time bank](#time-banks)
	TimeLeft         int `json:"time_left_ms,omitzero" rule:"min=1,added"`
	SignatureRequest `rule:"added"`
}

// A MoveProof goes with a move. Fallback tells that the player's model or host did not choose in
// time, so that the move is random or another strategy's. The specification does not define these
// members, and no signature covers Fallback.
type MoveProof struct {
	// the entropy that the player has committed to
	Entropy   string `json:"entropy,omitzero" rule:"digest"`
	Signature string `json:"signature,omitzero" rule:"signature"` // of a MoveStatement
	// the move was made by the player's [fallback](leagues.md#fallbacks), because its model or host did not
	// answer
	Fallback bool `json:"fallback,omitzero"`
}

// ChooseParityResponse is CHOOSE_PARITY_RESPONSE (spec 003 §4.5.2).
type ChooseParityResponse struct {
	Envelope
	MatchID  string `json:"match_id,omitzero" rule:"required"`
	PlayerID string `json:"player_id,omitzero" rule:"required"`
	// the choice, exactly in this spelling
	ParityChoice string `json:"parity_choice,omitzero" rule:"required,is=even|odd"`
	MoveProof    `rule:"added"`
}

// A MoveRequest contains the kind of move and the legal moves.
type MoveRequest struct {
	MoveType string `json:"move_type"`
	// the legal moves; the choice must be exactly one of them
	ValidOptions []string `json:"valid_options,omitzero" rule:"each,max=2000"`
	// most bytes of a move in free text: one line of UTF-8, in place of `valid_options`
	Text int `json:"text,omitzero" rule:"min=1"`
	// position of the game, and `opponent_id` and `round_id`
	Context map[string]any `json:"context,omitzero"`
}

// GameMoveCall is GAME_MOVE_CALL (spec 003 §3.8.2).
type GameMoveCall struct {
	Envelope
	MatchID     string      `json:"match_id"`
	PlayerID    string      `json:"player_id"`
	GameType    string      `json:"game_type"`
	MoveRequest MoveRequest `json:"move_request"`
	Deadline    string      `json:"deadline" rule:"timestamp"`
	// milliseconds in the player's [time bank](#time-banks)
	TimeLeft int `json:"time_left_ms,omitzero" rule:"min=1"`
	SignatureRequest
}

// MoveData is a player's move.
type MoveData struct {
	MoveType string `json:"move_type,omitzero" rule:"required"`
	// the move, exactly as in `valid_options`
	Choice string `json:"choice,omitzero" rule:"required,max=2000"`
}

// GameMoveResponse is GAME_MOVE_RESPONSE (spec 003 §3.8.2).
type GameMoveResponse struct {
	Envelope
	MatchID  string   `json:"match_id,omitzero" rule:"required"`
	PlayerID string   `json:"player_id,omitzero" rule:"required"`
	GameType string   `json:"game_type,omitzero" rule:"required"`
	MoveData MoveData `json:"move_data,omitzero" rule:"required"`
	MoveProof
}

// A Draw reveals the commitment and the secrets of a draw in hexadecimal, so that anyone
// can recompute the number (commit–reveal). EntropyCommitments are those that the players were
// shown before they signed; empty for a match without signatures.
type Draw struct {
	Commitment string `json:"commitment" rule:"digest"`
	Nonce      string `json:"nonce" rule:"digest"`
	// entropy of each player that committed to one, by id
	Entropies          league.PerPlayer[string] `json:"entropies,omitzero" rule:"each,digest"`
	EntropyCommitments league.PerPlayer[string] `json:"entropy_commitments,omitzero" rule:"each,digest"`
}

// GameOver is GAME_OVER (spec 003 §4.6.1). Reason is accepted here too.
type GameOver struct {
	Envelope
	MatchID    string         `json:"match_id"`
	GameType   string         `json:"game_type"`
	GameResult *league.Result `json:"game_result,omitzero" rule:"required"`
	Draw       *Draw          `json:"draw,omitzero" rule:"added"`
	// all legal moves of a game that hides something
	Moves []PlayerMove `json:"moves,omitzero" rule:"added"`
	// draws during the match, of a game that hides something
	Draws []Drawn `json:"draws,omitzero" rule:"added"`
	// accepted here too; evenodd sends it inside `game_result`
	Reason string `json:"reason,omitzero" rule:"upto=500,added"`
}

// A MatchResult is the result of a match with the points of both players by the league's scoring.
type MatchResult struct {
	league.Result
	Score league.PerPlayer[int] `json:"score"`
}

// A ReportedResult is the MatchResult in a report, which has it as the JSON of a resultForm.
type ReportedResult MatchResult

// A resultForm has the members of a ReportedResult and their rules. Winner is null for a draw and for a double
// technical loss. A third-party referee may omit the details.
type resultForm struct {
	Winner *string `json:"winner" rule:"null"`
	// points of each player, by id; the manager computes the points from status and winner
	Score   league.PerPlayer[int] `json:"score"`
	Details resultDetails         `json:"details,omitzero"`
}

type resultDetails struct {
	DrawnNumber *int                      `json:"drawn_number" rule:"optional,null,min=-2147483647"`
	Choices     league.PerPlayer[*string] `json:"choices" rule:"optional,each,null,upto=2000"`
	Status      string                    `json:"status,omitzero" rule:"is=WIN|DRAW|TECHNICAL_LOSS,added"`
	Reason      string                    `json:"reason,omitzero" rule:"upto=500,added"`
	Faults      league.PerPlayer[string]  `json:"faults,omitzero" rule:"added,each,code"`
	Fallbacks   league.PerPlayer[int]     `json:"fallbacks,omitzero" rule:"added,each,min=1"`
}

func (r *ReportedResult) form() *resultForm {
	return &resultForm{r.WinnerPlayerID, r.Score, resultDetails{
		r.DrawnNumber, r.Choices, r.Status, r.Reason, r.Faults, r.Fallbacks,
	}}
}

func (f *resultForm) result() (r ReportedResult) {
	d := &f.Details
	r.WinnerPlayerID, r.Score = f.Winner, f.Score
	r.DrawnNumber, r.Choices, r.Status = d.DrawnNumber, d.Choices, d.Status
	r.Reason, r.Faults, r.Fallbacks = d.Reason, d.Faults, d.Fallbacks
	if d.DrawnNumber != nil {
		r.NumberParity = &parities[*d.DrawnNumber&1]
	}
	return r
}

// MarshalJSONTo writes the form of the result.
func (r *ReportedResult) MarshalJSONTo(enc *jsontext.Encoder) error {
	return json.MarshalEncode(enc, r.form())
}

// UnmarshalJSONFrom reads the form of a result.
func (r *ReportedResult) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	var f resultForm
	err := json.UnmarshalDecode(dec, &f)
	*r = f.result()
	return err
}

// MatchResultReport is MATCH_RESULT_REPORT (spec 003 §4.6.2).
type MatchResultReport struct {
	Envelope
	LeagueID string         `json:"league_id,omitzero" rule:"required"`
	RoundID  int            `json:"round_id,omitzero" rule:"required,min=1"`
	MatchID  string         `json:"match_id,omitzero" rule:"required"`
	GameType string         `json:"game_type,omitzero" rule:"required"`
	Attempt  int            `json:"attempt,omitzero" rule:"min=1,added"`
	Result   ReportedResult `json:"result"`
	Draw     *Draw          `json:"draw,omitzero" rule:"added"`
	Evidence `rule:"added"`
}

// Named is the attempt that the report names, a plain one in its conversation alone; 0 for none.
func (q *MatchResultReport) Named() int {
	return cmp.Or(q.Attempt, ConversationAttempt(q.MatchID, q.ConversationID))
}

// Evidence is the proof of a result: the last signature of each player that signed, all
// legal moves of a game of several turns, and the digest of the transcript, which is the line that
// the referee's results file has of the match; "" for a referee without files.
type Evidence struct {
	// last [signature](evidence.md#signatures) of each player that signed, by id
	Signatures league.PerPlayer[MoveSignature] `json:"signatures,omitzero"`
	// all legal moves of a game of several turns
	Moves []PlayerMove `json:"moves,omitzero"`
	// plies with which the match began, as the assignment has them; `moves` lacks them
	Opening []string `json:"opening,omitzero" rule:"min=1,each,max=2000"`
	// draws during the match, in order
	Draws []Drawn `json:"draws,omitzero"`
	// SHA-256 of the transcript up to the result
	TranscriptDigest string `json:"transcript_digest,omitzero" rule:"digest"`
}

// RetryInfo describes the retry after a GAME_ERROR: its number, from 1; its time; and the
// seconds left to answer.
type RetryInfo struct {
	RetryCount int `json:"retry_count"`
	MaxRetries int `json:"max_retries"`
	// time of the next question
	NextRetryAt string `json:"next_retry_at,omitzero" rule:"timestamp"`
	// seconds that are left to answer; absent if the next question has a new deadline
	TimeRemaining *float64 `json:"time_remaining,omitzero" rule:"added"`
}

// GameError is GAME_ERROR, in both forms of the specification (spec 003 §2.9.2 and
// §4.10.2).
type GameError struct {
	Envelope
	MatchID          string `json:"match_id"`
	PlayerID         string `json:"player_id,omitzero" rule:"added"`
	ErrorCode        string `json:"error_code" rule:"code"`
	ErrorName        string `json:"error_name,omitzero" rule:"added"`
	ErrorDescription string `json:"error_description" rule:"upto=500"`
	// id of the player whose answer was wrong or missing
	AffectedPlayer string `json:"affected_player"`
	// message type that the referee waits for
	ActionRequired string `json:"action_required"`
	GameState      string `json:"game_state,omitzero" rule:"added"`
	// `true`: the referee asks again; `false`: the player has lost the match
	Retryable  *bool `json:"retryable,omitzero" rule:"added"`
	RetryCount *int  `json:"retry_count,omitzero" rule:"added"`
	MaxRetries *int  `json:"max_retries,omitzero" rule:"added"`
	// when the referee asks again
	RetryInfo *RetryInfo     `json:"retry_info,omitzero"`
	Context   map[string]any `json:"context,omitzero" rule:"added"`
	// what happens if the player does not answer, for people
	Consequence string `json:"consequence,omitzero" rule:"upto=500"`
}
