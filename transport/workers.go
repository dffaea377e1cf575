package transport

import (
	"runtime"
	"sync"
)

// A Job is run once.
type Job interface{ Run() }

// A JobFunc is a function as a Job.
type JobFunc func()

// Run calls the function.
func (f JobFunc) Run() { f() }

// Workers run jobs concurrently, on goroutines that wait for the next job after each. Most jobs are short and their
// stacks are deep: growing a new stack takes longer than asking a player. They are safe for concurrent use.
type Workers struct {
	jobs    chan Job // nil ends a worker
	running sync.WaitGroup

	mu    sync.Mutex // orders new workers before Wait
	ended bool
}

// NewWorkers makes workers, which wait for jobs until Wait.
func NewWorkers() *Workers { return &Workers{jobs: make(chan Job)} }

// Start runs a job on an idle worker, or on a new one. It returns false after Wait was called.
func (w *Workers) Start(job Job) bool {
	select {
	case w.jobs <- job:
		return true
	default:
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return false
	}
	w.running.Go(func() { w.run(job) })
	return true
}

// Go starts a function. After Wait was called it runs the function itself.
func (w *Workers) Go(job func()) {
	if !w.Start(JobFunc(job)) {
		job()
	}
}

// Wait waits until all jobs and workers have ended.
func (w *Workers) Wait() {
	w.mu.Lock()
	w.ended = true
	w.mu.Unlock()
	idle := make(chan struct{})
	go func() {
		w.running.Wait()
		close(idle)
	}()
	for {
		select {
		case w.jobs <- nil:
		case <-idle:
			return
		}
	}
}

// run runs a job, and then those that Start gives to an idle worker.
func (w *Workers) run(job Job) {
	growStack()
	for ; job != nil; job = <-w.jobs { // a select takes longer
		job.Run()
	}
}

// growStack makes the stack of a new goroutine as large as the calls of agents need, while there is little to copy.
// Otherwise it grows several times, and each time copies deep frames.
//
//go:noinline
func growStack() {
	var frame [8 << 10]byte
	runtime.KeepAlive(&frame)
}
