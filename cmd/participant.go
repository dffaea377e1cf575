package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/pflag"

	"evenodd/config"
	"evenodd/league"
	"evenodd/league/membership"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/referee"
	"evenodd/transport"
	"evenodd/transport/dialect/bridge"
	"evenodd/transport/http"
	"evenodd/transport/mcp"
)

// stopPatience is how long a process that is told to stop lets running matches
// continue.
const stopPatience = 10 * time.Second

// agentOptions are the settings that referees and players share.
type agentOptions struct {
	membership.Options

	address  address
	nats     natsOptions
	given    map[string]bool // the flags that the user has set
	data     string
	ca       string
	seed     uint64
	program  string // the version of this one
	logLevel string
	several  bool  // the process has several agents: log lines have the display name
	host     *host // nil for a process with agents of one command line

	natsEndpoint string // --endpoint with NATS; "": it follows from the name
}

// agentFlags defines the flags. alias is the second name of --id. example
// is the id of the agent on the first of the ports.
func (o *agentOptions) agentFlags(f *pflag.FlagSet, alias, example, ports string) {
	addressFlags(f, &o.address)
	f.Lookup("host").Usage = "`address` to listen on; without the flag, and with a manager on another machine, the " +
		"address of this one on the way to it"
	tlsCAFlag(f, &o.ca)
	o.nats.flags(f)
	f.StringVar(&o.address.endpoint, "endpoint", "", "`URL` that other agents are told (default: from host and port)")
	dataFlag(f, &o.data, defaultData)
	managerFlag(f, &o.Manager)
	f.StringVar(&o.Name, "name", "", "display name, 1 to 50 characters (default: from the port)")
	f.StringVar(&o.ID, "id", "", "agent id to ask for, such as "+example+"; --"+alias+" is the same (default: from the "+
		"port, if it is "+ports+")")
	config.Alias(f, "id", alias)
	f.StringVar(&o.RegistrationCode, "registration-code", "", "`code` of this name in the roster of the league; "+
		"$EVENODD_REGISTRATION_CODE hides it from other users of this machine")
	config.Secret(f, "registration-code")
	f.Uint64Var(&o.seed, "seed", 0, "for tests: derive all random decisions from this seed, as simulate does")
	logLevelFlag(f, &o.logLevel, "info")
}

// managerFlag defines the flag of the commands that call a manager.
// usualManager is the URL of a manager on this machine.
const usualManager = "http://localhost:8000" + http.Path

func managerFlag(f *pflag.FlagSet, manager *string) {
	f.StringVar(manager, "manager", usualManager, "`address` of the league manager, or of a page of its league: HOST, "+
		"HOST:PORT or a URL")
}

// completeManager makes the value of --manager the URL for calls.
func completeManager(manager *string) (err error) {
	*manager, err = managerURL("--manager", *manager)
	return err
}

// misdirected says what to do about an answer that is not that of a manager; it returns any other error unchanged.
func misdirected(manager string, err error) error {
	failed, answered := errors.AsType[*transport.CallError](err)
	e := protocol.AsError(err)
	player := e != nil && e.Remote && e.RPC == transport.CodeMethodNotFound // or another agent
	if !answered || !protocol.Foreign(err) && !player {
		return err
	}
	return fmt.Errorf("no league manager answers at %s (%w): set --manager to the address of the league's page, such as "+
		"http://192.0.2.7:8000/", manager, failed)
}

// dataFlag defines the flag of the commands that have a data folder.
func dataFlag(f *pflag.FlagSet, data *string, folder string) {
	f.StringVar(data, "data", folder, "data `folder`: settings (see init), leagues, matches, logs")
}

func logLevelFlag(f *pflag.FlagSet, level *string, usual string) {
	choiceFlag(f, level, "log-level", usual, "", "debug", "info", "warn", "error", "disabled")
}

// preset sets the options of an agent that files set and flags do not, and returns the types of the games that
// it plays.
func (o *agentOptions) preset(files *config.Loader, role string) (games []string, err error) {
	system, _ := files.System() // the flags needed these files already
	agents, _ := files.Agents()
	var defaults *config.AgentDefaults
	var preset *config.Preset
	var timeout int
	if role == protocol.RoleReferee {
		own, _ := files.RefereeDefaults()
		defaults, preset, timeout = &own.AgentDefaults, &agents.Referee(o.ID).Preset, system.Timeouts.RegisterReferee
	} else {
		own, _ := files.PlayerDefaults()
		defaults, preset, timeout = &own.AgentDefaults, &agents.Player(o.ID).Preset, system.Timeouts.RegisterPlayer
	}
	o.Version, o.RegisterTimeout = cmp.Or(preset.Version, defaults.Version), inSeconds(timeout)
	if preset.Inactive() {
		return nil, fmt.Errorf("%s %s is not active: set \"active\" to true in %s, or start it with another --id", role, o.ID,
			agents.Path())
	}
	if preset.GameTypes != nil {
		return preset.GameTypes, nil
	}
	return defaults.GameTypes, nil
}

// An agent is a player or a referee, as its process uses it.
type agent interface {
	Mount(mux protocol.Mux)
	Register(ctx context.Context) error
	Finish(ctx context.Context)
	Done() <-chan struct{}
	Stamp() *protocol.Stamp
	ID() string
	Membership() *membership.Membership
	Watch(ctx context.Context, changed func(away bool, err error), register func(context.Context) error) error
}

// A participant is the process of a referee or a player.
type participant struct {
	*node
	*agentOptions
	streams

	role     string
	listener net.Listener // nil without an HTTP server
	user     natsUser
	file     *logFile // nil without a data folder
	lowMB    int      // free space of the data folder below which the agent warns
	agent    atomic.Value
	leaving  func() // called before the server stops, which waits for its calls; nil for nothing
}

// prepare checks the manager's URL, the flags of NATS and the registration code, and finds the address to listen on.
func (o *agentOptions) prepare(ctx context.Context, s streams) error {
	if err := cmp.Or(completeManager(&o.Manager), o.prepareNATS()); err != nil {
		return err
	}
	if err := league.CheckNewName(o.Name); err != nil {
		return usage("--name %q: %v", o.Name, err)
	}
	if o.RegistrationCode != "" {
		if err := protocol.CheckRegistrationCode(o.RegistrationCode); err != nil {
			return usage("--registration-code: %v", err)
		}
	}
	if o.nats.on() {
		return nil
	}
	return o.followRoute(ctx, s)
}

// listen opens the port of an agent, unless it has no HTTP server: then the listener is nil.
func (o *agentOptions) listen(ctx context.Context) (net.Listener, error) {
	if o.nats.noHTTP {
		return nil, nil //nolint:nilnil // as the comment says
	}
	return o.address.listen(ctx)
}

// closeListener closes a listener that is not nil.
func closeListener(l net.Listener) {
	if l != nil {
		_ = l.Close() // the server has usually closed it
	}
}

// open opens the log, makes the client of an agent that listens on l, and completes the options. After an
// error l is closed.
func (o *agentOptions) open(s streams, files *config.Loader, role string, maxReply int64, l net.Listener) (
	*participant, error) {
	system, _ := files.System() // the flags needed it already
	if o.Name == "" {           // the port makes it unique on this machine
		o.Name = fmt.Sprintf("%s%s %d", strings.ToUpper(role[:1]), role[1:], l.Addr().(*net.TCPAddr).Port)
	}
	p := &participant{agentOptions: o, streams: s, role: role, listener: l, lowMB: system.Disk.LowSpaceMB,
		file: openAgentLog(o.data, role, role+"-"+membership.Slug(o.Name), system.Logs, s.err)}
	o.Log = newLogger(s.logs(), o.logLevelOn(s), agentFileLevel(o.logLevel), p.sender, p.file)
	if o.several {
		o.Log = o.Log.With().Str("display_name", o.Name).Logger()
	}
	o.Endpoint = o.address.endpoint
	var err error
	if p.user, err = o.useNATS(role); err == nil {
		p.node, err = newNode(nodeOptions{maxReply: maxReply, ca: o.ca,
			dialect: bridge.Options{Endpoint: o.address.endpoint}, nats: p.user, log: o.Log})
	}
	if err != nil {
		p.release()
		return nil, err
	}
	o.ID, o.Folder = cmp.Or(o.ID, protocol.UsualID(role, o.Endpoint)), store.In(o.data)
	o.Caller, o.Clock, o.Waiting = transport.Logged(p.caller, o.Log), o.host.time(s), p.reportWaiting
	o.Guard = o.host.guard(o.Log)
	o.Unreached = p.reportUnreached
	return p, nil
}

// sender returns the sender that the agent puts into messages, "" before it runs.
func (p *participant) sender() string {
	if a, ok := p.agent.Load().(agent); ok {
		return a.Stamp().Sender()
	}
	return ""
}

// close closes the client and the log.
func (p *participant) close() {
	p.node.close()
	p.release()
}

func (p *participant) release() {
	closeListener(p.listener)
	_ = p.file.Close() // reports a failed write itself
}

// run serves the agent, registers it, and waits until its league is over. When it
// is told to stop, it lets running matches end, for stopPatience at most. An agent
// that the manager no longer knows registers again; if the manager refuses that,
// run returns the error.
// progress is a member of the agent's health, and describe makes the options of its MCP server.
func (p *participant) run(ctx context.Context, a agent, c http.Config, progress func() (name string, value any),
	describe func(mux *transport.Mux) mcp.Options) error {
	p.agent.Store(a)
	disk, unwatch := watchDisk(p.data, p.lowMB, p.Log)
	defer unwatch()
	c.Mounts = append(c.Mounts, probes(p.metrics, func() any {
		name, value := progress()
		return disk.health(map[string]any{"status": "ok", "role": p.role, "agent_id": a.ID(), name: value})
	})...)
	mux := transport.NewMux(p.Log)
	mux.Guarded(p.Guard)
	a.Mount(mux)
	if r, conducts := a.(*referee.Referee); conducts {
		mountSteps(mux, r.Stamp(), refereeStepTools(r)...)
	}
	c.MCP = mcp.NewServer(describe(mux))
	subject := strings.TrimPrefix(p.Endpoint, protocol.NATSEndpoint(""))
	stop, err := p.serve(&p.address, p.listener, subject, mux, a.Stamp, c)
	if err != nil {
		return err
	}
	defer stop()
	p.Log.Info().Str("endpoint", p.Endpoint).Str("manager", p.Manager).Str("event_type", "LISTENING").Msg("listening")
	p.host.listens(p.listener, opening{})
	p.Guard.Of(func() { err = p.takePart(ctx, a) })()
	if p.leaving != nil {
		p.leaving()
	}
	return cmp.Or(brokenBy(ctx), err)
}

// takePart registers an agent that can answer calls, and waits like run.
func (p *participant) takePart(ctx context.Context, a agent) error {
	watched, stop := context.WithCancel(ctx)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer stop()
	register := func(ctx context.Context) error {
		err := a.Register(ctx)
		if err == nil {
			p.file.setAgent(a.ID())
			if p.prints(p.streams) {
				p.note("Registered as %s in %s at %s.", league.Ref{ID: a.ID(), Name: p.Name}, a.Membership().LeagueID, p.Manager)
			}
		}
		return err
	}
	err := register(ctx)
	if err == nil {
		refused := make(chan error, 1)
		watching.Go(p.Guard.Of(func() {
			if err := a.Watch(watched, p.reportAway, register); err != nil {
				refused <- err
			}
		}))
		select {
		case <-a.Done():
			return nil
		case err = <-refused:
			return fmt.Errorf("the manager at %s no longer knows this agent and refuses to register it again: %w. "+
				"A manager drops agents that do not answer: make sure that it can reach %s, or set another URL with --endpoint",
				p.Manager, err, p.Endpoint)
		case <-ctx.Done():
			if brokenBy(ctx) != nil {
				break
			}
			bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.host.patience())
			defer cancel()
			a.Finish(bound)
		}
	}
	refused, isRefused := errors.AsType[*membership.RefusedError](err)
	switch {
	case ctx.Err() == nil && isRefused && refused.Code == "":
		return fmt.Errorf("%w: this manager listens at %s; name another with --manager", err, p.Manager)
	case ctx.Err() == nil && isRefused && refused.Code == string(protocol.ErrInvalidEndpoint) && !p.nats.on():
		return fmt.Errorf("%w: this agent registers %s; set another URL by --endpoint, or another address of this computer "+
			"by --host", err, p.Endpoint)
	case ctx.Err() == nil:
		return misdirected(p.Manager, err)
	case a.ID() == "":
		return interrupted("This agent has not registered with a manager yet. Run the same command again to continue.")
	case p.data == "":
		return interrupted("The league continues without this agent. It has no data folder, so it cannot come back.")
	}
	return interrupted("The league continues. Run the same command again to come back as the same agent; its identity "+
		"is in %s.", p.data)
}

// reportWaiting tells the user that no manager runs, and how to start one. Several players in one
// process have the line in the log only, and a host starts the manager itself. A terminal needs no second line.
func (p *participant) reportWaiting(err error) (told bool) {
	remedy := "'evenodd manager', or name another with --manager"
	if p.nats.on() {
		remedy = "'evenodd manager --nats' and the same --league-id"
	}
	if protocol.Unreachable(err) && !p.several && p.host == nil {
		p.note("No league manager listens at %s: waiting for one. Start it with %s.", p.Manager, remedy)
		return p.prints(p.streams)
	}
	return false
}

// reportUnreached tells the user why the manager cannot call this agent, and what to do.
func (p *participant) reportUnreached(reason string) {
	switch {
	case p.several:
	case p.nats.on():
		p.note("The manager cannot call this agent: %s", reason)
	default:
		p.note("The manager cannot call this agent: %s. Let other computers reach that port (firewall), or set --host or "+
			"--endpoint to an address of this computer that the manager reaches.", reason)
	}
}

// reportAway logs that the manager does not answer, or answers again.
func (p *participant) reportAway(away bool, err error) {
	if away {
		p.Log.Warn().Err(err).Str("manager", p.Manager).
			Str("event_type", "MANAGER_AWAY").Msg("the manager does not answer; waiting for it")
		return
	}
	p.Log.Info().Str("manager", p.Manager).Str("event_type", "MANAGER_BACK").Msg("the manager answers again")
}
