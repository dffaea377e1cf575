package cmd

import (
	"cmp"
	"context"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"evenodd/config"
	"evenodd/league/manager"
	"evenodd/league/program"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/view/page"
	"evenodd/transport"
	"evenodd/transport/dialect/bridge"
	"evenodd/transport/http"
	"evenodd/transport/mcp"
	"evenodd/transport/nats"
)

type managerOptions struct {
	manager.Options
	leagueSettings
	address      address
	nats         natsOptions
	journal      journalOptions
	exitWhenDone bool
	standby      bool
	mcpAdmin     bool
	page         bool
	basePath     basePath
	admission    admission
	programs     program.Programs // the settings of that of --game
	version      string           // of the program
	host         *host            // nil for a process with one agent
}

func newManager(s streams, data *dataFolder) *cobra.Command {
	o := &managerOptions{}
	c := &cobra.Command{
		Use:   "manager",
		Short: "Run a league: register agents, assign matches, compute the table",
		Long: `Run a league manager. It starts the league when --players players and --referees referees have registered,
prints the final table at its end, and answers queries until you interrupt it; with --exit-when-done it ends with the
league.

With the admin token, which 'evenodd league token' prints, 'evenodd league' controls the league from another machine.
docs/leagues.md describes --roster, --registration-until and --start-at; docs/formats.md describes --tournament,
--rounds, --gauntlet and --seeding.

Run the same command again to resume an interrupted league. A browser shows the league at the manager's address, such
as http://localhost:8000/.`,
		Example: examples(
			"Run a league of 4 players and 2 referees, and end with it",
			"evenodd manager --players 4 --referees 2 --exit-when-done",
			"Let only the agents of a roster register, and start at 9",
			"evenodd manager --roster class.csv --start-at 2026-11-23T09:00:00Z",
			"Serve agents on other machines", "evenodd manager --host 192.0.2.7",
			"Start a new league in place of the one in the data folder", "evenodd manager --new-league",
		),
		RunE: func(c *cobra.Command, _ []string) error {
			o.version = c.Root().Version
			return o.run(c.Context(), s, data)
		},
	}
	o.flags(c.Flags())
	return c
}

// run runs a manager, whose flags are set.
func (o *managerOptions) run(ctx context.Context, s streams, data *dataFolder) error {
	o.admission.given = data.given
	return debugged(ctx, o.address.debug, func() error { return runManager(ctx, s, data.loader, o) })
}

// flags defines the flags of a manager.
func (o *managerOptions) flags(f *pflag.FlagSet) {
	o.commonFlags(f)
	programFlags(f, &o.programs, programsOfGames)
	o.journal.flags(f)
	f.BoolVar(&o.standby, "standby", false, "with --journal nats: while another manager leads the league, keep a "+
		"copy of its journal, and take over when it is gone for 10 s (docs/operators.md)")
}

// commonFlags defines the flags that evenodd up has too.
func (o *managerOptions) commonFlags(f *pflag.FlagSet) {
	o.address = address{ports: ports{managerPort, managerPort}, local: true} // operators give agents the manager's URL
	addressFlags(f, &o.address)
	o.nats.flags(f)
	o.leagueSettings.flags(f, &o.Options, defaultData, "info")
	id := f.Lookup("league-id")
	id.DefValue = ""
	id.Usage += " (default: that of the unfinished league in the data folder, for a new one date and name)"
	f.IntVar(&o.Players, "players", usualPlayers, "players that start the league when they have registered, 2 to "+
		"10,000; 0: only start_league does")
	f.IntVar(&o.Referees, "referees", 1, "referees that must have registered before the league starts")
	o.admission.flags(f)
	f.BoolVar(&o.exitWhenDone, "exit-when-done", false, "end the process when the league is over")
	f.DurationVar(&o.pace, "pace", 0, "pause before each round, such as 30s")
	f.BoolVar(&o.mcpAdmin, "mcp-admin", false, "offer the tools of the organiser, such as start_league, to MCP clients "+
		"that send the admin token as bearer credential")
	f.BoolVar(&o.page, "page", true, "show the league to browsers, at / of the same address")
	basePathFlag(f, &o.basePath)
}

func runManager(ctx context.Context, s streams, files *config.Loader, o *managerOptions) (err error) {
	if o.Referees < 1 {
		return usage("--referees %d: a league needs at least one", o.Referees)
	}
	if err := cmp.Or(o.nats.check(o.LeagueID), o.journal.check(o)); err != nil {
		return err
	}
	if err := o.admission.read(s, &o.Options); err != nil {
		return err
	}
	system, _ := files.System() // the flags needed it already
	logs := store.In(o.data).LeagueLogs(fileName(o.LeagueID, protocol.ManagerSender))
	file := newLogFile(o.data, logs, "league", protocol.ManagerSender, system.Logs, s.err)
	defer func() { _ = file.Close() }() // reports a failed write itself
	log := newLogger(s.logs(), o.logLevel, agentFileLevel(o.logLevel), func() string { return protocol.ManagerSender }, file)
	if o.userGame, err = openGame(ctx, o.host, &o.GameType, &o.programs, log); err != nil {
		return err
	}
	defer o.userGame.close()
	if o.userGame.addTo(files); o.userGame != nil {
		o.Program = o.userGame
	}
	rules, err := o.complete(files, &o.Options)
	if err != nil {
		return err
	}
	presets, err := files.Agents()
	if err == nil {
		err = o.Validate() // before the port is taken
	}
	if err != nil {
		return asUsage(err)
	}
	disk, unwatch := watchDisk(o.data, system.Disk.LowSpaceMB, log)
	defer unwatch()
	calls := newGuard(o.address.host, rules.League.AllowedEndpoints)
	var listener net.Listener
	if o.page = o.page && !o.nats.noHTTP; !o.nats.noHTTP {
		if listener, err = o.address.listen(ctx); err != nil {
			return err
		}
		defer closeListener(listener)
		calls.own = listener.Addr().(*net.TCPAddr).AddrPort()
	}
	n, err := newNode(nodeOptions{
		maxReply: maxReply, ca: o.ca, allow: calls.allows, log: log,
		dialect: bridge.Options{League: o.LeagueID, Game: o.GameType},
		nats: natsUser{&o.nats, protocol.NATSManagerName, func(subject string) bool {
			return protocol.NATSNameOf(o.LeagueID, protocol.NATSEndpoint(subject)) != ""
		}},
	})
	if err != nil {
		return err
	}
	defer n.close()
	o.Caller, o.Clock, o.Log = transport.Logged(n.caller, log), o.host.time(s), log
	p := &managerProcess{o, n, listener, calls, disk, rules.System.SystemID,
		cmp.Or(presets.LeagueManager.DisplayName, "League Manager"), nil}
	end, err := p.openLeague(ctx, s)
	if err != nil {
		return err
	}
	defer end(&err)
	if guard := o.host.guard(log); guard != nil {
		o.Guard = func(reason any, stack []byte) {
			o.Files.Fail(&brokenError{reason}) // the state may be half changed
			guard(reason, stack)
		}
	}
	if o.Files != nil && listener != nil {
		forget, err := o.Files.Folder.TellManagerURL(o.LeagueID, o.address.localURL(listener))
		if err != nil {
			return err
		}
		defer func() { _ = forget() }() // the next manager replaces it
	}
	o.KeepEvents, o.AllowedEndpoints, o.StopWithin = o.Files == nil, calls.list(), o.host.patience()
	o.CallerAddress, o.CalledFrom = callerAddress, n.calledFrom
	if o.nats.on() {
		o.Schemes = []string{"http", "https", protocol.NATS}
	}
	o.CheckEndpoint = func(ctx context.Context, endpoint string) error {
		return calls.checkEndpoint(ctx, o.LeagueID, endpoint)
	}
	o.Guard.Of(func() { err = p.run(ctx, s) })()
	return err
}

// A managerProcess is the process of a manager.
type managerProcess struct {
	*managerOptions
	*node
	listener net.Listener // nil without an HTTP server
	calls    *guard
	disk     *diskWatch
	systemID string
	name     string // display name
	lead     *leadership
}

// run serves the manager until its league is over and, unless --exit-when-done is
// given, until it is interrupted.
func (p *managerProcess) run(ctx context.Context, s streams) (err error) {
	var m *manager.Manager
	var printed error
	over, ended := false, time.Time{}
	p.Over = func(end *protocol.LeagueCompleted) {
		over, ended = true, time.Now()
		printed = printStandings(s, m.Standings(), m.Evidence(), end.Champion)
	}
	if m, err = p.newManager(s); err != nil {
		return asUsage(err)
	}
	mux := transport.NewMux(p.log)
	mux.Gate(func() bool { return p.lead.holds() && brokenBy(ctx) == nil })
	mux.Guarded(p.Guard)
	m.Mount(mux)
	mountSteps(mux, m.Stamp(), scheduleTool(m))
	seal := headPrinter(s, m.Seal)
	defer func() { // when no more requests arrive
		seal()
		if !over {
			return
		}
		if unwritten := m.FinishFiles(); unwritten != nil {
			err = unwritten
		}
	}()
	health := func() any {
		h := managerHealth{OK: "ok", Role: protocol.ManagerSender, DisplayName: p.name, LeagueID: p.LeagueID,
			Status: m.Status()}
		h.Awaited = append([]string{}, h.Awaited...) // never null in JSON
		if d := p.disk.look(); d.Low {
			h.OK, h.Disk = "warning", &d
		}
		return h
	}
	game, _ := p.Games.Game(p.GameType) // manager.New has checked it
	urls := p.urls(ctx)
	endpoint := urls[0]
	misdirected := func(ctx context.Context, method, path string) { m.Misdirected(ctx, method, path, endpoint) }
	server := mcp.NewServer(managerMCP(mux, m, p.LeagueID, game.Info(), p.mcpAdmin, p.version))
	defer server.Wait() // when its streams have ended
	shown, err := p.leaguePage(&managerSource{manager: m}, page.Options{Joining: p.joining(urls), Obstacles: m.Obstacles})
	if err != nil {
		return err
	}
	defer shown.end()
	shown.measure(p.metrics)
	leagueMetrics(p.metrics, m.Status)
	journalMetrics(p.metrics, m.JournalWork)
	served := http.Config{
		MaxBody: maxRequest, TooLarge: m.TooLarge, Misdirected: misdirected, Identify: m.Identify,
		Mounts: slices.Concat(shown.mounts, probes(p.metrics, health), []http.Mount{http.Ready(mux.Open)}), MCP: server,
	}
	if game.Info().Large {
		served.MaxBearerBody = maxLarge
	}
	stop, err := p.serve(&p.address, p.listener, protocol.ManagerSubject(p.LeagueID, "*"), mux, m.Stamp, served)
	if err != nil {
		return err
	}
	defer stop()
	defer p.tell(m, server)()
	p.introduce(s, urls, m)
	p.log.Info().Str("system_id", p.systemID).Str("display_name", p.DisplayName).
		Str("game_type", p.GameType).Strs("calls", p.calls.list()).
		Str("event_type", "LISTENING").Msg("listening")
	_, err = m.Run(ctx)
	switch {
	case printed != nil:
		return printed
	case !over && ctx.Err() != nil:
		return interrupted("%s", howToResume(m.Status(), p.data))
	case !over || err != nil && ctx.Err() == nil: // the journal fails
		return err
	}
	var linger error
	if p.exitWhenDone {
		until, cancel := context.WithDeadline(ctx, ended.Add(lastWait))
		defer cancel()
		shown.finish(until)
	} else {
		seal()
		s.note("The league is over; the manager answers queries until it is interrupted.")
		linger = p.linger(ctx, m)
	}
	if err := cmp.Or(p.lead.lost(), linger); err != nil {
		return err
	}
	if p.strict {
		return lossesAndFallbacks(m.Standings())
	}
	return nil
}

// linger serves after the end of the league until ctx ends, or the journal fails.
func (p *managerProcess) linger(ctx context.Context, m *manager.Manager) error {
	err := m.Linger(p.lead.life(ctx))
	if err == nil {
		p.log.Info().Str("event_type", "INTERRUPTED").Msg("interrupted after the end of the league")
	}
	return err
}

// urls are the URLs of the manager for agents on other computers.
func (p *managerProcess) urls(ctx context.Context) (list []string) {
	if p.listener != nil {
		list = p.address.urls(ctx, p.listener)
	}
	if p.nats.on() {
		list = append(list, protocol.NATSEndpoint(protocol.ManagerSubject(p.LeagueID, "NAME")))
	}
	return list
}

// lastWait is the longest time from the last result to the end of the process with --exit-when-done.
const lastWait = 30 * time.Second

// tell tells MCP clients of changes in the background. The returned function ends that.
func (p *managerProcess) tell(m *manager.Manager, server *mcp.Server) (stop func()) {
	return background(func(ctx context.Context) {
		p.Guard.Of(func() {
			if err := tellChanges(ctx, m, p.LeagueID, server.Changed); ctx.Err() == nil {
				p.log.Error().Err(err).Str("event_type", "UPDATES_STOPPED").Msg("MCP clients get no more updates of resources")
			}
		})()
	})
}

// callerAddress returns the address of the caller of a request, or its name on NATS, which is the same for all where
// the servers have no users; "" if it is unknown.
func callerAddress(ctx context.Context) string {
	from := nats.CallerOf(ctx)
	switch address := http.CallerAddress(ctx); {
	case address.IsValid():
		return address.String()
	case from.Known:
		return protocol.NATSEndpoint(from.Name)
	case from.Name != "":
		return protocol.NATSEndpoint("*")
	}
	return ""
}

// calledFrom tells whether a request certainly comes from an address to which this process has connected for an
// endpoint. 127.0.0.1 and ::1 are the same, because localhost may be either.
func (n *node) calledFrom(ctx context.Context, endpoint string) bool {
	u, err := url.Parse(endpoint)
	from := http.SureAddress(ctx)
	if err != nil || !from.IsValid() || u.Scheme == protocol.NATS {
		return false
	}
	ipv4 := func(a netip.Addr) netip.Addr {
		if a == netip.IPv6Loopback() {
			return netip.AddrFrom4([4]byte{127, 0, 0, 1})
		}
		return a
	}
	return slices.ContainsFunc(n.client.Reached(protocol.HostPort(u)), func(a netip.Addr) bool { return ipv4(a) == ipv4(from) })
}

// managerHealth is the response to GET /healthz of a manager.
type managerHealth struct {
	OK          string      `json:"status"`
	Role        string      `json:"role"`
	DisplayName string      `json:"display_name"`
	LeagueID    string      `json:"league_id"`
	Disk        *diskHealth `json:"disk,omitzero"`
	manager.Status
}
