package cmd_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/cmd"
	"evenodd/league/simulation/leaguetest"
)

// patience is the longest time that a test waits for a process.
const patience = 3 * time.Minute

// A process is evenodd or another program that runs beside a test. The end of the test stops it.
type process struct {
	name   string
	args   []string
	cmd    *exec.Cmd    // nil if evenodd runs in the process of the tests
	stop   func()       // interrupts evenodd in the process of the tests, or kills the process
	stdout bytes.Buffer // to be read once it has ended
	stderr transcript
	code   int           // the exit code, -1 if a signal killed it
	done   chan struct{} // closed when it has ended
	panics bool          // as the test wants
}

// start runs evenodd with a data folder of its own in the process of the tests: the start of a process
// costs more than most commands do.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	if slices.Contains([]string{"manager", "referee", "player"}, args[0]) && !slices.Contains(args, "--data") {
		args = append(slices.Clone(args), "--data", filepath.Join(t.TempDir(), "SHARED"))
	}
	args = withLeagueID(args)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	p := newProcess("evenodd", args, cancel)
	go func() {
		defer close(p.done)
		p.code = cmd.Execute(ctx, "test", args, &p.stdout, &p.stderr)
	}()
	p.endWith(t)
	return p
}

// startProcess runs evenodd in a process of its own, for a test that kills it.
func startProcess(t *testing.T, args ...string) *process {
	t.Helper()
	return launch(t, t.TempDir(), nil, "evenodd", args...)
}

// launch runs a program in a folder, with more environment variables.
func launch(t *testing.T, dir string, env []string, program string, args ...string) *process {
	t.Helper()
	p, err := launchProcess(t.Context(), dir, env, program, withLeagueID(args)...)
	require.NoError(t, err)
	p.endWith(t)
	return p
}

// withLeagueID gives the league of a manager the id crashLeague, by which a test finds its files, unless the test
// chooses one.
func withLeagueID(args []string) []string {
	if len(args) > 0 && slices.Contains([]string{"manager", "up"}, args[0]) && !slices.Contains(args, "--league-id") {
		return append(slices.Clone(args), "--league-id", crashLeague)
	}
	return args
}

func newProcess(program string, args []string, stop func()) *process {
	return &process{
		name: program + " " + strings.Join(args, " "), args: args, stop: stop,
		stderr: transcript{changed: make(chan struct{})}, done: make(chan struct{}),
	}
}

// endWith lets the process end with the test at the latest.
func (p *process) endWith(t *testing.T) {
	t.Cleanup(func() {
		p.stop()
		<-p.done
		errors := p.stderr.String()
		for _, sign := range []string{"DATA RACE", "panic", "goroutine "} {
			assert.False(t, strings.Contains(errors, sign) && (!p.panics || sign == "DATA RACE"), "%s broke: %s", p.name, sign)
		}
		if t.Failed() {
			t.Logf("%s: exit code %d\n%s%s", p.name, p.code, p.stdout.String(), errors)
		}
	})
}

// launchProcess starts a program.
func launchProcess(ctx context.Context, dir string, env []string, program string, args ...string) (*process, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	p := newProcess(program, args, cancel)
	p.cmd = exec.CommandContext(ctx, program, args...)
	p.cmd.Dir, p.cmd.Env = dir, append(os.Environ(), env...)
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.WaitDelay = &p.stdout, &p.stderr, 5*time.Second
	if err := p.cmd.Start(); err != nil {
		cancel()
		return nil, err
	}
	go func() {
		defer close(p.done)
		_ = p.cmd.Wait() // the state tells
		p.code = p.cmd.ProcessState.ExitCode()
	}()
	return p, nil
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
	return p.code
}

// awaitSuccess waits for the end of processes, and fails unless each exits with 0.
func awaitSuccess(t *testing.T, processes ...*process) {
	t.Helper()
	for _, p := range processes {
		require.Zero(t, p.awaitExit(t), "%s: %s", p.name, p.stderr.String())
	}
}

func (p *process) interrupt(t *testing.T) {
	t.Helper()
	if p.cmd == nil {
		p.stop()
		return
	}
	require.NoError(t, p.cmd.Process.Signal(os.Interrupt))
}

// endByInterrupt interrupts a process that has not done its work.
func (p *process) endByInterrupt(t *testing.T) {
	t.Helper()
	p.interrupt(t)
	assert.Equal(t, 130, p.awaitExit(t), p.name)
}

// kill kills the process and waits for its end.
func (p *process) kill(t *testing.T) {
	t.Helper()
	require.NoError(t, p.cmd.Process.Kill())
	require.Equal(t, -1, p.awaitExit(t), "it was killed before its end")
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

// A manager is a league manager that runs.
type manager struct {
	*process
	url   string // of its endpoint
	once  sync.Once
	token string // of the organiser, once it was asked for
}

// startManager runs a manager at a free port, and returns when it listens.
func startManager(t *testing.T, args ...string) *manager {
	t.Helper()
	return awaitManager(t, start(t, append([]string{"manager", "--port", "0"}, args...)...))
}

// awaitManager returns when a manager of a new league listens.
func awaitManager(t *testing.T, p *process) *manager {
	t.Helper()
	m := &manager{process: p}
	m.url = m.await(t, `(?s)^League \S+ at (http://\S+/mcp) waits.*(?:'evenodd league token'|The admin token, for) .*\n`)[1]
	return m
}

// admin returns the admin token of a manager.
func (m *manager) admin(t *testing.T) string {
	t.Helper()
	m.once.Do(func() {
		if m.token = regexp.MustCompile(`adm-\S+`).FindString(m.stderr.String()); m.token != "" {
			return // printed, because the manager has no data folder
		}
		var data string
		if at := slices.Index(m.args, "--data"); at >= 0 {
			data = m.args[at+1]
		} else {
			data = filepath.Join(m.cmd.Dir, "SHARED")
		}
		m.token = strings.TrimSpace(mustRun(t, "league", "token", "--data", data))
	})
	return m.token
}

// awaitPings waits until so many agents have answered the manager's pings.
func (m *manager) awaitPings(t *testing.T, n int) {
	t.Helper()
	m.await(t, `(?s)`+strings.Repeat(`"event_type":"AGENT_REACHED".*`, n))
}

// join runs a player or a referee at a free port in the manager's league.
func (m *manager) join(t *testing.T, role string, args ...string) *process {
	t.Helper()
	return start(t, append([]string{role, "--port", "0", "--manager", m.url}, args...)...)
}

// chosenPorts are those that freePort has tried.
var chosenPorts sync.Map

// freePort returns a port for a process that a test starts. It is below the range from which Linux takes ports for
// outgoing connections and for listeners at port 0. No other test gets the port, also while its process is killed and
// not yet started again. Nothing listens to find it: a process that another test starts at this moment would have a
// copy of the listener, and keep the port a little longer.
func freePort(t *testing.T) string {
	t.Helper()
	for range 1000 {
		port := strconv.Itoa(20000 + rand.IntN(10000))
		if _, chosen := chosenPorts.LoadOrStore(port, true); chosen {
			continue
		}
		c, err := net.Dial("tcp", "localhost:"+port)
		if err != nil {
			return port
		}
		_ = c.Close()
	}
	require.Fail(t, "no port is free")
	return ""
}

// listenAtFreePort listens at such a port. One attempt is enough: only this test process knows the port.
func listenAtFreePort(t *testing.T) (l net.Listener, port string) {
	t.Helper()
	port = freePort(t)
	l, err := net.Listen("tcp", "localhost:"+port)
	require.NoError(t, err)
	return l, port
}

// A commandLine is a call of evenodd in a folder with an environment.
type commandLine struct {
	Dir       string
	Env, Args []string
}

// A commandResult is what a command line has printed, and its exit code.
type commandResult struct {
	Stdout, Stderr []byte
	Code           int
}

// A worker is a process that runs command lines of evenodd one after the other. The start of a
// process costs more than most commands do, and these tests run a thousand of them. A command
// that is interrupted or reads its input runs in a process of its own.
type worker struct {
	process  *exec.Cmd
	requests *json.Encoder
	results  *json.Decoder
	problems bytes.Buffer
}

// workerVariable is the environment variable that makes evenodd a worker.
const workerVariable = "TEST_WORKER"

// idleWorkers wait for a command line. They end with the process of the tests, which closes their input.
var idleWorkers = make(chan *worker, 100)

func startWorker() (*worker, error) {
	w := &worker{process: exec.Command("evenodd")}
	w.process.Env = append(os.Environ(), workerVariable+"=1", "GORACE=halt_on_error=1 "+raceOptions)
	w.process.Stderr = &w.problems
	stdin, err := w.process.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := w.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	w.requests, w.results = json.NewEncoder(stdin), json.NewDecoder(stdout)
	return w, w.process.Start()
}

// runInWorker runs a command line in an idle worker, or in a new one.
func runInWorker(line commandLine) (result commandResult, err error) {
	var w *worker
	select {
	case w = <-idleWorkers:
	default:
		if w, err = startWorker(); err != nil {
			return result, err
		}
	}
	patient := time.AfterFunc(patience, func() { _ = w.process.Process.Kill() })
	if err := errors.Join(w.requests.Encode(line), w.results.Decode(&result)); err != nil {
		return result, fmt.Errorf("evenodd %q did not end: %w: %v\n%s", line.Args, err, w.process.Wait(), w.problems.String())
	}
	if patient.Stop() {
		idleWorkers <- w
	}
	return result, nil
}

// work runs the command lines of standard input until it ends.
func work() {
	requests, results := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	empty, err := os.Open(os.DevNull)
	for os.Stdin = empty; err == nil; {
		var line commandLine
		if err = requests.Decode(&line); err != nil {
			break
		}
		err = os.Chdir(line.Dir)
		os.Clearenv()
		for _, variable := range line.Env {
			name, value, _ := bytes.Cut([]byte(variable), []byte("="))
			err = errors.Join(err, os.Setenv(string(name), string(value)))
		}
		var stdout, stderr bytes.Buffer
		code := cmd.ExecuteAt(context.Background(), os.Getenv(clockVariable), line.Args, &stdout,
			zerolog.SyncWriter(&stderr))
		err = errors.Join(err, results.Encode(commandResult{stdout.Bytes(), stderr.Bytes(), code}))
	}
	if !errors.Is(err, io.EOF) {
		fmt.Fprintln(os.Stderr, err)
	}
}

// runIn runs evenodd in a folder, with more environment variables.
func runIn(t *testing.T, dir string, env []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	whole, err := filepath.Abs(dir) // a worker is in the folder of its last command line
	require.NoError(t, err)
	result, err := runInWorker(commandLine{whole, append(os.Environ(), env...), args})
	require.NoError(t, err)
	return result.Code, string(result.Stdout), string(result.Stderr)
}

// TestMain puts the test binary first in PATH under the name evenodd: scripts and
// tests start it as processes.
func TestMain(m *testing.M) {
	testscript.Main(suite{m}, map[string]func(){"evenodd": program})
}

// longTest skips a test that takes long, unless EVENODD_TEST_ALL asks for all
// tests.
func longTest(t *testing.T) {
	t.Helper()
	if !testAll() {
		t.Skip("takes long: 'make test-all' runs it")
	}
}

func testAll() bool { return os.Getenv("EVENODD_TEST_ALL") != "" }

// testResolver is the environment variable with the address of the name server that a
// process of a test asks instead of the system's.
const testResolver = "TEST_RESOLVER"

// plantVariable is the environment variable with the panic of an agent: the last arguments of cmd.ExecutePlanted.
const plantVariable = "TEST_PANIC"

// clockVariable is the environment variable that sets the clock of evenodd, such as 2026-11-02T09:00:00Z.
const clockVariable = "TEST_CLOCK"

// program is main with the version "test".
func program() {
	if server := os.Getenv(testResolver); server != "" {
		net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "udp", server)
		}}
	}
	if os.Getenv(workerVariable) != "" {
		cmd.ConfigureLogs()
		work()
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	cmd.ConfigureLogs()
	var code int
	if plant := strings.Fields(os.Getenv(plantVariable)); len(plant) == 3 {
		nth, _ := strconv.ParseInt(plant[1], 10, 64)
		code = cmd.ExecutePlanted(ctx, os.Args[1:], os.Stdout, os.Stderr, plant[0], nth, plant[2])
	} else {
		code = cmd.ExecuteAt(ctx, os.Getenv(clockVariable), os.Args[1:], os.Stdout, os.Stderr)
	}
	stop()
	os.Exit(code)
}

// raceOptions shorten the second that the race detector waits at the end of each
// process.
const raceOptions = "atexit_sleep_ms=10"

// A suite runs the tests without the settings in the caller's environment. Most
// tests wait for processes, so that more of them run at once than there are
// processors.
type suite struct{ *testing.M }

func (s suite) Run() int {
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "EVENODD_") && name != "EVENODD_TEST_ALL" {
			_ = os.Unsetenv(name)
		}
	}
	cmd.ConfigureLogs()
	_ = os.Setenv("GORACE", raceOptions)
	leaguetest.UseMemory(os.Setenv)
	if p := flag.Lookup("test.parallel"); p.Value.String() == p.DefValue {
		_ = p.Value.Set(strconv.Itoa(4 * runtime.NumCPU()))
	}
	return s.M.Run()
}
