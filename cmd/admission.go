package cmd

import (
	"cmp"
	"time"

	"github.com/spf13/pflag"

	"evenodd/config"
	"evenodd/league/decide"
	"evenodd/league/manager"
	"evenodd/league/protocol"
)

// admission has the rules for registration in a league, and for its start.
type admission struct {
	roster, until, start string // flags

	given  map[string]bool      // the flags that the user has set
	listed []config.RosterEntry // of the roster, after read
}

// flags defines the flags.
func (a *admission) flags(f *pflag.FlagSet) {
	f.StringVar(&a.roster, "roster", "", "CSV `file` of the agents that may register: name,code or name,code,role")
	f.StringVar(&a.until, "registration-until", "", "`time` after which no new agent may register, such as "+
		"2026-11-23T09:00:00Z")
	f.StringVar(&a.start, "start-at", "", "`time` at which the league starts, such as 2026-11-23T09:00:00Z (default: "+
		"that of --registration-until)")
}

// any tells whether there is a roster or a time.
func (a *admission) any() bool { return a.roster != "" || a.until != "" || a.start != "" }

// read reads the roster and the times, and sets the numbers of agents that start the league
// where the user has not.
func (a *admission) read(s streams, o *manager.Options) error {
	until, untilErr := readTime("registration-until", a.until)
	start, startErr := readTime("start-at", a.start)
	if err := cmp.Or(untilErr, startErr); err != nil {
		return err
	}
	timed := a.until != "" || a.start != ""
	if a.until != "" && a.start != "" && until.After(start) {
		return usage("--registration-until %s: registration ends with the start of the league, --start-at %s; set an "+
			"earlier time", a.until, a.start)
	}
	o.RegistrationUntil, o.StartAt = protocol.OptionalTimestamp(until), protocol.OptionalTimestamp(start)
	if timed && !a.given["players"] {
		o.Players = 0 // the time starts the league
	}
	if a.roster == "" {
		return nil
	}
	entries, err := readRoster(a.roster)
	if err != nil {
		return err
	}
	a.listed = entries
	o.Roster = decide.NewRoster()
	for _, e := range entries {
		o.Roster.Add(e.Role == protocol.RolePlayer, e.Name, e.Code)
	}
	return a.fit(s, o, !timed)
}

// fit compares the roster with the numbers of agents that start the league. Whole tells that
// the league waits for all of its agents, unless the user has set the numbers.
func (a *admission) fit(s streams, o *manager.Options, whole bool) error {
	size := o.Roster.Size()
	if whole && !a.given["players"] {
		o.Players = size.Players
	}
	if size.Referees > 0 && !a.given["referees"] {
		o.Referees = size.Referees
	}
	switch {
	case size.Players < 2:
		return usage("--roster: %s lists %d players: a league needs two", a.roster, size.Players)
	case o.Players > size.Players:
		return usage("--players %d: the roster lists only %d; leave --players out to wait for all of them", o.Players,
			size.Players)
	case size.Referees > 0 && o.Referees > size.Referees:
		return usage("--referees %d: the roster lists only %d; leave --referees out to wait for all of them", o.Referees,
			size.Referees)
	case size.Referees == 0:
		return printLine(s.err, "The roster lists no referee, so any referee may register. To keep others out, add a line "+
			"with the role referee.")
	}
	return nil
}

// readTime reads the time of a flag, in any zone; the zero time for "".
func readTime(flag, value string) (time.Time, error) {
	if value == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, value)
	if err != nil {
		return at, usage("--%s %.60q: must be a time with a zone, such as 2026-11-23T09:00:00Z or "+
			"2026-11-23T10:00:00+01:00", flag, value)
	}
	return at.UTC(), nil
}

// tooLate tells what it means for a league that has not begun that one of its times is past;
// "" otherwise.
func tooLate(s manager.Status, now time.Time) string {
	start, _ := time.Parse(time.RFC3339, s.StartAt) // zero without a time
	until, err := time.Parse(time.RFC3339, s.RegistrationUntil)
	switch {
	case s.Matches > 0 || s.StartAt == "" || now.Before(start):
		return ""
	case err == nil && !now.Before(until) && (s.Players < 2 || s.Referees < 1):
		return "Registration ended before two players and one referee had registered, so the league cannot start. Start " +
			"the manager again with a later --registration-until."
	}
	return "The time of the start is past: the league starts as soon as enough agents have answered."
}
