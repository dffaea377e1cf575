package skeleton_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/cmd/skeleton"
	"evenodd/rules"
	"evenodd/rules/rulestest"
)

// Check plays random matches. It needs no change for another game.
func TestGameKeepsTheRulesOfGames(t *testing.T) {
	rulestest.Check(t, skeleton.Game{})
}

// after returns the position after legal moves, those of side A first.
func after(t *testing.T, moves ...string) rules.Position {
	t.Helper()
	course := rules.Begin(skeleton.Game{})
	for _, move := range moves {
		require.False(t, course.Over(), "the match is over before move %s", move)
		next, err := course.Move(course.ToMove()[0], move)
		require.NoError(t, err)
		course = next
	}
	return course.Position()
}

// Change: matches of your game with each kind of end.
func TestMatches(t *testing.T) {
	for _, test := range []struct {
		name   string
		moves  []string
		winner rules.Side
		last   [2]string
		reason string
	}{
		{"side A takes the last stone", []string{"3", "3", "3", "2", "1"}, rules.SideA, [2]string{"1", "2"}, "P01 took the last stone"},
		{"side B takes the last stone", []string{"3", "3", "3", "3"}, rules.SideB, [2]string{"3", "3"}, "P02 took the last stone"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := after(t, test.moves...)
			require.Empty(t, p.ToMove(), "the match is over")
			verdict := p.Judge(rules.Chance{})
			assert.Equal(t, test.winner, verdict.Winner)
			assert.Equal(t, test.last, verdict.Moves)
			assert.Equal(t, test.reason, verdict.Reason([2]string{"P01", "P02"}))
		})
	}
}

// Change: one row for each error of Check.
func TestIllegalMoves(t *testing.T) {
	for _, test := range []struct {
		name  string
		moves []string
		side  rules.Side
		move  string
		want  string
	}{
		{"more than three stones", nil, rules.SideA, "4", "choice must be a number from 1 to 3"},
		{"more stones than there are", []string{"3", "3", "3", "2"}, rules.SideA, "2", "choice must be a number from 1 to 1"},
		{"no number", nil, rules.SideA, "all", "choice must be a number from 1 to 3"},
		{"out of turn", nil, rules.SideB, "1", "it is the other's turn"},
		{"after the end", []string{"3", "3", "3", "3"}, rules.SideA, "1", "the match is over"},
	} {
		t.Run(test.name, func(t *testing.T) {
			assert.EqualError(t, after(t, test.moves...).Check(test.side, test.move), test.want)
		})
	}
}
