package page

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"evenodd/league/protocol"
	"evenodd/league/view/record"
)

// The limits of what the page of agents reads: the transcripts of the last recorded matches, and
// the time that one request may take for it. The next request reads on.
const (
	tracesMost = 500
	tracesTime = 2 * time.Second
)

// traces are what transcripts tell about the agents. Several requests read them; nobody changes
// them.
type traces struct {
	health *record.Health
	unread int // transcripts that could not be read
}

// A tracer reads transcripts, each of them once. It is safe for concurrent use.
type tracer struct {
	mu      sync.Mutex                          // of the request that reads
	seen    map[protocol.Attempt]*record.Health // nil for a transcript that cannot be read
	replays int                                 // as version has it, of seen

	known atomic.Pointer[traces] // the last sum
}

// traces reads the transcripts that it has not read yet, and sums up all of them. While another
// request reads, it returns what is known: many requests read no more than one.
func (t *tracer) traces(ctx context.Context, b *Board) *traces {
	if !t.mu.TryLock() {
		if known := t.known.Load(); known != nil {
			return known
		}
		t.mu.Lock() // of the first request
		defer t.mu.Unlock()
		return t.known.Load()
	}
	defer t.mu.Unlock()
	sum := t.read(ctx, b)
	t.known.Store(sum)
	return sum
}

// read reads the transcripts that are new. The caller holds mu.
func (t *tracer) read(ctx context.Context, b *Board) *traces {
	var attempts []protocol.Attempt
	now, _ := b.view(func(l *record.League, _ version) { attempts = lastAttempts(l, tracesMost) })
	if now.replays != t.replays {
		t.seen, t.replays = nil, now.replays
	}
	ctx, cancel := context.WithTimeout(ctx, tracesTime)
	defer cancel()
	kept := make(map[protocol.Attempt]*record.Health, len(attempts))
	sum := &traces{health: record.NewHealth()}
	for _, at := range attempts {
		one, known := t.seen[at]
		if !known && ctx.Err() == nil {
			match, err := b.Transcript(ctx, at)
			if known = err == nil || ctx.Err() == nil; err == nil {
				one = record.NewHealth()
				one.Add(match)
			}
		}
		if !known {
			continue // the next request reads it
		}
		if kept[at] = one; one == nil {
			sum.unread++
			continue
		}
		sum.health.Include(one)
	}
	t.seen = kept
	return sum
}

// lastAttempts are the attempts of the last recorded matches that a referee conducted, the
// latest first.
func lastAttempts(l *record.League, most int) (attempts []protocol.Attempt) {
	for round := l.Round; round >= 1; round-- {
		for i := range slices.Backward(l.Rounds[round-1].Pairings) {
			report := l.Match(protocol.MatchID{Round: round, Number: i + 1}).Report
			if report == nil || report.Number == 0 {
				continue
			}
			if attempts = append(attempts, report.Attempt); len(attempts) == most {
				return attempts
			}
		}
	}
	return attempts
}
