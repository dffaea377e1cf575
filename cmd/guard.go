package cmd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"evenodd/config"
)

// A guard tells which addresses a manager calls: those of allowed_endpoints, or,
// where that is empty, this machine alone for a manager that only this machine
// reaches. One that others reach calls them wherever they are, but for addresses
// that are no agent's: link-local ones, among them the metadata services of
// clouds, multicast, and the unspecified one.
type guard struct {
	allowed []netip.Prefix
	any     bool
	public  bool
	own     netip.AddrPort // where the manager listens; the zero value before it does
}

// newGuard is that of a manager that listens at host.
func newGuard(host string, allowed []string) *guard {
	g := &guard{public: !loopback(host)}
	for _, text := range allowed {
		if text == config.Anywhere {
			g.any = true
		} else if network, err := config.ParseNetwork(text); err == nil { // the others were refused with the file
			g.allowed = append(g.allowed, network)
		}
	}
	return g
}

// allows tells whether an address may be called.
func (g *guard) allows(address netip.Addr) bool {
	address = address.Unmap().WithZone("")
	for _, prefix := range g.allowed {
		if prefix.Contains(address) {
			return true
		}
	}
	switch {
	case g.any:
		return true
	case len(g.allowed) > 0:
		return false
	case g.public:
		return !address.IsUnspecified() && !address.IsMulticast() && !address.IsLinkLocalUnicast()
	}
	return address.IsLoopback()
}

// checkHost refuses a host that does not exist, a host without an address that may be
// called, and the host and port at which the manager listens. A host that cannot be
// resolved before ctx ends passes: each call is checked again, by the address that it
// connects to.
func (g *guard) checkHost(ctx context.Context, hostPort string) error {
	host, port, err := net.SplitHostPort(hostPort)
	if err != nil {
		return err
	}
	addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if dns := (*net.DNSError)(nil); errors.As(err, &dns) && dns.IsNotFound {
		return fmt.Errorf("host %s does not exist", host)
	}
	if err == nil && !slices.ContainsFunc(addresses, g.allows) {
		return fmt.Errorf("%s is at an address that this league does not call", host)
	}
	if port == strconv.Itoa(int(g.own.Port())) && slices.ContainsFunc(addresses, g.isOwn) {
		return errors.New("the league manager itself listens there")
	}
	return nil
}

// isOwn tells whether the manager listens at an address. All loopback addresses are
// one host, and the unspecified address stands for this machine.
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

// isLocal tells whether an address is one of this machine's network interfaces.
func isLocal(address netip.Addr) bool {
	addresses, _ := net.InterfaceAddrs() // none where they cannot be listed
	return slices.ContainsFunc(addresses, func(a net.Addr) bool {
		network, err := netip.ParsePrefix(a.String())
		return err == nil && network.Addr() == address
	})
}

// String says it to the operator.
func (g *guard) String() string {
	switch {
	case g.any:
		return "agents anywhere"
	case len(g.allowed) > 0:
		networks := make([]string, len(g.allowed))
		for i, p := range g.allowed {
			networks[i] = p.String()
		}
		return "agents in " + strings.Join(networks, ", ")
	case g.public:
		return "agents anywhere but at link-local addresses"
	}
	return "agents on this machine alone"
}

// loopback tells whether a host is reached from this machine alone.
func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
