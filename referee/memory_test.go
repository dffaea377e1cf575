package referee

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/membership"
	"evenodd/league/protocol"
	"evenodd/rules"
	"evenodd/rules/evenodd"
)

// A new league may have the name of the last one, and its matches then have the same names.
func TestMatchesOfAnEarlierLeagueAreForgotten(t *testing.T) {
	over, running := &match{matchID: "R1M1", attempt: 1, final: &protocol.MatchResultReport{}}, &match{matchID: "R1M2", attempt: 1}
	r := &Referee{matches: map[string]*match{"R1M1": over, "R1M2": running}, reported: []*match{over}}
	r.forgetMatches()
	assert.Empty(t, r.matches, "they are played in the new league")
	assert.Empty(t, r.reported)
	assert.True(t, running.over(), "it ends")
	running.record(nil, true, "") // into no file
}

func TestOldAcknowledgedMatchesAreEvicted(t *testing.T) {
	r, err := New(Options{
		Options:       membership.Options{Name: "Referee", Clock: protocol.SystemClock()},
		MaxConcurrent: 1, Games: rules.NewRegistry(evenodd.Game{}),
	})
	require.NoError(t, err)
	defer r.Close()
	for n := range 3*keptMatches + 1 {
		id := league.MatchID{Round: n + 1, Number: 1}.String()
		r.matches[id] = &match{matchID: id}
		r.acknowledged(r.matches[id])
		assert.LessOrEqual(t, len(r.matches), keptMatches)
	}
	assert.Contains(t, r.matches, league.MatchID{Round: 3*keptMatches + 1, Number: 1}.String())
	assert.NotContains(t, r.matches, league.MatchID{Round: 2*keptMatches + 1, Number: 1}.String())
}
