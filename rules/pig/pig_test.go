package pig_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/rules"
	"evenodd/rules/pig"
	"evenodd/rules/rulestest"
)

func TestGameKeepsTheRulesOfGames(t *testing.T) {
	rulestest.Check(t, pig.Game{})
}

// after returns the position after turns, such as "3 5 hold": the rolls of a side, then what ended the turn, unless a 1
// or the sixth roll did.
func after(t *testing.T, turns ...string) rules.Position {
	t.Helper()
	p := pig.Game{}.Start()
	play := func(turn, move string) {
		require.Len(t, p.ToMove(), 1, turn)
		side := p.ToMove()[0]
		require.NoError(t, p.Check(side, move), turn)
		var moves [2]string
		moves[side] = move
		p = p.Play(moves)
	}
	for _, turn := range turns {
		for _, word := range strings.Fields(turn) {
			if word == pig.Hold {
				play(turn, pig.Hold)
				continue
			}
			play(turn, pig.Roll)
			drawing, ok := p.(rules.Drawing)
			require.True(t, ok && drawing.Outcomes() == 6, turn)
			p = drawing.Drawn(int(word[0] - '1'))
		}
	}
	return p
}

func TestMatches(t *testing.T) {
	for _, test := range []struct {
		name, turns string
		winner      rules.Side
		last        [2]string
		reason      string
	}{
		{"A wins", "6 hold, 5 hold, 1, 1, 1, 1, 1, 1, 1, 1", rules.SideA, [2]string{"roll", "roll"},
			"P01 has 6 points, P02 has 5"},
		{"B wins with its last turn", "6 hold, 5 hold, 1, 1, 1, 1, 1, 1, 2 3 1, 2 hold", rules.SideB,
			[2]string{"roll", "hold"}, "P02 has 7 points, P01 has 6"},
		{"nobody scores", "1, 1, 1, 1, 1, 1, 1, 1, 6 6 1, 1", rules.NoSide, [2]string{"roll", "roll"}, "Both have 0 points"},
		{"six rolls count", "6 6 6 6 6 6, 6 6 6 6 6 1, 1, 1, 1, 1, 1, 1, 1, 1", rules.SideA, [2]string{"roll", "roll"},
			"P01 has 36 points, P02 has 0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := after(t, strings.Split(test.turns, ",")...)
			assert.Empty(t, p.ToMove())
			assert.Zero(t, p.(rules.Drawing).Outcomes())
			verdict := p.Judge(rules.Chance{})
			assert.Equal(t, test.winner, verdict.Winner)
			assert.Equal(t, test.last, verdict.Moves)
			assert.Equal(t, test.reason, verdict.Reason([2]string{"P01", "P02"}))
		})
	}
}

func TestQuestionsAndBoards(t *testing.T) {
	p := after(t, "2 3 hold", "1", "4 5")
	assert.Equal(t, rules.Question{MoveType: "roll_or_hold", Options: []string{"roll", "hold"}, View: map[string]any{
		"rolls": []int{4, 5}, "at_stake": 9, "score": 5, "opponent_score": 0, "turns_left": 3, "opponent_turns_left": 4,
	}}, p.Ask(rules.SideA))
	board := [][]string{{"A", "5", "", "", "", "", "5"}, {"B", "0", "", "", "", "", "0"}, {"", "4", "5", "", "", "", ""}}
	assert.Equal(t, board, p.(rules.Drawer).Draw(rules.SideB))

	p = p.Play([2]string{pig.Hold, ""})
	assert.Equal(t, []string{"roll"}, p.Ask(rules.SideB).Options)
	assert.Equal(t, map[string]any{
		"rolls": []int{}, "at_stake": 0, "score": 0, "opponent_score": 14, "turns_left": 3, "opponent_turns_left": 3,
	}, p.Ask(rules.SideB).View)
	board[0][2], board[0][6] = "9", "14"
	assert.Equal(t, board, p.(rules.Drawer).Draw(rules.NoSide), "the rolls of the turn before are there")
}

func TestIllegalMoves(t *testing.T) {
	for _, test := range []struct {
		turns string
		side  rules.Side
		move  string
		want  string
	}{
		{"", rules.SideA, "hold", "a turn begins with a roll"},
		{"", rules.SideB, "roll", "it is the other's turn"},
		{"3", rules.SideA, "pass", "choice must be roll or hold"},
		{"3", rules.SideA, "", "choice must be roll or hold"},
		{"3 hold, 1, 1, 1, 1, 1, 1, 1, 1, 1", rules.SideA, "roll", "the match is over"},
	} {
		assert.EqualError(t, after(t, strings.Split(test.turns, ",")...).Check(test.side, test.move), test.want, test.turns)
	}
}
