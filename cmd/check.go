package cmd

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"evenodd/league/inspect/check"
	"evenodd/league/lists"
	"evenodd/league/program"
	"evenodd/league/words"
	"evenodd/transport/http"
)

type checkOptions struct {
	check.Options
	game   string
	format string
	level  string
	list   bool
	meet   rendezvous
	ca     string

	programs program.Programs

	catalogue func(role string) []check.Requirement
	examine   func(context.Context, check.Options) (*check.Report, error)
}

// newCheck makes 'evenodd check', which tests whether an agent conforms to the protocol.
func newCheck(s streams) *cobra.Command {
	return checkCommand(s, &checkOptions{Options: check.Options{Dial: http.NewDialer(nil)},
		catalogue: check.Catalogue, examine: check.Check})
}

func checkCommand(s streams, o *checkOptions) *cobra.Command {
	c := &cobra.Command{
		Use:   "check player|referee|manager URL",
		Short: "Test whether an agent conforms to the protocol",
		Long: `Test a running agent against each requirement of the protocol. The command plays the other agents of a league:
manager, referee and players.

    pass     the agent meets the requirement
    FAIL     it breaks a MUST: it loses matches, or a league cannot use it
    warning  it breaks a SHOULD: this program accepts that, other programs may not
    skipped  the requirement could not be tested; the report has the reason

The command accepts every form of a message that a league accepts. A form that differs from the specification is a
warning. The report ends with the broken requirements, grouped by cause, with the request, the response and a remedy.
URL may be a host and a port: localhost:8101 means http://localhost:8101/mcp. That of a manager may be of a page.

An agent that registers itself finds its manager at localhost:8000, the default address of managers. Start the agent
before the command or while it waits. The league for a manager under test starts when --players players and --referees
referees have registered, or by the admin token in EVENODD_ADMIN_TOKEN (other users can read a command line, so there
is no flag for it).

Exit codes: 0 the agent meets every MUST, 1 no server listens at the URL, 4 the agent breaks a MUST, or the test could
not be completed (the last line has the reason).`,
		Example: examples(
			"Test a player that runs on port 8101", "evenodd check player http://localhost:8101/mcp",
			"Test a league manager", "evenodd check manager http://localhost:8000/mcp",
			"Test only how a referee reports results", "evenodd check referee localhost:8001 --only R-REP",
			"Write a report for continuous integration", "evenodd check player localhost:8101 --format json > report.json",
			"List the requirements of players", "evenodd check player --list",
		),
		ValidArgs: roles(),
		Args: func(c *cobra.Command, args []string) error {
			if problem := o.checkArguments(args); problem != nil {
				return problem
			}
			o.meet.isGiven(c.Flags().Changed)
			if o.Role != check.Manager && (c.Flags().Changed("players") || c.Flags().Changed("referees")) {
				return usage("--players and --referees are only for managers, not for %s", cmp.Or(o.Role, "list"))
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error {
			o.Admin = strings.TrimSpace(os.Getenv(adminTokenVariable))
			if o.list {
				return o.printList(s.out)
			}
			return runCheck(c.Context(), s, o)
		},
	}
	o.flags(c.Flags())
	c.AddCommand(newCheckGame(s))
	return c
}

// newCheckGame makes 'evenodd check game', which tests a program that is a game.
func newCheckGame(s streams) *cobra.Command {
	var format string
	var budget time.Duration
	var programs program.Programs
	c := &cobra.Command{
		Use:   "game COMMAND",
		Short: "Test a program that is a game",
		Long: `Start a program that is a game, and test whether it answers as testdata/games/README.md says. The command plays
20 matches at random, asks parts of them again, also in a new process, and adds illegal entries. The report says how to
correct what fails. COMMAND is one argument: the command line of the program.

Exit codes: 0 the program meets every MUST, 4 it does not, or the test could not be completed.`,
		Example: examples(
			"Test a game in Python", "evenodd check game 'python3 nim.py'",
			"Write a report for continuous integration", "evenodd check game ./nim --format json > report.json",
		),
		Args: func(_ *cobra.Command, args []string) error {
			switch len(args) {
			case 1:
				return nil
			case 0:
				return usage("check game takes the command line of a program: evenodd check game 'python3 nim.py'")
			}
			return usage("check game takes a command line as one argument: evenodd check game '%s'", strings.Join(args, " "))
		},
		RunE: func(c *cobra.Command, args []string) error {
			if budget <= 0 {
				return usage("--timeout must be a positive time such as 30s")
			}
			line := strings.TrimPrefix(args[0], program.GamePrefix)
			_, stop := s.showProgress("testing the game")
			report, err := check.Game(c.Context(), line, func(ctx context.Context) (*program.Game, error) {
				return startGame(ctx, line, &programs, zerolog.Nop())
			}, budget)
			stop()
			switch {
			case c.Context().Err() != nil:
				return interrupted("The test has no result: run it again.")
			case err != nil:
				return asUsage(err)
			}
			err = show(s.out, format, report, func(w io.Writer) error { return printReport(w, report) })
			return cmp.Or(err, verdict(report))
		},
	}
	f := c.Flags()
	formatFlag(f, &format)
	f.DurationVar(&budget, "timeout", 3*time.Minute, "longest time for the whole test")
	programFlags(f, &programs, "programs")
	return c
}

func (o *checkOptions) flags(f *pflag.FlagSet) {
	formatFlag(f, &o.format)
	anyGameFlag(f, &o.game, "game of the test")
	programFlags(f, &o.programs, programsOfGames)
	o.level = "should"
	f.Var(&choice{value: &o.level, words: []string{"must", "should"}}, "level",
		"lowest level of requirements to test: must, or should for all")
	f.StringSliceVar(&o.Selection.Only, "only", nil, "test only these: requirement `id`s or their beginnings such as P-INV")
	f.BoolVar(&o.list, "list", false, "only list the requirements of a role or of all")
	o.meet.flags(f, "the agent finds")
	f.Lookup("port").Usage += "; to test a manager, any free one without this flag"
	f.DurationVar(&o.Wait, "wait", 10*time.Second, "time for the agent to start listening and to register")
	f.DurationVar(&o.Budget, "timeout", 3*time.Minute, "longest time for the whole test")
	f.IntVar(&o.Players, "players", usualPlayers, "players that start the league of a manager under test")
	f.IntVar(&o.Referees, "referees", 1, "referees that start the league of a manager under test")
	tlsCAFlag(f, &o.ca)
}

func roles() []string { return []string{check.Player, check.Referee, check.Manager} }

// checkArguments parses role and URL. --list needs no URL.
func (o *checkOptions) checkArguments(args []string) (err error) {
	if len(args) == 1 && strings.ContainsAny(args[0], ":/.") && !o.list {
		return usage("check takes a role before the URL: evenodd check player|referee|manager %s", args[0])
	}
	if len(args) > 0 {
		if o.Role = args[0]; !slices.Contains(roles(), o.Role) {
			known := append(roles(), check.GameProgram) // a command of its own
			return usage("unknown role %q: must be one of %s%s", o.Role, strings.Join(known, ", "),
				words.DidYouMean(o.Role, known))
		}
	}
	switch {
	case o.list && len(args) > 1:
		return usage("--list calls no agent: remove %q", args[1])
	case o.list:
		return nil
	case len(args) != 2:
		return usage("check takes a role and a URL, for example: evenodd check player http://localhost:8101/mcp")
	}
	if o.Role == check.Manager {
		o.URL, err = managerURL("", args[1])
	} else {
		o.URL, err = agentURL(args[1])
	}
	return err
}

// selection selects the requirements to test or to list.
func (o *checkOptions) selection() error {
	o.Selection.Level = check.Level(strings.ToUpper(o.level))
	all := slices.Concat(lists.Map(o.asked(), o.catalogue)...)
	for i, text := range o.Selection.Only {
		id := strings.ToUpper(strings.TrimSpace(text))
		if id == "" || !slices.ContainsFunc(all, func(q check.Requirement) bool { return strings.HasPrefix(q.ID, id) }) {
			return usage("--only %q: no requirement of %s begins with it; there are %s", text, cmp.Or(o.Role, "any role"),
				strings.Join(near(all, id), ", "))
		}
		o.Selection.Only[i] = id
	}
	if !slices.ContainsFunc(all, o.Selection.Wants) {
		return usage("--only %s: none of these is a MUST, which --level must asks for", strings.Join(o.Selection.Only, ","))
	}
	return nil
}

// asked returns the role, or all roles.
func (o *checkOptions) asked() []string {
	if o.Role != "" {
		return []string{o.Role}
	}
	return roles()
}

// near suggests ids instead of an unknown one: those of the same group, or all groups.
func near(all []check.Requirement, id string) []string {
	ids := lists.Map(all, func(q check.Requirement) string { return q.ID })
	if same := lists.Filter(ids, func(other string) bool { return groupOf(other) == groupOf(id) }); len(same) > 0 {
		return same
	}
	return slices.Compact(lists.Map(ids, groupOf))
}

// groupOf returns the group of a requirement: P-INV for P-INV-03.
func groupOf(id string) string {
	if i := strings.LastIndexByte(id, '-'); i > 0 {
		return id[:i]
	}
	return id
}

func runCheck(ctx context.Context, s streams, o *checkOptions) error {
	report, err := o.run(ctx, s)
	if err != nil {
		return err
	}
	err = show(s.out, o.format, report, func(w io.Writer) error { return printReport(w, report) })
	return cmp.Or(err, verdict(report))
}

// run tests the agent.
func (o *checkOptions) run(ctx context.Context, s streams) (*check.Report, error) {
	switch {
	case o.Wait < 0 || o.Budget <= 0:
		return nil, usage("--wait and --timeout must be positive times such as 30s")
	case o.Players < 2 || o.Referees < 1:
		return nil, usage("a league needs at least 2 players and 1 referee, not %d and %d", o.Players, o.Referees)
	}
	own, err := openGame(ctx, nil, &o.game, &o.programs, zerolog.Nop())
	if err != nil {
		return nil, err
	}
	defer own.close()
	if o.Game, _ = own.games().Game(o.game); own != nil { // the flag allows no others
		o.Program = own
	}
	err = o.selection()
	if err == nil {
		o.Roots, err = roots("tls-ca", o.ca)
	}
	if err != nil {
		return nil, err
	}
	l, err := o.open(ctx, s)
	if err != nil {
		return nil, err
	}
	_, stop := s.showProgress("testing the " + o.Role)
	o.Listener, o.Wait = l, max(o.Wait, time.Millisecond) // 0 is the default of the kit
	report, err := o.examine(ctx, o.Options)
	stop()
	if ctx.Err() != nil {
		return nil, interrupted("The test has no result: run it again.")
	}
	return report, err
}

// verdict returns an error for an agent that does not conform.
func verdict(r *check.Report) error {
	failed := r.Count(check.Fail)
	switch {
	case r.Conforms():
		return nil
	case failed > 0:
		return exit(exitFound, "%s failed", words.Counted(failed, "requirement"))
	case r.Count(check.Pass) == 0:
		return exit(exitFound, "no requirement passed")
	}
	return exit(exitFound, "no requirement failed, but the test is incomplete: %s", words.Escape(r.Ended))
}

// open listens at the address where the agent finds its manager: the default address,
// or a free port if another program has it.
func (o *checkOptions) open(ctx context.Context, s streams) (net.Listener, error) {
	meet := &o.meet
	if o.Role == check.Manager && !meet.given {
		meet.ports = ports{} // any
	}
	l, err := meet.listen(ctx)
	if errors.Is(err, errTaken) && !meet.given {
		taken := meet.at()
		meet.ports = ports{}
		if l, err = meet.listen(ctx); err == nil {
			s.note("%s is %v. The manager for this test is at %s: start the agent with this URL if it registers itself.",
				taken, errTaken, meet.urlOf(l))
		}
	}
	return l, err
}
