package cmd_test

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A restarted process is started again with the same command line whenever it was
// killed, until it exits by itself.
type restarted struct {
	name string
	args []string
	log  string // file of what all its lives have written to standard error
	told func(line string)
	rest chan struct{} // closed when it has ended by itself

	mu      sync.Mutex
	alive   *sync.Cond // signals that cmd has changed
	cmd     *exec.Cmd  // nil between two lives
	doomed  bool       // this life is being ended by kill
	over    bool       // it is at rest, or no more lives begin
	lives   []lifetime
	stdout  bytes.Buffer // of the last life; to be read once it is at rest
	endedBy *os.ProcessState
}

// A lifetime has the times of one run of a process.
type lifetime struct {
	started, registered, killed time.Time // zero for what has not happened
}

// A pauseBefore returns the pause before a killed process is restarted.
type pauseBefore func(name string) time.Duration

// linger waits for a random time. These tests vary when a process is killed and for how
// long; for everything else they wait for events.
func linger(d time.Duration) { <-time.After(d) }

// startRestarted starts a process for the first time. told gets every line that it writes
// to standard error; it may be nil.
func startRestarted(t *testing.T, dir, name string, pause pauseBefore, told func(line string), args ...string) *restarted {
	t.Helper()
	p := &restarted{name: name, args: args, log: filepath.Join(dir, name+".log"), told: told, rest: make(chan struct{})}
	p.alive = sync.NewCond(&p.mu)
	log, err := os.Create(p.log)
	require.NoError(t, err)
	go func() {
		defer close(p.rest)
		defer func() { _ = log.Close() }()
		for p.live(log) {
			linger(pause(name))
		}
	}()
	t.Cleanup(func() {
		p.stop()
		<-p.rest
		p.inspect(t)
	})
	return p
}

// live runs the process once. It returns false if it must not be restarted.
func (p *restarted) live(log io.Writer) bool {
	cmd := exec.Command("evenodd", p.args...)
	cmd.Dir = filepath.Dir(p.log)
	p.mu.Lock()
	p.stdout.Reset()
	cmd.Stdout, cmd.Stderr = &p.stdout, &lines{log: log, line: p.hear}
	if p.over {
		p.mu.Unlock()
		return false
	}
	err := cmd.Start()
	if err == nil {
		p.cmd, p.doomed = cmd, false
		p.lives = append(p.lives, lifetime{started: time.Now()})
		p.alive.Broadcast()
	}
	p.mu.Unlock()
	if err == nil {
		_ = cmd.Wait() // the state tells
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cmd, p.endedBy = nil, cmd.ProcessState
	p.over = p.over || err != nil
	if err == nil && p.doomed && p.endedBy.Exited() { // it was faster than the killer
		p.doomed, p.lives[len(p.lives)-1].killed = false, time.Time{}
	}
	p.over = p.over || !p.doomed
	p.alive.Broadcast()
	return !p.over
}

// hear handles a line of standard error.
func (p *restarted) hear(line string) {
	if strings.Contains(line, `"event_type":"REGISTERED"`) {
		p.mu.Lock()
		p.lives[len(p.lives)-1].registered = time.Now()
		p.mu.Unlock()
	}
	if p.told != nil {
		p.told(line)
	}
}

// kill kills the process, as soon as it runs. It returns false if the process has
// exited by itself.
func (p *restarted) kill() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for !p.over && (p.cmd == nil || p.doomed) {
		p.alive.Wait()
	}
	if p.over || p.cmd.Process.Kill() != nil { // it may have ended this moment
		return false
	}
	p.doomed = true
	p.lives[len(p.lives)-1].killed = time.Now()
	return true
}

// stop ends the process without restart.
func (p *restarted) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	p.alive.Broadcast()
	if p.cmd != nil {
		_ = p.cmd.Process.Kill() // it may have ended this moment
	}
}

// rests waits for the process to end by itself, until the deadline, and returns
// its exit code.
func (p *restarted) exits(t *testing.T, deadline time.Time) int {
	t.Helper()
	select {
	case <-p.rest:
	case <-time.After(time.Until(deadline)):
		require.Fail(t, "stuck", "%s has not ended in time", p.name)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	require.NotNil(t, p.endedBy, "%s could not be started", p.name)
	return p.endedBy.ExitCode()
}

// dead tells whether the process was dead, or not yet back in the league, at any
// moment of a span.
func (p *restarted) dead(from, to time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.lives {
		killed, back := p.lives[i].killed, time.Time{}
		for _, next := range p.lives[i+1:] {
			if back = next.registered; !back.IsZero() {
				break
			}
		}
		if !killed.IsZero() && !killed.After(to) && (back.IsZero() || !back.Before(from)) {
			return true
		}
	}
	return false
}

// deaths are the moments at which it was killed.
func (p *restarted) deaths() []time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	var moments []time.Time
	for i := range p.lives {
		if at := p.lives[i].killed; !at.IsZero() {
			moments = append(moments, at)
		}
	}
	return moments
}

// inspect looks for output that no process may write, and shows the last lines of a
// process if the test has failed.
func (p *restarted) inspect(t *testing.T) {
	raw, err := os.ReadFile(p.log)
	require.NoError(t, err)
	text := string(raw)
	for _, sign := range []string{"DATA RACE", "panic", "goroutine "} {
		if i := strings.Index(text, sign); i >= 0 {
			assert.Fail(t, p.name+" broke", text[max(0, i-200):min(len(text), i+4000)])
		}
	}
	if t.Failed() {
		last := strings.Split(strings.TrimSpace(text), "\n")
		last = last[max(0, len(last)-15):]
		t.Logf("%s: %v, %d lives, killed at %v\n%s", p.name, p.endedBy, len(p.lives), p.deaths(), strings.Join(last, "\n"))
	}
}

// lines writes to a log, and tells each whole line.
type lines struct {
	log  io.Writer
	rest []byte
	line func(string)
}

func (l *lines) Write(b []byte) (int, error) {
	l.rest = append(l.rest, b...)
	for {
		line, rest, whole := bytes.Cut(l.rest, []byte("\n"))
		if !whole {
			break
		}
		l.rest = rest
		l.line(string(line))
	}
	return l.log.Write(b)
}

// steadyPorts returns free ports that the system gives to no outgoing connection while
// their process is not running.
func steadyPorts(t *testing.T, n int) []string {
	t.Helper()
	var ports []string
	for range 1000 {
		port := strconv.Itoa(20000 + rand.IntN(10000))
		l, err := net.Listen("tcp", "localhost:"+port)
		if err != nil {
			continue
		}
		defer func() { _ = l.Close() }() // held until all are chosen, so that they differ
		if ports = append(ports, port); len(ports) == n {
			break
		}
	}
	require.Len(t, ports, n)
	return ports
}
