package protocol

import (
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league"
)

// A ToolRequest is the request of a debugging or control tool (spec 003 §8.11). Only the
// token is required, and ping needs none.
type ToolRequest struct {
	Envelope
	LeagueID string `json:"league_id,omitzero"`
	MatchID  string `json:"match_id,omitzero"`
	PlayerID string `json:"player_id,omitzero"`
	Attempt  int    `json:"attempt,omitzero" rule:"min=1"`
}

// MatchState answers get_match_state. Only finished matches have a result and a draw.
type MatchState struct {
	Envelope
	MatchID string `json:"match_id"`
	// `ASSIGNED`, `WAITING_FOR_PLAYERS`, `COLLECTING_CHOICES`, `DRAWING_NUMBER`, `FINISHED`, `ACKNOWLEDGED`,
	// `ABANDONED` or `DISPUTED`
	State   string `json:"state"`
	Attempt int    `json:"attempt"`
	// number of the turn, in games with a view; absent before the first question for a move
	Turn       int            `json:"turn,omitzero" rule:"min=1"`
	PlayerAID  string         `json:"player_A_id"`
	PlayerBID  string         `json:"player_B_id"`
	GameResult *league.Result `json:"game_result,omitzero"`
	Draw       *Draw          `json:"draw,omitzero"`
}

// MatchTranscript answers get_match_transcript with the file of an attempt.
type MatchTranscript struct {
	Envelope
	MatchID string `json:"match_id"`
	Attempt int    `json:"attempt" rule:"min=1"`
	// the file of the attempt, with all messages
	Match jsontext.Value `json:"match"`
}

// A PlayedMatch is a match of a player's history, from the player's side.
type PlayedMatch struct {
	MatchID    string `json:"match_id"`
	OpponentID string `json:"opponent_id"`
	// `WIN`, `LOSS`, `DRAW`, `TECHNICAL_WIN` or `TECHNICAL_LOSS`
	Result         string `json:"result"`
	MyChoice       string `json:"my_choice,omitzero"`
	OpponentChoice string `json:"opponent_choice,omitzero"`
	DrawnNumber    int    `json:"drawn_number,omitzero"`
	// there was no readable GAME_OVER; the result follows from the standings
	FromStandings bool `json:"from_standings,omitzero"`
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
	PlayerID string `json:"player_id"`
	// `UNREGISTERED`, `REGISTERED`, `WAITING_FOR_ROUND`, `IN_MATCH` or `WAITING_FOR_RESULT`
	State    string `json:"state"`
	Strategy string `json:"strategy,omitzero"`
	// results of the player, counted from its own history
	Stats   PlayerStats   `json:"stats"`
	Matches []PlayedMatch `json:"matches"`

	// results of a player that has returned, counted by the manager
	LeagueStats *PlayerStats `json:"league_stats,omitzero"`
}
