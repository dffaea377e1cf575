package http_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/transport"
	carrier "evenodd/transport/http"
)

func TestForbiddenAddressesOfClouds(t *testing.T) {
	for cloud, addresses := range map[string][]string{
		"link-local":   {"169.254.0.0", "169.254.169.254", "169.254.170.2", "169.254.255.255", "fe80::1", "fe80::a9fe:a9fe", "fe80::1%eth0", "febf::1"},
		"AWS":          {"169.254.169.254", "fd00:ec2::254", "fd00:ec2::23", "fd00:ec2::253"},
		"Azure":        {"169.254.169.254", "168.63.129.16"},
		"Google":       {"169.254.169.254", "fd20:ce::254"},
		"Alibaba":      {"100.100.100.200", "fd00:100::100:200"},
		"Oracle":       {"169.254.169.254", "192.0.0.192", "fd00:c1::a9fe:a9fe"},
		"Tencent":      {"169.254.0.23", "100.88.222.5"},
		"Volcano":      {"100.96.0.96"},
		"UCloud":       {"100.80.80.80"},
		"Scaleway":     {"169.254.42.42", "fd00:42::42"},
		"Akamai":       {"169.254.169.254", "fd00:a9fe:a9fe::1"},
		"Equinix":      {"192.80.8.124"},
		"IPv4-mapped":  {"::ffff:169.254.169.254", "::ffff:100.100.100.200", "::ffff:168.63.129.16", "::ffff:192.0.0.192"},
		"compatible":   {"::169.254.169.254", "::100.100.100.200"},
		"translated":   {"::ffff:0:169.254.169.254", "::ffff:0:100.100.100.200"},
		"NAT64":        {"64:ff9b::169.254.169.254", "64:ff9b::100.100.100.200", "64:ff9b::168.63.129.16", "64:ff9b::192.0.0.192"},
		"local NAT64":  {"64:ff9b:1::169.254.169.254", "64:ff9b:1:fffe::100.100.100.200"},
		"NAT64 of /48": {"64:ff9b:1:a9fe:a9:fe00::"},
		"NAT64 of /56": {"64:ff9b:1:00a9:fe:a9fe::"},
		"NAT64 of /64": {"64:ff9b:1:7:a9:fea9:fe00:0"},
		"6to4":         {"2002:a9fe:a9fe::", "2002:6464:64c8:1::1", "2002:a83f:8110::1"},
		"Teredo":       {"2001:0:a9fe:a9fe::", "2001:0:cb00:7101:0:0:5601:5601", "2001:0:cb00:7101:8000:63bf:9b9b:9b37"},
	} {
		for _, a := range addresses {
			assert.True(t, carrier.Forbidden(netip.MustParseAddr(a)), "%s: %s", cloud, a)
		}
	}
}

func TestOtherAddressesAreNotForbidden(t *testing.T) {
	for _, a := range []string{
		"127.0.0.1", "::1", "0.0.0.0", "::", "10.0.0.1", "192.168.1.1", "172.16.0.1", "8.8.8.8", "203.0.113.5", "169.253.255.255", "169.255.0.0",
		"100.64.0.1", "100.100.100.100", "100.100.100.199", "100.127.255.254", "168.63.129.15", "192.0.0.191",
		"2001:db8::1", "2600:1f18::1", "fd7a:115c:a1e0::1", "fd00::1", "fd00:ec3::254", "fec0::1", "::ffff:100.64.0.1", "::ffff:0:10.0.0.1",
		"64:ff9b::10.0.0.1", "64:ff9b::100.64.0.1", "64:ff9b:1::203.0.113.5", "64:ff9b:1:fffe::203.0.113.5", "2002:a00:1::1", "2001:0:cb00:7101:8000:63bf:3fff:fdd2",
	} {
		assert.False(t, carrier.Forbidden(netip.MustParseAddr(a)), a)
	}
}

// Also a client that allows all addresses connects to none that is forbidden.
func TestNoSettingAllowsForbiddenAddresses(t *testing.T) {
	for name, client := range map[string]*carrier.Client{
		"without a guard": carrier.NewClient(carrier.ClientConfig{MaxReply: maxReply}),
		"with a guard":    carrier.NewClient(carrier.ClientConfig{MaxReply: maxReply, Allow: func(netip.Addr) bool { return true }}),
	} {
		for _, a := range []string{"169.254.169.254", "100.100.100.200", "fe80::1", "fd00:ec2::254", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::"} {
			address := netip.MustParseAddr(a)
			endpoint := "http://" + netip.AddrPortFrom(address, 80).String() + "/mcp"
			_, _, err := client.Call(t.Context(), transport.Request{
				Endpoint: endpoint, Method: "echo", Params: &text{"hi"}, Decode: textOf,
				Networks: []netip.Prefix{netip.PrefixFrom(address.Unmap(), 0), netip.PrefixFrom(address.Unmap(), address.Unmap().BitLen())},
			})
			assert.Equal(t, &transport.CallError{Kind: transport.Forbidden, Endpoint: endpoint, Address: address.Unmap()}, err, name)
		}
		client.Close()
	}
}

// A call reaches only the networks that it names, also if another call has left a
// connection to the same host.
func TestCallsStayInTheirNetworks(t *testing.T) {
	base, l := start(t, serving(nil), carrier.Config{MaxBody: maxBody})
	client := newClient(t, nil)
	call := func(networks ...string) error {
		r := transport.Request{Endpoint: base + "/mcp", Method: "echo", Params: &text{"hi"}, Decode: textOf}
		for _, n := range networks {
			r.Networks = append(r.Networks, netip.MustParsePrefix(n))
		}
		_, _, err := client.Call(t.Context(), r)
		return err
	}
	refused := &transport.CallError{Kind: transport.Forbidden, Endpoint: base + "/mcp", Address: netip.MustParseAddr("127.0.0.1")}
	require.Equal(t, refused, call("10.0.0.0/8", "::/0"))
	require.Zero(t, l.accepted.Load(), "no connection was made")
	require.NoError(t, call())
	require.NoError(t, call("10.0.0.0/8", "127.0.0.0/8"))
	require.EqualValues(t, 1, l.accepted.Load(), "both calls use one connection")
	require.Equal(t, refused, call("10.0.0.0/8"))
	require.EqualValues(t, 1, l.accepted.Load())
	r := transport.Request{Endpoint: base + "/mcp", Method: "echo", Params: &text{"hi"}, Decode: textOf, Networks: []netip.Prefix{}}
	_, _, err := client.Call(t.Context(), r)
	require.Equal(t, refused, err, "an empty list allows nothing")
}

// The dialer of other HTTP clients has the same guard.
func TestDialerRefusesForbiddenAddresses(t *testing.T) {
	_, err := carrier.NewDialer(nil)(t.Context(), "tcp", "169.254.169.254:80")
	forbidden, _ := errors.AsType[*transport.CallError](err)
	require.Equal(t, transport.Forbidden, forbidden.Kind)
	require.EqualError(t, forbidden, "169.254.169.254 is an address that must not be called")
	_, l := start(t, serving(nil), carrier.Config{MaxBody: maxBody})
	c, err := carrier.NewDialer(nil)(context.Background(), "tcp", l.Addr().(*net.TCPAddr).String())
	require.NoError(t, err)
	require.NoError(t, c.Close())
}
