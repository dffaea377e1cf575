package protocol

import (
	"cmp"

	"evenodd/league"
)

// A StandingRow is a row of the table in messages. Rank is the position in the table, because
// third-party agents may expect distinct ranks: a tied row has the rank that it shares in
// SharedRank.
type StandingRow struct {
	Rank        int    `json:"rank,omitzero" rule:"min=1"`
	Tied        bool   `json:"tied,omitzero" rule:"optional"`              // another player has the same shared rank
	SharedRank  int    `json:"shared_rank,omitzero" rule:"optional,min=1"` // of a tied row
	PlayerID    string `json:"player_id,omitzero"`
	DisplayName string `json:"display_name,omitzero" rule:"optional,name,min=1"`
	Played      int    `json:"played" rule:"optional"`
	Wins        int    `json:"wins" rule:"optional"`
	Draws       int    `json:"draws" rule:"optional"`
	Losses      int    `json:"losses" rule:"optional"`
	Points      int    `json:"points"`

	Withdrawn bool `json:"withdrawn,omitzero" rule:"optional"` // by the organiser
	Annulled  bool `json:"annulled,omitzero" rule:"optional"`  // withdrawn, and no result of it counts

	// Absent except in a Swiss system. A bye gives the points of a win, but no match and
	// no win.
	Byes     *int `json:"byes,omitzero" rule:"optional"`
	Buchholz *int `json:"buchholz,omitzero" rule:"optional"` // the sum of the opponents' points
	// the points of opponents beaten, and half of those drawn with
	SonnebornBerger *float64 `json:"sonneborn_berger,omitzero" rule:"optional"`

	// DecidedBy is the tie-break that separated the player from the row above, or bracket, or
	// annulled for the first annulled player; "" for the first row, for a row with the shared
	// rank of the row above, and if the points decided.
	DecidedBy string `json:"decided_by,omitzero" rule:"optional,any"`
	// TiebreakValues are the values of tie-breaks that no other member has, if they decided
	// between this player and others.
	TiebreakValues league.TiebreakValues `json:"tiebreak_values,omitzero" rule:"optional"`
}

// Standing is the row as tables show it.
func (r *StandingRow) Standing() league.Standing {
	return league.Standing{
		Rank: r.ShownRank(), Tied: r.Tied, PlayerID: r.PlayerID, DisplayName: r.DisplayName,
		Tally: league.Tally{Played: r.Played, Wins: r.Wins, Draws: r.Draws, Losses: r.Losses}, Points: r.Points,
		Withdrawn: r.Withdrawn, Annulled: r.Annulled,
		Byes: r.Byes, Buchholz: r.Buchholz, SonnebornBerger: r.SonnebornBerger,
		DecidedBy: r.DecidedBy, TiebreakValues: r.TiebreakValues,
	}
}

// ShownRank is the rank that people see.
func (r *StandingRow) ShownRank() int { return cmp.Or(r.SharedRank, r.Rank) }

// RowOf is a row of the table in the form of messages, at a position from 1.
func RowOf(r *league.Standing, position int) StandingRow {
	row := StandingRow{
		Rank: position, Tied: r.Tied, PlayerID: r.PlayerID, DisplayName: r.DisplayName,
		Played: r.Played, Wins: r.Wins, Draws: r.Draws, Losses: r.Losses, Points: r.Points,
		Withdrawn: r.Withdrawn, Annulled: r.Annulled,
		Byes: r.Byes, Buchholz: r.Buchholz, SonnebornBerger: r.SonnebornBerger,
		DecidedBy: r.DecidedBy, TiebreakValues: r.TiebreakValues,
	}
	if r.Tied {
		row.SharedRank = r.Rank
	}
	return row
}

// MaxStandings limits the rows of a broadcast (002 §14.1); agents query the other rows.
const MaxStandings = 100
