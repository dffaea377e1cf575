package thirdparty

import (
	"context"
	"crypto/sha256"
	"fmt"
	nethttp "net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"evenodd/league/manager"
	"evenodd/league/membership"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/store"
	"evenodd/player"
	"evenodd/player/strategy"
	"evenodd/referee"
	"evenodd/rules"
	"evenodd/rules/evenodd"
	"evenodd/transport"
	"evenodd/transport/dialect/bridge"
	"evenodd/transport/http"
	"evenodd/transport/pipenet"
)

// leagueID is the id of all leagues in these tests, and of most captured ones.
const leagueID = "league_2025_even_odd"

// The ports of managers and referees, as in the captures.
const (
	managerPort = 8000
	refereePort = 8001
)

// at is the endpoint of an agent, as in the captures.
func at(port int) string { return "http://localhost:" + strconv.Itoa(port) + http.Path }

// A world has our agents and third-party agents, which speak HTTP over pipes in virtual
// time.
type world struct {
	t       *testing.T
	clock   *protocol.Clock
	life    context.Context
	folder  store.Folder // the data folder of our managers and referees; "" for none
	running sync.WaitGroup

	pipes pipenet.Network
}

// inAWorld runs a test at the time of the captures. No goroutine outlives it.
func inAWorld(t *testing.T, story func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, clock: protocol.SystemClock(), life: t.Context()}
		t.Cleanup(w.running.Wait) // it runs last, and the context ends first
		time.Sleep(time.Until(time.Date(2026, 11, 20, 16, 45, 0, 0, time.UTC)))
		story(w)
	})
}

// serve serves our agent at a port.
func (w *world) serve(port int, mux *transport.Mux, c http.Config) {
	c.Hosts = []string{"localhost"}
	server := http.NewServer(mux, c)
	l := w.pipes.Listen("localhost:" + strconv.Itoa(port))
	w.running.Go(func() { _ = server.Serve(l) })
	w.t.Cleanup(func() {
		ended, cancel := context.WithCancel(context.Background())
		cancel() // ends the calls that still wait
		_ = server.Shutdown(ended)
	})
}

// thirdPartyAgent serves a third-party agent at a port.
func (w *world) thirdPartyAgent(port int, handle nethttp.Handler) {
	server := &nethttp.Server{Handler: handle, ReadHeaderTimeout: 5 * time.Second}
	l := w.pipes.Listen("localhost:" + strconv.Itoa(port))
	w.running.Go(func() { _ = server.Serve(l) })
	w.t.Cleanup(func() { _ = server.Close() })
}

// edge is the bridge of our agent, and its carrier.
func (w *world) edge(endpoint string, maxReply int64) (*bridge.Bridge, *http.Client) {
	d := bridge.New(bridge.Options{Endpoint: endpoint, Clock: w.clock, Log: zerolog.Nop()})
	c := http.NewClient(http.ClientConfig{MaxReply: maxReply, Dial: w.pipes.Dial, Dialect: d})
	w.t.Cleanup(c.Close)
	return d, c
}

// Sizes as cmd has them.
const (
	small = 10 << 10
	usual = 64 << 10
	large = 1 << 20
)

// An ownManager runs a league.
type ownManager struct {
	*manager.Manager
	over   chan struct{} // closed when the league is
	failed error         // why it did not come to its end
}

// manager runs a league.
func (w *world) manager(players, referees int, change ...func(*manager.Options)) *ownManager {
	w.t.Helper()
	d, c := w.edge("", usual)
	o := manager.Options{Created: leaguetest.Rules(leagueID, evenodd.Type, players, referees), Games: rules.NewRegistry(evenodd.Game{}), Caller: c, Clock: w.clock, Log: zerolog.Nop()}
	if !w.folder.IsZero() {
		keep, _, err := manager.OpenFiles(w.folder, leagueID, false, nil)
		require.NoError(w.t, err)
		w.t.Cleanup(func() { _ = keep.Close() })
		o.Files = keep
	}
	for _, set := range change {
		set(&o)
	}
	m, err := manager.New(o)
	require.NoError(w.t, err)
	mux := transport.NewMux(zerolog.Nop())
	m.Mount(mux)
	w.serve(managerPort, mux, http.Config{MaxBody: small, Dialect: d})
	ours := &ownManager{Manager: m, over: make(chan struct{})}
	w.running.Go(func() {
		defer close(ours.over)
		_, ours.failed = m.Run(w.life)
	})
	return ours
}

// referee makes a referee that is not registered.
func (w *world) referee(port int) *referee.Referee {
	w.t.Helper()
	d, c := w.edge(at(port), usual)
	r, err := referee.New(referee.Options{
		Options: membership.Options{
			Name: fmt.Sprintf("Referee %d", port), Endpoint: at(port), Manager: at(managerPort), Folder: w.folder, Caller: c,
			Clock: w.clock, Log: zerolog.Nop(),
		},
		MaxConcurrent: 2, Games: rules.NewRegistry(evenodd.Game{}),
		Nonce: func(matchID string) protocol.Secret { return sha256.Sum256([]byte("nonce/" + matchID)) },
	})
	require.NoError(w.t, err)
	w.t.Cleanup(r.Close)
	mux := transport.NewMux(zerolog.Nop())
	r.Mount(mux)
	w.serve(port, mux, http.Config{MaxBody: small, MaxBearerBody: large, Identify: r.Identify, Dialect: d})
	return r
}

// player makes a player that is not registered.
func (w *world) player(port int) *player.Player {
	w.t.Helper()
	d, c := w.edge(at(port), large)
	decide, err := strategy.New([]string{"even", "odd"}[port%2])
	require.NoError(w.t, err)
	p, err := player.New(player.Options{
		Options: membership.Options{
			Name: fmt.Sprintf("Player %d", port), Endpoint: at(port), Manager: at(managerPort), Caller: c, Clock: w.clock,
			Log: zerolog.Nop(),
		},
		Games: []string{evenodd.Type}, Strategy: decide,
		Entropy: func(matchID string, attempt int) protocol.Secret {
			return sha256.Sum256(fmt.Appendf(nil, "entropy/%s/%d/%d", matchID, attempt, port))
		},
	})
	require.NoError(w.t, err)
	mux := transport.NewMux(zerolog.Nop())
	p.Mount(mux)
	w.serve(port, mux, http.Config{MaxBody: large, Identify: p.Identify, Dialect: d})
	return p
}

// post makes a POST as a third-party agent.
func (w *world) post(url string, body any) (status int, answer any) {
	w.t.Helper()
	client := &nethttp.Client{Transport: &nethttp.Transport{DialContext: w.pipes.Dial, DisableKeepAlives: true}}
	q, err := nethttp.NewRequestWithContext(w.life, nethttp.MethodPost, url, strings.NewReader(written(body)))
	require.NoError(w.t, err)
	q.Header.Set("Content-Type", "application/json")
	r, err := client.Do(q)
	if err != nil {
		return 0, nil
	}
	defer func() { _ = r.Body.Close() }()
	_ = json.UnmarshalRead(r.Body, &answer) // nil if it is no JSON
	return r.StatusCode, answer
}

// portOf is the port of an endpoint; 0 for none.
func portOf(endpoint string) (port int) {
	_, _ = fmt.Sscanf(endpoint, "http://localhost:%d/", &port)
	return port
}

// await returns the next value of a channel within a day, which a referee that acknowledges anything may take.
func await[T any](w *world, from <-chan T) T {
	w.t.Helper()
	select {
	case x := <-from:
		return x
	case <-time.After(24 * time.Hour):
		require.FailNow(w.t, "nothing came")
		panic("unreachable")
	}
}
