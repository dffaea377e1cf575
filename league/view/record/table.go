package record

import (
	"evenodd/league/decide"
	"evenodd/league/protocol"
	"evenodd/league/store"
)

// A TableRow is a row of the table.
type TableRow struct {
	store.StandingRow

	Fallbacks int `json:"fallbacks,omitzero"` // moves that the player's model or host did not choose
}

// Table is the present table.
func (l *League) Table() []TableRow {
	counts := Fallbacks(decide.Results(l.State))
	return protocol.Each(l.Standings(), func(row store.StandingRow) TableRow {
		return TableRow{row, counts[row.PlayerID]}
	})
}

// Fallbacks counts the fallbacks of each player.
func Fallbacks(results []decide.MatchRecord) map[string]int {
	counts := map[string]int{}
	for i := range results {
		for _, f := range results[i].Fallbacks {
			counts[f.Name] += f.Value
		}
	}
	return counts
}
