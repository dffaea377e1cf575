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
var forbidden = networks(
	"169.254.0.0/16", // IPv4 link-local: AWS, Azure, Google, Oracle and most others
	"fe80::/10",      // IPv6 link-local: OpenStack

	"100.80.80.80/32",    // UCloud
	"100.88.222.5/32",    // Tencent, older regions
	"100.96.0.96/32",     // Volcano Engine, BytePlus
	"100.100.100.200/32", // Alibaba
	"168.63.129.16/32",   // Azure WireServer
	"192.0.0.192/32",     // Oracle Cloud Classic
	"192.80.8.124/32",    // Equinix Metal, formerly Packet

	"fd00:42::42/128",        // Scaleway
	"fd00:100::100:200/128",  // Alibaba
	"fd00:a9fe:a9fe::1/128",  // Akamai, formerly Linode
	"fd00:c1::a9fe:a9fe/128", // Oracle
	"fd00:ec2::/32",          // AWS: instances, pods, DNS and time
	"fd20:ce::254/128",       // Google
)

// networks reads networks in CIDR notation.
func networks(texts ...string) (parsed []netip.Prefix) {
	for _, text := range texts {
		parsed = append(parsed, netip.MustParsePrefix(text))
	}
	return parsed
}

// within tells whether an address is in one of several networks.
func within(networks []netip.Prefix, address netip.Addr) bool {
	return slices.ContainsFunc(networks, func(n netip.Prefix) bool { return n.Contains(address) })
}

// An embedding is a form of IPv6 addresses that lead to an IPv4 address. Octets are the
// positions of the IPv4 address in it; mask inverts them.
type embedding struct {
	networks []netip.Prefix
	octets   [4]int
	mask     byte
}

// localNAT64 contains the NAT64 prefixes that operators choose (RFC 8215), of any length
// of RFC 6052 §2.2.
const localNAT64 = "64:ff9b:1::/48"

var embeddings = [...]embedding{
	// IPv4-compatible (RFC 4291 §2.5.5.1), IPv4-translated (RFC 2765), NAT64 (RFC 6052), and with a prefix of 96 bits
	{networks("::/96", "::ffff:0:0:0/96", "64:ff9b::/96", localNAT64), [4]int{12, 13, 14, 15}, 0},
	{networks(localNAT64), [4]int{6, 7, 9, 10}, 0},        // NAT64 with a prefix of 48 bits
	{networks(localNAT64), [4]int{7, 9, 10, 11}, 0},       // 56 bits
	{networks(localNAT64), [4]int{9, 10, 11, 12}, 0},      // 64 bits
	{networks("2002::/16"), [4]int{2, 3, 4, 5}, 0},        // 6to4 (RFC 3056)
	{networks("2001::/32"), [4]int{4, 5, 6, 7}, 0},        // Teredo: the server (RFC 4380)
	{networks("2001::/32"), [4]int{12, 13, 14, 15}, 0xff}, // Teredo: the client
}

// address returns the IPv4 address in an IPv6 address.
func (e *embedding) address(in [16]byte) netip.Addr {
	var out [4]byte
	for i, octet := range e.octets {
		out[i] = in[octet] ^ e.mask
	}
	return netip.AddrFrom4(out)
}

// Forbidden tells whether no client calls an address, whatever its caller allows. It
// recognises the address in all forms of IPv6 that lead to an IPv4 address.
func Forbidden(address netip.Addr) bool {
	address = address.Unmap().WithZone("")
	if within(forbidden, address) {
		return true
	}
	if !address.Is6() {
		return false
	}
	octets := address.As16()
	return slices.ContainsFunc(embeddings[:], func(e embedding) bool {
		return within(e.networks, address) && Forbidden(e.address(octets))
	})
}

// NewDialer makes the dialer of all clients. It checks the address of each connection after
// the name is resolved, so that DNS rebinding gains nothing: no connection is made to a
// Forbidden address, to an address outside the networks of the call, or to an address that
// allow refuses; a nil allow refuses none. The error is transport.Forbidden.
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
			return &transport.CallError{Kind: transport.Forbidden, Address: address}
		}
		return nil
	}
	return (&net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second, ControlContext: guard}).DialContext
}

// mayCall tells whether an address is in the networks of the call.
func (p *progress) mayCall(address netip.Addr) bool {
	return p.networks == nil || within(p.networks, address)
}

// checkReused closes a connection that was made for another call to the same host, if this
// call must not use its address. The call is then made with a connection of its own.
func (p *progress) checkReused(c net.Conn) {
	if to, ok := c.RemoteAddr().(*net.TCPAddr); ok && !p.mayCall(to.AddrPort().Addr().Unmap().WithZone("")) {
		_ = c.Close()
	}
}
