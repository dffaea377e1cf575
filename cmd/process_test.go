package cmd_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// patience is the longest time that a test waits for a process.
const patience = 90 * time.Second

// A process is a program that runs during a test. The end of the test kills it.
type process struct {
	name   string
	cmd    *exec.Cmd
	stdout bytes.Buffer // to be read once it has ended
	stderr transcript
	done   chan struct{} // closed when it has ended
}

// start runs evenodd.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	return launch(t, t.TempDir(), nil, "evenodd", args...)
}

// launch runs a program in a folder, with more environment variables.
func launch(t *testing.T, dir string, env []string, program string, args ...string) *process {
	t.Helper()
	p, stop, err := launchProcess(t.Context(), dir, env, program, args...)
	require.NoError(t, err)
	t.Cleanup(func() {
		stop()
		errors := p.stderr.String()
		for _, sign := range []string{"DATA RACE", "panic", "goroutine "} {
			assert.NotContains(t, errors, sign, "%s broke", p.name)
		}
		if t.Failed() {
			t.Logf("%s: %v\n%s%s", p.name, p.cmd.ProcessState, p.stdout.String(), errors)
		}
	})
	return p
}

// launchProcess starts a program. stop kills it and waits for its end.
func launchProcess(ctx context.Context, dir string, env []string, program string, args ...string) (p *process, stop func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	p = &process{
		name: program + " " + strings.Join(args, " "), cmd: exec.CommandContext(ctx, program, args...),
		stderr: transcript{changed: make(chan struct{})}, done: make(chan struct{}),
	}
	p.cmd.Dir, p.cmd.Env = dir, append(os.Environ(), env...)
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.WaitDelay = &p.stdout, &p.stderr, 5*time.Second
	if err := p.cmd.Start(); err != nil {
		cancel()
		return nil, nil, err
	}
	go func() {
		defer close(p.done)
		_ = p.cmd.Wait() // the state tells
	}()
	return p, func() { cancel(); <-p.done }, nil
}

// await waits until the standard error of the process matches, and returns the
// submatches.
func (p *process) await(t *testing.T, pattern string) []string {
	t.Helper()
	found := p.find(pattern)
	require.NotNil(t, found, "%s ended without writing %q:\n%s", p.name, pattern, p.stderr.String())
	return found
}

// find is await without a test. It returns nil if the process ended without writing that.
func (p *process) find(pattern string) []string {
	wanted := regexp.MustCompile(pattern)
	for ended := false; ; {
		text, changed := p.stderr.now()
		if found := wanted.FindStringSubmatch(text); found != nil || ended {
			return found
		}
		select {
		case <-changed:
		case <-p.done: // what it wrote last is there now
			ended = true
		}
	}
}

// awaitExit waits for the end of the process and returns its exit code.
func (p *process) awaitExit(t *testing.T) int {
	t.Helper()
	<-p.done // patience ends it
	return p.cmd.ProcessState.ExitCode()
}

func (p *process) interrupt(t *testing.T) {
	t.Helper()
	require.NoError(t, p.cmd.Process.Signal(os.Interrupt))
}

// A transcript is the text that a process has written so far.
type transcript struct {
	mu      sync.Mutex
	text    strings.Builder
	changed chan struct{} // closed at the next change
}

func (s *transcript) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.changed)
	s.changed = make(chan struct{})
	return s.text.Write(b)
}

func (s *transcript) now() (text string, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String(), s.changed
}

func (s *transcript) String() string {
	text, _ := s.now()
	return text
}

// A manager is a league manager's process.
type manager struct {
	*process
	url   string // of its endpoint
	admin string // its admin token
}

// startManager runs a manager at a free port, and returns when it listens.
func startManager(t *testing.T, args ...string) *manager {
	t.Helper()
	m := &manager{process: start(t, append([]string{"manager", "--port", "0"}, args...)...)}
	found := m.await(t, `(?s)^League \S+ at (http://\S+/mcp) waits.*Admin token for start_league: (adm-\S+)\n`)
	m.url, m.admin = found[1], found[2]
	return m
}

// awaitPings waits until so many agents have answered the manager's pings.
func (m *manager) awaitPings(t *testing.T, n int) {
	t.Helper()
	m.await(t, `(?s)`+strings.Repeat(`"event_type":"AGENT_ANSWERED_ITS_FIRST_PING".*`, n))
}

// join runs a player or a referee at a free port in the manager's league.
func (m *manager) join(t *testing.T, role string, args ...string) *process {
	t.Helper()
	return start(t, append([]string{role, "--port", "0", "--manager", m.url}, args...)...)
}

// chosenPorts are those that listenAtFreePort has returned.
var chosenPorts sync.Map

// freePort returns a port for a process that a test starts.
func freePort(t *testing.T) string {
	t.Helper()
	l, port := listenAtFreePort(t)
	_ = l.Close()
	return port
}

// listenAtFreePort listens at a free port below the range from which Linux takes ports for
// outgoing connections and for listeners at port 0. No other test gets the port, also while its
// process is killed and not yet started again.
func listenAtFreePort(t *testing.T) (l net.Listener, port string) {
	t.Helper()
	for range 1000 {
		port = strconv.Itoa(20000 + rand.IntN(10000))
		l, err := net.Listen("tcp", "localhost:"+port)
		if err != nil {
			continue
		}
		if _, chosen := chosenPorts.LoadOrStore(port, true); !chosen {
			return l, port
		}
		_ = l.Close()
	}
	require.Fail(t, "no port is free")
	return nil, ""
}
