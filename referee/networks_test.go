package referee

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"

	"evenodd/league/membership"
	"evenodd/league/protocol"
	"evenodd/rules/evenodd"
)

// A referee calls players in the networks of its own setting, else in those of the
// assignment, else in its usual ones.
func TestRefereeCallsPlayersInAllowedNetworks(t *testing.T) {
	own, told, usual := netip.MustParsePrefix("192.168.0.0/16"), netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("127.0.0.0/8")
	for _, test := range []struct {
		name string
		own  []netip.Prefix
		told []string
		want []netip.Prefix
	}{
		{"of the assignment", nil, []string{"10.1.0.0/16"}, []netip.Prefix{told}},
		{"of its own setting", []netip.Prefix{own}, []string{"10.1.0.0/16"}, []netip.Prefix{own}},
		{"of its own setting, with a third-party manager", []netip.Prefix{own}, nil, []netip.Prefix{own}},
		{"its usual ones, with a third-party manager", nil, nil, []netip.Prefix{usual}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := &Referee{options: Options{Networks: test.own, UsualNetworks: []netip.Prefix{usual}}}
			q := &protocol.MatchAssignment{PlayerA: protocol.AssignedPlayer{Endpoint: "http://p01"}, AllowedEndpoints: test.told}
			m := newMatch(r, &membership.Membership{}, evenodd.Game{}, q, protocol.Secret{})
			for i := range m.sides {
				assert.Equal(t, test.want, m.sides[i].peer.Networks)
			}
			assert.Equal(t, "http://p01", m.sides[0].peer.Endpoint)
		})
	}
}
