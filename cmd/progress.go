package cmd

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// A progress is how far a work is.
type progress struct {
	what  string
	begun time.Time

	mu                 sync.Mutex
	known              bool // the next three are
	first, done, total int
}

// showProgress shows on a terminal how far a work is, on one line, from longWork until stop is called. Without
// calls of set, which is nil if nothing is shown, the line has only the time.
func (s streams) showProgress(what string) (set func(done, total int), stop func()) {
	p := &progress{what: what, begun: time.Now()}
	if s.longWork == 0 || !isTerminal(s.err) {
		return nil, func() {}
	}
	var work sync.WaitGroup
	end := make(chan struct{})
	work.Go(func() {
		tick, erase := time.NewTicker(s.longWork), ""
		defer tick.Stop()
		for {
			select {
			case now := <-tick.C:
				tick.Reset(200 * time.Millisecond)
				erase = "\r\x1b[K"
				_, _ = io.WriteString(s.err, erase+p.line(now)) // an error only spoils the picture
			case <-end:
				_, _ = io.WriteString(s.err, erase)
				return
			}
		}
	})
	return p.set, sync.OnceFunc(func() {
		close(end)
		work.Wait()
	})
}

func (p *progress) set(done, total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.known {
		p.known, p.first = true, done // a league that resumes has results already
	}
	p.done, p.total = done, total
}

// line says how much is done, the time that it took, and the time that the rest takes at this rate.
func (p *progress) line(now time.Time) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	took := now.Sub(p.begun)
	text := p.what + ": "
	if p.known {
		text += fmt.Sprintf("%d of %d in ", p.done, p.total)
	}
	text += took.Round(time.Second).String()
	if now := p.done - p.first; now > 0 {
		left := time.Duration(float64(took) / float64(now) * float64(p.total-p.done))
		text += fmt.Sprintf(", about %s left", left.Round(time.Second))
	}
	return text
}
