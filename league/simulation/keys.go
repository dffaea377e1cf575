package simulation

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"

	"evenodd/league/protocol"
	"evenodd/league/simulation/faults"
	"evenodd/player/strategy"
)

// Each random decision has its own source, derived from the seed and the key of the
// decision. Therefore the order of events cannot change a result.

// Nonce is a referee's part in the draw of a match.
func Nonce(seed uint64, matchID string) protocol.Secret { return derive(seed, "nonce", matchID, "") }

// Entropy is a player's part in the draw of a match.
func Entropy(seed uint64, matchID, playerID string) protocol.Secret {
	return derive(seed, "entropy", matchID, playerID)
}

// SigningKey is the key by which an agent signs.
func SigningKey(seed uint64, agentID string) *protocol.SigningKey {
	return protocol.NewSigningKey(derive(seed, "key", agentID, ""))
}

// Random is the source of one decision of a player.
func Random(seed uint64, playerID, decision string) *rand.Rand {
	key := derive(seed, "choice", decision, playerID)
	s := &struct { // one allocation
		rand.Rand
		source rand.PCG
	}{}
	s.source.Seed(binary.BigEndian.Uint64(key[:8]), binary.BigEndian.Uint64(key[8:16]))
	s.Rand = *rand.New(&s.source) //nolint:gosec // a seeded simulation
	return &s.Rand
}

// key is the key of a decision in a match, which begins with the match id: in a rematch, with
// the number of annulled results, so that the match is drawn anew.
func (s *runningLeague) key(decision string) string {
	id, _, _ := strings.Cut(decision, "/")
	if n := s.manager.AnnulledResults(id); n > 0 {
		return fmt.Sprintf("%s/annulled/%d", decision, n)
	}
	return decision
}

// derive derives a secret from the seed, the kind of a decision and the two parts of its key. No kind may be a
// prefix of another.
func derive(seed uint64, kind, a, b string) protocol.Secret {
	return faults.Digest("evenodd-simulation-v1/"+kind, []uint64{seed}, a, b)
}

// A repeatable strategy answers every question of a match as it did before. When a
// referee dies, another one repeats the match, and the player may already know the
// result. The first answers must stand, or the result would depend on how far the dead
// referee came.
type repeatable struct {
	strategy.Strategy

	key func(matchID string) string

	mu      sync.Mutex
	match   string              // key of the last match
	choices map[string]decision // in it, by question
}

// decision is a choice, and whether it is a fallback.
type decision struct {
	choice   string
	fallback bool
}

// Choose decides a question once.
func (r *repeatable) Choose(ctx context.Context, v strategy.View) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if match := r.key(v.MatchID); r.match != match {
		r.match, r.choices = match, map[string]decision{}
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
