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

// An immortal is a process that is started again, with the same command line,
// whenever it was killed. It is at rest when it has ended by itself.
type immortal struct {
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

// A lifetime is what is known of one life of a process.
type lifetime struct {
	started, registered, killed time.Time // zero for what has not happened
}

// A resurrection decides how long a process stays dead that was killed.
type resurrection func(name string) time.Duration

// linger waits for a time that was drawn by lot. When a process dies, and for how
// long, is what these tests try out; nothing is waited for that an event tells.
func linger(d time.Duration) { <-time.After(d) }

// awaken starts a process for the first time. Told gets every line that it writes
// to standard error; it may be nil.
func awaken(t *testing.T, dir, name string, pause resurrection, told func(line string), args ...string) *immortal {
	t.Helper()
	p := &immortal{name: name, args: args, log: filepath.Join(dir, name+".log"), told: told, rest: make(chan struct{})}
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
		p.bury()
		<-p.rest
		p.inspect(t)
	})
	return p
}

// live is one life; false when there will be no other.
func (p *immortal) live(log io.Writer) bool {
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

// hear takes in a line of what the process writes.
func (p *immortal) hear(line string) {
	if strings.Contains(line, `"event_type":"REGISTERED"`) {
		p.mu.Lock()
		p.lives[len(p.lives)-1].registered = time.Now()
		p.mu.Unlock()
	}
	if p.told != nil {
		p.told(line)
	}
}

// kill ends a life at once, as soon as there is one; false when the process is
// at rest.
func (p *immortal) kill() bool {
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

// bury ends the process for good, if it is not at rest.
func (p *immortal) bury() {
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
func (p *immortal) rests(t *testing.T, deadline time.Time) int {
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
func (p *immortal) dead(from, to time.Time) bool {
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
func (p *immortal) deaths() []time.Time {
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

// inspect looks for what no process may write, and shows the last words of one
// in a test that failed.
func (p *immortal) inspect(t *testing.T) {
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

// steadyPorts are ports that nobody listens at, and that the system gives to no
// outgoing connection while the process that owns one is dead.
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
