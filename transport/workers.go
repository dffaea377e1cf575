package transport

import (
	"runtime"
	"sync"
)

// Workers run jobs concurrently, on goroutines that wait for the next job after each. Most jobs are short and their
// stacks are deep: growing a new stack takes longer than asking a player. It is safe for concurrent use.
type Workers struct {
	jobs    chan func()
	stopped <-chan struct{}
	running sync.WaitGroup
}

// NewWorkers makes workers that end when they are idle and stopped is closed.
func NewWorkers(stopped <-chan struct{}) *Workers {
	return &Workers{jobs: make(chan func()), stopped: stopped}
}

// Start runs a job on an idle worker, or on a new one.
func (w *Workers) Start(job func()) {
	select {
	case w.jobs <- job:
		return
	default:
	}
	w.running.Go(func() { w.run(job) })
}

// Wait waits until all have ended.
func (w *Workers) Wait() { w.running.Wait() }

// run runs a job, and then those that Start gives to an idle worker.
func (w *Workers) run(job func()) {
	GrowStack()
	for {
		job()
		select {
		case job = <-w.jobs:
		case <-w.stopped:
			return
		}
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
