package record

import (
	"fmt"

	"evenodd/league/journal"
)

// FormatInWords is the format of a league for people: "round-robin, 2 legs".
func FormatInWords(t *journal.Tournament, legs int) string {
	switch {
	case t.IsSwiss():
		return "Swiss system"
	case t.IsKnockout():
		return "knockout"
	case t.IsSequential():
		return fmt.Sprintf("round-robin, at most %d legs", legs)
	case legs > 1:
		return fmt.Sprintf("round-robin, %d legs", legs)
	}
	return "round-robin"
}

// Milliseconds is a duration for people: "< 1 ms", "2.5 ms", "12 ms", "3.2 s".
func Milliseconds(ms float64) string {
	switch {
	case ms >= 10000:
		return fmt.Sprintf("%.0f s", ms/1000)
	case ms >= 999.5:
		return fmt.Sprintf("%.1f s", ms/1000)
	case ms >= 10:
		return fmt.Sprintf("%.0f ms", ms)
	case ms < 0.05:
		return "< 1 ms" // the times of old transcripts are whole milliseconds
	}
	return fmt.Sprintf("%.1f ms", ms)
}

// NoEvent is the error for a league whose journal has no event.
func NoEvent(leagueID string) error {
	return fmt.Errorf("league %s has no event yet: its manager begins it now, or ended before it could. "+
		"Try again in a moment", leagueID)
}
