package record

import (
	"fmt"

	"evenodd/league/protocol"
)

// ChampionLine names the champion, or all players that share the first rank, and the
// tie-break that decided: "Champion: Ann (P03) with 9 points, on head-to-head".
func ChampionLine(rows []protocol.StandingRow, champion protocol.Champion) string {
	if !rows[0].Tied {
		return fmt.Sprintf("Champion: %s (%s) with %s", champion.DisplayName, champion.PlayerID, protocol.Counted(champion.Points, "point")) + Because(champion)
	}
	var sharing []string
	for i := range rows {
		if rows[i].ShownRank() == rows[0].ShownRank() {
			sharing = append(sharing, fmt.Sprintf("%s (%s)", rows[i].DisplayName, rows[i].PlayerID))
		}
	}
	return fmt.Sprintf("Champion: %s with %s", protocol.SharedBy(sharing), protocol.Counted(rows[0].Points, "point"))
}

// Because adds the reason, which may be the text of a third-party manager.
func Because(c protocol.Champion) string {
	if c.Reason == "" {
		return ""
	}
	return fmt.Sprintf(", %.200s", c.Reason)
}
