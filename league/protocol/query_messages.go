package protocol

import (
	"errors"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// QueryParams are the parameters of a query; which count depends on its type.
// Offset and Limit page through standings, at most 100 rows at once, and through
// schedules, at most as many matches as fit into MaxSchedule bytes. Limit 0 means
// as many as that.
type QueryParams struct {
	PlayerID string     `json:"player_id,omitzero"`
	RoundID  QueryRound `json:"round_id,omitzero"`
	Offset   int        `json:"offset,omitzero"`
	Limit    int        `json:"limit,omitzero"`
}

// A QueryRound is the round_id of GET_SCHEDULE: a number from 1, AllRounds, or 0
// for the current round.
type QueryRound int

// AllRounds asks for the schedule of the whole league; "all" in JSON.
const AllRounds QueryRound = -1

const allRounds = "all"

// MarshalJSONTo writes a number or "all".
func (r QueryRound) MarshalJSONTo(enc *jsontext.Encoder) error {
	if r == AllRounds {
		return enc.WriteToken(jsontext.String(allRounds))
	}
	return enc.WriteToken(jsontext.Int(int64(r)))
}

// UnmarshalJSONFrom reads a whole number from 0, "all", or null, which is 0.
func (r *QueryRound) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	value, err := dec.ReadValue()
	if err != nil {
		return err
	}
	if value.Kind() == 'n' {
		*r = 0
		return nil
	}
	if word, err := jsontext.AppendUnquote(nil, value); err == nil && string(word) == allRounds {
		*r = AllRounds
		return nil
	}
	n, err := strconv.Atoi(string(value))
	if err != nil || n < 0 {
		return errors.New(`a round_id is a whole number or "all"`)
	}
	*r = QueryRound(n)
	return nil
}

// MaxSchedule is how many bytes of JSON the matches of one answer to GET_SCHEDULE
// have at most: agents read 64 KB of an answer.
const MaxSchedule = 60_000

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

// AgentStates counts the agents of a league by the state of their life (spec 003
// §2.8).
type AgentStates struct {
	Registered int `json:"REGISTERED"`
	Active     int `json:"ACTIVE"`
	Suspended  int `json:"SUSPENDED"`
	Shutdown   int `json:"SHUTDOWN"`
}

// An InactiveAgent is one that is suspended or shut down, and why.
type InactiveAgent struct {
	AgentID  string `json:"agent_id"`
	State    string `json:"state"`
	Reason   string `json:"reason"`
	Failures int    `json:"failures"` // in a row
}

// MaxInactive is how many inactive agents stand in an answer to GET_STATUS.
const MaxInactive = 100

// StatusData answers GET_STATUS: the manager's state (004 §9.2), counts, and who
// gets nothing to do, in order of ids.
type StatusData struct {
	State    string   `json:"state,omitzero"`
	Rounds   *int     `json:"rounds,omitzero"`
	Matches  *int     `json:"matches,omitzero"`
	Recorded *int     `json:"recorded,omitzero"`
	Players  *int     `json:"players,omitzero"`
	Referees *int     `json:"referees,omitzero"`
	Games    []string `json:"games,omitzero"`

	AgentStates *AgentStates    `json:"agent_states,omitzero"`
	Inactive    []InactiveAgent `json:"inactive,omitzero"`
	Awaited     []string        `json:"awaited,omitzero"` // ids of agents that have not answered yet, before the start; MaxInactive at most
}

// A NextMatch is the next match of a player. Until its round is announced the
// referee is the one that the manager would choose now, and RefereeExpected is
// true; the endpoint is null for a match without a referee, because a player
// forfeits it.
type NextMatch struct {
	MatchID         string  `json:"match_id"`
	RoundID         int     `json:"round_id"`
	OpponentID      string  `json:"opponent_id"`
	RefereeEndpoint *string `json:"referee_endpoint"`
	RefereeExpected bool    `json:"referee_expected,omitzero"`
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

// ScheduleData answers GET_SCHEDULE: the matches of one round, or of all rounds,
// from the offset on. TotalMatches counts those before and after this page too.
type ScheduleData struct {
	RoundID      QueryRound       `json:"round_id"`
	Rounds       int              `json:"rounds"`
	Matches      []ScheduledMatch `json:"matches"`
	TotalMatches int              `json:"total_matches"`
	Offset       int              `json:"offset,omitzero"`
}

// AgentLife is the state of an agent's life (spec 003 §2.8), why it is in it
// where there is more to say, and how often it has failed in a row.
type AgentLife struct {
	State       string `json:"state"`
	StateReason string `json:"state_reason,omitzero"`
	Failures    int    `json:"failures"`
}

// PlayerStatsData answers GET_PLAYER_STATS.
type PlayerStatsData struct {
	StandingRow
	TechnicalLosses int `json:"technical_losses"`
	AgentLife
}

// RefereeStatsData answers GET_PLAYER_STATS about a referee, which has no place
// in the table.
type RefereeStatsData struct {
	RefereeID   string `json:"referee_id"`
	DisplayName string `json:"display_name"`
	AgentLife
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
	FromStandings  bool   `json:"from_standings,omitzero"` // no GAME_OVER could be read: the result follows from the standings
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

	// LeagueStats, of a player that came back, counts its matches in the whole
	// league as the manager last told them: Stats and Matches are its own memory.
	LeagueStats *PlayerStats `json:"league_stats,omitzero"`
}
