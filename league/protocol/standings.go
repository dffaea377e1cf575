package protocol

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A StandingRow is a row of the table (spec 003 §4.7.1).
//
// Rank is shared by players that all tie-breaks leave level: 1, 2, 2, 4. In messages it is
// the position in the table instead, because third-party agents may expect distinct ranks.
// A tied row of a message has the shared rank in SharedRank. See ShownRank.
type StandingRow struct {
	Rank        int    `json:"rank,omitzero"`
	Tied        bool   `json:"tied,omitzero"`        // another player has the same shared rank
	SharedRank  int    `json:"shared_rank,omitzero"` // in messages, of a tied row
	PlayerID    string `json:"player_id,omitzero"`
	DisplayName string `json:"display_name,omitzero"`
	Played      int    `json:"played"`
	Wins        int    `json:"wins"`
	Draws       int    `json:"draws"`
	Losses      int    `json:"losses"`
	Points      int    `json:"points"`

	Withdrawn bool `json:"withdrawn,omitzero"` // by the organiser
	Annulled  bool `json:"annulled,omitzero"`  // withdrawn, and no result of it counts

	// Absent except in a Swiss system. A bye gives the points of a win, but no match and
	// no win.
	Byes            *int     `json:"byes,omitzero"`
	Buchholz        *int     `json:"buchholz,omitzero"`         // the sum of the opponents' points
	SonnebornBerger *float64 `json:"sonneborn_berger,omitzero"` // the points of opponents beaten, and half of those drawn with

	// DecidedBy is the tie-break that separated the player from the row above, or bracket, or
	// annulled for the first annulled player; "" for the first row, for a row with the shared
	// rank of the row above, and if the points decided.
	DecidedBy string `json:"decided_by,omitzero"`
	// TiebreakValues are the values of tie-breaks that no other member has, if they decided
	// between this player and others.
	TiebreakValues TiebreakValues `json:"tiebreak_values,omitzero"`
}

// TiebreakValues are numbers by the names of tie-breaks, such as head_to_head.
type TiebreakValues map[string]float64

// MarshalJSONTo writes the members in order of their names, so that a message always has the
// same bytes.
func (v TiebreakValues) MarshalJSONTo(enc *jsontext.Encoder) error {
	return json.MarshalEncode(enc, map[string]float64(v), json.Deterministic(true))
}

// UnmarshalJSONFrom reads an object or null. It ignores members that are no numbers.
func (v *TiebreakValues) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	var members Object
	if err := json.UnmarshalDecode(dec, &members); err != nil {
		return err
	}
	*v = nil
	for _, m := range members {
		var number float64
		if m.Value.Kind() == '0' && json.Unmarshal(m.Value, &number) == nil {
			if *v == nil {
				*v = TiebreakValues{}
			}
			(*v)[m.Name] = number
		}
	}
	return nil
}

// ShownRank is the rank that people see, also of a row of a message.
func (r *StandingRow) ShownRank() int { return cmp.Or(r.SharedRank, r.Rank) }

// InMessage is the row in the form of messages.
func (r *StandingRow) InMessage(position int) StandingRow {
	row := *r
	if row.Rank = position; row.Tied {
		row.SharedRank = r.Rank
	}
	return row
}

// MaxStandings limits the rows of a broadcast (002 §14.1); agents query the other rows.
const MaxStandings = 100

// A Champion is the winner of a league. Among players that all tie-breaks leave level it is
// the one with the lowest id.
type Champion struct {
	PlayerID    string `json:"player_id,omitzero"`
	DisplayName string `json:"display_name,omitzero"`
	Points      int    `json:"points"`
	// Reason is a text for people, such as "on head-to-head" or "shared by P01 and P03"; ""
	// if the points or the bracket decided.
	Reason string `json:"reason,omitzero"`
}

// maxSharing is the number of players that SharedBy names.
const maxSharing = 5

// SharedBy formats the players that share the first rank, two or more: "shared by P01 and
// P03".
func SharedBy(players []string) string {
	last := len(players) - 1
	if last < maxSharing {
		return "shared by " + strings.Join(players[:last], ", ") + " and " + players[last]
	}
	return fmt.Sprintf("shared by %s and %d more players", strings.Join(players[:maxSharing-1], ", "), len(players)-maxSharing+1)
}
