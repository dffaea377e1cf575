package cmd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/pflag"

	"evenodd/config"
	"evenodd/league/dialect/bridge"
	"evenodd/league/membership"
	"evenodd/league/protocol"
	"evenodd/rules"
	"evenodd/rules/evenodd"
	"evenodd/rules/rockpaperscissors"
	"evenodd/rules/tictactoe"
	"evenodd/transport"
	"evenodd/transport/http"
)

// Sizes of messages (002 §14.1).
const (
	maxRequest       = 10 << 10 // what manager and referee take from strangers
	maxReply         = 64 << 10 // what manager and referee read of an answer
	maxFromManager   = 1 << 20  // what agents take from their manager
	shutdownPatience = 5 * time.Second
)

// games are the games this program knows.
func games() rules.Registry {
	return rules.NewRegistry(
		evenodd.Game{},
		rockpaperscissors.Game{},
		tictactoe.Game{},
	)
}

// address is where an agent listens, and what it tells others.
type address struct {
	host     string
	ports    ports
	endpoint string   // "" to make it from host and port
	untold   bool     // nobody is told an endpoint
	allowed  []string // names beside host and endpoint
	files    keyPair
	secrets  *tls.Config // nil for plain HTTP; from when it listens
}

// addressFlags are the flags of the commands that listen.
func addressFlags(f *pflag.FlagSet, a *address) {
	f.StringVar(&a.host, "host", "localhost", "address to listen at")
	f.Var(&a.ports, "port", "port to listen at, 0 for a free one; of a range, the first that is free")
	f.StringSliceVar(&a.allowed, "allowed-host", nil,
		"another `name` that requests may call this agent by, such as that of a proxy before it; may be repeated")
	f.StringVar(&a.files.cert, "tls-cert", "", "PEM `file` of the certificate: speak HTTPS")
	f.StringVar(&a.files.key, "tls-key", "", "PEM `file` of the certificate's key")
}

// ports are the ports an agent may take, the first free one; 0 is any.
type ports struct{ first, last int }

var _ pflag.Value = (*ports)(nil)

// Set reads a port or a range: 8101, 8101-8150.
func (p *ports) Set(s string) error {
	first, last, isRange := strings.Cut(s, "-")
	if first == "" || !isRange { // a minus before a number is refused later, with what is right
		first, last = s, s
	}
	from, err := strconv.Atoi(first)
	if err != nil {
		return errors.New("a port, or a range such as 8101-8150")
	}
	to, err := strconv.Atoi(last)
	if err != nil {
		return errors.New("a port, or a range such as 8101-8150")
	}
	*p = ports{from, to}
	return nil
}

// String is what Set reads.
func (p *ports) String() string {
	if p.first == p.last {
		return strconv.Itoa(p.first)
	}
	return fmt.Sprintf("%d-%d", p.first, p.last)
}

// Type is what the help calls it.
func (p *ports) Type() string { return "port" }

// listen opens the port.
func (a *address) listen(ctx context.Context) (net.Listener, error) {
	if p := a.ports; p.first < 0 || p.last > 65535 || p.first > p.last || p.first == 0 && p.last > 0 {
		if p.first == p.last {
			return nil, usage("--port %s: 0 to 65535", &p)
		}
		return nil, usage("--port %s: two ports from 1 to 65535, the first not above the last", &p)
	}
	if err := a.checkEndpoint(); err != nil {
		return nil, err
	}
	secrets, err := a.files.tlsConfig()
	if err != nil {
		return nil, err
	}
	a.secrets = secrets
	l, err := a.firstFree(ctx)
	if err != nil {
		return nil, err
	}
	if a.endpoint == "" {
		port := l.Addr().(*net.TCPAddr).Port
		a.endpoint = a.url(net.JoinHostPort(a.host, strconv.Itoa(port)))
	} else if rest, plain := strings.CutPrefix(a.endpoint, "http://"); plain && secrets != nil {
		a.endpoint = "https://" + rest // nobody is answered there without
	}
	return l, nil
}

// checkEndpoint tells whether others can be told where the agent is.
func (a *address) checkEndpoint() error {
	ip := net.ParseIP(a.host)
	switch {
	case a.untold:
		return nil
	case a.endpoint != "" && !httpURL(a.endpoint):
		return usage("--endpoint %q: a URL such as http://my-host:8101/mcp", a.endpoint)
	case a.endpoint == "" && (a.host == "" || ip != nil && ip.IsUnspecified()):
		return usage("--host %q listens everywhere: tell with --endpoint under which URL others reach it", a.host)
	}
	return nil
}

// url is where calls go at host:port.
func (a *address) url(hostPort string) string {
	scheme := "http://"
	if a.secrets != nil {
		scheme = "https://"
	}
	return scheme + hostPort + http.Path
}

// names are the names that requests may call the agent by.
func (a *address) names(l net.Listener) []string {
	names := slices.Clone(a.allowed)
	if u, err := url.Parse(a.endpoint); err == nil && !a.untold {
		names = append(names, u.Hostname())
	}
	ip := l.Addr().(*net.TCPAddr).IP
	if !ip.IsUnspecified() {
		names = append(names, a.host)
	}
	if ip.IsLoopback() || ip.IsUnspecified() {
		names = append(names, "localhost", "127.0.0.1", "::1")
	}
	if own, err := os.Hostname(); err == nil && ip.IsUnspecified() {
		names = append(names, own)
	}
	return names
}

// firstFree opens the first port that nobody has.
func (a *address) firstFree(ctx context.Context) (net.Listener, error) {
	for port := a.ports.first; port <= a.ports.last; port++ {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(a.host, strconv.Itoa(port)))
		switch {
		case err == nil:
			return l, nil
		case !errors.Is(err, syscall.EADDRINUSE):
			return nil, fmt.Errorf("cannot listen at %s port %d: %w", a.host, port, err)
		}
	}
	if a.ports.first == a.ports.last {
		return nil, fmt.Errorf("port %s is taken by another program: choose another with --port, or 0 for a free one", &a.ports)
	}
	return nil, fmt.Errorf("all ports of %s are taken by other programs: choose another with --port, or 0 for a free one", &a.ports)
}

// httpURL tells whether s is a URL that agents can be called at.
func httpURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && protocol.ValidURL(s) && (u.Scheme == "http" || u.Scheme == "https")
}

// serve answers calls on l in the background until the returned function is
// called, which lets running calls end.
func (a *address) serve(l net.Listener, mux *transport.Mux, stamp func() *protocol.Stamp, c http.Config) (stop func()) {
	c.Hosts, c.TLS = a.names(l), a.secrets
	if c.TooLarge == nil {
		c.TooLarge = func(_ context.Context, limit int64) error { return protocol.TooLarge(stamp(), limit) }
	}
	c.RateLimited = func(wait time.Duration) error { return protocol.TooFast(stamp(), wait) }
	server := http.NewServer(mux, c)
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(l) }) // ends by Shutdown
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), shutdownPatience)
		defer cancel()
		_ = server.Shutdown(ctx) // what is still running then is broken off
		serving.Wait()
	}
}

var _ transport.Stopwatch = (*protocol.Limited)(nil) // neither knows the other

// newClient makes a client that believes the authorities in a file, too, and
// calls the addresses that are allowed; nil for all. It speaks as others do,
// unless it knows no dialect.
func newClient(maxReply int64, ca string, allow func(netip.Addr) bool, speak *bridge.Bridge) (*http.Client, error) {
	believed, err := roots(ca)
	if err != nil {
		return nil, err
	}
	c := http.ClientConfig{MaxReply: maxReply, Roots: believed, Allow: allow}
	if speak != nil {
		c.Dialect = speak
	}
	return http.NewClient(c), nil
}

var (
	_ http.Calls    = (*bridge.Bridge)(nil)
	_ http.Requests = (*bridge.Bridge)(nil)
)

// sparing holds notices back from agents that keep failing.
func sparing(client transport.Caller, log zerolog.Logger) transport.Caller {
	return transport.NewBreaker(client, essential, log)
}

// essential are the methods that are part of a match, or of being in a league:
// every try at one counts, and some agents take no further match before they
// were told how the last one ended. The others tell what an agent may also ask
// for.
func essential(method string) bool {
	return !slices.Contains([]string{
		protocol.UpdateStandings.Name, protocol.NotifyRoundCompleted.Name, protocol.NotifyGameError.Name,
	}, method)
}

// agentOptions are the settings that referee and player have in common.
type agentOptions struct {
	address  address
	manager  string
	name     string
	id       string
	data     string
	ca       string
	seed     uint64
	seeded   bool // a seed was given
	logLevel string
}

// flags defines the flags. Alias is a further name of --id (003 §11.8.3); example is
// the id of the agent at the first of the ports that give one.
func (o *agentOptions) flags(f *pflag.FlagSet, alias, example, ports string) {
	addressFlags(f, &o.address)
	tlsCAFlag(f, &o.ca)
	f.StringVar(&o.address.endpoint, "endpoint", "", "`URL` that others are told (default: made of host and port)")
	dataFlag(f, &o.data, defaultData)
	managerFlag(f, &o.manager)
	f.StringVar(&o.name, "name", "", "display name, 1 to 50 characters (default: made of the port)")
	f.StringVar(&o.id, "id", "", "identifier to ask for, such as "+example+"; --"+alias+" is the same (default: the number of the port, if that is "+ports+")")
	config.Alias(f, "id", alias)
	f.Uint64Var(&o.seed, "seed", 0, "for tests: derive everything that chance decides from this, as simulate does")
	f.StringVar(&o.logLevel, "log-level", "info", "debug, info, warn, error or disabled")
}

// managerFlag is the flag of the commands that call a manager.
func managerFlag(f *pflag.FlagSet, manager *string) {
	f.StringVar(manager, "manager", "http://localhost:8000"+http.Path, "`URL` of the league manager")
}

// dataFlag is the flag of the commands that have a data folder.
func dataFlag(f *pflag.FlagSet, data *string, folder string) {
	f.StringVar(data, "data", folder, "data `folder`: settings, see init; leagues, matches, logs")
}

// defaultName is a name that no other agent of this machine has.
func defaultName(name, role string, l net.Listener) string {
	if name != "" {
		return name
	}
	return fmt.Sprintf("%s %d", role, l.Addr().(*net.TCPAddr).Port)
}

// wantedID is the id that an agent asks for: the one it was given, else the number
// of its port, as third-party programs know agents from static files: P01 is at
// port 8101, REF01 at 8001. base is the port before the first; "" for other ports.
func (o *agentOptions) wantedID(base int, id func(n int) string) string {
	if o.id != "" {
		return o.id
	}
	u, err := url.Parse(o.address.endpoint)
	if err != nil {
		return ""
	}
	port, _ := strconv.Atoi(u.Port()) // 0 for none
	if n := port - base; n >= 1 && n <= 99 {
		return id(n)
	}
	return ""
}

// An agent is a player or a referee, as far as the command line drives it.
type agent interface {
	Register(ctx context.Context) error
	Finish(ctx context.Context)
	Done() <-chan struct{}
	Stamp() *protocol.Stamp
	ID() string
	Membership() *membership.Membership
}

// senderOf is the name an agent goes by, "" before there is one.
func senderOf[A interface {
	comparable
	agent
}](a A) string {
	var none A
	if a == none {
		return ""
	}
	return a.Stamp().Sender()
}

// A life is what an agent's process needs beside the agent.
type life struct {
	agent    agent
	endpoint string
	caller   protocol.Caller
	manager  string // endpoint
	clock    *protocol.Clock
	log      zerolog.Logger
	file     *logFile // nil for none
	data     string   // folder; "" for none
}

// takePart registers an agent and waits until its league is over. Told to stop,
// it lets the matches that it is in come to their end, within bounds. An agent
// that the manager does not know any more registers again; if it is refused,
// takePart returns that error.
func (l *life) takePart(ctx context.Context) error {
	watched, stop := context.WithCancel(ctx)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer stop()
	err := l.register(ctx)
	if err == nil {
		refused := make(chan error, 1)
		watching.Go(func() {
			if err := l.watch().Run(watched); err != nil {
				refused <- err
			}
		})
		select {
		case <-l.agent.Done():
			return nil
		case err = <-refused:
			return fmt.Errorf("the manager at %s does not know this agent any more, and does not register it again: %w; "+
				"it drops agents that do not answer it: make sure that it reaches %s, or tell another URL with --endpoint", l.manager, err, l.endpoint)
		case <-ctx.Done():
			bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopPatience)
			defer cancel()
			l.agent.Finish(bound)
		}
	}
	if ctx.Err() == nil {
		return err
	}
	if l.data == "" {
		return &interruptedError{"The league goes on without this agent, which was kept nowhere."}
	}
	return &interruptedError{"The league goes on. Run the same command again to come back as the same agent; who it is, is kept in " + l.data + "."}
}

// register gets the agent into the league, and its log a name.
func (l *life) register(ctx context.Context) error {
	err := l.agent.Register(ctx)
	if err == nil {
		l.file.agent(l.agent.ID())
	}
	return err
}

func (l *life) watch() *membership.Watch {
	return &membership.Watch{
		Clock: l.clock, Caller: l.caller, Manager: l.manager, Stamp: l.agent.Stamp(), Member: l.agent.Membership,
		Away: l.tell, Unknown: l.register,
	}
}

// tell says that the manager is away, or back.
func (l *life) tell(away bool, err error) {
	if away {
		l.log.Warn().Err(err).Str("manager", l.manager).Str("event_type", protocol.EventManagerAway).Msg("the manager is away; this agent waits for it")
		return
	}
	l.log.Info().Str("manager", l.manager).Str("event_type", protocol.EventManagerBack).Msg("the manager is back")
}
