package protocol

import (
	"cmp"
	"errors"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league"
	"evenodd/league/lists"
)

// The types of queries. Package decide answers them, and package cmd sends them.
const (
	QueryStandings   = "GET_STANDINGS"
	QuerySchedule    = "GET_SCHEDULE"
	QueryNextMatch   = "GET_NEXT_MATCH"
	QueryPlayerStats = "GET_PLAYER_STATS"
	QueryStatus      = "GET_STATUS"

	// Only the organiser may send these.
	QueryJournal  = "GET_JOURNAL"
	QueryAgentLog = "GET_AGENT_LOG"
)

// Queries are the queries that agents may send, too.
var Queries = [...]string{QueryStandings, QuerySchedule, QueryNextMatch, QueryPlayerStats, QueryStatus}

// QueryParams are the parameters of a query; the type of the query determines which ones
// it uses. Offset and Limit select a page of the standings, at most 100 rows, or of the
// schedule, at most MaxSchedule bytes, or of the journal. Limit 0 means the largest page.
type QueryParams struct {
	// id or name of the player or agent that the query is about; absent means the sender
	PlayerID string `json:"player_id,omitzero"`
	// round of GET_SCHEDULE, or `"all"`; absent means all rounds
	RoundID QueryRound `json:"round_id,omitzero" rule:"min=1,or=all"`
	// first row or match to return, from 0
	Offset int `json:"offset,omitzero"`
	// largest number of rows or matches to return
	Limit int `json:"limit,omitzero" rule:"min=1"`
}

// A QueryRound is the round_id of GET_SCHEDULE: a number from 1, or AllRounds, which 0 means, too.
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
	switch n, err := strconv.Atoi(string(value)); {
	case value.Kind() == 'n':
		*r = 0
	case Unquote(value) == allRounds:
		*r = AllRounds
	case err != nil || n < 0:
		return errors.New(`a round_id is a whole number or "all"`)
	default:
		*r = QueryRound(n)
	}
	return nil
}

// MaxSchedule limits the matches in an answer to GET_SCHEDULE, in bytes of JSON, because
// agents read at most 64 KB of an answer.
const MaxSchedule = 60_000

// LeagueQuery is LEAGUE_QUERY (spec 003 §4.9.1).
type LeagueQuery struct {
	Envelope
	LeagueID  string `json:"league_id,omitzero" rule:"required"`
	QueryType string `json:"query_type,omitzero" rule:"required"`
	// parameters; each query uses some of them
	QueryParams QueryParams `json:"query_params,omitzero"`
}

// A QueryError is the reason for a refused query (002 §8.2.1).
type QueryError struct {
	ErrorCode string `json:"error_code" rule:"code"`
	ErrorName string `json:"error_name"`
	// sentence for people
	ErrorDescription string `json:"error_description" rule:"upto=500"`
}

// StandingsData answers GET_STANDINGS.
type StandingsData struct {
	Standings    []StandingRow `json:"standings,omitzero"`
	TotalPlayers int           `json:"total_players,omitzero"`
	Offset       int           `json:"offset,omitzero"`
}

// AgentStates counts the agents of a league by their state (spec 003 §2.8).
type AgentStates struct {
	// agents that have not answered yet
	Registered int `json:"REGISTERED"`
	// agents that take part
	Active int `json:"ACTIVE"`
	// agents that did not answer several times; they may return
	Suspended int `json:"SUSPENDED"`
	// agents that take part no more
	Shutdown int `json:"SHUTDOWN"`
}

// An InactiveAgent is a suspended or shut down agent, with the reason.
type InactiveAgent struct {
	AgentID string `json:"agent_id"`
	// `SUSPENDED` or `SHUTDOWN`; before the start `REGISTERED`
	State  string `json:"state"`
	Reason string `json:"reason" rule:"upto=500"`
	// calls without an answer in a row
	Failures int `json:"failures"`
}

// MaxInactive limits the inactive agents in an answer to GET_STATUS.
const MaxInactive = 100

// StateLeagueCompleted is the state of a league that is over.
const StateLeagueCompleted = "LEAGUE_COMPLETED"

// StatusData answers GET_STATUS: the manager's state (004 §9.2), counts, and the inactive
// agents in order of ids. Until a knockout or double elimination ends, Rounds and Matches are
// the largest possible numbers.
type StatusData struct {
	// state of the league: `WAITING_FOR_REGISTRATIONS`, `CREATING_SCHEDULE`, `RUNNING_LEAGUE` or
	// `LEAGUE_COMPLETED`
	State    string `json:"state,omitzero"`
	Rounds   *int   `json:"rounds,omitzero"`
	Matches  *int   `json:"matches,omitzero"`
	Recorded *int   `json:"recorded,omitzero"`
	Players  *int   `json:"players,omitzero"`
	Referees *int   `json:"referees,omitzero"`
	// games that the manager knows, that of the league first
	Games []string `json:"games,omitzero"`

	// number of agents in each state
	AgentStates *AgentStates `json:"agent_states,omitzero"`
	// suspended and shut down agents, at most 100; before the start, for the organiser alone: agents that pings
	// have not reached
	Inactive []InactiveAgent `json:"inactive,omitzero"`
	// ids of the agents that have not answered yet, before the start
	Awaited []string `json:"awaited,omitzero"`
	// what the manager's pings to the agent that asks have met, for people, such as `connection refused at
	// http://192.0.2.7:8101/mcp, 3 tries`; only before the start, and until the first ping is answered
	Unreachable string `json:"unreachable,omitzero"`
	// `gauntlet`, `swiss`, or `knockout` or `double-elimination` with the largest possible `rounds` and `matches`;
	// absent in a round-robin
	Tournament string `json:"tournament,omitzero"`
	// the organiser holds back the next round
	Paused bool `json:"paused,omitzero"`

	// time at which the league starts
	StartAt string `json:"start_at,omitzero" rule:"timestamp"`
	// time at which registration ends
	RegistrationUntil string `json:"registration_until,omitzero" rule:"timestamp"`

	// agents that may register, in a [league with a roster](leagues.md#the-roster)
	Roster *RosterSize `json:"roster,omitzero"`
}

// RosterSize is the number of agents that may register in a league with a roster.
type RosterSize struct {
	Players int `json:"players"`
	// 0 if any referee may register
	Referees int `json:"referees"`
}

// Lists tells whether a roster, which may be nil, lists players, or referees. Without referees it restricts
// players only.
func (r *RosterSize) Lists(players bool) bool { return r != nil && (players || r.Referees > 0) }

// A NextMatch is the next match of a player. Before the announcement of its round the
// referee is the manager's current choice, and RefereeExpected is true. The endpoint is
// null for a forfeited match, which has no referee.
type NextMatch struct {
	MatchID         string  `json:"match_id"`
	RoundID         int     `json:"round_id"`
	OpponentID      string  `json:"opponent_id"`
	RefereeEndpoint *string `json:"referee_endpoint"`
	RefereeExpected bool    `json:"referee_expected,omitzero"`
}

// NextMatchData answers GET_NEXT_MATCH. NextMatch is null if no match is left, or if
// the next round depends on results that are missing: then Undecided is true.
type NextMatchData struct {
	NextMatch *NextMatch `json:"next_match"`
	Undecided bool       `json:"undecided,omitzero"`
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

// ScheduleData answers GET_SCHEDULE: a page of the matches of one round or of all rounds.
// TotalMatches counts the matches of all pages. KnownRounds is the number of rounds with
// known pairings, if later rounds depend on results that are missing.
type ScheduleData struct {
	RoundID      QueryRound       `json:"round_id"`
	Rounds       int              `json:"rounds"`
	KnownRounds  *int             `json:"known_rounds,omitzero"`
	Matches      []ScheduledMatch `json:"matches"`
	TotalMatches int              `json:"total_matches"`
	Offset       int              `json:"offset,omitzero"`
}

// AgentLife is the state of an agent (spec 003 §2.8), the reason for it, and the number of
// failures in a row.
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

// RefereeStatsData answers GET_PLAYER_STATS about a referee, which has no rank.
type RefereeStatsData struct {
	RefereeID   string `json:"referee_id"`
	DisplayName string `json:"display_name"`
	AgentLife
}

// LeagueQueryResponse is LEAGUE_QUERY_RESPONSE. It contains the data of GET_STANDINGS and
// GET_STATUS at the top level as well (004 §7.1).
type LeagueQueryResponse struct {
	Envelope
	QueryType string `json:"query_type"`
	// `false` if there is an `error`
	Success *bool       `json:"success,omitzero"`
	Data    any         `json:"data,omitzero"`
	Error   *QueryError `json:"error,omitzero"`
	// number of the current round; 0 before the first
	CurrentRound  *int `json:"current_round,omitzero" rule:"added"`
	StandingsData `rule:"added"`
	StatusData    `rule:"added"`
}

// JournalData answers GET_JOURNAL: lines of the journal from the event with the number of
// the query's offset, exactly as its file has them. Last is the number of the last event.
type JournalData struct {
	First int      `json:"first"`
	Lines []string `json:"lines"`
	Last  int      `json:"last"`
}

// AgentLogData answers GET_AGENT_LOG: a part of the log of an agent and of the manager's log
// lines about it, from the query's offset. Next is the offset of the next part; 0 behind the last.
type AgentLogData struct {
	AgentID string   `json:"agent_id"`
	Lines   []string `json:"lines"`
	Next    int      `json:"next,omitzero"`
}

// Pong answers ping.
type Pong struct {
	Envelope
	Status string `json:"status,omitzero" rule:"required"`
	// `league_manager`, `referee` or `player`
	Role string `json:"role,omitzero" rule:"required"`
	// state of the agent, if it has one
	State string `json:"state,omitzero"`

	LeagueID string `json:"league_id,omitzero"` // of a manager
	// whether an invitation or a question of the match and the attempt in the ping has reached the player; only
	// for its manager, and absent if the player does not know
	Asked *bool `json:"asked,omitzero"`
}

// LeagueStarted answers start_league.
type LeagueStarted struct {
	Envelope
	Status   string `json:"status"`
	LeagueID string `json:"league_id"`
	Players  int    `json:"players"`
	Referees int    `json:"referees"`
	Rounds   int    `json:"rounds"`
	Matches  int    `json:"matches"`
}

// A StandingRow is a row of the table in messages. Rank is the position in the table, because
// third-party agents may expect distinct ranks: a tied row has the rank that it shares in
// SharedRank.
type StandingRow struct {
	Rank        int    `json:"rank,omitzero" rule:"required,min=1"`
	Tied        bool   `json:"tied,omitzero" rule:"added"` // another player has the same shared rank
	SharedRank  int    `json:"shared_rank,omitzero" rule:"min=1,added"`
	PlayerID    string `json:"player_id"`
	DisplayName string `json:"display_name,omitzero" rule:"name,min=1"`
	Played      int    `json:"played" rule:"optional"`
	Wins        int    `json:"wins" rule:"optional"`
	Draws       int    `json:"draws" rule:"optional"`
	Losses      int    `json:"losses" rule:"optional"`
	Points      int    `json:"points"`

	league.StandingDetails `rule:"added"`
}

// A FinalRow is a StandingRow of LEAGUE_COMPLETED, of which chapter 4 has only rank, id and points.
type FinalRow struct {
	Rank        int    `json:"rank,omitzero" rule:"required,min=1"`
	Tied        bool   `json:"tied,omitzero" rule:"added"`
	SharedRank  int    `json:"shared_rank,omitzero" rule:"min=1,added"`
	PlayerID    string `json:"player_id"`
	DisplayName string `json:"display_name,omitzero" rule:"name,min=1,added"`
	Played      *int   `json:"played,omitzero" rule:"added"`
	Wins        *int   `json:"wins,omitzero" rule:"added"`
	Draws       *int   `json:"draws,omitzero" rule:"added"`
	Losses      *int   `json:"losses,omitzero" rule:"added"`
	Points      int    `json:"points"`

	league.StandingDetails `rule:"added"`
}

// FinalRows are rows of the table as LEAGUE_COMPLETED has them. They share the counts of the rows.
func FinalRows(rows []StandingRow) []FinalRow {
	final := make([]FinalRow, len(rows))
	for i := range rows {
		r := &rows[i]
		final[i] = FinalRow{
			Rank: r.Rank, Tied: r.Tied, SharedRank: r.SharedRank, PlayerID: r.PlayerID, DisplayName: r.DisplayName,
			Played: &r.Played, Wins: &r.Wins, Draws: &r.Draws, Losses: &r.Losses, Points: r.Points,
			StandingDetails: r.StandingDetails,
		}
	}
	return final
}

// Rows are the rows of the final table. A row without counts has only zeros: see Counted.
func (c *LeagueCompleted) Rows() []StandingRow {
	return lists.Map(c.FinalStandings, func(r FinalRow) StandingRow {
		return StandingRow{
			Rank: r.Rank, Tied: r.Tied, SharedRank: r.SharedRank, PlayerID: r.PlayerID, DisplayName: r.DisplayName,
			Played: ValueOf(r.Played), Wins: ValueOf(r.Wins), Draws: ValueOf(r.Draws), Losses: ValueOf(r.Losses),
			Points: r.Points, StandingDetails: r.StandingDetails,
		}
	})
}

// Counted tells whether each row of the final table has the counts of its matches.
func (c *LeagueCompleted) Counted() bool {
	return !slices.ContainsFunc(c.FinalStandings, func(r FinalRow) bool { return r.Played == nil })
}

// Standing is the row as tables show it.
func (r *StandingRow) Standing() league.Standing {
	return league.Standing{
		Rank: r.ShownRank(), Tied: r.Tied, PlayerID: r.PlayerID, DisplayName: r.DisplayName,
		Tally: league.Tally{Played: r.Played, Wins: r.Wins, Draws: r.Draws, Losses: r.Losses}, Points: r.Points,
		StandingDetails: r.StandingDetails,
	}
}

// ShownRank is the rank that people see.
func (r *StandingRow) ShownRank() int { return cmp.Or(r.SharedRank, r.Rank) }

// RowOf is a row of the table in the form of messages, at a position from 1.
func RowOf(r *league.Standing, position int) StandingRow {
	row := StandingRow{
		Rank: position, Tied: r.Tied, PlayerID: r.PlayerID, DisplayName: r.DisplayName,
		Played: r.Played, Wins: r.Wins, Draws: r.Draws, Losses: r.Losses, Points: r.Points,
		StandingDetails: r.StandingDetails,
	}
	if r.Tied {
		row.SharedRank = r.Rank
	}
	return row
}

// MaxStandings limits the rows of a broadcast (002 §14.1); agents query the other rows.
const MaxStandings = 100
