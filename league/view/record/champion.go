package record

import (
	"fmt"

	"evenodd/league"
	"evenodd/league/protocol"
)

// ChampionLine names the champions of a league that is over.
func (l *League) ChampionLine() string {
	return ChampionLine(l.Standings(), l.Champion())
}

// ChampionLine names the champion, or all players that share the first rank, and the
// tie-break that decided: "Champion: Ann (P03) with 9 points, on head-to-head".
func ChampionLine(rows []league.Standing, champion league.Champion) string {
	if !rows[0].Tied {
		return fmt.Sprintf("Champion: %s (%s) with %s", champion.DisplayName, champion.PlayerID,
			protocol.Counted(champion.Points, "point")) + Because(champion)
	}
	var sharing []string
	for i := range rows {
		if rows[i].Rank == rows[0].Rank {
			sharing = append(sharing, fmt.Sprintf("%s (%s)", rows[i].DisplayName, rows[i].PlayerID))
		}
	}
	return fmt.Sprintf("Champion: %s with %s", league.SharedBy(sharing), protocol.Counted(rows[0].Points, "point"))
}

// Because adds the reason, which may be the text of a third-party manager.
func Because(c league.Champion) string {
	if c.Reason == "" {
		return ""
	}
	return fmt.Sprintf(", %.200s", c.Reason)
}
