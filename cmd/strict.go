package cmd

import (
	"fmt"
	"slices"
	"strings"

	"evenodd/league/protocol"
	"evenodd/league/simulation"
)

// lossesAndFallbacks returns the error of --strict if there are technical losses or fallbacks.
func lossesAndFallbacks(standings []simulation.Standing) error {
	rows := slices.Clone(standings)
	slices.SortFunc(rows, func(a, b simulation.Standing) int { return protocol.CompareIDs(a.PlayerID, b.PlayerID) })
	losses := perPlayer(rows, "technical loss", func(r *simulation.Standing) int { return r.TechnicalLosses })
	fallbacks := perPlayer(rows, "fallback", func(r *simulation.Standing) int { return r.Fallbacks })
	if fallbacks != "" {
		fallbacks += " (choices of the fallback strategy instead of those of a model or a host)"
	}
	problems := slices.DeleteFunc([]string{losses, fallbacks}, func(text string) bool { return text == "" })
	if len(problems) == 0 {
		return nil
	}
	return exit(exitLosses, "%s", strings.Join(problems, "; "))
}

// anyFallback tells whether tables and CSV have columns of fallbacks.
func anyFallback(standings []simulation.Standing) bool {
	return slices.ContainsFunc(standings, func(r simulation.Standing) bool { return r.Fallbacks > 0 })
}

// perPlayer counts things in total and by player: "3 technical losses: P01 1, P04 2"; "" for
// none.
func perPlayer(rows []simulation.Standing, thing string, count func(r *simulation.Standing) int) string {
	total, players := 0, []string{}
	for i := range rows {
		if n := count(&rows[i]); n > 0 {
			total += n
			players = append(players, fmt.Sprintf("%s %d", rows[i].PlayerID, n))
		}
	}
	if total == 0 {
		return ""
	}
	return fmt.Sprintf("%s: %s", protocol.Counted(total, thing), strings.Join(players, ", "))
}
