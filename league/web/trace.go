package web

import (
	"context"
	"slices"
	"sync"
	"time"

	"evenodd/league/protocol"
	"evenodd/league/record"
)

// The limits of what the page of agents reads: the transcripts of the last recorded matches, and
// the time that one request may take for it. The next request reads on.
const (
	tracesMost = 500
	tracesTime = 2 * time.Second
)

// traces are what transcripts tell about the agents.
type traces struct {
	health *record.Health
	unread int // transcripts that could not be read
}

// A tracer reads transcripts, each of them once. It is safe for concurrent use.
type tracer struct {
	mu   sync.Mutex
	seen map[protocol.Attempt]*record.Health // nil for a transcript that cannot be read
}

// traces reads the transcripts that it has not read yet, and sums up all of them.
func (t *tracer) traces(ctx context.Context, b *Board) *traces {
	t.mu.Lock()
	defer t.mu.Unlock()
	var attempts []protocol.Attempt
	b.View(func(l *record.League) { attempts = lastAttempts(l, tracesMost) })
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
