package cmd

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestWhichAddressesAManagerCalls(t *testing.T) {
	for name, test := range map[string]struct {
		host      string
		allowed   []string
		calls, no []string
		says      string
	}{
		"on this machine": {
			"localhost", nil, []string{"127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1"},
			[]string{"10.0.0.1", "8.8.8.8", "169.254.169.254", "0.0.0.0", "::", "fe80::1%eth0", "::ffff:10.0.0.1"},
			"agents on this machine alone",
		},
		"by its address": {"127.0.0.1", nil, []string{"127.0.0.1"}, []string{"192.168.1.1"}, "agents on this machine alone"},
		"for others": {
			"192.168.1.5", nil, []string{"192.168.1.7", "127.0.0.1", "8.8.8.8", "2001:db8::1"},
			[]string{"169.254.169.254", "224.0.0.1", "0.0.0.0", "::", "fe80::1", "ff02::1", "::ffff:169.254.169.254"},
			"agents anywhere but at link-local addresses",
		},
		"everywhere":  {"0.0.0.0", nil, []string{"10.0.0.1"}, []string{"169.254.0.1"}, "agents anywhere but at link-local addresses"},
		"by its name": {"league.example.com", nil, []string{"10.0.0.1"}, []string{"169.254.0.1"}, "agents anywhere but at link-local addresses"},
		"a class": {
			"0.0.0.0", []string{"10.1.0.0/16", "192.168.1.9", "2001:db8::/32"},
			[]string{"10.1.255.1", "192.168.1.9", "2001:db8::5", "::ffff:10.1.0.1"},
			[]string{"10.2.0.1", "127.0.0.1", "192.168.1.8", "2001:db9::5"},
			"agents in 10.1.0.0/16, 192.168.1.9/32, 2001:db8::/32",
		},
		"a network that is not written from its beginning": {"localhost", []string{"10.1.2.3/16"}, []string{"10.1.9.9"}, []string{"127.0.0.1"}, "agents in 10.1.0.0/16"},
		"any": {"localhost", []string{"any"}, []string{"169.254.169.254", "8.8.8.8"}, nil, "agents anywhere"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGuard(test.host, test.allowed)
			for _, a := range test.calls {
				assert.True(t, g.allows(netip.MustParseAddr(a)), a)
			}
			for _, a := range test.no {
				assert.False(t, g.allows(netip.MustParseAddr(a)), a)
			}
			assert.Equal(t, test.says, g.String())
		})
	}
}
