package http

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"syscall"
	"time"

	"evenodd/transport"
)

// forbidden are the networks that no client calls, whatever its caller allows: link-local
// addresses, and the addresses at which clouds give a machine its metadata, which contain
// its credentials. A service that has several addresses in one network is listed by it.
var forbidden = [...]netip.Prefix{
	netip.MustParsePrefix("169.254.0.0/16"), // IPv4 link-local: AWS, Azure, Google, Oracle and most others
	netip.MustParsePrefix("fe80::/10"),      // IPv6 link-local: OpenStack

	netip.MustParsePrefix("100.80.80.80/32"),    // UCloud
	netip.MustParsePrefix("100.88.222.5/32"),    // Tencent, older regions
	netip.MustParsePrefix("100.96.0.96/32"),     // Volcano Engine, BytePlus
	netip.MustParsePrefix("100.100.100.200/32"), // Alibaba
	netip.MustParsePrefix("168.63.129.16/32"),   // Azure WireServer
	netip.MustParsePrefix("192.0.0.192/32"),     // Oracle Cloud Classic
	netip.MustParsePrefix("192.80.8.124/32"),    // Equinix Metal, formerly Packet

	netip.MustParsePrefix("fd00:42::42/128"),        // Scaleway
	netip.MustParsePrefix("fd00:100::100:200/128"),  // Alibaba
	netip.MustParsePrefix("fd00:a9fe:a9fe::1/128"),  // Akamai, formerly Linode
	netip.MustParsePrefix("fd00:c1::a9fe:a9fe/128"), // Oracle
	netip.MustParsePrefix("fd00:ec2::/32"),          // AWS: instances, pods, DNS and time
	netip.MustParsePrefix("fd20:ce::254/128"),       // Google
}

// An embedding is a form of IPv6 addresses that lead to an IPv4 address. Octets are the
// positions of the IPv4 address in it.
type embedding struct {
	network  netip.Prefix
	octets   [4]int
	inverted bool
}

// localNAT64 contains the NAT64 prefixes that operators choose (RFC 8215), of any length
// of RFC 6052 §2.2.
var localNAT64 = netip.MustParsePrefix("64:ff9b:1::/48")

var embeddings = [...]embedding{
	// IPv4-compatible (RFC 4291 §2.5.5.1)
	{network: netip.MustParsePrefix("::/96"), octets: [4]int{12, 13, 14, 15}},
	{network: netip.MustParsePrefix("::ffff:0:0:0/96"), octets: [4]int{12, 13, 14, 15}}, // IPv4-translated (RFC 2765)
	{network: netip.MustParsePrefix("64:ff9b::/96"), octets: [4]int{12, 13, 14, 15}},    // NAT64 (RFC 6052)
	{network: localNAT64, octets: [4]int{6, 7, 9, 10}},                                  // NAT64 with a prefix of 48 bits
	{network: localNAT64, octets: [4]int{7, 9, 10, 11}},                                 // 56 bits
	{network: localNAT64, octets: [4]int{9, 10, 11, 12}},                                // 64 bits
	{network: localNAT64, octets: [4]int{12, 13, 14, 15}},                               // 96 bits
	{network: netip.MustParsePrefix("2002::/16"), octets: [4]int{2, 3, 4, 5}},           // 6to4 (RFC 3056)
	{network: netip.MustParsePrefix("2001::/32"), octets: [4]int{4, 5, 6, 7}},           // Teredo: the server (RFC 4380)

	{network: netip.MustParsePrefix("2001::/32"), octets: [4]int{12, 13, 14, 15}, inverted: true}, // Teredo: the client
}

// address returns the IPv4 address in an IPv6 address.
func (e *embedding) address(in [16]byte) netip.Addr {
	var out [4]byte
	for i, octet := range e.octets {
		out[i] = in[octet]
		if e.inverted {
			out[i] ^= 0xff
		}
	}
	return netip.AddrFrom4(out)
}

// Forbidden tells whether no client calls an address, whatever its caller allows. It
// recognises the address in all forms of IPv6 that lead to an IPv4 address.
func Forbidden(address netip.Addr) bool {
	address = address.Unmap().WithZone("")
	if slices.ContainsFunc(forbidden[:], func(n netip.Prefix) bool { return n.Contains(address) }) {
		return true
	}
	if !address.Is6() {
		return false
	}
	octets := address.As16()
	return slices.ContainsFunc(embeddings[:], func(e embedding) bool {
		return e.network.Contains(address) && Forbidden(e.address(octets))
	})
}

// NewDialer makes the dialer of all clients. It checks the address of each connection after
// the name is resolved, so that DNS rebinding gains nothing: no connection is made to a
// Forbidden address, to an address outside the networks of the call, or to an address that
// allow refuses; a nil allow refuses none. The error is a *transport.ForbiddenError.
func NewDialer(allow func(netip.Addr) bool) Dialer {
	guard := func(ctx context.Context, _, hostPort string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(hostPort)
		if err != nil {
			return err
		}
		// An IPv4-mapped IPv6 address is the same host as the IPv4 address.
		address := to.Addr().Unmap().WithZone("")
		p, called := ctx.Value(progressKey{}).(*progress)
		if Forbidden(address) || called && !p.mayCall(address) || allow != nil && !allow(address) {
			return &transport.ForbiddenError{Address: address}
		}
		return nil
	}
	return (&net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second, ControlContext: guard}).DialContext
}

// mayCall tells whether an address is in the networks of the call.
func (p *progress) mayCall(address netip.Addr) bool {
	return p.networks == nil || slices.ContainsFunc(p.networks, func(n netip.Prefix) bool { return n.Contains(address) })
}

// checkReused closes a connection that was made for another call to the same host, if this
// call must not use its address. The call is then made with a connection of its own.
func (p *progress) checkReused(c net.Conn) {
	if to, ok := c.RemoteAddr().(*net.TCPAddr); ok && !p.mayCall(to.AddrPort().Addr().Unmap().WithZone("")) {
		_ = c.Close()
	}
}
