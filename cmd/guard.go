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

// A guard limits the addresses that a manager calls, because agents choose their
// endpoints: it prevents SSRF (server-side request forgery). If allowed_endpoints is
// set, it allows these networks. Otherwise a manager that listens on a loopback address
// calls only this machine, and any other manager all addresses except link-local ones
// (such as the metadata services of clouds), multicast and the unspecified address.
type guard struct {
	allowed []netip.Prefix
	any     bool
	public  bool
	own     netip.AddrPort // address that the manager listens on; zero before it does
}

// newGuard makes the guard of a manager that listens on host.
func newGuard(host string, allowed []string) *guard {
	g := &guard{public: !loopback(host)}
	for _, text := range allowed {
		if text == config.Anywhere {
			g.any = true
		} else if network, err := config.ParseNetwork(text); err == nil { // the loader has refused other values
			g.allowed = append(g.allowed, network)
		}
	}
	return g
}

// allows tells whether the manager may call an address.
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
	addresses, _ := net.InterfaceAddrs() // none if they cannot be listed
	return slices.ContainsFunc(addresses, func(a net.Addr) bool {
		network, err := netip.ParsePrefix(a.String())
		return err == nil && network.Addr() == address
	})
}

// String describes the guard to the operator.
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
		return "agents anywhere except at link-local addresses"
	}
	return "agents on this machine only"
}

// loopback tells whether only this machine can connect to a host.
func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
