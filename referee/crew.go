package referee

import "sync"

// A crew runs jobs, each at once and beside the others, on goroutines that wait
// for the next job when they are done: a match is a short life with a deep
// stack, and growing one anew for every question costs more than the question.
type crew struct {
	jobs    chan func()
	closed  chan struct{}
	workers sync.WaitGroup

	mu      sync.Mutex // orders new workers before close
	stopped bool
}

func newCrew() *crew {
	return &crew{jobs: make(chan func()), closed: make(chan struct{})}
}

// run starts a job; false when the crew has been dismissed.
func (c *crew) run(job func()) bool {
	select {
	case c.jobs <- job:
		return true
	default:
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return false
	}
	c.workers.Go(func() { c.work(job) })
	return true
}

func (c *crew) work(job func()) {
	for {
		job()
		select {
		case job = <-c.jobs:
		case <-c.closed:
			return
		}
	}
}

// dismiss takes no more jobs and waits for those that run.
func (c *crew) dismiss() {
	c.mu.Lock()
	if !c.stopped {
		c.stopped = true
		close(c.closed)
	}
	c.mu.Unlock()
	c.workers.Wait()
}
