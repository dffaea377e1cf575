package simulation

import (
	"context"
	"fmt"
	"sync"

	"evenodd/player/strategy"
)

// A repeatable strategy answers every question of a match as it did before. When a
// referee dies, another one repeats the match, and the player may already know the
// result. The first answers must stand, or the result would depend on how far the dead
// referee came.
type repeatable struct {
	strategy.Strategy

	mu      sync.Mutex
	matchID string            // of the last match
	choices map[string]string // in it, by question
}

// Choose decides a question once.
func (r *repeatable) Choose(ctx context.Context, v strategy.View) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.matchID != v.MatchID {
		r.matchID, r.choices = v.MatchID, map[string]string{}
	}
	question := fmt.Sprint(v.MoveType, v.Options, v.Context)
	if choice, known := r.choices[question]; known {
		return choice, nil
	}
	choice, err := r.Strategy.Choose(ctx, v)
	if err == nil {
		r.choices[question] = choice
	}
	return choice, err
}
