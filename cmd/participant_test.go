package cmd

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/membership"
	"evenodd/league/protocol"
	"evenodd/player"
	"evenodd/player/strategy"
)

// A breaker must never decide a match, nor keep an agent out of its league.
func TestBreakerHoldsBackOnlyNotices(t *testing.T) {
	for method, want := range map[string]bool{
		"register_player": true, "register_referee": true, "start_match": true, "handle_game_invitation": true,
		"choose_parity": true, "parity_choose": true, "make_move": true, "report_match_result": true,
		"notify_league_completed": true, "league_query": true, "ping": true,
		"notify_round": true, "notify_match_result": true,
		"update_standings": false, "notify_round_completed": false, "notify_game_error": false,
	} {
		assert.Equal(t, want, essential(method), method)
	}
}

// A forgetfulManager admits one agent, and loses its token. A registration after that is refused if the league has
// started.
type forgetfulManager struct {
	started bool
	heard   []string
}

func (m *forgetfulManager) Call(_ context.Context, r protocol.CallRequest) (any, *protocol.Timing, error) {
	m.heard = append(m.heard, r.Method)
	q, registers := r.Params.(*protocol.LeagueRegisterRequest)
	switch {
	case !registers, q.AuthToken != "":
		return nil, nil, &protocol.Error{Code: protocol.ErrTokenInvalid, RPC: 12, Remote: true}
	case m.started && len(m.heard) > 1:
		reason := "the league has started"
		return &protocol.LeagueRegisterResponse{Registration: protocol.Registration{
			Status: protocol.StatusRejected, Reason: &reason, ErrorCode: "E019", ErrorName: "LATE_REGISTRATION",
		}}, nil, nil
	}
	id := league.PlayerID(len(m.heard))
	a := &protocol.LeagueRegisterResponse{PlayerID: &id, Registration: protocol.Registration{
		Status: protocol.StatusAccepted, LeagueID: "L", ManagerAuth: protocol.ManagerAuthBearer,
	}}
	a.AuthToken = "tok-" + id
	return a, nil, nil
}

// An agent that its manager no longer knows registers again, and ends if it is refused.
func TestDroppedAgentRegistersAgain(t *testing.T) {
	for _, started := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			m := &forgetfulManager{started: started}
			decide, err := strategy.New("even")
			require.NoError(t, err)
			p, err := player.New(player.Options{
				Options: membership.Options{
					Name: "Alpha", ID: "P01", Endpoint: "http://localhost:8101/mcp", Manager: "http://localhost:8000/mcp", Caller: m,
					Clock: protocol.SystemClock(), Log: zerolog.Nop(),
				},
				Games: []string{"even_odd"}, Strategy: decide,
			})
			require.NoError(t, err)
			o := &agentOptions{Options: membership.Options{Endpoint: "http://localhost:8101/mcp", Manager: "http://localhost:8000/mcp"}}
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(8*time.Second, cancel)
			err = (&participant{agentOptions: o}).takePart(ctx, p)
			assert.Equal(t, []string{"register_player", "league_query", "register_player", "register_player"}, m.heard[:4])
			if !started {
				assert.Equal(t, exitInterrupted, exitCode(err))
				assert.Equal(t, "P04", p.ID())
				return
			}
			var refused *membership.RefusedError
			require.ErrorAs(t, err, &refused)
			assert.EqualError(t, err, "the manager at http://localhost:8000/mcp no longer knows this agent and refuses to register it again: "+
				"registration refused: the league has started (E019 LATE_REGISTRATION). A manager drops agents that do not answer: "+
				"make sure that it can reach http://localhost:8101/mcp, or set another URL with --endpoint")
		})
	}
}

func TestHealthOfAnAgent(t *testing.T) {
	for name, c := range map[string]struct {
		status  int
		body    string
		problem string // "" for a healthy agent
	}{
		"ok":                       {200, `{"status":"ok"}`, ""},
		"disk almost full":         {200, `{"status":"warning"}`, ""},
		"another status":           {200, `{"status":"down"}`, `is not healthy: its status is "down"`},
		"no status":                {200, `{}`, `is not healthy: its status is ""`},
		"not JSON":                 {200, "<html>", "does not answer with the health of an agent"},
		"not there":                {404, `{"status":"ok"}`, "answers with the HTTP status 404"},
		"redirect to another host": {302, `{"status":"ok"}`, "answers with the HTTP status 302"},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "http://192.0.2.1/")
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.body))
			}))
			defer s.Close()
			_, err := askHealth(t.Context(), s.URL+"/healthz", "")
			if c.problem == "" {
				assert.NoError(t, err)
				return
			}
			assert.ErrorContains(t, err, c.problem)
		})
	}
}

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
