package referee

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/membership"
	"evenodd/league/protocol"
	"evenodd/rules"
	"evenodd/rules/evenodd"
)

func TestOldAcknowledgedMatchesAreEvicted(t *testing.T) {
	r, err := New(Options{
		Options:       membership.Options{Name: "Referee", Clock: protocol.SystemClock()},
		MaxConcurrent: 1, Games: rules.NewRegistry(evenodd.Game{}),
	})
	require.NoError(t, err)
	defer r.Close()
	for n := range 3*keptMatches + 1 {
		id := protocol.MatchID{Round: n + 1, Number: 1}.String()
		r.matches[id] = &match{}
		r.acknowledged(id)
		assert.LessOrEqual(t, len(r.matches), keptMatches)
	}
	assert.Contains(t, r.matches, protocol.MatchID{Round: 3*keptMatches + 1, Number: 1}.String())
	assert.NotContains(t, r.matches, protocol.MatchID{Round: 2*keptMatches + 1, Number: 1}.String())
}
