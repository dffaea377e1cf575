package cmd

import (
	"cmp"
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

	"github.com/spf13/pflag"

	"evenodd/config"
	"evenodd/league/protocol"
	"evenodd/transport"
	"evenodd/transport/http"
)

// An address says where an agent listens and which URL other agents are told.
type address struct {
	host     string
	ports    ports
	endpoint string   // listen makes it from host and port if it is ""
	local    bool     // no other agent is told the endpoint
	allowed  []string // names besides those of host and endpoint
	files    keyPair
	tls      *tls.Config    // nil for plain HTTP; set by listen
	proxies  []string       // networks of trusted proxies
	trusted  []netip.Prefix // the same; set by listen
	debug    string         // where the profiles of the process are; "" for nowhere
}

// localhost is the host on which agents listen by default: only this computer reaches it.
const localhost = "localhost"

// addressFlags defines the flags of the commands that listen.
func addressFlags(f *pflag.FlagSet, a *address) {
	hostFlags(f, a, "to listen on; 0.0.0.0 lets other machines connect")
	f.StringSliceVar(&a.allowed, "allowed-host", nil,
		"further host `name` that requests may use for this agent, such as the name of a reverse proxy; may be repeated. "+
			"Requests for unknown names are refused as DNS rebinding")
	f.StringVar(&a.files.cert, "tls-cert", "", "PEM `file` with the certificate: serve HTTPS")
	f.StringVar(&a.files.key, "tls-key", "", "PEM `file` with the key of the certificate")
	proxyFlag(f, &a.proxies)
	debugFlag(f, &a.debug)
}

// hostFlags defines the flags of the address and the port at which a command listens.
func hostFlags(f *pflag.FlagSet, a *address, about string) {
	f.StringVar(&a.host, "host", localhost, "`address` "+about)
	f.Var(&a.ports, "port", "port to listen on: a number, a range such as 8101-8150 (the first free one), or 0 (any "+
		"free one)")
}

// proxyFlag defines the flag of the commands that may be behind a proxy.
func proxyFlag(f *pflag.FlagSet, networks *[]string) {
	f.StringSliceVar(networks, "trusted-proxy", nil, "`network` of a reverse proxy, such as 192.0.2.9: from there the "+
		"header X-Forwarded-For names the caller, whose requests then have limits of their own; may be repeated (default: "+
		"the header is ignored)")
}

// readProxies reads the networks of trusted proxies. It refuses those that are so large that their owner cannot know
// all computers in them, as 0.0.0.0/0 and its halves: each of these could claim any address. The largest networks of
// one owner are 10.0.0.0/8 and fc00::/7.
func (a *address) readProxies() error {
	for _, text := range a.proxies {
		network, err := config.ParseNetwork(text)
		if err != nil {
			return usage("--trusted-proxy %q: must be a network or an address, such as 192.0.2.0/24", text)
		}
		least := 8
		if network.Addr().Is6() {
			least = 7
		}
		if network.Bits() < least {
			return usage("--trusted-proxy %q: this is most of the Internet, and everybody in it could claim the address of another: "+
				"name the address of the proxy, such as 192.0.2.9", text)
		}
		a.trusted = append(a.trusted, network)
	}
	return nil
}

// ports is a range of ports; an agent takes the first free one. 0 is any port.
type ports struct{ first, last int }

var _ pflag.Value = (*ports)(nil)

// Set reads a port or a range: 8101, 8101-8150.
func (p *ports) Set(s string) error {
	first, last, isRange := strings.Cut(s, "-")
	if !isRange {
		last = first
	}
	from, err1 := strconv.ParseUint(first, 10, 16)
	to, err2 := strconv.ParseUint(last, 10, 16)
	if err1 != nil || err2 != nil || from > to || from == 0 && to > 0 {
		return errors.New("must be a port from 1 to 65535, a range such as 8101-8150, or 0")
	}
	*p = ports{int(from), int(to)}
	return nil
}

// String returns the form that Set reads.
func (p *ports) String() string {
	if p.first == p.last {
		return strconv.Itoa(p.first)
	}
	return fmt.Sprintf("%d-%d", p.first, p.last)
}

// Type is the type that the help shows.
func (p *ports) Type() string { return "port" }

// listen opens the port, and completes the endpoint and the TLS configuration.
func (a *address) listen(ctx context.Context) (net.Listener, error) {
	err := cmp.Or(a.checkEndpoint(), a.readProxies())
	if err == nil {
		a.tls, err = a.files.tlsConfig()
	}
	if err != nil {
		return nil, err
	}
	l, err := a.firstFree(ctx)
	if err != nil {
		return nil, err
	}
	if a.endpoint == "" {
		a.endpoint = a.urlOf(l)
	} else if rest, plain := strings.CutPrefix(a.endpoint, "http://"); plain && a.tls != nil {
		a.endpoint = "https://" + rest // this server does not answer plain HTTP
	}
	return l, nil
}

// checkEndpoint returns an error if there is no valid URL to tell other agents.
func (a *address) checkEndpoint() error {
	switch {
	case a.local:
		return nil
	case a.endpoint != "" && !protocol.ValidHTTP(a.endpoint):
		return usage("--endpoint %q: must be a URL such as http://my-host:8101/mcp", a.endpoint)
	case a.endpoint == "" && (a.host == "" || net.ParseIP(a.host).IsUnspecified()):
		return usage("--host %q listens on all addresses of this machine: set --endpoint to the URL that other agents must "+
			"use", a.host)
	}
	return nil
}

// url returns the URL for calls to host:port.
func (a *address) url(hostPort string) string {
	if a.tls != nil {
		return "https://" + hostPort + http.Path
	}
	return "http://" + hostPort + http.Path
}

// urlOf returns the URL of a listener by the name of its host.
func (a *address) urlOf(l net.Listener) string {
	return a.url(net.JoinHostPort(a.host, strconv.Itoa(l.Addr().(*net.TCPAddr).Port)))
}

// localURL returns the URL of a listener for calls from this machine.
func (a *address) localURL(l net.Listener) string {
	if at := l.Addr().(*net.TCPAddr); at.IP.IsUnspecified() {
		return a.url(net.JoinHostPort("localhost", strconv.Itoa(at.Port)))
	}
	return a.urlOf(l)
}

// shownURL returns the one of the URLs of a listener that people on this and on other computers use.
func (a *address) shownURL(l net.Listener, urls []string) string {
	if l.Addr().(*net.TCPAddr).IP.IsUnspecified() {
		return urls[0]
	}
	return a.urlOf(l)
}

// names returns the host names that requests may use for this agent. The server
// refuses any other name: this prevents DNS rebinding, in which a web page in the
// operator's browser points its own name at this address.
func (a *address) names(l net.Listener) []string {
	names := slices.Clone(a.allowed)
	if u, err := url.Parse(a.endpoint); err == nil && !a.local {
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

// firstFree opens the first port of the range that is free.
func (a *address) firstFree(ctx context.Context) (net.Listener, error) {
	for port := a.ports.first; port <= a.ports.last; port++ {
		l, err := listenAt(ctx, net.JoinHostPort(a.host, strconv.Itoa(port)))
		if !errors.Is(err, errTaken) {
			return l, err
		}
	}
	const remedy = "choose another with --port, or 0 for a free one"
	if a.ports.first < a.ports.last {
		return nil, fmt.Errorf("all ports of %s are taken by other programs: %s", &a.ports, remedy)
	}
	return nil, fmt.Errorf("port %s is %w: stop that program, or %s", &a.ports, errTaken, remedy)
}

// A rendezvous is the address where external agents find the manager of a command.
type rendezvous struct {
	address
	given bool // --host or --port was given: do not use another address
}

// managerPort is the default port of a manager.
const managerPort = 8000

// flags defines the flags of the address.
func (r *rendezvous) flags(f *pflag.FlagSet, who string) {
	r.ports = ports{managerPort, managerPort}
	hostFlags(f, &r.address, "where "+who+" its manager")
}

// isGiven notes whether the user has set a flag of the address.
func (r *rendezvous) isGiven(changed func(flag string) bool) {
	r.given = changed("host") || changed("port")
}

// at is the address as HOST:PORT.
func (r *rendezvous) at() string { return net.JoinHostPort(r.host, r.ports.String()) }

// errTaken says that another program listens on a port.
var errTaken = errors.New("taken by another program")

// listen opens the address.
func (r *rendezvous) listen(ctx context.Context) (net.Listener, error) {
	if r.host == "" {
		return nil, usage("--host %q: must be the address at which agents find the manager, such as localhost", r.host)
	}
	return r.listenLocally(ctx)
}

// listenLocally opens the address, of which no other agent is told.
func (a *address) listenLocally(ctx context.Context) (net.Listener, error) {
	if err := a.readProxies(); err != nil {
		return nil, err
	}
	a.local = true
	return a.firstFree(ctx)
}

// listenOn opens HOST:PORT, or :PORT for all addresses of this machine, which are the value of a flag.
func (a *address) listenOn(ctx context.Context, flag, at string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(at)
	if _, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil {
		return nil, usage("--%s %q: must be a host and a port, such as localhost:8080", flag, at)
	}
	a.host, a.local = host, true
	l, err := listenAt(ctx, at)
	if errors.Is(err, errTaken) {
		err = fmt.Errorf("%w: choose another address with --%s", err, flag)
	}
	return l, err
}

// listenAt opens a port. The error is errTaken if another program has it.
func listenAt(ctx context.Context, hostPort string) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", hostPort)
	switch {
	case errors.Is(err, transport.ErrAddressInUse):
		return nil, fmt.Errorf("%s is %w", hostPort, errTaken)
	case err != nil:
		return nil, fmt.Errorf("cannot listen on %s: %w", hostPort, err)
	}
	return l, nil
}
