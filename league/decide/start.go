package decide

import (
	"cmp"
	"time"

	"evenodd/league/journal"
	"evenodd/league/protocol"
)

// startAt is when the league starts, with the agents that have answered then: at the time that the organiser planned,
// at that of the configuration, or when registration ends. It is "" for no time.
func startAt(s *journal.State) string {
	if s.StartPlanned != nil {
		return s.StartPlanned.StartAt
	}
	return cmp.Or(s.Configuration.StartAt, s.Configuration.RegistrationUntil)
}

// StartTime is when the league starts, with the agents that have answered then; zero for no time.
func StartTime(s *journal.State) time.Time {
	at, _ := protocol.ParseTimestamp(startAt(s)) // the fold and the command have checked it
	return at
}

// Due tells whether the league starts now: when enough agents have registered and answered,
// and an organiser has not suspended every referee. At its time, or later, MinPlayers and one
// referee are enough. A start that the organiser planned replaces all other rules.
func (r *Registrations) Due(s *journal.State, now time.Time) bool {
	_, players := s.Registered(true)
	_, referees := s.Registered(false)
	at, c := StartTime(s), s.Configuration
	switch {
	case !s.HasReferee(""):
		return false
	case !at.IsZero() && !now.Before(at):
		return players >= c.MinPlayers
	case s.StartPlanned != nil:
		return false
	case r.WindowOver:
		return players >= c.MinPlayers && referees >= c.Referees
	}
	return c.Players > 0 && players >= c.Players && referees >= c.Referees
}

// late tells whether registration has ended.
func late(s *journal.State, now time.Time) bool {
	until, err := protocol.ParseTimestamp(s.Configuration.RegistrationUntil)
	return err == nil && !now.Before(until)
}
