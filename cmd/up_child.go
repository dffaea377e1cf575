package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/rs/zerolog"
	"github.com/spf13/pflag"

	"evenodd/cmd/supervise"
	"evenodd/config"
	"evenodd/league/manager"
	"evenodd/league/protocol"
)

// An upChild is the process with the agents of the league. An upParent starts it, reads its reports, and ends it.
type upChild struct {
	*upOptions
	plan     upPlan
	settings *config.Settings
	report   func(*upReport)
	clock    func(agent string) *protocol.Clock // of an agent that begins

	listens chan struct{} // closed when the manager listens, with the next two set
	url     string        // of the manager, for other computers
	local   string        // the same for this computer; "" without an HTTP server

	mu     sync.Mutex            // guards what follows, and what changes of the agents
	status func() manager.Status // of the manager; nil while it does not run

	game *userGame // of the league, for all agents; nil for a game of this program
}

// manager is the first agent of the plan.
func (c *upChild) manager() *upAgent { return c.plan.Agents[0] }

// runUpChild runs the agents of the plan that standard input begins with, until the league has ended or the input ends.
func runUpChild(ctx context.Context, s streams, data *dataFolder, o *upOptions) error {
	c := &upChild{upOptions: o, settings: data.settings, listens: make(chan struct{}),
		clock: s.clock}
	if err := json.UnmarshalDecode(jsontext.NewDecoder(os.Stdin), &c.plan); err != nil {
		return err
	}
	c.LeagueID = c.plan.LeagueID // the date may be another one now
	var reporting sync.Mutex
	c.report = func(r *upReport) {
		reporting.Lock()
		defer reporting.Unlock()
		text, _ := json.Marshal(r, jsontext.AllowInvalidUTF8(true)) // of texts and numbers alone
		_, _ = s.out.Write(text)                                    // without a parent this process ends anyhow
	}
	// reports to a parent that was killed must not end the process; programs do not inherit this
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx = supervise.UntilEnd(ctx, os.Stdin)
	// if the process does not end in order, it ends at once some time later
	context.AfterFunc(ctx, func() { time.AfterFunc(upPatience, func() { os.Exit(exitInterrupted) }) })
	end := c.run(ctx)
	c.report(&upReport{End: end})
	return nil
}

// run runs all agents until the league has ended. Then none is left.
func (c *upChild) run(ctx context.Context) *upEnd {
	for i, a := range c.plan.Agents {
		a.child, a.index, a.ready, a.heard = c, i, a.Port != "", true
	}
	c.manager().ready = c.plan.Resumed
	end := &upEnd{}
	if err := c.play(ctx); err != nil {
		end.Code, end.Problem = exitCode(err), errorLines(err)
	}
	if end.Code == exitDone || end.Code == exitLosses {
		end.Table = c.manager().table.String()
	}
	return end
}

// play is run without its end.
func (c *upChild) play(ctx context.Context) (err error) {
	log := zerolog.New(lineWriter(func(line string) { c.detail("game | %s", line) })).Level(zerolog.WarnLevel)
	if c.game, err = openGame(ctx, nil, &c.GameType, &c.tools.Programs, log); err != nil {
		return err
	}
	defer c.game.close()
	ctx, stop := context.WithCancel(ctx)
	var running, agents sync.WaitGroup
	defer running.Wait()
	defer stop()
	managed, down := make(chan supervise.State, 1), make(chan *upAgent, len(c.plan.Agents))
	running.Go(func() { managed <- c.manager().supervised(ctx) })
	select {
	case <-c.listens:
	case ended := <-managed:
		return c.over(ended)
	}
	defer agents.Wait()
	defer stop()
	if !c.plan.Over {
		c.start(ctx, &agents, down)
	}
	for {
		select {
		case r := <-down:
			if err := c.without(r); err != nil {
				return err
			}
		case ended := <-managed:
			if succeeded(ended) {
				time.AfterFunc(upFarewell, stop) // for agents that do not end by themselves
				agents.Wait()
			}
			return c.over(ended)
		}
	}
}

// start starts the agents. Those that stay down come by a channel.
func (c *upChild) start(ctx context.Context, agents *sync.WaitGroup, down chan<- *upAgent) {
	for _, a := range c.plan.Agents[1:] {
		if at := a.externalURL(); at != "" {
			c.note("%s runs elsewhere: let the agent at %s register with the manager at %s. The league waits for it.", a.Name,
				at, c.url)
			continue
		}
		agents.Go(func() {
			if final := a.supervised(ctx); final.Phase != supervise.PhaseStopped && !succeeded(final) {
				down <- a
			}
		})
	}
}

// note reports a line for people.
func (c *upChild) note(format string, args ...any) {
	c.report(&upReport{Text: fmt.Sprintf(format, args...)})
}

// detail reports a line that a terminal does not show.
func (c *upChild) detail(format string, args ...any) {
	if !c.plan.Shows {
		c.note(format, args...)
	}
}

// opened reports that the agent listens, and of a manager where its league is.
func (a *upAgent) opened(o opening) {
	c := a.child
	c.mu.Lock()
	defer c.mu.Unlock()
	a.ready, a.heard, a.Port = true, true, cmp.Or(o.port, a.Port)
	report := &upReport{Agent: a.index, Port: a.Port}
	defer c.report(report)
	if a != c.manager() {
		return
	}
	report.Opened = true
	if !c.plan.Resumed {
		c.plan.Over, report.Over = o.over, o.over
	}
	if o.page != "" && (!c.plan.Shows || !c.plan.Resumed) {
		c.report(&upReport{Text: watchPage + o.page, Page: o.page, Manager: o.shown})
	}
	c.plan.Resumed, c.status = true, o.status
	if c.url == "" {
		c.detail("League %s: manager at %s, data in %s", c.LeagueID, o.url, c.data)
		c.url, c.local = o.url, o.local
		close(c.listens)
	}
}

// over returns the error that fits the end of the manager.
func (c *upChild) over(ended supervise.State) error {
	problem := ended.Exit.Text
	switch {
	case succeeded(ended) && ended.Exit.Code == exitDone:
		if c.plan.Over {
			c.detail("No match was played: the league in %s was over. Add --new-league to play a new one.", c.data)
		}
		return nil
	case succeeded(ended):
		return exit(exitLosses, "%s", problem)
	case ended.Phase == supervise.PhaseStopped:
		return interrupted("")
	case ended.Phase == supervise.PhaseFailed:
		return fmt.Errorf("the manager ended too often: %s. Run the same command again to resume; the league is in %s",
			problem, c.data)
	}
	return exit(max(ended.Exit.Code, exitFailed), "the manager cannot run: %s", problem)
}

// without returns an error if the league cannot go on without an agent that stays down.
func (c *upChild) without(a *upAgent) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	reason, code := a.state.Exit.Text, max(a.state.Exit.Code, exitFailed)
	if a.state.Phase == supervise.PhaseFailed {
		code = exitFailed
	}
	if c.status != nil && c.status().Matches == 0 {
		return exit(code, "the league cannot start without %s: %s", a.Name, reason)
	}
	for _, other := range c.plan.Agents {
		if phase := other.state.Phase; other.Role == protocol.RoleReferee && phase != supervise.PhaseFailed &&
			phase != supervise.PhaseEnded {
			c.note("The league goes on without %s: %s", a.Name, reason)
			return nil
		}
	}
	return fmt.Errorf("no referee is left: %s: %s. Run the same command again to resume; the league is in %s", a.Name,
		reason, c.data)
}

// agentHost is the address on which agents listen: that of the manager, or if it listens on all, one that other
// computers reach.
func (c *upChild) agentHost(ctx context.Context) string {
	if host := c.address.host; host != "" && !net.ParseIP(host).IsUnspecified() {
		return host
	}
	return ownAddresses(ctx)[0].String()
}

// supervised runs the agent until it needs no restart.
func (a *upAgent) supervised(ctx context.Context) supervise.State {
	task := supervise.Task{Process: a.once, Changed: a.changed, Policy: upPolicy(),
		Final: func(supervise.Exit) bool { return a.final }}
	return task.Run(ctx)
}

// brokenPatience is how long an agent that has panicked may take to end. If it takes longer, it panicked perhaps with a
// lock held, and the process ends, too: the next one is there before the referees have given up.
const brokenPatience = 3 * time.Second

// once runs the agent until it ends.
func (a *upAgent) once(ctx context.Context) supervise.Exit {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	lines := lineWriter(a.show)
	h := &host{clock: a.child.clock(a.Name), broken: end, opened: a.opened, game: a.child.game,
		hasty: a.child.plan.Silent}
	var err error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		h.guard(zerolog.New(lines)).Of(func() { err = a.begin(ctx, h, lines) })()
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		if brokenBy(ctx) == nil { // it ends in order
			break
		}
		select {
		case <-ended:
		case <-time.After(brokenPatience): // nobody is left to tell
			_ = printLine(os.Stderr, "%s does not end after a %v", a.called(), brokenBy(ctx))
			os.Exit(exitFailed) //nolint:gocritic // a context needs no end in a process that ends
		}
	}
	<-ended
	return a.ended(cmp.Or(brokenBy(ctx), err))
}

// ended notes the end of a run.
func (a *upAgent) ended(err error) (e supervise.Exit) {
	if err != nil {
		e.Code, e.Text = exitCode(err), strings.Join(errorLines(err), ": ")
	}
	_, broken := errors.AsType[*brokenError](err)
	c := a.child
	c.mu.Lock()
	defer c.mu.Unlock()
	if a == c.manager() {
		c.status = nil
	}
	a.final = !broken && e.Code != exitInterrupted && (e.Code != exitFailed || !a.ready)
	return e
}

// An agentCommand is the command of an agent.
type agentCommand interface {
	flags(f *pflag.FlagSet)
	run(ctx context.Context, s streams, data *dataFolder) error
}

// begin runs the agent as its command would, with what is for this agent alone.
func (a *upAgent) begin(ctx context.Context, h *host, lines io.Writer) error {
	c, s := a.child, streams{out: lines, err: lines, quiet: a.child.plan.Brief}
	var command agentCommand
	own := &agentOptions{}
	switch a.Role {
	case protocol.RoleReferee:
		o := &refereeOptions{}
		command, own = o, &o.agentOptions
	case protocol.RolePlayer:
		o := &playerOptions{entrant: a.Entrant, key: a.Key, person: a.person}
		command, own = o, &o.agentOptions
	default:
		command = &managerOptions{host: h, version: c.version, leagueSettings: leagueSettings{moveTime: c.moveTime}}
		a.table.Reset()
		s.out = &a.table
	}
	f, data := pflag.NewFlagSet(a.Role, pflag.ContinueOnError), &dataFolder{clock: h.clock.Now}
	command.flags(f)
	err := f.Parse(a.args(ctx))
	if err == nil {
		_, err = data.resolve(c.settings, a.Role, f)
	}
	if err != nil {
		return asUsage(err)
	}
	own.host, own.program, own.RegistrationCode = h, c.version, cmp.Or(a.Code, own.RegistrationCode)
	return command.run(ctx, s, data)
}

// args are the flags of the next run. It listens on the same port as the last one, if that had one.
func (a *upAgent) args(ctx context.Context) []string {
	c := a.child
	c.mu.Lock()
	defer c.mu.Unlock()
	args := slices.Clone(a.Args)
	switch {
	case a != c.manager():
		args = append(args, "--league-id="+c.LeagueID)
		if !c.nats.on() {
			args = append(args, "--host="+c.agentHost(ctx), "--manager="+c.local)
		}
		if !a.heard {
			a.Port = "" // maybe the port was the problem
		}
	case a.ready: // the old league has been archived
		args = slices.DeleteFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "--new-league") })
	}
	a.heard = false
	return append(args, "--port="+cmp.Or(a.Port, "0"))
}

// show reports a line of the agent. A terminal shows only those of a manager before it listens.
func (a *upAgent) show(line string) {
	if a.child.plan.Shows {
		a.child.mu.Lock()
		defer a.child.mu.Unlock()
		if a == a.child.manager() && !a.child.plan.Resumed && !a.child.plan.Silent {
			a.child.note("%s", line)
		}
		return
	}
	a.child.note("%s | %s", a.Name, line)
}

// called is the name of the agent for people.
func (a *upAgent) called() string {
	if a == a.child.manager() {
		return a.Name
	}
	return fmt.Sprintf("%s (%s)", a.Name, a.Role)
}

// succeeded tells whether an agent has done its work.
func succeeded(s supervise.State) bool {
	return s.Phase != supervise.PhaseFailed && (s.Exit.Code == exitDone || s.Exit.Code == exitLosses)
}

// changed shows a new state.
func (a *upAgent) changed(s supervise.State) {
	c := a.child
	c.mu.Lock()
	a.state = s
	c.mu.Unlock()
	ended, cause := a.called()+" has ended", s.Exit.Text
	switch {
	case s.Phase == supervise.PhaseStopped:
		c.detail("%s is stopped", a.called())
	case s.Phase == supervise.PhasePausing:
		c.note("%s: %s; it starts again in %s", ended, cause, s.Pause.Round(time.Millisecond))
	case s.Phase == supervise.PhaseFailed:
		c.note("%s: %s; it is not started again, because it ended %d times in a minute", ended, cause, upPolicy().Most+1)
	case succeeded(s):
		c.detail("%s", ended)
	default:
		c.note("%s: %s; it is not started again, because the same would happen", ended, cause)
	}
}

// A lineWriter passes on lines, of which each write has whole ones.
type lineWriter func(line string)

// Write implements io.Writer. It never returns an error.
func (w lineWriter) Write(text []byte) (int, error) {
	for line := range strings.Lines(string(text)) {
		w(strings.TrimSuffix(line, "\n"))
	}
	return len(text), nil
}
