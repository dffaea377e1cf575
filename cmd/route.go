package cmd

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"time"

	"evenodd/league/lists"
	"evenodd/league/protocol"
	"evenodd/transport/http"
)

// routeTo returns the address of this computer on its route to HOST:PORT, and whether that is this
// computer itself. It sends no packet.
func routeTo(ctx context.Context, hostPort string) (own netip.Addr, here bool, err error) {
	c, err := (&net.Dialer{}).DialContext(ctx, "udp", hostPort)
	if err != nil {
		return own, false, err
	}
	defer func() { _ = c.Close() }() // nothing was sent
	address := func(a net.Addr) netip.Addr { return a.(*net.UDPAddr).AddrPort().Addr().Unmap() }
	own, there := address(c.LocalAddr()), address(c.RemoteAddr())
	return own, there.IsLoopback() || there == own, nil
}

// ownAddresses are the addresses of this computer for other computers, that of the default route
// first; the loopback address if there is none.
func ownAddresses(ctx context.Context) (list []netip.Addr) {
	for _, documentation := range []string{"192.0.2.1:9", "[2001:db8::1]:9"} { // stands for any other network
		if own, _, err := routeTo(ctx, documentation); err == nil && own.IsGlobalUnicast() {
			list = append(list, own)
		}
	}
	for _, network := range interfaceAddresses() {
		if network.IsGlobalUnicast() && !slices.Contains(list, network) {
			list = append(list, network)
		}
	}
	if list == nil {
		list = append(list, netip.AddrFrom4([4]byte{127, 0, 0, 1}))
	}
	return list
}

// interfaceAddresses are the addresses of the network interfaces; none if they cannot be listed.
func interfaceAddresses() []netip.Addr {
	addresses, _ := net.InterfaceAddrs()
	return lists.Map(addresses, func(a net.Addr) netip.Addr {
		network, _ := netip.ParsePrefix(a.String()) // the zero address for another form
		return network.Addr()
	})
}

// routePause is the pause before an agent looks for its route to the manager again.
const routePause = 2 * time.Second

// followRoute makes an agent without --host and --endpoint listen at the address of this computer
// on its route to the manager, if that is another computer. It waits while there is no route.
func (o *agentOptions) followRoute(ctx context.Context, s streams) error {
	if o.given["host"] || o.address.host != localhost || o.address.endpoint != "" {
		return nil
	}
	u, _ := url.Parse(o.Manager) // prepare has checked it
	for told := false; ; told = true {
		own, here, err := routeTo(ctx, protocol.HostPort(u))
		switch {
		case err == nil && here:
			return nil
		case err == nil:
			o.address.host = own.String()
			s.note("The manager is on another computer: this agent listens at %s, the address of this computer on the "+
				"way to it. For a tunnel, set --host localhost.", own)
			return nil
		case !told:
			s.note("No way leads to the manager at %s yet: %v. Waiting for one; with --host, this agent does not need "+
				"to find it.", o.Manager, err)
		}
		if protocol.SystemClock().Sleep(ctx, routePause) != nil {
			return interrupted("This agent has not registered with a manager yet.")
		}
	}
}

// urls are the URLs of a listener for other computers: one, or if it listens on all addresses of
// this computer, one for each.
func (a *address) urls(ctx context.Context, l net.Listener) []string {
	at := l.Addr().(*net.TCPAddr)
	if !at.IP.IsUnspecified() {
		return []string{a.url(at.String())}
	}
	return lists.Map(ownAddresses(ctx), func(own netip.Addr) string {
		return a.url(net.JoinHostPort(own.String(), strconv.Itoa(at.Port)))
	})
}

// checkLoopback returns an error for a loopback address that a caller on another computer has
// registered, if nothing listens there: the caller means its own computer.
func (g *guard) checkLoopback(ctx context.Context, hostPort string, addresses []netip.Addr) error {
	caller := http.RemoteAddress(ctx)
	if !caller.IsValid() || caller.IsLoopback() || isLocal(caller) ||
		slices.ContainsFunc(addresses, func(a netip.Addr) bool { return !a.Unmap().IsLoopback() }) {
		return nil
	}
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", hostPort)
	if err != nil {
		return fmt.Errorf("this is an address of the manager's own computer, where nothing listens, and the agent is at %s: "+
			"register that address, or another one that other computers reach", caller)
	}
	return c.Close()
}
