// Package rulestest tests any game through the interfaces of package rules. Only tests
// import it.
package rulestest

import (
	"encoding/json"
	"fmt"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"evenodd/rules"
)

// A Match is a match that Play has conducted.
type Match struct {
	Asked   [2]int // the number of questions to each side
	Verdict rules.Verdict
}

// Check plays a game with random moves and fails if the game breaks a rule of package rules.
func Check(t *testing.T, game rules.Game) {
	t.Helper()
	checkInfo(t, game.Info(), game.MaxTurns())
	assert.Equal(t, rules.HasDraws(game), game.Info().Draws, "the position draws as the description says")
	rapid.Check(t, func(t *rapid.T) {
		nonce := rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "nonce")
		m := Play(t, game, rules.Chance{Nonce: [32]byte(nonce)}, func(side rules.Side, q rules.Question) string {
			return rapid.SampledFrom(q.Options).Draw(t, fmt.Sprintf("move of side %d", side))
		})
		players := [2]string{"P01", "P02"}
		reason := m.Verdict.Reason(players)
		assert.NotEmpty(t, reason, "a result has a reason")
		assert.Contains(t, []rules.Side{rules.NoSide, rules.SideA, rules.SideB}, m.Verdict.Winner)
		if m.Verdict.Winner != rules.NoSide {
			assert.Contains(t, reason, players[m.Verdict.Winner], "the reason names the winner")
		}
	})
	if game.Info().SidesAlike {
		checkSides(t, game)
	}
}

// Play conducts a match as a referee does: it asks the sides to move until the match is over,
// and judges. It fails if a position changes, if a side gets more questions than the game
// announces, and if a side gets the same question twice.
func Play(t require.TestingT, game rules.Game, chance rules.Chance,
	choose func(rules.Side, rules.Question) string) Match {
	info := game.Info()
	var m Match
	put, draws := map[string]bool{}, dealer{chance: chance}
	drawn := game.Start()
	for position, turns := game.Start(), 0; ; turns++ {
		position = draws.settle(t, position)
		checkBoard(t, drawn, position)
		sides := position.ToMove()
		if len(sides) == 0 {
			for _, side := range []rules.Side{rules.SideA, rules.SideB} {
				require.Error(t, position.Check(side, anyMove(info)), "no move is legal after the end")
			}
			require.LessOrEqual(t, turns, game.MaxTurns(), "%s has at most %d turns", info.Type, game.MaxTurns())
			require.True(t, draws.hides || !info.Hidden || draws.number == 0, "a side sees all draws of a game that hides some")
			m.Verdict = position.Judge(chance)
			if solver, ok := position.(rules.Solver); ok {
				require.Equal(t, m.Verdict.Winner, solver.Value(), "the value of the end is its winner")
			}
			return m
		}
		var moves [2]string
		for _, side := range sides {
			question := position.Ask(side)
			key := fmt.Sprint(side, question)
			require.False(t, put[key], "the same question twice: %s; put the number of the move into its context", key)
			put[key] = true
			checkQuestion(t, info, position, side, question)
			moves[side] = choose(side, question)
			m.Asked[side]++
			require.LessOrEqual(t, m.Asked[side], info.MaxMoves, "%s asks one side at most %d times", info.Type, info.MaxMoves)
		}
		next := position.Play(moves)
		require.Equal(t, next, position.Play(moves), "the same moves lead to the same position")
		require.Equal(t, sides, position.ToMove(), "a position does not change")
		checkValue(t, position, next)
		position = next
	}
}

// A dealer makes the draws of a match.
type dealer struct {
	chance rules.Chance
	number int  // of draws so far
	hides  bool // another outcome of a draw would have led to the same question to a side
}

// settle makes the draws that are due, and checks them.
func (d *dealer) settle(t require.TestingT, position rules.Position) rules.Position {
	for {
		drawing, draws := position.(rules.Drawing)
		if !draws || drawing.Outcomes() == 0 {
			return position
		}
		n := drawing.Outcomes()
		require.True(t, n >= 2 && n <= rules.MaxOutcomes, "a draw has 2 to %d outcomes, not %d", rules.MaxOutcomes, n)
		require.Empty(t, position.ToMove(), "no side is to move before a draw")
		d.number++
		outcome := d.chance.Draw("R1M1", d.number, n)
		next, other := drawing.Drawn(outcome), drawing.Drawn((outcome+1)%n)
		require.Equal(t, next, drawing.Drawn(outcome), "the same draw leads to the same position")
		require.NotEqual(t, next, other, "another outcome leads to another position")
		for _, side := range next.ToMove() {
			for i := 0; i < min(n, 100) && !d.hides; i++ {
				d.hides = i != outcome && assert.ObjectsAreEqual(next.Ask(side), drawing.Drawn(i).Ask(side))
			}
		}
		position = next
	}
}

// checkBoard checks that a position has a board if the first one has, of the same size for all sides.
func checkBoard(t require.TestingT, first, position rules.Position) {
	start, drawn := first.(rules.Drawer)
	drawer, all := position.(rules.Drawer)
	require.Equal(t, drawn, all, "all positions have a board, or none")
	for _, side := range []rules.Side{rules.NoSide, rules.SideA, rules.SideB} {
		if !drawn {
			return
		}
		board, size := drawer.Draw(side), start.Draw(rules.NoSide)
		require.Len(t, board, len(size), "all boards have the same rows")
		for i, row := range board {
			require.Len(t, row, len(size[i]), "all boards have the same columns")
			for _, cell := range row {
				require.LessOrEqual(t, utf8.RuneCountInString(cell), 3, "a cell has at most 3 characters: %q", cell)
			}
		}
		require.Equal(t, board, drawer.Draw(side), "a position does not change")
	}
}

// checkValue checks that no move of the only side to move makes the position better for it.
func checkValue(t require.TestingT, position, next rules.Position) {
	before, solved := position.(rules.Solver)
	if sides := position.ToMove(); solved && len(sides) == 1 {
		after, all := next.(rules.Solver)
		require.True(t, all, "all positions have a value, or none")
		worth := func(p rules.Solver) int {
			return map[rules.Side]int{sides[0]: 1, sides[0].Other(): -1}[p.Value()]
		}
		require.LessOrEqual(t, worth(after), worth(before), "no move is better than the best one")
	}
}

const maxView = 8 << 10 // bytes, as JSON

// anyMove returns a move of the game.
func anyMove(info rules.Info) string {
	for _, choices := range info.ValidChoices {
		for _, choice := range choices {
			return choice
		}
	}
	return ""
}

func checkInfo(t *testing.T, info rules.Info, turns int) {
	t.Helper()
	assert.Regexp(t, `^[a-z][a-z0-9]*(_[a-z0-9]+)*$`, info.Type, "Type is in snake_case")
	assert.NotEmpty(t, info.DisplayName)
	assert.NotEmpty(t, info.Rules)
	assert.NotEmpty(t, info.MoveTypes)
	for _, moveType := range info.MoveTypes {
		assert.NotEmpty(t, info.ValidChoices[moveType], "ValidChoices of %s", moveType)
	}
	assert.Positive(t, info.MaxMoves)
	assert.GreaterOrEqual(t, turns, info.MaxMoves, "a turn has at most one question to a side")
}

func checkQuestion(t require.TestingT, info rules.Info, position rules.Position, side rules.Side, q rules.Question) {
	require.NotEmpty(t, q.Options)
	require.Contains(t, info.MoveTypes, q.MoveType)
	require.Equal(t, q, position.Ask(side), "a position does not change")
	for _, option := range q.Options {
		require.NoError(t, position.Check(side, option), "every option is legal")
		require.Contains(t, info.ValidChoices[q.MoveType], option, "ValidChoices has every option")
	}
	require.Error(t, position.Check(side, "no such move"))
	require.NotContains(t, q.Context, "opponent_id", "the referee adds it")
	require.NotContains(t, q.Context, "round_id", "the referee adds it")

	_, err := json.Marshal(q.Context)
	require.NoError(t, err, "the context is sent as JSON")
	view, err := json.Marshal(q.View)
	require.NoError(t, err, "the view is sent as JSON")
	require.LessOrEqual(t, len(view), maxView, "a view has at most %d bytes", maxView)
	if info.Draws || info.Hidden {
		require.NotNil(t, q.View, "a game with draws or secrets says what a side may see")
	}
}

// checkSides checks that the other side wins with exchanged moves.
func checkSides(t *testing.T, game rules.Game) {
	t.Helper()
	start := game.Start()
	require.Len(t, start.ToMove(), 2, "both sides move at the same time")
	options := start.Ask(rules.SideA).Options
	assert.Equal(t, options, start.Ask(rules.SideB).Options)
	for _, a := range options {
		for _, b := range options {
			one, other := start.Play([2]string{a, b}), start.Play([2]string{b, a})
			if len(one.ToMove()) > 0 {
				continue // the match goes on
			}
			winner := one.Judge(rules.Chance{}).Winner
			if winner != rules.NoSide {
				winner = winner.Other()
			}
			assert.Equal(t, winner, other.Judge(rules.Chance{}).Winner, "moves %s and %s", a, b)
		}
	}
}
