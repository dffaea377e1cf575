package referee

import "sync"

// workers run jobs concurrently, on goroutines that wait for the next job after each. A job of
// a referee is short and its stack is deep: growing a new stack takes longer than asking a player.
type workers struct {
	jobs    chan func()
	stopped <-chan struct{} // ends the workers that are idle
	running sync.WaitGroup
}

// start runs a job on an idle worker, or on a new one.
func (w *workers) start(job func()) {
	select {
	case w.jobs <- job:
		return
	default:
	}
	w.running.Go(func() { w.run(job) })
}

// run runs a job, and then those that start gives to an idle worker.
func (w *workers) run(job func()) {
	for {
		job()
		select {
		case job = <-w.jobs:
		case <-w.stopped:
			return
		}
	}
}
