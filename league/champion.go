package league

import (
	"fmt"
	"strings"
)

// A Champion is the winner of a league. Among players that all tie-breaks leave level it is
// the one with the lowest id.
type Champion struct {
	PlayerID    string `json:"player_id,omitzero" rule:"required"`
	DisplayName string `json:"display_name,omitzero" rule:"required,name,min=1"`
	Points      int    `json:"points"`
	// Reason is a text for people, such as "on head-to-head" or "shared by P01 and P03"; ""
	// if the points or the bracket decided.
	Reason string `json:"reason,omitzero" rule:"any"`
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
	return fmt.Sprintf("shared by %s and %d more players", strings.Join(players[:maxSharing-1], ", "),
		len(players)-maxSharing+1)
}
