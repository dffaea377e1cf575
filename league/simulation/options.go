package simulation

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/rs/zerolog"

	"evenodd/league"
	"evenodd/league/pairing"
	"evenodd/league/protocol"
	"evenodd/league/simulation/faults"
	"evenodd/player/strategy/external"
	"evenodd/rules"
)

// Options describe a simulated league.
type Options struct {
	Players     int      // 2 to 10,000
	Referees    int      // from 1
	Seed        uint64   // of everything that chance decides
	Strategies  []string // taken in turn by the players, as external.Open has them; nil means random
	Legs        int      // how often each pair meets; 0 means 1
	Transport   string   // Memory, Wire or HTTP
	Concurrency int      // matches at once; 0 means 16
	LeagueID    string
	GameType    string
	Games       rules.Registry

	// Tools are what strategies need that think outside this process.
	Tools external.Tools

	// Faults are what goes wrong, as faults.Parse reads it; "" for nothing. In
	// such a league no time passes: what is lost has missed its deadline at once.
	Faults   string
	Injected func(Injection) // told of what goes wrong in matches, from any goroutine; may be nil

	// Outside are players that run elsewhere, and take the first seats; nil for
	// none. A league with them takes real time, and what they do derives from no
	// seed.
	Outside *Outside

	// Rules are what else a league goes by: scoring, timeouts, retries and so
	// on. What stands above takes the place of the same there.
	Rules league.Options
	// Keep is where the league is kept; nil keeps nothing. One that is there
	// already goes on, with the seed and all it began with.
	Keep *league.Files

	Log      zerolog.Logger
	Progress func(recorded, matches int) // may be nil

	decorate func(protocol.Caller) protocol.Caller // in tests, for the caller of each agent; nil for none
}

// The transports.
const (
	Memory = "memory"
	Wire   = "wire"
	HTTP   = "http"
)

// Validate tells everything that is wrong with the options.
func (o *Options) Validate() error {
	var problems []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	check(o.Players >= 2 && o.Players <= 10_000, "a league has 2 to 10,000 players, not %d", o.Players)
	check(o.Referees >= 1 && o.Referees <= 1000, "a league has 1 to 1,000 referees, not %d", o.Referees)
	check(o.Legs >= 0 && o.Legs <= 100, "legs are 1 to 100, not %d", o.Legs)
	check(o.Concurrency >= 0 && o.Concurrency <= 10_000, "concurrency is 1 to 10,000, not %d", o.Concurrency)
	check(o.Transport == Memory || o.Transport == Wire || o.Transport == HTTP,
		"transport %q: one of memory, wire, http", o.Transport)
	problems = append(problems, o.checkOutside()...)
	for _, name := range o.Strategies {
		if err := external.Check(name, o.Tools, o.GameType); err != nil {
			problems = append(problems, err)
		}
	}
	if _, err := o.plan(); err != nil {
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}

// plan is what goes wrong in the league; nil when nothing does.
func (o *Options) plan() (*faults.Plan, error) {
	if o.Faults == "" {
		return nil, nil //nolint:nilnil // no faults, no plan
	}
	if o.Transport == HTTP {
		return nil, errors.New("faults are made on the transports memory and wire, not on http: there time is real, and so are its faults")
	}
	plan, err := faults.Parse(o.Faults)
	if err != nil {
		return nil, err
	}
	pairer, err := pairing.NewRoundRobin(o.Players, cmp.Or(o.Legs, 1))
	if err != nil || o.Referees < 1 {
		return nil, nil //nolint:nilerr,nilnil // Validate tells of that beside
	}
	err = plan.Check(o.Players, o.Referees, pairer.Rounds())
	return plan, err
}
