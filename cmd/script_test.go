package cmd_test

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"evenodd/league/simulation/leaguetest"
)

// TestScripts drives the program as a user does: each script is a session. Another
// program listens at the port $TAKEN of 127.0.0.1. $GAMES is the folder of the games that are programs.
// With -update, what the program prints is written into the scripts.
func TestScripts(t *testing.T) {
	t.Parallel()
	const dir = "testdata/script"
	games, err := filepath.Abs("../testdata/games")
	require.NoError(t, err)
	commands := (&scriptProcesses{}).commands()
	maps.Copy(commands, (&scriptLines{variablesOfScripts(t, dir)}).commands())
	maps.Copy(commands, map[string]func(*testscript.TestScript, bool, []string){"conforms": conforms, "capture": capture, "fetch": fetchPage, "appears": pageAppears})
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		UpdateScripts:       *leaguetest.UpdateFlag,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Deadline:            time.Now().Add(3 * patience), // of all scripts
		Cmds:                commands,
		Setup: func(e *testscript.Env) error {
			taken, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return err
			}
			e.Defer(func() { _ = taken.Close() })
			e.Setenv("GORACE", raceOptions)
			e.Setenv("PORT", freePort(t))
			e.Setenv("GAMES", games)
			e.Setenv("TAKEN", strconv.Itoa(taken.Addr().(*net.TCPAddr).Port))
			e.Values[firstVariables{}] = e.Vars
			return nil
		},
	})
}

// scriptLines are the command lines of scripts that run in workers.
type scriptLines struct {
	variables []string // names of those that scripts set
}

// firstVariables is the key of the environment with which a script begins.
type firstVariables struct{}

// variablesOfScripts returns the names of the settings that scripts have in their environment.
func variablesOfScripts(t *testing.T, dir string) (names []string) {
	t.Helper()
	scripts, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	require.NoError(t, err)
	for _, script := range scripts {
		for _, found := range regexp.MustCompile(`(?m)^env (EVENODD_\w+)=`).FindAllStringSubmatch(readText(t, script), -1) {
			names = append(names, found[1])
		}
	}
	return names
}

func (s *scriptLines) commands() map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){"run": s.run, "exits": s.exits}
}

// run runs evenodd: run evenodd simulate
func (s *scriptLines) run(ts *testscript.TestScript, neg bool, args []string) {
	if code := s.execute(ts, args); (code != 0) != neg {
		ts.Fatalf("exit code %d", code)
	}
}

// exits runs evenodd and checks its exit code: exits 2 evenodd simulate x
func (s *scriptLines) exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE evenodd [ARGUMENT...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	if got := s.execute(ts, args[1:]); got != want {
		ts.Fatalf("exit code %d, not %d", got, want)
	}
}

// execute runs evenodd in a worker, and returns its exit code. Words before evenodd set variables, which
// may be empty: run EVENODD_SEED= evenodd simulate
func (s *scriptLines) execute(ts *testscript.TestScript, args []string) (code int) {
	at := slices.Index(args, "evenodd")
	if at < 0 {
		ts.Fatalf("only evenodd runs without exec")
	}
	line := commandLine{ts.MkAbs("."), slices.Concat(ts.Value(firstVariables{}).([]string), args[:at]), args[at+1:]}
	for _, name := range append([]string{clockVariable}, s.variables...) {
		if value := ts.Getenv(name); value != "" {
			line.Env = append(line.Env, name+"="+value)
		}
	}
	result, err := runInWorker(line)
	ts.Check(err)
	_, _ = ts.Stdout().Write(result.Stdout)
	_, _ = ts.Stderr().Write(result.Stderr)
	return result.Code
}

// capture sets a variable to what a pattern finds: capture SEED stderr 'Seed: (.*)'
func capture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: capture VARIABLE FILE PATTERN")
	}
	pattern, err := regexp.Compile(args[2])
	ts.Check(err)
	found := pattern.FindStringSubmatch(ts.ReadFile(args[1]))
	if len(found) != 2 {
		ts.Fatalf("%s has nothing like %s", args[1], args[2])
	}
	ts.Setenv(args[0], found[1])
}

// fetchPage writes what a URL has to stdout, and fails unless the status is 200: fetch URL
func fetchPage(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: [!] fetch URL")
	}
	status, text := pageAt(ts, args[0])
	_, _ = ts.Stdout().Write(text)
	if (status == http.StatusOK) == neg {
		ts.Fatalf("status %d", status)
	}
}

// pageAppears waits until a URL has what a pattern matches: appears URL PATTERN
func pageAppears(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: appears URL PATTERN")
	}
	wanted, tick := regexp.MustCompile(args[1]), time.NewTicker(100*time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); time.Now().Before(end); <-tick.C {
		if _, text := pageAt(ts, args[0]); wanted.Match(text) {
			return
		}
	}
	ts.Fatalf("%s has nothing like %s", args[0], args[1])
}

// pageAt returns what a URL has.
func pageAt(ts *testscript.TestScript, url string) (status int, text []byte) {
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url, http.NoBody)
	ts.Check(err)
	carrier := &http.Transport{}
	defer carrier.CloseIdleConnections()
	response, err := (&http.Client{Transport: carrier, Timeout: patience}).Do(request)
	ts.Check(err)
	defer func() { _ = response.Body.Close() }()
	text, err = io.ReadAll(response.Body)
	ts.Check(err)
	return response.StatusCode, text
}

// conforms checks JSON by a JSON Schema: conforms stdout contract.json
func conforms(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: [!] conforms FILE SCHEMA")
	}
	if err := conform(ts.ReadFile(args[0]), ts.ReadFile(args[1])); (err != nil) != neg {
		ts.Fatalf("%s does not conform as it should: %v", args[0], err)
	}
}

// conform returns an error unless JSON conforms to a JSON Schema. Its package needs a fraction of the time
// of others to start: each process of a test starts it.
func conform(text, schema string) error {
	var read jsonschema.Schema
	if err := json.Unmarshal([]byte(schema), &read); err != nil {
		return err
	}
	resolved, err := read.Resolve(nil)
	if err != nil {
		return err
	}
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		return err
	}
	return resolved.Validate(value)
}

// scriptProcesses are the processes that a script has launched, by name. Their standard error
// is read while they run.
type scriptProcesses struct {
	mu      sync.Mutex
	running map[string]*process // by the folder of the script and the name
}

func (s *scriptProcesses) commands() map[string]func(*testscript.TestScript, bool, []string) {
	s.running = map[string]*process{}
	return map[string]func(*testscript.TestScript, bool, []string){"launch": s.launch, "await": s.await, "interrupt": s.interrupt, "ended": s.ended, "exited": s.exited}
}

// launch runs a program in the background: launch NAME PROGRAM [ARGUMENT...]. The end of the
// script kills it.
func (s *scriptProcesses) launch(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: launch NAME PROGRAM [ARGUMENT...]")
	}
	var env []string
	for _, name := range []string{"EVENODD_ADMIN_TOKEN", "EVENODD_REGISTRATION_CODE", "GORACE", clockVariable} {
		if value := ts.Getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	p, err := launchProcess(context.Background(), ts.MkAbs("."), env, args[1], args[2:]...)
	ts.Check(err)
	ts.Defer(func() {
		p.stop()
		<-p.done
		ts.Logf("[%s: exit code %d]\n%s", p.name, p.code, p.stderr.String())
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running[filepath.Join(ts.Getenv("WORK"), args[0])] = p
}

func (s *scriptProcesses) find(ts *testscript.TestScript, name string) *process {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.running[filepath.Join(ts.Getenv("WORK"), name)]
	if p == nil {
		ts.Fatalf("the script has launched no %s", name)
	}
	return p
}

// await waits until the standard error of a process matches, and sets variables to the
// submatches: await NAME PATTERN [VARIABLE...]
func (s *scriptProcesses) await(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: await NAME PATTERN [VARIABLE...]")
	}
	found := s.find(ts, args[0]).find(args[1])
	if found == nil {
		ts.Fatalf("%s ended without writing %q", args[0], args[1])
	}
	for i, variable := range args[2:] {
		ts.Setenv(variable, found[i+1])
	}
}

// interrupt interrupts processes and waits for their end: interrupt NAME...
func (s *scriptProcesses) interrupt(ts *testscript.TestScript, _ bool, args []string) {
	for _, name := range args {
		p := s.find(ts, name)
		_ = p.cmd.Process.Signal(os.Interrupt) // it may have ended
		<-p.done
	}
}

// ended waits for the end of a process, whose standard output stdout then checks:
// ended NAME FILE
func (s *scriptProcesses) ended(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: ended NAME FILE")
	}
	p := s.find(ts, args[0])
	<-p.done // patience ends it
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), p.stdout.Bytes(), 0o600))
}

// exited waits for the end of a process and checks its exit code: exited NAME CODE
func (s *scriptProcesses) exited(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: exited NAME CODE")
	}
	p := s.find(ts, args[0])
	<-p.done // patience ends it
	if code := strconv.Itoa(p.code); code != args[1] {
		ts.Fatalf("%s exited with code %s, not %s", p.name, code, args[1])
	}
}
