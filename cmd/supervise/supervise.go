// Package supervise keeps processes of this program running: it restarts those that die,
// and stops them when it is told to. It knows nothing of leagues. The standard input of each
// process is a pipe whose end tells the process to stop, so that no process outlives its
// supervisor, however that ends and on every operating system.
package supervise

import (
	"context"
	"slices"
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
	Phase    Phase // "" during the first run
	Restarts int
	Exit     Exit          // the last one
	Pause    time.Duration // before the restart, in PhasePausing
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
	for ; ; state.Restarts++ {
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
