package cmd_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

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
	for _, name := range []string{"EVENODD_ADMIN_TOKEN", "EVENODD_REGISTRATION_CODE", "GORACE"} {
		if value := ts.Getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	p, stop, err := launchProcess(context.Background(), ts.MkAbs("."), env, args[1], args[2:]...)
	ts.Check(err)
	ts.Defer(func() {
		stop()
		ts.Logf("[%s: %v]\n%s", p.name, p.cmd.ProcessState, p.stderr.String())
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
	if code := strconv.Itoa(p.cmd.ProcessState.ExitCode()); code != args[1] {
		ts.Fatalf("%s exited with code %s, not %s", p.name, code, args[1])
	}
}
