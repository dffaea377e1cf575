package cmd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"

	"evenodd/config"
	"evenodd/league/lists"
	"evenodd/transport/http"
)

// A guard limits the addresses that an agent calls, because other agents choose their
// endpoints: it prevents SSRF (server-side request forgery). If allowed_endpoints is set, it
// allows these networks. Otherwise an agent that listens on a loopback address calls only
// this machine, and any other agent all addresses except multicast and the unspecified
// address. No setting allows the addresses that are http.Forbidden, such as link-local ones
// and the metadata services of clouds.
type guard struct {
	networks []netip.Prefix
	set      bool           // there are allowed_endpoints
	own      netip.AddrPort // address that a manager listens on; zero before it does
}

// newGuard makes the guard of an agent that listens on host.
func newGuard(host string, allowed []string) *guard {
	g := &guard{set: len(allowed) > 0}
	for _, text := range allowed {
		if network, err := config.ParseNetwork(text); err == nil { // the loader has refused other values than "any"
			g.networks = append(g.networks, network)
		}
	}
	switch {
	case slices.Contains(allowed, config.Anywhere), !g.set && !loopback(host):
		g.networks = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}
	case !g.set:
		g.networks = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	}
	return g
}

// playerGuard makes the guard of a referee, from its own allowed_endpoints.
func playerGuard(a *address, allowed []string) *guard {
	host := a.host
	if u, err := url.Parse(a.endpoint); err == nil && loopback(host) {
		host = u.Hostname() // that of a proxy, perhaps
	}
	return newGuard(host, allowed)
}

// allows tells whether the agent may call an address.
func (g *guard) allows(address netip.Addr) bool {
	address = address.Unmap().WithZone("")
	if http.Forbidden(address) || !g.set && (address.IsUnspecified() || address.IsMulticast()) {
		return false
	}
	return slices.ContainsFunc(g.networks, func(n netip.Prefix) bool { return n.Contains(address) })
}

// list returns the networks in CIDR notation.
func (g *guard) list() []string {
	return lists.Map(g.networks, netip.Prefix.String)
}

// checkHost returns an error for a host that does not exist or has no allowed address,
// and for the manager's own host and port. A host that cannot be resolved before ctx
// ends passes: allows checks the address of every connection.
func (g *guard) checkHost(ctx context.Context, hostPort string) error {
	host, port, err := net.SplitHostPort(hostPort)
	if err != nil {
		return err
	}
	addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if dns, ok := errors.AsType[*net.DNSError](err); ok && dns.IsNotFound {
		return fmt.Errorf("host %s does not exist", host)
	}
	if err == nil && !slices.ContainsFunc(addresses, g.allows) {
		return fmt.Errorf("%s has no address that this league may call (see allowed_endpoints)", host)
	}
	if port == strconv.Itoa(int(g.own.Port())) && slices.ContainsFunc(addresses, g.isOwn) {
		return errors.New("it is the endpoint of the league manager itself")
	}
	if len(addresses) > 0 {
		return g.checkLoopback(ctx, hostPort, addresses)
	}
	return nil
}

// isOwn tells whether the manager listens on an address. All loopback addresses are
// the same host, and the unspecified address stands for this machine.
func (g *guard) isOwn(address netip.Addr) bool {
	address, listens := address.Unmap().WithZone(""), g.own.Addr().Unmap()
	here := address.IsLoopback() || address.IsUnspecified()
	switch {
	case listens.IsLoopback():
		return here
	case listens.IsUnspecified():
		return here || isLocal(address)
	}
	return address == listens
}

// isLocal tells whether a network interface of this machine has the address.
func isLocal(address netip.Addr) bool {
	return slices.Contains(interfaceAddresses(), address)
}

// loopback tells whether only this machine can connect to a host.
func loopback(host string) bool { return host == localhost || net.ParseIP(host).IsLoopback() }
