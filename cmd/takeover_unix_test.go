//go:build unix

package cmd_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/store"
)

// A relay forwards connections to another address, until it is cut.
type relay struct {
	address string

	mu    sync.Mutex
	uncut context.Context
	cut   context.CancelFunc // ends uncut
}

// startRelay forwards each connection to the address that to returns; it closes the connection if that is "".
func startRelay(t *testing.T, to func() string) *relay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	r := &relay{address: l.Addr().String()}
	r.set(false)
	var all sync.WaitGroup
	all.Go(func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { r.forward(from, to()) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		r.set(true)
		all.Wait()
	})
	return r
}

func (r *relay) forward(from net.Conn, to string) {
	defer func() { _ = from.Close() }()
	if to == "" {
		return
	}
	target, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer func() { _ = target.Close() }()
	defer context.AfterFunc(r.now(), func() { _, _ = from.Close(), target.Close() })()
	done := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{from, target}, {target, from}} {
		go func() {
			_, _ = io.Copy(way[0], way[1])
			done <- struct{}{}
		}()
	}
	<-done
}

func (r *relay) now() (uncut context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.uncut
}

// set cuts all connections, and those that come, or lets them pass again.
func (r *relay) set(cut bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if cut {
		r.cut()
	} else {
		r.uncut, r.cut = context.WithCancel(context.Background())
	}
}

// A pair is two managers of a league, of which one leads.
type pair struct {
	league   string
	balancer *relay
	managers [2]*process
	ports    [3]string
	data     [2]string
	nats     [2]*relay
	servers  *natsNet
	secret   string
	args     []string
}

// startPair starts two managers behind a load balancer that asks GET /readyz.
func startPair(t *testing.T, league string, args ...string) *pair {
	t.Helper()
	servers := startNATS(t, league, func(o *server.Options) { o.JetStream, o.StoreDir = true, t.TempDir() })
	secret := tempFile(t, "league.secret", strings.Repeat("s3cret!", 10))
	x := &pair{league: league, servers: servers, secret: secret, args: append([]string{"--league-id", league, "--nats-creds", servers.keys, "--secret-file", secret}, args...)}
	for i := range x.managers {
		x.nats[i] = startRelay(t, func() string { return strings.TrimPrefix(servers.url, "nats://") })
		x.ports[i], x.data[i] = freePort(t), t.TempDir()
		x.start(t, i)
	}
	x.balancer = startRelay(t, func() string { return x.ready() })
	return x
}

// start starts a manager of the pair.
func (x *pair) start(t *testing.T, i int) {
	t.Helper()
	x.managers[i] = startProcess(t, append([]string{"manager", "--port", x.ports[i], "--data", x.data[i], "--nats", "nats://" + x.nats[i].address,
		"--journal", "nats", "--standby", "--exit-when-done"}, x.args...)...)
}

// alone starts a third manager.
func (x *pair) alone(t *testing.T, args ...string) *process {
	t.Helper()
	x.ports[2] = freePort(t)
	return startProcess(t, append(append([]string{"manager", "--port", x.ports[2], "--data", t.TempDir(), "--nats", "nats://" + x.nats[0].address,
		"--journal", "nats"}, x.args...), args...)...)
}

// startAgents starts a referee and players, on HTTP or, as far as the server knows them, on NATS.
func (x *pair) startAgents(t *testing.T, players int, onNATS bool) (agents []*process) {
	t.Helper()
	for i, name := range ([]string{"Whistle", "Anna", "Ben B", "Cem", "Dora", "Eva", "Fritz"})[:players+1] {
		args := []string{"player", "--name", name}
		if i == 0 {
			args[0] = "referee"
		}
		if onNATS && i <= 4 { // the roster of the server has no more
			args = x.servers.flags(append(args, "--no-http")...)
		} else {
			args = append(args, "--port", "0", "--manager", x.url())
		}
		agents = append(agents, start(t, args...))
	}
	return agents
}

// ready is the address of the manager that leads; "" for none.
func (x *pair) ready() string {
	for _, port := range x.ports[:2] {
		client := http.Client{Timeout: time.Second}
		if answer, err := client.Get("http://127.0.0.1:" + port + "/readyz"); err == nil {
			_ = answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return "127.0.0.1:" + port
			}
		}
	}
	return ""
}

// leader is the number of the manager that leads, when one does.
func (x *pair) leader(t *testing.T) int {
	t.Helper()
	at := ""
	require.Eventually(t, func() bool { at = x.ready(); return at != "" }, patience, 50*time.Millisecond)
	if strings.HasSuffix(at, ":"+x.ports[0]) {
		return 0
	}
	return 1
}

// url is that of the league for agents.
func (x *pair) url() string { return "http://" + x.balancer.address + "/mcp" }

// journal returns the lines of a manager's journal.
func (x *pair) journal(t *testing.T, i int) []string {
	t.Helper()
	lines := strings.SplitAfter(readText(t, store.In(x.data[i]).Journal(x.league)), "\n")
	return lines[:len(lines)-1] // the last one is not complete
}

// longestGap is the longest time between two results in a journal, after the first.
func longestGap(t *testing.T, journal []string) (longest time.Duration, results map[string]int) {
	t.Helper()
	var last time.Time
	results = map[string]int{}
	for _, line := range journal {
		var e struct {
			At   time.Time
			Type string
			Data struct {
				MatchID string `json:"match_id"`
				Command string
			}
		}
		require.NoError(t, json.Unmarshal([]byte(line), &e))
		switch {
		case e.Type == "match_reported":
			results[e.Data.MatchID]++
		case e.Data.Command == "resume": // no match was due before
			last = e.At
			continue
		case e.Data.Command != "pause":
			continue
		}
		if !last.IsZero() {
			longest = max(longest, e.At.Sub(last))
		}
		last = e.At
	}
	return longest, results
}

// organise sends a command of the organiser to the manager that leads, until one answers. It returns the status of the
// answer; "" for an error of the league.
func (x *pair) organise(t *testing.T, token, command string, members ...string) (status string) {
	t.Helper()
	body := decisionOf(t, token, x.league, command, members...)
	client := http.Client{Timeout: 5 * time.Second}
	require.Eventually(t, func() bool {
		answer, err := client.Post(x.url(), "application/json", strings.NewReader(body))
		if err != nil {
			return false
		}
		defer func() { _ = answer.Body.Close() }()
		var r struct{ Result struct{ Status string } }
		status = ""
		if answer.StatusCode == http.StatusOK && json.NewDecoder(answer.Body).Decode(&r) == nil {
			status = r.Result.Status
		}
		return answer.StatusCode == http.StatusOK
	}, patience, 100*time.Millisecond)
	return status
}

// A disturbance of a leader, and what it does to its process.
type disturbance struct {
	name    string
	disturb func(t *testing.T, x *pair, leader int)
	ends    string // what the leader before writes when it notices; "" if it was killed
}

func disturbances() []disturbance {
	const lost = `leads this league now|another manager continues this league`
	return []disturbance{
		{"killed", func(t *testing.T, x *pair, leader int) { x.managers[leader].kill(t) }, ""},
		{"stopped", func(t *testing.T, x *pair, leader int) {
			p := x.managers[leader].cmd.Process
			require.NoError(t, p.Signal(syscall.SIGSTOP))
			time.AfterFunc(20*time.Second, func() { _ = p.Signal(syscall.SIGCONT) })
		}, lost},
		{"cut off", func(_ *testing.T, x *pair, leader int) {
			x.nats[leader].set(true)
			time.AfterFunc(20*time.Second, func() { x.nats[leader].set(false) })
		}, lost},
	}
}

// A leagueFormat is a league that another manager takes over.
type leagueFormat struct {
	name    string
	players int
	pace    time.Duration // before a round: no match is due
	args    []string
}

// A leader that is killed, stopped or cut off is followed by the standby: each result exactly once, none that was
// accepted is lost, and there is no result for 15 s at most. The subtests take longest of all tests: they do not call
// Parallel, because they would begin behind all other tests.
func TestStandbyTakesOver(t *testing.T) {
	t.Parallel()
	formats := []leagueFormat{
		{"round-robin", 4, 1500 * time.Millisecond, []string{"--legs", "3"}},
		{"swiss", 6, 2 * time.Second, []string{"--rounds", "3"}},
		{"knockout", 4, 3500 * time.Millisecond, nil},
	}
	runs := 3
	if n, err := strconv.Atoi(os.Getenv("EVENODD_TEST_ALL")); err == nil && n > runs {
		runs = n
	}
	free := make(chan struct{}, 8)
	var running sync.WaitGroup
	for i := range runs {
		how, format := disturbances()[i%3], formats[(i+i/3)%3]
		free <- struct{}{}
		running.Go(func() {
			name := fmt.Sprintf("%s in %s %d", how.name, format.name, i)
			t.Run(name, func(t *testing.T) { takeOver(t, i, how, format) })
			<-free
		})
	}
	running.Wait()
}

// takeOver plays the i-th league of TestStandbyTakesOver.
func takeOver(t *testing.T, i int, how disturbance, format leagueFormat) {
	t.Helper()
	x := startPair(t, fmt.Sprintf("takeover-%d", i), append(format.args, "--tournament", format.name,
		"--players", strconv.Itoa(format.players), "--pace", format.pace.String())...)
	first := x.leader(t)
	agents := x.startAgents(t, format.players, i%3 == 2)
	old, next := x.managers[first], x.managers[1-first]
	old.await(t, `"round_id":1,.*"event_type":"ROUND_ANNOUNCEMENT_SENT"`)
	token := strings.TrimSpace(mustRun(t, "league", "token", "--league-id", x.league, "--data", x.data[first],
		"--secret-file", x.secret))
	old.await(t, `"match_id":"R1M1",.*"event_type":"RESULT_RECORDED"`)
	again := x.organise(t, token, "rematch", "match_id", "R1M1") == "DONE" // else the round after has begun
	<-time.After(rand.N(3 * time.Second))                                  // before the last round
	paused := i%2 == 1
	if paused {
		require.Equal(t, "DONE", x.organise(t, token, "pause"))
	}
	how.disturb(t, x, first)
	known := x.journal(t, first)
	next.await(t, `"event_type":"THIS_MANAGER_LEADS"`)
	if paused {
		assert.Equal(t, "DONE", x.organise(t, token, "resume"), "the pause is not lost")
	}
	awaitSuccess(t, append(agents, next)...)
	if how.ends != "" {
		assert.NotZero(t, old.awaitExit(t))
		assert.Regexp(t, how.ends, old.stderr.String())
	}
	all := x.journal(t, 1-first)
	assert.Equal(t, known, all[:len(known)], "what was accepted is there")
	gap, results := longestGap(t, all)
	t.Log("longest time without a result:", gap)
	assert.LessOrEqual(t, gap, 15*time.Second+format.pace)
	if again {
		assert.Equal(t, 2, results["R1M1"])
		delete(results, "R1M1")
	}
	for match, n := range results {
		assert.Equal(t, 1, n, match)
	}
	assert.Regexp(t, `no findings`, mustRun(t, "audit", x.data[1-first]))
}

// A leader that ends in order gives the league up: the standby leads at once. A manager with another configuration does
// not, and one that is no standby says who leads. A standby sends agents elsewhere.
func TestStandbyFollowsALeaderThatEnds(t *testing.T) {
	t.Parallel()
	x := startPair(t, "handover", "--players", "4")
	first := x.leader(t)
	old, next := x.managers[first], x.managers[1-first]
	next.await(t, `This manager stands by for league handover`)
	standby := "http://127.0.0.1:" + x.ports[1-first]
	refused, err := http.Post(standby+"/mcp", "application/json", strings.NewReader(`{"jsonrpc":"2.0","method":"ping","params":{},"id":1}`))
	require.NoError(t, err)
	assert.NoError(t, refused.Body.Close())
	assert.Equal(t, http.StatusServiceUnavailable, refused.StatusCode)
	assert.Equal(t, "1", refused.Header.Get("Retry-After"))
	require.Eventually(t, func() bool {
		_, page := get(t, standby+"/", "")
		return strings.Contains(page, "Waiting for the start")
	}, patience, 100*time.Millisecond)
	other := x.alone(t, "--standby", "--players", "5")
	otherPort := x.ports[2]
	other.await(t, `"differ":\["configuration"\].*"event_type":"STANDBY_DIFFERS"`)
	second := x.alone(t)
	assert.NotZero(t, second.awaitExit(t))
	assert.Regexp(t, `manager "[^"]+" leads this league now \(term 1\): start this manager with --standby`, second.stderr.String())
	old.interrupt(t)
	ended := time.Now()
	next.await(t, `"event_type":"THIS_MANAGER_LEADS"`)
	assert.Equal(t, 1-first, x.leader(t))
	assert.Less(t, time.Since(ended), 5*time.Second, "it did not wait for the end of the lease")
	assert.Equal(t, 130, old.awaitExit(t))
	assert.Equal(t, "STANDBY", (&manager{url: "http://127.0.0.1:" + otherPort + "/mcp"}).health(t)["state"])
}
