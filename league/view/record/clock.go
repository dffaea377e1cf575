package record

import (
	"fmt"
	"strings"

	"evenodd/league"
	"evenodd/league/lists"
	"evenodd/league/protocol"
)

// Clock is a number of milliseconds as a clock of players shows it: minutes, seconds and tenths, cut: "1:02.3".
func Clock(ms int) string { return fmt.Sprintf("%d:%02d.%d", ms/60_000, ms/1000%60, ms/100%10) }

// Clocks are the time banks after the step: "P01 0:48.6, P02 1:01.0 left"; "" if none is known.
func (s *Step) Clocks() string { return s.ClocksBy(func(id string) string { return id }) }

// ClocksBy is Clocks with the names that a function has for the ids of players.
func (s *Step) ClocksBy(named func(id string) string) string {
	if len(s.TimeLeft) == 0 {
		return ""
	}
	clocks := lists.Map(s.TimeLeft, func(p league.Member[int]) string { return named(p.Name) + " " + Clock(p.Value) })
	return strings.Join(clocks, ", ") + " left"
}

// Left is what the time banks of the players that moved have after the step: "0:48.6 left"; "" if it is not known.
func (s *Step) Left() string {
	var left []string
	for _, m := range s.Moves {
		if m.used != nil {
			left = append(left, Clock(m.used.Left))
		}
	}
	if left == nil {
		return ""
	}
	return strings.Join(left, ", ") + " left"
}

// clock sets what the time banks have after each step. That of a player is known from its first move on.
func (c *Conversation) clock() {
	var left [2]*protocol.TimeUsed
	for i := range c.Steps {
		for _, m := range c.Steps[i].Moves {
			left[m.Side] = m.used
		}
		for side, id := range [2]string{c.PlayerA.PlayerID, c.PlayerB.PlayerID} {
			if used := left[side]; used != nil {
				c.Steps[i].TimeLeft = append(c.Steps[i].TimeLeft, league.Member[int]{Name: id, Value: used.Left})
			}
		}
	}
}
