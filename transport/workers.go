package transport

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Workers run jobs concurrently, on goroutines that wait for the next job after each. Most jobs are short and their
// stacks are deep: growing a new stack takes longer than asking a player. It is safe for concurrent use.
type Workers struct {
	guard   Guard
	jobs    chan func()  // nil ends a worker
	running atomic.Int64 // workers to which Stop has sent no nil
	ended   sync.WaitGroup
}

// NewWorkers makes workers whose jobs have a guard. Stop ends them.
func NewWorkers(guard Guard) *Workers { return &Workers{guard: guard, jobs: make(chan func())} }

// Start runs a job on an idle worker, or on a new one.
func (w *Workers) Start(job func()) {
	job = w.guard.Of(job)
	select {
	case w.jobs <- job:
		return
	default:
	}
	w.running.Add(1)
	w.ended.Go(func() { w.run(job) })
}

// Stop returns when all jobs are done, also those that they start, and the workers have ended. Nothing else starts
// a job afterwards.
func (w *Workers) Stop() {
	for w.running.Add(-1) >= 0 {
		w.jobs <- nil
	}
	w.running.Add(1)
	w.ended.Wait()
}

// run runs a job, and then those that Start gives to an idle worker.
func (w *Workers) run(job func()) {
	GrowStack()
	for ; job != nil; job = <-w.jobs {
		job()
	}
}

// GrowStack makes the stack of a new goroutine as large as the calls of agents need, while there is little to copy.
// Otherwise it grows several times, and each time copies deep frames.
//
//go:noinline
func GrowStack() {
	var frame [8 << 10]byte
	runtime.KeepAlive(&frame)
}
