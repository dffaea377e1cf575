package web

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"evenodd/league/protocol"
	"evenodd/league/record"
	"evenodd/league/store"
)

// The limits of what the page of agents reads: the transcripts of the last recorded matches, and
// the time that one request may take for it. The next request reads on.
const (
	tracesMost = 500
	tracesTime = 2 * time.Second
)

// traces are what transcripts tell about the agents, by id.
type traces struct {
	of     map[string]*trace
	read   int // transcripts
	unread int // transcripts that could not be read
}

// A trace is what transcripts tell about one player.
type trace struct {
	waits  []time.Duration // from a question to its answer, of those that were answered
	errors map[string]int  // failed tries by error code
}

// A tracer reads transcripts, each of them once. It is safe for concurrent use.
type tracer struct {
	mu      sync.Mutex                             // of the request that reads
	seen    map[protocol.Attempt]map[string]*trace // nil for a transcript that cannot be read
	replays int                                    // as version has it, of seen

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
	kept := make(map[protocol.Attempt]map[string]*trace, len(attempts))
	sum := &traces{of: map[string]*trace{}}
	for _, at := range attempts {
		one, known := t.seen[at]
		if !known && ctx.Err() == nil {
			match, err := b.Transcript(ctx, at)
			if known = err == nil || ctx.Err() == nil; err == nil {
				one = traceOf(match)
			}
		}
		if !known {
			continue // the next request reads it
		}
		if kept[at] = one; one == nil {
			sum.unread++
			continue
		}
		sum.read++
		sum.add(one)
	}
	t.seen = kept
	return sum
}

// add adds what one transcript tells.
func (t *traces) add(match map[string]*trace) {
	for id, one := range match {
		to := t.of[id]
		if to == nil {
			to = &trace{errors: map[string]int{}}
			t.of[id] = to
		}
		to.waits = append(to.waits, one.waits...)
		for code, n := range one.errors {
			to.errors[code] += n
		}
	}
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

// traceOf is what a transcript tells about its players: how long they took to answer questions,
// and which errors their tries had. Tries that are void count for nothing.
func traceOf(m *store.Match) map[string]*trace {
	traces := map[string]*trace{}
	asked := map[string]time.Time{}
	for i := range m.Transcript {
		e := &m.Transcript[i]
		t := traces[e.PlayerID]
		if t == nil {
			t = &trace{errors: map[string]int{}}
			traces[e.PlayerID] = t
		}
		at, err := protocol.ParseTimestamp(e.At)
		switch {
		case err != nil || e.Void != "":
		case e.Direction == store.Sent:
			delete(asked, e.PlayerID)
			if e.MessageType == protocol.TypeChooseParityCall || e.MessageType == protocol.TypeGameMoveCall {
				asked[e.PlayerID] = at
			}
		case e.Error != nil:
			t.errors[e.Error.ErrorCode]++
		default:
			if since, ok := asked[e.PlayerID]; ok {
				t.waits = append(t.waits, max(at.Sub(since), 0))
				delete(asked, e.PlayerID)
			}
		}
	}
	return traces
}
