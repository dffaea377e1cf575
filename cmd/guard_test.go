package cmd

import (
	"net"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestGuardAllowsAddresses(t *testing.T) {
	for name, test := range map[string]struct {
		host      string
		allowed   []string
		calls, no []string
	}{
		"on this machine": {
			"localhost", nil, []string{"127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1"},
			[]string{"10.0.0.1", "8.8.8.8", "169.254.169.254", "0.0.0.0", "::", "fe80::1%eth0", "::ffff:10.0.0.1"},
		},
		"by its address": {"127.0.0.1", nil, []string{"127.0.0.1"}, []string{"192.168.1.1"}},
		"for others": {
			"192.168.1.5", nil, []string{"192.168.1.7", "127.0.0.1", "8.8.8.8", "2001:db8::1"},
			[]string{"169.254.169.254", "224.0.0.1", "0.0.0.0", "::", "fe80::1", "ff02::1", "::ffff:169.254.169.254"},
		},
		"everywhere":  {"0.0.0.0", nil, []string{"10.0.0.1"}, []string{"169.254.0.1"}},
		"by its name": {"league.example.com", nil, []string{"10.0.0.1"}, []string{"169.254.0.1"}},
		"a class": {
			"0.0.0.0", []string{"10.1.0.0/16", "192.168.1.9", "2001:db8::/32"},
			[]string{"10.1.255.1", "192.168.1.9", "2001:db8::5", "::ffff:10.1.0.1"},
			[]string{"10.2.0.1", "127.0.0.1", "192.168.1.8", "2001:db9::5"},
		},
		"a network that is not written from its beginning": {"localhost", []string{"10.1.2.3/16"}, []string{"10.1.9.9"}, []string{"127.0.0.1"}},
		"any": {"localhost", []string{"any"}, []string{"100.64.0.1", "8.8.8.8"}, []string{"169.254.169.254", "fe80::1", "::ffff:169.254.169.254", "fd00:ec2::254"}},
		"a class with Tailscale": {
			"0.0.0.0", []string{"100.64.0.0/10"}, []string{"100.64.0.1", "100.100.100.100", "100.127.255.254"},
			[]string{"100.100.100.200", "100.128.0.1"},
		},
		"link-local addresses by name": {"0.0.0.0", []string{"169.254.0.0/16", "fe80::/10"}, nil, []string{"169.254.1.1", "fe80::1%eth0"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGuard(test.host, test.allowed)
			for _, a := range test.calls {
				assert.True(t, g.allows(netip.MustParseAddr(a)), a)
			}
			for _, a := range test.no {
				assert.False(t, g.allows(netip.MustParseAddr(a)), a)
			}
		})
	}
}

// The usual networks of a referee depend on the machines that can reach it, perhaps by a proxy.
func TestUsualNetworksOfAReferee(t *testing.T) {
	local, everywhere := []string{"127.0.0.0/8", "::1/128"}, []string{"0.0.0.0/0", "::/0"}
	for name, test := range map[string]struct {
		host, endpoint string
		allowed, want  []string
	}{
		"on this machine": {"localhost", "http://localhost:8001/mcp", nil, local},
		"by its address":  {"::1", "http://[::1]:8001/mcp", nil, local},
		"behind a proxy":  {"localhost", "https://league.example.com/referee", nil, everywhere},
		"for others":      {"0.0.0.0", "http://localhost:8001/mcp", nil, everywhere},
		"with a setting":  {"0.0.0.0", "http://192.168.1.5:8001/mcp", []string{"100.64.0.0/10"}, []string{"100.64.0.0/10"}},
	} {
		g := playerGuard(&address{host: test.host, endpoint: test.endpoint}, test.allowed)
		assert.Equal(t, test.want, g.list(), name)
		assert.Equal(t, len(test.allowed) > 0, g.set, name)
	}
}

// The manager's own host and port is no agent's endpoint. All loopback addresses are one
// host.
func TestGuardRefusesTheManagersOwnAddress(t *testing.T) {
	for _, test := range []struct {
		listens, endpoint string
		own               bool
	}{
		{"127.0.0.1:8000", "127.0.0.1:8000", true},
		{"127.0.0.1:8000", "localhost:8000", true},
		{"127.0.0.1:8000", "[::1]:8000", true},
		{"127.0.0.1:8000", "127.0.0.1:8001", false},
		{"127.0.0.1:8000", "192.0.2.1:8000", false},
		{"[::1]:8000", "127.0.0.1:8000", true},
		{"0.0.0.0:8000", "127.0.0.1:8000", true},
		{"[::]:8000", "192.0.2.1:8000", false},
		{"192.0.2.1:8000", "[::ffff:192.0.2.1]:8000", true},
		{"192.0.2.1:8000", "127.0.0.1:8000", false},
	} {
		t.Run(test.endpoint+" of "+test.listens, func(t *testing.T) {
			g := newGuard("localhost", []string{"any"})
			g.own = netip.MustParseAddrPort(test.listens)
			err := g.checkHost(t.Context(), test.endpoint)
			if test.own {
				assert.EqualError(t, err, "it is the endpoint of the league manager itself")
			} else {
				assert.NoError(t, err)
			}
		})
	}
	addresses, err := net.InterfaceAddrs()
	require.NoError(t, err)
	for _, a := range addresses {
		g := newGuard("0.0.0.0", []string{"any"})
		g.own = netip.MustParseAddrPort("[::]:8000")
		assert.True(t, g.isOwn(netip.MustParsePrefix(a.String()).Addr()), a)
	}
}
