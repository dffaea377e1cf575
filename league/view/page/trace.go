package page

import (
	"context"
	"slices"
	"time"

	"evenodd/league"
	"evenodd/league/view/record"
)

// The limits of what the page of agents reads: the transcripts of the last recorded matches, and
// the time that it may take.
const (
	tracesMost = 200
	tracesTime = 2 * time.Second
)

// health reads the last transcripts. It returns the number of those that cannot be read.
func (b *Board) health(ctx context.Context) (found *record.Health, unread int) {
	var attempts []league.Attempt
	b.View(func(l *record.League) { attempts = lastAttempts(l) })
	ctx, cancel := context.WithTimeout(ctx, tracesTime)
	defer cancel()
	found = record.NewHealth()
	for _, at := range attempts {
		match, err := b.Transcript(ctx, at)
		switch {
		case ctx.Err() != nil:
			return found, unread
		case err != nil:
			unread++
		default:
			found.Add(match)
		}
	}
	return found, unread
}

// lastAttempts are the attempts of the last recorded matches that a referee conducted, the
// latest first.
func lastAttempts(l *record.League) (attempts []league.Attempt) {
	for round := l.Round; round >= 1 && len(attempts) < tracesMost; round-- {
		var of []league.Attempt
		for _, match := range l.MatchesOf(round, round) {
			if match.Report != nil && match.Report.Number > 0 {
				of = append(of, match.Report.Attempt)
			}
		}
		slices.Reverse(of)
		attempts = append(attempts, of...)
	}
	return attempts[:min(len(attempts), tracesMost)]
}
