package protocol

import (
	"cmp"

	"evenodd/league"
)

// A StandingRow is a row of the table in messages. Rank is the position in the table, because
// third-party agents may expect distinct ranks: a tied row has the rank that it shares in
// SharedRank.
type StandingRow struct {
	Rank        int    `json:"rank,omitzero" rule:"required,min=1"`
	Tied        bool   `json:"tied,omitzero"` // another player has the same shared rank
	SharedRank  int    `json:"shared_rank,omitzero" rule:"min=1"`
	PlayerID    string `json:"player_id"`
	DisplayName string `json:"display_name,omitzero" rule:"name,min=1"`
	Played      int    `json:"played" rule:"optional"`
	Wins        int    `json:"wins" rule:"optional"`
	Draws       int    `json:"draws" rule:"optional"`
	Losses      int    `json:"losses" rule:"optional"`
	Points      int    `json:"points"`

	league.StandingDetails
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
