package cmd_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"time"

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
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	p := &process{
		name: args[0], cmd: exec.CommandContext(ctx, args[1], args[2:]...),
		stderr: transcript{changed: make(chan struct{})}, done: make(chan struct{}),
	}
	p.cmd.Dir, p.cmd.Env = ts.MkAbs("."), os.Environ()
	for _, name := range []string{"EVENODD_ADMIN_TOKEN", "EVENODD_REGISTRATION_CODE", "GORACE"} {
		if value := ts.Getenv(name); value != "" {
			p.cmd.Env = append(p.cmd.Env, name+"="+value)
		}
	}
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.WaitDelay = &p.stdout, &p.stderr, 5*time.Second
	ts.Check(p.cmd.Start())
	go func() {
		defer close(p.done)
		_ = p.cmd.Wait() // the state tells
	}()
	ts.Defer(func() {
		cancel()
		<-p.done
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
	p, wanted := s.find(ts, args[0]), regexp.MustCompile(args[1])
	for ended := false; ; {
		text, changed := p.stderr.now()
		if found := wanted.FindStringSubmatch(text); found != nil {
			for i, variable := range args[2:] {
				ts.Setenv(variable, found[i+1])
			}
			return
		}
		if ended {
			ts.Fatalf("%s ended without writing %q", p.name, args[1])
		}
		select {
		case <-changed:
		case <-p.done: // what it wrote last is there now
			ended = true
		}
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
