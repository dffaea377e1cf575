package cmd

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"evenodd/league/conformance"
	"evenodd/rules/evenodd"
	"evenodd/transport/http"
)

type checkOptions struct {
	role, url string
	game      string
	format    string
	level     string
	only      []string
	list      bool
	meet      rendezvous
	wait      time.Duration
	timeout   time.Duration
	players   int
	referees  int
	admin     string
	ca        string
	dial      http.Dialer // nil: the network's own

	catalogue func(role string) []conformance.Requirement
	examine   func(context.Context, conformance.Options) (*conformance.Report, error)
}

const formatJUnit = "junit"

// newCheck makes 'evenodd check', which tests whether an agent conforms to the protocol.
func newCheck(s streams) *cobra.Command {
	return checkCommand(s, &checkOptions{catalogue: conformance.Catalogue, examine: conformance.Check})
}

func checkCommand(s streams, o *checkOptions) *cobra.Command {
	c := &cobra.Command{
		Use:   "check player|referee|manager URL",
		Short: "Test whether an agent conforms to the protocol",
		Long: `Test a running agent against each requirement of the protocol. The command plays the
other agents of a league: manager, referee and players.

  pass     the agent meets the requirement
  FAIL     it breaks a MUST: it loses matches, or a league cannot use it
  warning  it breaks a SHOULD: this program accepts that, other programs may not
  skipped  the requirement could not be tested; the report has the reason

The command accepts every form of a message that a league accepts. A form that differs
from the specification is a warning. The report ends with the broken requirements,
grouped by cause, with the request, the response and a remedy.
URL may be a host and a port: localhost:8101 means http://localhost:8101/mcp.

An agent that registers itself finds its manager at localhost:8000, the default
address of managers. Start the agent before the command or while it waits. The league
for a manager under test starts when --players players and --referees referees have
registered, or by the admin token in EVENODD_ADMIN_TOKEN (other users can read a
command line, so there is no flag for it).

Exit codes: 0 the agent meets every MUST, 1 no server listens at the URL, 4 the agent
breaks a MUST or ended before all could be tested.`,
		Example: "  evenodd check player http://localhost:8101/mcp\n" +
			"  evenodd check referee localhost:8001 --only R-REP --format json\n" +
			"  evenodd check player --list",
		ValidArgs: roles(),
		Args: func(c *cobra.Command, args []string) error {
			if problem := o.checkArguments(args); problem != nil {
				return problem
			}
			o.meet.given = c.Flags().Changed("listen")
			if o.role != conformance.Manager && (c.Flags().Changed("players") || c.Flags().Changed("referees")) {
				return usage("--players and --referees are only for managers, not for %s", cmp.Or(o.role, "list"))
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error {
			o.admin = strings.TrimSpace(os.Getenv("EVENODD_ADMIN_TOKEN"))
			if o.list {
				return o.printList(s.out)
			}
			return runCheck(c.Context(), s, o)
		},
	}
	o.flags(c.Flags())
	return c
}

func (o *checkOptions) flags(f *pflag.FlagSet) {
	f.StringVar(&o.format, "format", formatText, "text, json, or junit (XML for continuous integration)")
	f.StringVar(&o.game, "game", evenodd.Type, "game of the test: "+strings.Join(games().Types(), ", "))
	f.StringVar(&o.level, "level", "should", "lowest level of requirements to test: must, or should for all")
	f.StringSliceVar(&o.only, "only", nil, "test only these: requirement `id`s or their beginnings such as P-INV")
	f.BoolVar(&o.list, "list", false, "only list the requirements of a role or of all")
	f.StringVar(&o.meet.at, "listen", "", "`host:port` where the agent finds its manager (default "+meetingPoint+"; a free port to test a manager)")
	f.DurationVar(&o.wait, "wait", 10*time.Second, "time for the agent to start listening and to register")
	f.DurationVar(&o.timeout, "timeout", 3*time.Minute, "longest time for the whole test")
	f.IntVar(&o.players, "players", usualPlayers, "players that start the league of a manager under test")
	f.IntVar(&o.referees, "referees", 1, "referees that start the league of a manager under test")
	tlsCAFlag(f, &o.ca)
}

// freePort is the address of a free port.
const freePort = "localhost:0"

func roles() []string { return []string{conformance.Player, conformance.Referee, conformance.Manager} }

// checkArguments parses role and URL. --list needs no URL.
func (o *checkOptions) checkArguments(args []string) (err error) {
	if len(args) > 0 {
		if o.role = args[0]; !slices.Contains(roles(), o.role) {
			return usage("unknown role %q: must be one of %s", o.role, strings.Join(roles(), ", "))
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
	o.url, err = agentURL(args[1])
	return err
}

// selection returns the requirements to test or to list.
func (o *checkOptions) selection() (conformance.Selection, error) {
	levels := map[string]conformance.Level{"must": conformance.Must, "should": conformance.Should}
	level, known := levels[strings.ToLower(o.level)]
	if !known {
		return conformance.Selection{}, usage("--level %q: must be must or should", o.level)
	}
	all := o.requirements()
	chosen := conformance.Selection{Level: level}
	for _, text := range o.only {
		id := strings.ToUpper(strings.TrimSpace(text))
		if id == "" || !slices.ContainsFunc(all, func(q conformance.Requirement) bool { return strings.HasPrefix(q.ID, id) }) {
			return chosen, usage("--only %q: no requirement of %s begins with it; there are %s", text, cmp.Or(o.role, "any role"), strings.Join(near(all, id), ", "))
		}
		chosen.Only = append(chosen.Only, id)
	}
	if !slices.ContainsFunc(all, chosen.Wants) {
		return chosen, usage("--only %s: none of these is a MUST, which --level must asks for", strings.Join(o.only, ","))
	}
	return chosen, nil
}

// requirements returns the requirements of the role, or of all roles.
func (o *checkOptions) requirements() []conformance.Requirement {
	if o.role != "" {
		return o.catalogue(o.role)
	}
	var all []conformance.Requirement
	for _, role := range roles() {
		all = append(all, o.catalogue(role)...)
	}
	return all
}

// near suggests ids instead of an unknown one: those of the same group, or all groups.
func near(all []conformance.Requirement, id string) []string {
	var groups, within []string
	for _, q := range all {
		g := groupOf(q.ID)
		if !slices.Contains(groups, g) {
			groups = append(groups, g)
		}
		if g == groupOf(id) {
			within = append(within, q.ID)
		}
	}
	if within != nil {
		return within
	}
	return groups
}

// groupOf returns the group of a requirement: P-INV for P-INV-03.
func groupOf(id string) string {
	if i := strings.LastIndexByte(id, '-'); i > 0 {
		return id[:i]
	}
	return id
}

func runCheck(ctx context.Context, s streams, o *checkOptions) error {
	write, known := map[string]func(io.Writer, *conformance.Report) error{
		formatText: printReport, formatJSON: func(w io.Writer, r *conformance.Report) error { return printJSON(w, r) }, formatJUnit: printJUnit,
	}[o.format]
	if !known {
		return usage("--format %q: must be text, json or junit", o.format)
	}
	report, err := o.run(ctx, s)
	if err != nil {
		return err
	}
	if err := write(s.out, report); err != nil {
		return err
	}
	return verdict(report)
}

// run tests the agent. It removes all tokens from the report.
func (o *checkOptions) run(ctx context.Context, s streams) (*conformance.Report, error) {
	switch {
	case o.wait < 0 || o.timeout <= 0:
		return nil, usage("--wait and --timeout must be positive times such as 30s")
	case o.players < 2 || o.referees < 1:
		return nil, usage("a league needs at least 2 players and 1 referee, not %d and %d", o.players, o.referees)
	}
	game, err := games().Game(o.game)
	if err != nil {
		return nil, usage("--game: %v", err)
	}
	chosen, err := o.selection()
	if err != nil {
		return nil, err
	}
	if o.dial == nil {
		o.dial = new(net.Dialer).DialContext
	}
	client, err := examiner(o.ca, o.dial)
	if err != nil {
		return nil, err
	}
	defer client.CloseIdleConnections()
	l, err := o.open(ctx, s)
	if err != nil {
		return nil, err
	}
	defer func() { _ = l.Close() }() // the kit has usually closed it
	if err := o.await(ctx, l); err != nil {
		return nil, err
	}
	stop := o.showProgress(s)
	report, err := o.examine(ctx, conformance.Options{
		Role: o.role, URL: o.url, Game: game, Listener: l, Selection: chosen, Wait: max(o.wait, time.Millisecond), Budget: o.timeout,
		Players: o.players, Referees: o.referees, Admin: o.admin, Client: client, Dial: o.dial,
	})
	stop()
	switch {
	case ctx.Err() != nil:
		return nil, interrupted("The test has no result: run it again.")
	case err != nil:
		return nil, err
	}
	sanitize(report, o.admin)
	return report, nil
}

// verdict returns an error for an agent that does not conform.
func verdict(r *conformance.Report) error {
	failed := r.Count(conformance.Fail)
	switch {
	case r.Conforms():
		return nil
	case failed > 0:
		return exit(exitFound, "%s failed", number(failed, "requirement"))
	case r.Count(conformance.Pass) == 0:
		return exit(exitFound, "no requirement passed")
	}
	return exit(exitFound, "no requirement failed, but the agent ended before the test did")
}

// examiner makes a client that shows responses unchanged: it follows no redirect,
// decompresses nothing and uses no proxy.
func examiner(ca string, dial http.Dialer) (*nethttp.Client, error) {
	trusted, err := roots(ca)
	if err != nil {
		return nil, err
	}
	return &nethttp.Client{
		Transport: &nethttp.Transport{
			DialContext:            dial,
			TLSClientConfig:        &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12},
			TLSHandshakeTimeout:    10 * time.Second,
			MaxResponseHeaderBytes: 64 << 10,
			MaxIdleConnsPerHost:    64,
			IdleConnTimeout:        4 * time.Second,
			DisableCompression:     true,
		},
		CheckRedirect: func(*nethttp.Request, []*nethttp.Request) error { return nethttp.ErrUseLastResponse },
	}, nil
}

// open listens at the address where the agent finds its manager: the default address,
// or a free port if another program has it.
func (o *checkOptions) open(ctx context.Context, s streams) (*firstCall, error) {
	meet := o.meet
	switch {
	case meet.given:
	case o.role == conformance.Manager:
		meet.at = freePort
	default:
		meet.at = meetingPoint
	}
	l, err := meet.listen(ctx)
	if errors.Is(err, errTaken) && !meet.given {
		another := rendezvous{at: freePort}
		if l, err = another.listen(ctx); err == nil {
			_, _ = fmt.Fprintf(s.err, "%s is %v. The manager for this test is at %s: start the agent with this URL if it registers itself.\n",
				meet.at, errTaken, another.url(l))
		}
	}
	if err != nil {
		return nil, err
	}
	return newFirstCall(l), nil
}

// await returns when a server listens at the agent's URL, or the agent has called the
// kit: some agents register before they listen.
func (o *checkOptions) await(ctx context.Context, l *firstCall) error {
	bound, cancel := context.WithTimeout(ctx, max(min(o.wait, o.timeout), time.Second))
	defer cancel()
	err := awaitListener(bound, o.dial, o.url, l.come)
	switch {
	case ctx.Err() != nil:
		return interrupted("The test has no result: run it again.")
	case err != nil:
		return fmt.Errorf("no server listens at %s: start the agent, and check its port (%w)", o.url, err)
	}
	return nil
}

// showProgress shows the elapsed time on a terminal until the returned function is
// called.
func (o *checkOptions) showProgress(s streams) (stop func()) {
	if !isTerminal(s.err) {
		return func() {}
	}
	bar := progressbar.NewOptions(-1, progressbar.OptionSetWriter(s.err), progressbar.OptionSetDescription("testing the "+o.role),
		progressbar.OptionSpinnerType(14), progressbar.OptionSetElapsedTime(true), progressbar.OptionClearOnFinish())
	_ = bar.Add(0) // starts it; an error only spoils the picture
	return func() { _ = bar.Finish() }
}

// A firstCall is a listener that tells when the first connection has come.
type firstCall struct {
	net.Listener
	come  chan struct{} // closed at the first connection
	first chan net.Conn // closed when it has been accepted
}

func newFirstCall(l net.Listener) *firstCall {
	d := &firstCall{Listener: l, come: make(chan struct{}), first: make(chan net.Conn, 1)}
	go func() { // ends at the first connection, or when the listener is closed
		defer close(d.first)
		if c, err := l.Accept(); err == nil {
			d.first <- c
			close(d.come)
		}
	}()
	return d
}

// Accept waits for the next connection.
func (d *firstCall) Accept() (net.Conn, error) {
	if c, is := <-d.first; is {
		return c, nil
	}
	return d.Listener.Accept()
}

// Close closes also the first connection, if Accept has not returned it.
func (d *firstCall) Close() error {
	err := d.Listener.Close()
	if c, is := <-d.first; is {
		_ = c.Close()
	}
	return err
}
