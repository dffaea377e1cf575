package transport

import (
	"runtime"
	"sync"
)

// Workers run jobs that call agents, each on a goroutine of its own. The zero value is ready. It is safe for
// concurrent use.
type Workers struct{ running sync.WaitGroup }

// Start runs a job.
func (w *Workers) Start(job func()) {
	w.running.Go(func() {
		GrowStack()
		job()
	})
}

// Wait waits until all jobs have ended.
func (w *Workers) Wait() { w.running.Wait() }

// GrowStack makes the stack of a new goroutine as large as the calls of agents need, while there is little to copy.
// Otherwise it grows several times, and each time copies deep frames.
//
//go:noinline
func GrowStack() {
	var frame [8 << 10]byte
	runtime.KeepAlive(&frame)
}
