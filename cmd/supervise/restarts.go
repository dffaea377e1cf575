package supervise

import "time"

// A Policy says when a process that has died is started again.
type Policy struct {
	First   time.Duration // pause before the first restart; each further one of a Window doubles it
	Longest time.Duration // longest pause
	Most    int           // restarts in a Window; a process that dies once more stays down
	Window  time.Duration
}

// restarts applies a Policy to one process. It has no clock.
type restarts struct {
	Policy
	recent []time.Time // of the window, oldest first
}

// next returns the pause before the restart of a process that has died now. It returns false
// if the process stays down.
func (r *restarts) next(now time.Time) (pause time.Duration, again bool) {
	for len(r.recent) > 0 && now.Sub(r.recent[0]) >= r.Window {
		r.recent = r.recent[1:]
	}
	if len(r.recent) >= r.Most {
		return 0, false
	}
	pause = r.First
	for range r.recent {
		pause = min(2*pause, r.Longest)
	}
	r.recent = append(r.recent, now)
	return pause, true
}
