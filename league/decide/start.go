package decide

import (
	"time"

	"evenodd/league/journal"
	"evenodd/league/protocol"
)

// A StartRule tells when a league starts. A start that the organiser planned replaces all of
// it but MinPlayers.
type StartRule struct {
	Players, Referees int       // start when so many have answered; Players 0: this starts no league
	MinPlayers        int       // fewest players at a time, or at the end of the registration window
	At                time.Time // start at this time; zero: when registration ends
	Until             time.Time // registration ends; zero: with the start
	WindowOver        bool      // the registration window has ended
}

// Time is when the league starts, with the agents that have answered then; zero for no time.
func (r *StartRule) Time(s *journal.State) time.Time {
	switch {
	case s.StartPlanned != nil:
		at, _ := protocol.ParseTimestamp(s.StartPlanned.StartAt) // the fold has checked it
		return at
	case !r.At.IsZero():
		return r.At
	}
	return r.Until
}

// Due tells whether the league starts now: when enough agents have registered and answered,
// and an organiser has not suspended every referee. At its time, or later, two players and one
// referee are enough, unless the league takes more players.
func (r *StartRule) Due(s *journal.State, now time.Time) bool {
	_, players := s.Registered(true)
	_, referees := s.Registered(false)
	at := r.Time(s)
	switch {
	case !s.HasReferee(""):
		return false
	case !at.IsZero() && !now.Before(at):
		return players >= r.MinPlayers
	case s.StartPlanned != nil:
		return false
	case r.WindowOver:
		return players >= r.MinPlayers && referees >= r.Referees
	}
	return r.Players > 0 && players >= r.Players && referees >= r.Referees
}

// late rejects a new agent after the end of registration.
func (r *StartRule) late(now time.Time) *RejectionError {
	if r.Until.IsZero() || now.Before(r.Until) {
		return nil
	}
	return Reject(protocol.ErrLateRegistration, "registration ended at %s: ask the organiser",
		protocol.FormatTimestamp(r.Until))
}
