package conformance_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/conformance"
	"evenodd/league/protocol"
	"evenodd/rules"
	"evenodd/rules/evenodd"
	"evenodd/transport"
	"evenodd/transport/http"
)

// serve serves an agent of ours as cmd does, unless it is tampered with.
func serve(t *testing.T, l net.Listener, bad *tamper, mount func(protocol.Mux)) {
	t.Helper()
	mux := transport.NewMux(zerolog.Nop())
	mount(mux)
	if bad != nil {
		bad.serve(t, l, mux)
		return
	}
	server := http.NewServer(mux, http.Config{MaxBody: 10 << 10})
	served := make(chan struct{})
	go func() { defer close(served); _ = server.Serve(l) }()
	t.Cleanup(func() {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		_ = server.Shutdown(ended)
		<-served
	})
}

func outward(t *testing.T) *http.Client {
	t.Helper()
	c := http.NewClient(http.ClientConfig{MaxReply: 64 << 10})
	t.Cleanup(c.Close)
	return c
}

// ourManager runs a league of ours for so many players and referees; a tamper
// that is not nil makes a bad one of it. Its game is even_odd unless another is given.
func ourManager(t *testing.T, players, referees int, bad *tamper, game ...rules.Game) (url string, manager *league.Manager) {
	t.Helper()
	game = append(game, evenodd.Game{})
	l := openPort(t)
	var caller protocol.Caller = outward(t)
	if bad != nil {
		caller = tamperedCaller{caller, bad}
	}
	secret := [32]byte{1}
	m, err := league.New(league.Options{
		LeagueID: "league_check", GameType: game[0].Info().Type, Games: rules.NewRegistry(game[0]),
		Players: players, Referees: referees, Timeouts: protocol.DefaultTimeouts(), Retry: protocol.DefaultRetryPolicy(),
		Secret: &secret, Caller: caller, Clock: protocol.SystemClock(), Log: zerolog.Nop(),
	})
	require.NoError(t, err)
	life, end := context.WithCancel(context.Background())
	over := make(chan struct{})
	serve(t, l, bad, m.Mount)
	go func() { defer close(over); _, _ = m.Run(life) }()
	t.Cleanup(func() { end(); <-over })
	return at(l), m
}

// holds fails with every finding that is not a pass.
func holds(t *testing.T, r *conformance.Report, but ...string) {
	t.Helper()
	for _, f := range r.Findings {
		if f.Verdict == conformance.Pass {
			continue
		}
		if contains(but, f.ID) && f.Verdict == conformance.Skipped {
			continue
		}
		assert.Fail(t, f.ID+" "+string(f.Level)+" "+string(f.Verdict)+": "+f.Detail, "%s\n%+v", f.Text, f.Exchanges)
	}
	assert.True(t, r.Conforms())
}

func contains(ids []string, id string) bool {
	for _, known := range ids {
		if known == id {
			return true
		}
	}
	return false
}

func TestOurManagerConforms(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name              string
		players, referees int
		admin             bool
		skipped           []string
	}{
		{name: "as usual", skipped: []string{"M-END-06"}},
		{name: "two players and two referees", players: 2, referees: 2, skipped: []string{"M-AUT-04", "M-AUT-05", "M-RND-05", "M-REG-06", "M-END-06"}},
		{name: "an odd number of players", players: 5, skipped: []string{"M-END-06"}},
		{name: "started by hand", admin: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			players, referees := test.players, max(test.referees, 1)
			if players == 0 {
				players = 4
			}
			if test.admin {
				players = 0
			}
			url, manager := ourManager(t, players, referees, nil)
			o := conformance.Options{Role: conformance.Manager, URL: url, Listener: openPort(t), Players: test.players, Referees: test.referees}
			if test.admin {
				o.Admin = manager.AdminToken()
			}
			report, err := conformance.Check(context.Background(), o)
			require.NoError(t, err)
			holds(t, report, test.skipped...)
			assert.Less(t, report.TookMS, (30 * time.Second).Milliseconds())
		})
	}
}
