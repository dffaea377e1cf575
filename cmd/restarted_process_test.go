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

// A restartedProcess starts again with the same command line after each kill, until it
// exits by itself.
type restartedProcess struct {
	name   string
	args   []string
	log    string // file with the standard error of all runs
	onLine func(line string)
	exited chan struct{} // closed when the process has ended by itself

	mu         sync.Mutex
	runChanged *sync.Cond // cmd has changed
	cmd        *exec.Cmd  // nil between two runs
	killing    bool       // kill ends this run
	over       bool       // no further run begins
	runs       []processRun
	stdout     bytes.Buffer // of the last run; read it after exited is closed
	endedBy    *os.ProcessState
}

// A processRun has the times of one run.
type processRun struct {
	started, registered, killed time.Time // zero if it has not happened
}

// A pauseBefore returns the pause before a killed process is restarted.
type pauseBefore func(name string) time.Duration

// waitFor waits. These tests vary when a process is killed and for how long; for
// everything else they wait for events.
func waitFor(d time.Duration) { <-time.After(d) }

// startRestartedProcess starts a process for the first time. onLine gets every line of
// its standard error; it may be nil.
func startRestartedProcess(t *testing.T, dir, name string, pause pauseBefore, onLine func(line string), args ...string) *restartedProcess {
	t.Helper()
	p := &restartedProcess{name: name, args: args, log: filepath.Join(dir, name+".log"), onLine: onLine, exited: make(chan struct{})}
	p.runChanged = sync.NewCond(&p.mu)
	log, err := os.Create(p.log)
	require.NoError(t, err)
	go func() {
		defer close(p.exited)
		defer func() { _ = log.Close() }()
		for p.runOnce(log) {
			waitFor(pause(name))
		}
	}()
	t.Cleanup(func() {
		p.stop()
		<-p.exited
		p.inspectOutput(t)
	})
	return p
}

// runOnce runs the process once. It returns false if it must not be restarted.
func (p *restartedProcess) runOnce(log io.Writer) bool {
	cmd := exec.Command("evenodd", p.args...)
	cmd.Dir = filepath.Dir(p.log)
	p.mu.Lock()
	p.stdout.Reset()
	cmd.Stdout, cmd.Stderr = &p.stdout, &lineWriter{log: log, line: p.handleLine}
	if p.over {
		p.mu.Unlock()
		return false
	}
	err := cmd.Start()
	if err == nil {
		p.cmd, p.killing = cmd, false
		p.runs = append(p.runs, processRun{started: time.Now()})
		p.runChanged.Broadcast()
	}
	p.mu.Unlock()
	if err == nil {
		_ = cmd.Wait() // ProcessState has the result
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cmd, p.endedBy = nil, cmd.ProcessState
	p.over = p.over || err != nil
	if err == nil && p.killing && p.endedBy.Exited() { // it exited before the kill
		p.killing, p.runs[len(p.runs)-1].killed = false, time.Time{}
	}
	p.over = p.over || !p.killing
	p.runChanged.Broadcast()
	return !p.over
}

// handleLine handles a line of standard error.
func (p *restartedProcess) handleLine(line string) {
	if strings.Contains(line, `"event_type":"REGISTERED"`) {
		p.mu.Lock()
		p.runs[len(p.runs)-1].registered = time.Now()
		p.mu.Unlock()
	}
	if p.onLine != nil {
		p.onLine(line)
	}
}

// kill kills the process, as soon as it runs. It returns false if the process has
// exited by itself.
func (p *restartedProcess) kill() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for !p.over && (p.cmd == nil || p.killing) {
		p.runChanged.Wait()
	}
	if p.over || p.cmd.Process.Kill() != nil { // it may have ended this moment
		return false
	}
	p.killing = true
	p.runs[len(p.runs)-1].killed = time.Now()
	return true
}

// stop ends the process without restart.
func (p *restartedProcess) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	p.runChanged.Broadcast()
	if p.cmd != nil {
		_ = p.cmd.Process.Kill() // it may have ended this moment
	}
}

// awaitExit waits for the process to end by itself, until the deadline, and returns
// its exit code.
func (p *restartedProcess) awaitExit(t *testing.T, deadline time.Time) int {
	t.Helper()
	select {
	case <-p.exited:
	case <-time.After(time.Until(deadline)):
		require.Fail(t, "stuck", "%s has not ended in time", p.name)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	require.NotNil(t, p.endedBy, "%s could not be started", p.name)
	return p.endedBy.ExitCode()
}

// wasDown tells whether the process was killed, and not registered again, at any moment
// of a span.
func (p *restartedProcess) wasDown(from, to time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.runs {
		killed, back := p.runs[i].killed, time.Time{}
		for _, next := range p.runs[i+1:] {
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

// killTimes returns the times at which the process was killed.
func (p *restartedProcess) killTimes() []time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	var moments []time.Time
	for i := range p.runs {
		if at := p.runs[i].killed; !at.IsZero() {
			moments = append(moments, at)
		}
	}
	return moments
}

// inspectOutput looks for output that no process may write, and shows the last lines of a
// process if the test has failed.
func (p *restartedProcess) inspectOutput(t *testing.T) {
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
		t.Logf("%s: %v, %d runs, killed at %v\n%s", p.name, p.endedBy, len(p.runs), p.killTimes(), strings.Join(last, "\n"))
	}
}

// A lineWriter writes to a log, and passes each whole line to a function.
type lineWriter struct {
	log  io.Writer
	rest []byte
	line func(string)
}

func (l *lineWriter) Write(b []byte) (int, error) {
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

// freePort returns one of freePorts.
func freePort(t *testing.T) string {
	t.Helper()
	return freePorts(t, 1)[0]
}

// chosenPorts are those that listenAtFreePort has returned.
var chosenPorts sync.Map

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

// freePorts returns ports for processes that a test starts.
func freePorts(t *testing.T, n int) []string {
	t.Helper()
	var ports []string
	for range n {
		l, port := listenAtFreePort(t)
		_ = l.Close()
		ports = append(ports, port)
	}
	return ports
}
