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

	key func(matchID string) string

	mu      sync.Mutex
	match   string             // key of the last match
	choices map[string]decided // in it, by question
}

// decided is a choice, and whether it is a fallback.
type decided struct {
	choice   string
	fallback bool
}

// Choose decides a question once.
func (r *repeatable) Choose(ctx context.Context, v strategy.View) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if match := r.key(v.MatchID); r.match != match {
		r.match, r.choices = match, map[string]decided{}
	}
	question := fmt.Sprint(v.MoveType, v.Options, v.Context)
	d, known := r.choices[question]
	if !known {
		asked := v
		asked.Fallback = &d.fallback
		var err error
		if d.choice, err = r.Strategy.Choose(ctx, asked); err != nil {
			return "", err
		}
		r.choices[question] = d
	}
	if d.fallback {
		v.FellBack()
	}
	return d.choice, nil
}
