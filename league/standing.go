package league

import (
	"cmp"
	"fmt"
	"strings"

	"evenodd/league/words"
)

// A Tally counts the matches of one player.
type Tally struct {
	Played          int `json:"played"` // Wins + Draws + Losses
	Wins            int `json:"wins"`   // technical ones included
	Draws           int `json:"draws"`
	Losses          int `json:"losses"` // technical ones included
	TechnicalLosses int `json:"technical_losses"`
}

// Add counts n matches with an outcome; a negative number takes them back.
func (t *Tally) Add(o Outcome, n int) {
	t.Played += n
	switch o {
	case Win:
		t.Wins += n
	case Draw:
		t.Draws += n
	case TechnicalLoss:
		t.TechnicalLosses += n
		t.Losses += n
	case Loss:
		t.Losses += n
	}
}

// A Standing is the row of one player in the standings, from the table to the screen. Columns
// defines what people and programs see of it. Messages have a protocol.StandingRow instead.
//
// Rank is shared by players that all tie-breakers leave level: 1, 2, 2, 4.
type Standing struct {
	Player int `json:"-"` // index of the player in the table

	Rank        int    `json:"rank"`          // from 1; 0 where rows are not ranked
	Tied        bool   `json:"tied,omitzero"` // another player has the same rank
	PlayerID    string `json:"player_id"`
	DisplayName string `json:"display_name"`
	Strategy    string `json:"strategy,omitzero"` // in a simulation
	Tally
	Points    int    `json:"points"`
	Fallbacks int    `json:"fallbacks,omitzero"` // moves that the player's model or host did not choose
	Endpoint  string `json:"endpoint,omitzero"`  // of an external player of a simulation

	StandingDetails

	ByPoints  bool   `json:"-"` // the points separated the player from the row above
	ShownName string `json:"-"` // for people; "" for DisplayName
}

// Ref is the player as people know it.
func (r *Standing) Ref() Ref { return Ref{ID: r.PlayerID, Name: r.Name(), Role: rolePlayer} }

// Name is the name of the player for people.
func (r *Standing) Name() string { return cmp.Or(r.ShownName, r.DisplayName) }

// StandingDetails are the members of a row that only some rows have, also in messages.
//
// Byes, Buchholz and SonnebornBerger are nil except in a Swiss system. A bye gives the points of a win, but no
// match and no win. DecidedBy is the tie-break that separated the player from the row above, or Bracket, or
// annulled for the first annulled player; "" for the first row, for a row with the rank of the row above, and
// if the points decided: see Decider. TiebreakValues are the values of tie-breaks that no column has, if they
// decided between this player and others.
type StandingDetails struct {
	// the organiser has withdrawn the player
	Withdrawn bool `json:"withdrawn,omitzero"`
	// the player is withdrawn, and none of its results count
	Annulled bool `json:"annulled,omitzero"`

	Byes *int `json:"byes,omitzero"`
	// points of all opponents, in a Swiss system
	Buchholz *int `json:"buchholz,omitzero"`
	// points of the opponents beaten, and half the points of those drawn with
	SonnebornBerger *float64 `json:"sonneborn_berger,omitzero"`

	// tie-break between this row and the row above
	DecidedBy string `json:"decided_by,omitzero" rule:"any"`
	// values of the tie-breaks that decided, by name
	TiebreakValues TiebreakValues `json:"tiebreak_values,omitzero"`
}

// Decider is what separated the player from the row above: DecidedBy, or the points; "" for
// the first row, and for a row with the rank of the row above.
func (r *Standing) Decider() string {
	if r.ByPoints {
		return TiebreakPoints
	}
	return r.DecidedBy
}

// Value is the row's value of a tie-break, as people see it; false if the row has none.
func (r *Standing) Value(name string) (value float64, ok bool) {
	if t := tiebreakOf(name); t.column != nil {
		if value, ok = t.column(r); ok {
			return value, true
		}
	}
	value, ok = r.TiebreakValues[name]
	return value, ok
}

// Remark tells what is unusual about the player; "" for nothing.
func (r *Standing) Remark() string {
	switch {
	case r.Annulled:
		return "withdrawn, results annulled"
	case r.Withdrawn:
		return "withdrawn"
	}
	return ""
}

// A Champion is the winner of a league. Among players that all tie-breaks leave level it is
// the one with the lowest id.
type Champion struct {
	PlayerID    string `json:"player_id,omitzero" rule:"required"`
	DisplayName string `json:"display_name,omitzero" rule:"required,name,min=1"`
	Points      int    `json:"points"`
	// tie-break that decided, or the players that share the first rank, for people; absent if the points decided
	Reason string `json:"reason,omitzero" rule:"any,added"`
}

// maxSharing is the number of players that SharedBy names.
const maxSharing = 5

// SharedBy formats the players that share the first rank, two or more: "shared by P01 and
// P03".
func SharedBy(players []string) string {
	if len(players) <= maxSharing {
		return "shared by " + words.And(players)
	}
	return fmt.Sprintf("shared by %s and %d more players", strings.Join(players[:maxSharing-1], ", "),
		len(players)-maxSharing+1)
}
