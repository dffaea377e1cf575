// Package supervise keeps processes of this program running: it restarts those that die,
// and stops them when it is told to. It knows nothing of leagues. The standard input of each
// process is a pipe whose end tells the process to stop, so that no process outlives its
// supervisor, however that ends and on every operating system.
package supervise

import (
	"cmp"
	"context"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A Task is a process that must run until it ends by itself.
type Task struct {
	Process func(ctx context.Context) Exit // starts the process, also again, and waits for its end; see Command.Run
	Final   func(Exit) bool                // tells whether the process is done after an exit, or must not be started again
	Changed func(State)                    // gets every change; Run waits for it
	Policy  Policy
}

// A Policy says when a process that has died is started again.
type Policy struct {
	First   time.Duration // pause before the first restart; each further one of a Window doubles it
	Longest time.Duration // longest pause
	Most    int           // restarts in a Window; a process that dies once more stays down
	Window  time.Duration
}

// An Exit tells how a process ended.
type Exit struct {
	Code int    // exit code; -1 after a signal, or if the process could not be started
	Text string // such as "exit status 1" or "signal: killed"
}

// A Phase is the phase of a Task.
type Phase string

// The phases of a Task. The last three are final.
const (
	PhasePausing Phase = "restarting" // before a restart
	PhaseEnded   Phase = "ended"
	PhaseFailed  Phase = "failed" // died more often than the Policy allows
	PhaseStopped Phase = "stopped"
)

// A State is the state of a Task.
type State struct {
	Phase Phase         // "" during the first run
	Exit  Exit          // the last one
	Pause time.Duration // before the restart, in PhasePausing
}

// Run starts the process, and again whenever it dies, until it is done, dies too often, or ctx
// ends. It returns the final state; then the process does not run.
func (t *Task) Run(ctx context.Context) State {
	var state State
	change := func(phase Phase) State {
		state.Phase = phase
		t.Changed(state)
		return state
	}
	var recent []time.Time // when it died, in the window of the policy
	for {
		state.Exit = t.Process(ctx)
		if ctx.Err() != nil {
			return change(PhaseStopped)
		}
		if t.Final(state.Exit) {
			return change(PhaseEnded)
		}
		recent = slices.DeleteFunc(recent, func(died time.Time) bool { return time.Since(died) >= t.Policy.Window })
		if len(recent) >= t.Policy.Most {
			return change(PhaseFailed)
		}
		state.Pause = min(t.Policy.First<<len(recent), t.Policy.Longest)
		recent = append(recent, time.Now())
		change(PhasePausing)
		select {
		case <-time.After(state.Pause):
		case <-ctx.Done():
			return change(PhaseStopped)
		}
	}
}

// outputDelay is how long the output of a process that has ended must be quiet, if a program that
// it started still has the output open.
const outputDelay = 2 * time.Second

// A Command says how a process is started.
type Command struct {
	Path  string // of this program
	Args  []string
	Env   []string
	Input []byte // the beginning of its standard input

	// Output and Errors read standard output and standard error to their ends.
	Output, Errors func(io.Reader)

	Started  func(pid int)
	Patience time.Duration // of a process that is told to stop, before it is killed
}

// childCommand precedes the arguments of a supervised process.
const childCommand = "__child"

// Child tells whether args are those of a supervised process, and returns its own arguments.
// Such a process must end when its standard input does: see UntilEnd.
func Child(args []string) (own []string, supervised bool) {
	if len(args) > 0 && args[0] == childCommand {
		return args[1:], true
	}
	return args, false
}

// UntilEnd returns a context that ends with parent, or when nothing more can be read from
// input.
func UntilEnd(parent context.Context, input io.Reader) context.Context {
	ctx, cancel := context.WithCancel(parent)
	go func() { // ends with the input, at the latest with the process
		_, _ = io.Copy(io.Discard, input) // any error is the end
		cancel()
	}()
	return ctx
}

// Run runs a process, and waits for its end and for that of its output. When ctx ends, it tells the
// process to stop. The process ends at the latest when this one does.
func (c *Command) Run(ctx context.Context) Exit {
	cmd := exec.CommandContext(context.WithoutCancel(ctx), c.Path) //nolint:gosec // this program
	cmd.Args = append([]string{"evenodd", childCommand}, c.Args...)
	cmd.Env = c.Env
	alive, err := cmd.StdinPipe()
	output, noOutput := cmd.StdoutPipe()
	errors, noErrors := cmd.StderrPipe()
	if err = cmp.Or(err, noOutput, noErrors); err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return Exit{-1, err.Error()}
	}
	outputs := []*ending{{from: output}, {from: errors}}
	var reading sync.WaitGroup
	reading.Go(func() { read(outputs[0], c.Output) })
	reading.Go(func() { read(outputs[1], c.Errors) })
	c.Started(cmd.Process.Pid)
	stop := context.AfterFunc(ctx, func() {
		_ = alive.Close()
		time.AfterFunc(c.Patience, func() { _ = cmd.Process.Kill() }) // it may have ended
	})
	_, _ = alive.Write(c.Input)    // fails if the process ends
	state, _ := cmd.Process.Wait() // the state tells
	stop()
	for _, o := range outputs {
		o.end()
	}
	reading.Wait()
	_ = cmd.Wait() // closes the pipes
	return Exit{state.ExitCode(), state.String()}
}

// An ending is the output of a process. Once that has ended, the output ends when it is quiet.
type ending struct {
	from  io.ReadCloser // a pipe
	ended atomic.Bool
}

// Read implements io.Reader.
func (e *ending) Read(p []byte) (int, error) {
	if e.ended.Load() {
		e.limit()
	}
	return e.from.Read(p)
}

// end tells that the process has ended.
func (e *ending) end() {
	e.ended.Store(true)
	e.limit() // of a read that has begun
}

// limit sets when the output is quiet. It does nothing on Windows, where programs do not inherit the output.
func (e *ending) limit() {
	_ = e.from.(*os.File).SetReadDeadline(time.Now().Add(outputDelay))
}

// read lets a function read, and drops what it leaves.
func read(from io.Reader, by func(io.Reader)) {
	by(from)
	_, _ = io.Copy(io.Discard, from) // fails only at the end
}

// Launch starts a program that is no part of this one and outlives it, such as a browser. The program has no standard
// streams.
func Launch(path string, args ...string) error {
	cmd := exec.CommandContext(context.Background(), path, args...) //nolint:gosec // a program of the system
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }() // how it ends is its own affair
	return nil
}
