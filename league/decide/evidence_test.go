package decide_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"evenodd/league"
	"evenodd/league/decide"
	"evenodd/league/journal"
	"evenodd/league/protocol"
)

// onItsWord are the assignment and the result of the first match, which P01 wins by the word of the referee.
func onItsWord(s *journal.State) []journal.Data {
	events := reported(s, first())
	r := events[1].(*journal.MatchReported)
	r.Grade, r.Reason, r.Choices = journal.GradeStated, "P02 left", league.Both("P01", new("even"), "P02", nil)
	return events
}

func TestEvidenceIsThatOfTheResultsThatCount(t *testing.T) {
	word := []string{"1 result rests on the word of referee REF01 alone.", `R1M1: its referee says: "P02 left".`}
	denied := append(word[:2:2], "1 result of referee REF01 is disputed by players that know nothing of the match: P02.")
	denial := func(attempt int) journal.Data {
		return &journal.ResultDenied{Attempt: league.Attempt{MatchID: first(), Number: attempt}, PlayerID: "P02"}
	}
	rematch := []journal.Data{
		&journal.Decided{Command: protocol.CommandRematch, Decision: smith, MatchID: first()},
		&journal.Decided{Command: journal.CommandReopen, Decision: smith, MatchID: first()},
	}
	for _, tt := range []struct {
		name string
		more func(s *journal.State)
		want []string
	}{
		{"a stated result", func(*journal.State) {}, word},
		{"denied", func(s *journal.State) { apply(t, s, denial(1)) }, denied},
		{"denied twice", func(s *journal.State) { apply(t, s, denial(1), denial(1)) }, denied},
		{"denied and ruled", func(s *journal.State) { apply(t, s, denial(1), ruled("P02")) }, nil},
		{"denied and reopened", func(s *journal.State) { apply(t, s, append([]journal.Data{denial(1)}, rematch...)...) }, nil},
		{"stated again, not denied again", func(s *journal.State) {
			apply(t, s, append([]journal.Data{denial(1)}, rematch...)...)
			apply(t, s, onItsWord(s)...)
		}, word},
		{"denied again", func(s *journal.State) {
			apply(t, s, append([]journal.Data{denial(1)}, rematch...)...)
			apply(t, s, onItsWord(s)...)
			apply(t, s, denial(2))
		}, denied},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := fieldOf(t, 2, 1, 2)
			apply(t, s, &journal.RoundAnnounced{RoundID: 1, Referees: []string{"REF01"}})
			apply(t, s, onItsWord(s)...)
			apply(t, s, &journal.RoundCompleted{RoundID: 1, Summary: s.Summary(1)})
			tt.more(s)
			assert.Equal(t, tt.want, decide.Evidence(s))
		})
	}
}

// Allocations stand for time, because they do not depend on the machine: each match of a completed round that is looked
// at costs some.
func TestEvidenceDoesNotDependOnTheNumberOfMatches(t *testing.T) {
	cost := func(players int) float64 {
		s := fieldOf(t, players, 1, 1)
		d := s.Announcement(nil)
		for range s.Pairings(1) {
			d.Referees = append(d.Referees, "REF01")
		}
		apply(t, s, d)
		for n := range s.Pairings(1) {
			at := league.Attempt{MatchID: league.MatchID{Round: 1, Number: n + 1}, Number: 1}
			events := reported(s, at.MatchID)
			if n == 0 {
				events[1].(*journal.MatchReported).Grade = journal.GradeStated
			}
			apply(t, s, events[0], &journal.MatchAccepted{Attempt: at, RefereeID: "REF01"}, events[1])
		}
		apply(t, s, &journal.RoundCompleted{RoundID: 1, Summary: s.Summary(1)})
		s.Condense(1)
		return testing.AllocsPerRun(10, func() { assert.Len(t, decide.Evidence(s), 1) })
	}
	assert.InDelta(t, cost(2), cost(80), 0)
}
