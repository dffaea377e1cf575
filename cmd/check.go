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

	"evenodd/league/conformance"
	"evenodd/rules/evenodd"
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

	catalogue func(role string) []conformance.Requirement
	examine   func(context.Context, conformance.Options) (*conformance.Report, error)
}

const formatJUnit = "junit"

// newCheck makes 'evenodd check': examines an agent of anybody's.
func newCheck(s streams) *cobra.Command {
	return checkCommand(s, &checkOptions{catalogue: conformance.Catalogue, examine: conformance.Check})
}

func checkCommand(s streams, o *checkOptions) *cobra.Command {
	c := &cobra.Command{
		Use:   "check player|referee|manager URL",
		Short: "Examine whether an agent keeps to the protocol",
		Long: `Examine an agent that runs anywhere, requirement by requirement, as a league would
meet it. The kit plays what it needs beside the agent: manager, referee, players.

  pass     it holds
  FAIL     a MUST that does not hold: it costs matches, or the agent cannot be used
  warning  a SHOULD that does not hold: our agents manage without it, others may not
  skipped  it could not be examined, and why

The kit understands every form of a message that a league understands; a form that is
not the specification's is a warning. What does not hold comes last, grouped by cause,
with what was sent, what came back, and how to mend it.
A host and a port do for a URL: localhost:8101 is http://localhost:8101/mcp.

An agent that registers by itself finds its manager at localhost:8000, where agents
look for one; start it before or while check waits. A manager is examined in a league
of its own, which begins when --players and --referees have registered, or by its
admin token, taken from EVENODD_ADMIN_TOKEN: a command line is seen by everybody.

Exit codes: 0 all that is a MUST holds, 1 nobody listens there, 4 a MUST failed or
could not be examined because the agent broke off.`,
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
				return usage("--players and --referees are of the league of a manager: a %s has none", cmp.Or(o.role, "list"))
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
	f := c.Flags()
	f.StringVar(&o.format, "format", formatText, "text, json or junit (XML for continuous integration)")
	f.StringVar(&o.game, "game", evenodd.Type, "game that is played in the examination: "+strings.Join(games().Types(), ", "))
	f.StringVar(&o.level, "level", "should", "examine what is a must, or all: must or should")
	f.StringSliceVar(&o.only, "only", nil, "examine only these: `id`s, or beginnings of ids such as P-INV")
	f.BoolVar(&o.list, "list", false, "list the requirements, of a role or of all; examines nothing")
	f.StringVar(&o.meet.at, "listen", "", "`host:port` where the agent finds the kit (default "+meetingPoint+"; for a manager a free port)")
	f.DurationVar(&o.wait, "wait", 10*time.Second, "how long the agent may take to listen, and to register with the kit")
	f.DurationVar(&o.timeout, "timeout", 3*time.Minute, "how long the whole examination may take")
	f.IntVar(&o.players, "players", usualPlayers, "players that the examined manager's league waits for")
	f.IntVar(&o.referees, "referees", 1, "referees that the examined manager's league waits for")
	tlsCAFlag(f, &o.ca)
	return c
}

// anyPlace is at a free port.
const anyPlace = "localhost:0"

func roles() []string { return []string{conformance.Player, conformance.Referee, conformance.Manager} }

// checkArguments takes role and URL, as far as --list wants them.
func (o *checkOptions) checkArguments(args []string) (err error) {
	if len(args) > 0 {
		if o.role = args[0]; !slices.Contains(roles(), o.role) {
			return usage("%q is no role: one of %s", o.role, strings.Join(roles(), ", "))
		}
	}
	switch {
	case o.list && len(args) > 1:
		return usage("--list asks no agent: leave %q away", args[1])
	case o.list:
		return nil
	case len(args) != 2:
		return usage("check takes a role and a URL, such as: evenodd check player http://localhost:8101/mcp")
	}
	o.url, err = agentURL(args[1])
	return err
}

// selection is what is to be examined, or listed.
func (o *checkOptions) selection() (conformance.Selection, error) {
	levels := map[string]conformance.Level{"must": conformance.Must, "should": conformance.Should}
	level, known := levels[strings.ToLower(o.level)]
	if !known {
		return conformance.Selection{}, usage("--level %q: must or should", o.level)
	}
	all := o.requirements()
	chosen := conformance.Selection{Level: level}
	for _, text := range o.only {
		id := strings.ToUpper(strings.TrimSpace(text))
		if id == "" || !slices.ContainsFunc(all, func(q conformance.Requirement) bool { return strings.HasPrefix(q.ID, id) }) {
			return chosen, usage("--only %q: no requirement of %s begins so; there are %s", text, cmp.Or(o.role, "any role"), strings.Join(near(all, id), ", "))
		}
		chosen.Only = append(chosen.Only, id)
	}
	if !slices.ContainsFunc(all, chosen.Wants) {
		return chosen, usage("--only %s: none of these is a MUST, and --level must wants no other", strings.Join(o.only, ","))
	}
	return chosen, nil
}

// requirements are those of the role, or of all.
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

// near are what there is instead of an id: the requirements that begin like it,
// as far as there are any, else the groups.
func near(all []conformance.Requirement, id string) []string {
	group := id
	if i := strings.LastIndexByte(id, '-'); i > 0 {
		group = id[:i]
	}
	var groups, within []string
	for _, q := range all {
		if g := groupOf(q.ID); !slices.Contains(groups, g) {
			groups = append(groups, g)
		}
		if groupOf(q.ID) == group {
			within = append(within, q.ID)
		}
	}
	if within != nil {
		return within
	}
	return groups
}

// groupOf is the part of an id that requirements on the same thing share.
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
	switch {
	case !known:
		return usage("--format %q: one of text, json, junit", o.format)
	case o.wait < 0 || o.timeout <= 0:
		return usage("--wait and --timeout are times such as 30s")
	case o.players < 2 || o.referees < 1:
		return usage("a league has 2 players and 1 referee at least, not %d and %d", o.players, o.referees)
	}
	game, err := games().Game(o.game)
	if err != nil {
		return usage("--game: %v", err)
	}
	chosen, err := o.selection()
	if err != nil {
		return err
	}
	client, err := examiner(o.ca)
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	l, err := o.open(ctx, s)
	if err != nil {
		return err
	}
	defer func() { _ = l.Close() }() // the kit has closed it, where it came so far
	if err := o.await(ctx, l); err != nil {
		return err
	}
	stop := o.showProgress(s)
	report, err := o.examine(ctx, conformance.Options{
		Role: o.role, URL: o.url, Game: game, Listener: l, Selection: chosen, Wait: max(o.wait, time.Millisecond), Budget: o.timeout,
		Players: o.players, Referees: o.referees, Admin: o.admin, Client: client,
	})
	stop()
	switch {
	case ctx.Err() != nil:
		return &interruptedError{"Nothing is known of the agent: examine it again."}
	case err != nil:
		return err
	}
	discreet(report, o.admin)
	if err := write(s.out, report); err != nil {
		return err
	}
	if !report.Conforms() {
		return &nonconformingError{failed: report.Count(conformance.Fail), passed: report.Count(conformance.Pass)}
	}
	return nil
}

// A nonconformingError says that an agent does not keep to the protocol: exit
// code 4.
type nonconformingError struct{ failed, passed int }

func (e *nonconformingError) Error() string {
	switch {
	case e.failed == 1:
		return "1 requirement failed"
	case e.failed == 0 && e.passed == 0:
		return "no requirement passed"
	case e.failed == 0:
		return "no requirement failed, but the agent ended the examination early"
	}
	return fmt.Sprintf("%d requirements failed", e.failed)
}

// examiner is a client that shows what comes as it comes: it follows no
// redirect, unpacks nothing, and asks no proxy.
func examiner(ca string) (*nethttp.Client, error) {
	believed, err := roots(ca)
	if err != nil {
		return nil, err
	}
	return &nethttp.Client{
		Transport: &nethttp.Transport{
			TLSClientConfig:        &tls.Config{RootCAs: believed, MinVersion: tls.VersionTLS12},
			TLSHandshakeTimeout:    10 * time.Second,
			MaxResponseHeaderBytes: 64 << 10,
			MaxIdleConnsPerHost:    64,
			IdleConnTimeout:        4 * time.Second,
			DisableCompression:     true,
		},
		CheckRedirect: func(*nethttp.Request, []*nethttp.Request) error { return nethttp.ErrUseLastResponse },
	}, nil
}

// open listens where the agent finds the kit. An agent that registers by itself
// looks for its manager at one place; where that is taken, it must be told.
func (o *checkOptions) open(ctx context.Context, s streams) (*door, error) {
	meet := o.meet
	switch {
	case meet.given:
	case o.role == conformance.Manager:
		meet.at = anyPlace
	default:
		meet.at = meetingPoint
	}
	l, err := meet.listen(ctx)
	if errors.Is(err, errTaken) && !meet.given {
		another := rendezvous{at: anyPlace}
		if l, err = another.listen(ctx); err == nil {
			_, _ = fmt.Fprintf(s.err, "%s is %v, so the kit's manager is at %s: an agent that registers by itself must be told.\n",
				meet.at, errTaken, another.url(l))
		}
	}
	if err != nil {
		return nil, err
	}
	return newDoor(l), nil
}

// await returns when somebody listens at the agent's URL, or has come to the
// kit: some register before they listen.
func (o *checkOptions) await(ctx context.Context, l *door) error {
	bound, cancel := context.WithTimeout(ctx, max(min(o.wait, o.timeout), time.Second))
	defer cancel()
	err := knocks(bound, o.url, l.come)
	switch {
	case ctx.Err() != nil:
		return &interruptedError{"Nothing is known of the agent: examine it again."}
	case err != nil:
		return fmt.Errorf("nobody listens at %s: start the agent, and look at its port (%w)", o.url, err)
	}
	return nil
}

// showProgress shows on a terminal how long it has taken so far, until the
// returned function is called.
func (o *checkOptions) showProgress(s streams) (stop func()) {
	if !isTerminal(s.err) {
		return func() {}
	}
	bar := progressbar.NewOptions(-1, progressbar.OptionSetWriter(s.err), progressbar.OptionSetDescription("examining the "+o.role),
		progressbar.OptionSpinnerType(14), progressbar.OptionSetElapsedTime(true), progressbar.OptionClearOnFinish())
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		turn := time.NewTicker(100 * time.Millisecond)
		defer turn.Stop()
		for {
			select {
			case <-end:
				_ = bar.Finish() // only a picture
				return
			case <-turn.C:
				_ = bar.Add(1)
			}
		}
	}()
	return func() { close(end); <-ended }
}

// A door is a listener that tells when the first caller has come.
type door struct {
	net.Listener
	come  chan struct{} // closed when there is one
	first chan arrival
}

type arrival struct {
	caller net.Conn
	err    error
}

func newDoor(l net.Listener) *door {
	d := &door{Listener: l, come: make(chan struct{}), first: make(chan arrival, 1)}
	go func() { // ends when somebody comes, or the listener is closed
		c, err := l.Accept()
		d.first <- arrival{c, err}
		close(d.first)
		if err == nil {
			close(d.come)
		}
	}()
	return d
}

// Accept waits for the next caller.
func (d *door) Accept() (net.Conn, error) {
	if a, is := <-d.first; is {
		return a.caller, a.err
	}
	return d.Listener.Accept()
}

// Close turns away also the first, if nobody has let him in.
func (d *door) Close() error {
	err := d.Listener.Close()
	if a := <-d.first; a.caller != nil {
		_ = a.caller.Close()
	}
	return err
}
