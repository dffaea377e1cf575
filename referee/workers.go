package referee

import "sync"

// A job runs on a worker. Pointers are jobs without an allocation, functions are not.
type job interface{ run() }

type jobFunc func()

func (f jobFunc) run() { f() }

// workers run jobs concurrently, on goroutines that wait for the next job after
// each. A match is short and its stack is deep: growing a new stack for every
// question costs more than the question.
type workers struct {
	jobs    chan job // nil stops a worker
	running sync.WaitGroup

	mu      sync.Mutex // orders new workers before stop
	stopped bool
	count   int
}

func newWorkers() *workers { return &workers{jobs: make(chan job)} }

// start starts a job. It returns false after stop.
func (w *workers) start(j job) bool {
	select {
	case w.jobs <- j:
		return true
	default:
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return false
	}
	w.count++
	w.running.Go(func() { w.work(j) })
	return true
}

// work runs a job, and then others until stop.
func (w *workers) work(j job) {
	for ; j != nil; j = <-w.jobs {
		j.run()
	}
}

// stop accepts no more jobs and waits for those that run.
func (w *workers) stop() {
	w.mu.Lock()
	count := w.count
	if w.stopped {
		count = 0
	}
	w.stopped = true
	w.mu.Unlock()
	for range count {
		w.jobs <- nil
	}
	w.running.Wait()
}
