package cmd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
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

// checkHost refuses a host that does not exist, and one without an address that
// may be called. A host that cannot be resolved before ctx ends passes: each call
// is checked again, by the address that it connects to.
func (g *guard) checkHost(ctx context.Context, host string) error {
	addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if dns := (*net.DNSError)(nil); errors.As(err, &dns) && dns.IsNotFound {
		return fmt.Errorf("there is no host %s", host)
	}
	if err == nil && !slices.ContainsFunc(addresses, g.allows) {
		return fmt.Errorf("%s is at an address that this league does not call", host)
	}
	return nil
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
