package referee

import "sync"

// A crew runs jobs, each at once and beside the others, on goroutines that wait
// for the next job when they are done: a match is a short life with a deep
// stack, and growing one anew for every question costs more than the question.
type crew struct {
	jobs    chan func() // nil sends a worker home
	workers sync.WaitGroup

	mu      sync.Mutex // orders new workers before close
	stopped bool
	count   int
}

func newCrew() *crew {
	return &crew{jobs: make(chan func())}
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
	c.count++
	c.workers.Go(func() {
		for ; job != nil; job = <-c.jobs {
			job()
		}
	})
	return true
}

// dismiss takes no more jobs and waits for those that run.
func (c *crew) dismiss() {
	c.mu.Lock()
	count := c.count
	if c.stopped {
		count = 0
	}
	c.stopped = true
	c.mu.Unlock()
	for range count {
		c.jobs <- nil // each when it is done
	}
	c.workers.Wait()
}
