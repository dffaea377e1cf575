package page

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/journal"
	"evenodd/league/protocol"
)

// The result of a rematch comes after the order, between two rounds.
func TestResultOfARematchChangesThePointsOfItsRound(t *testing.T) {
	s := newScript(t, nil, "Ann", "Bob")
	s.start()
	s.round()
	id := protocol.MatchID{Round: 1, Number: 1}
	first := s.l.Match(id).Report
	by := journal.Decision{By: "Ann", Reason: "a mistake"}
	s.add(&journal.RematchOrdered{Decision: by, MatchID: id})
	s.add(&journal.MatchReopened{Decision: by, MatchID: id})
	again := protocol.Attempt{MatchID: id, Number: 2}
	s.add(&journal.MatchAssigned{Attempt: again, RefereeID: "REF01"})
	s.add(&journal.MatchAccepted{Attempt: again, RefereeID: "REF01"})
	var m memory
	require.Equal(t, []int{0, 0}, m.of(s.l).points[1], "while the rematch is played")
	second := *first
	second.Attempt = again
	s.add(&second)
	assert.ElementsMatch(t, []int{3, 0}, m.of(s.l).points[1])
}
