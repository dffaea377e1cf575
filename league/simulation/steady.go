package simulation

import (
	"context"
	"fmt"
	"sync"

	"evenodd/player/strategy"
)

// A steady strategy answers a question of a match as it did before: a match may
// be played again because its referee died, and the player may know by then how
// it ended. The first answer must stand, or the result would depend on how far
// the dead referee came.
type steady struct {
	strategy.Strategy

	mu      sync.Mutex
	matchID string            // the last
	choices map[string]string // in it, by question
}

// Choose decides a question once.
func (s *steady) Choose(ctx context.Context, v strategy.View) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.matchID != v.MatchID {
		s.matchID, s.choices = v.MatchID, map[string]string{}
	}
	question := fmt.Sprint(v.MoveType, v.Options, v.Context)
	if choice, known := s.choices[question]; known {
		return choice, nil
	}
	choice, err := s.Strategy.Choose(ctx, v)
	if err == nil {
		s.choices[question] = choice
	}
	return choice, err
}
