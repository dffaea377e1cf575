package cmd

import (
	"slices"
	"strings"

	"evenodd/league"
	"evenodd/league/protocol"
)

// lossesAndFallbacks returns the error of --strict if there are technical losses or fallbacks.
func lossesAndFallbacks(standings []league.Standing) error {
	losses, fallbacks := 0, 0
	for i := range standings {
		losses += standings[i].TechnicalLosses
		fallbacks += standings[i].Fallbacks
	}
	var problems []string
	if losses > 0 {
		problems = append(problems, protocol.Counted(losses, "technical loss"))
	}
	if fallbacks > 0 {
		problems = append(problems, protocol.Counted(fallbacks, "choice")+" of a fallback in place of a model or a host")
	}
	if len(problems) == 0 {
		return nil
	}
	return exit(exitLosses, "%s", strings.Join(problems, "; "))
}

// anyFallback tells whether tables and CSV have columns of fallbacks.
func anyFallback(standings []league.Standing) bool {
	return slices.ContainsFunc(standings, func(r league.Standing) bool { return r.Fallbacks > 0 })
}
