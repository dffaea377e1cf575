package decide

import (
	"fmt"

	"evenodd/league/journal"
)

// Consequence tells what happens next because of a decision that was just made.
func Consequence(s *journal.State, decision journal.DecisionEvent) string {
	switch d := decision.(type) {
	case *journal.Paused:
		return "Running matches finish, and no round begins before the league is resumed."
	case *journal.Unpaused:
		return "The league goes on at once."
	case *journal.AgentHeld:
		return ofAgent(s, d.AgentID, "It forfeits the matches that begin before it is readmitted.", "It gets no match before it is readmitted.")
	case *journal.AgentReadmitted:
		return ofAgent(s, d.AgentID, "It plays from the next round on.", "It gets matches again.")
	case *journal.AgentWithdrawn:
		if s.Agents[d.AgentID] == nil {
			return "Its registration has ended."
		}
		return ofAgent(s, d.AgentID, "It forfeits its remaining matches.", "It gets no match any more.")
	case *journal.RematchOrdered:
		return fmt.Sprintf("The result counts until the rematch begins, %s.", whenRematch(s))
	case *journal.MatchRuled:
		return "The table has the new result. It stands until another decision."
	}
	return ""
}

// ofAgent is what happens to a player, or to a referee.
func ofAgent(s *journal.State, id, player, referee string) string {
	if s.Agents[id].Player {
		return player
	}
	return referee
}

func whenRematch(s *journal.State) string {
	when := "at once"
	if s.Open() {
		when = fmt.Sprintf("after round %d", s.Round)
	}
	if s.Paused != nil {
		when += " when the league is resumed"
	}
	return when
}
