package rules_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/rules"
	"evenodd/rules/connectfour"
	"evenodd/rules/evenodd"
	"evenodd/rules/rockpaperscissors"
	"evenodd/rules/tictactoe"
)

func TestOtherSide(t *testing.T) {
	assert.Equal(t, rules.SideB, rules.SideA.Other())
	assert.Equal(t, rules.SideA, rules.SideB.Other())
	assert.Equal(t, [2]rules.Side{0, 1}, [2]rules.Side{rules.SideA, rules.SideB}, "sides index moves and ids")
}

func TestRegistryFindsGames(t *testing.T) {
	r := rules.NewRegistry(tictactoe.Game{}, evenodd.Game{})
	for name, want := range map[string]rules.Game{"tic_tac_toe": tictactoe.Game{}, "even_odd": evenodd.Game{}} {
		g, err := r.Game(name)
		require.NoError(t, err)
		assert.Equal(t, want, g)
	}
	assert.Equal(t, []string{"even_odd", "tic_tac_toe"}, r.Types(), "in order of names, whatever the order given")
	assert.Equal(t, r.Types(), rules.NewRegistry(evenodd.Game{}, tictactoe.Game{}).Types())
}

func TestRegistryRefusesUnknownGames(t *testing.T) {
	for _, tt := range []struct {
		name     string
		registry rules.Registry
		find     string
		want     string
	}{
		{"unknown", rules.NewRegistry(tictactoe.Game{}, evenodd.Game{}), "chess",
			`unknown game "chess"; known: even_odd, tic_tac_toe`},
		{"another case", rules.NewRegistry(evenodd.Game{}), "Even_Odd", `unknown game "Even_Odd"; known: even_odd`},
		{"no name", rules.NewRegistry(evenodd.Game{}), "", `unknown game ""; known: even_odd`},
		{"nothing is known", rules.Registry{}, "even_odd", `unknown game "even_odd"; known: none`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g, err := tt.registry.Game(tt.find)
			require.EqualError(t, err, tt.want)
			assert.Nil(t, g)
		})
	}
	assert.Empty(t, rules.Registry{}.Types())
}

func TestRegistriesDoNotShareGames(t *testing.T) {
	one, other := rules.NewRegistry(tictactoe.Game{}), rules.NewRegistry(evenodd.Game{})
	types := one.Types()
	types[0] = "changed by the caller"
	assert.Equal(t, []string{"tic_tac_toe"}, one.Types())
	assert.Equal(t, []string{"even_odd"}, other.Types())
}

func TestNamesOfGames(t *testing.T) {
	registry := rules.NewRegistry(evenodd.Game{}, tictactoe.Game{})
	for _, test := range [][2]string{{"even_odd", "Even/Odd"}, {"tic_tac_toe", "Tic-Tac-Toe"}, {"word_chain", "Word Chain"}, {"_", " "}, {"", ""}} {
		assert.Equal(t, test[1], registry.Name(test[0]), "a game that is not there has the name of its type")
	}
}

func TestFollows(t *testing.T) {
	for _, test := range []struct {
		name    string
		game    rules.Game
		moves   [2]string
		number  *int
		decided bool
		winner  string
		err     string
	}{
		{"a win", evenodd.Game{}, [2]string{"even", "odd"}, new(7), true, "P02", ""},
		{"a draw", evenodd.Game{}, [2]string{"even", "even"}, new(7), true, "", ""},
		{"no number", evenodd.Game{}, [2]string{"even", "odd"}, nil, false, "", ""},
		{"one choice", evenodd.Game{}, [2]string{"even", ""}, new(7), false, "", ""},
		{"a number that is never drawn", evenodd.Game{}, [2]string{"even", "odd"}, new(11), true, "P02",
			"the number is drawn from 1 to 10, not 11"},
		{"number 0", evenodd.Game{}, [2]string{"even", "odd"}, new(0), true, "P01",
			"the number is drawn from 1 to 10, not 0"},
		{"a number that is never drawn, without choices", evenodd.Game{}, [2]string{}, new(-1), false, "",
			"the number is drawn from 1 to 10, not -1"},
		{"an illegal choice", evenodd.Game{}, [2]string{"even", "maybe"}, new(7), false, "",
			`choice must be "even" or "odd"`},
		{"a game without a number", rockpaperscissors.Game{}, [2]string{"rock", "paper"}, new(0), true, "P02", ""},
		{"a game of many turns", tictactoe.Game{}, [2]string{"0", "1"}, nil, false, "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			verdict, decided, err := rules.Follows(test.game, test.moves, test.number)
			assert.Equal(t, test.decided, decided)
			if decided {
				assert.Equal(t, test.winner, verdict.WinnerOf([2]string{"P01", "P02"}))
			}
			if test.err == "" {
				assert.NoError(t, err)
			} else {
				assert.EqualError(t, err, test.err)
			}
		})
	}
}

// alternating are moves of the sides in turn, SideA first.
func alternating(texts ...string) (moves []rules.Move) {
	for i, text := range texts {
		moves = append(moves, rules.Move{Side: rules.Side(i % 2), Text: text})
	}
	return moves
}

// withoutTurns returns moves without the numbers of their turns.
func withoutTurns(moves []rules.Move) []rules.Move {
	for i := range moves {
		moves[i].Turn = 0
	}
	return moves
}

func TestReplayFollowsTheMoves(t *testing.T) {
	for name, tt := range map[string]struct {
		game  rules.Game
		moves []rules.Move
		over  bool
		last  [2]rules.LastMove
	}{
		"no move": {tictactoe.Game{}, nil, false, [2]rules.LastMove{}},
		"a game that SideA wins": {tictactoe.Game{}, alternating("0", "3", "1", "4", "2"), true,
			[2]rules.LastMove{{Text: "2", Turn: 5, Before: 4}, {Text: "4", Turn: 4, Before: 3}}},
		"a game that was not finished": {tictactoe.Game{}, alternating("0", "3", "1"), false,
			[2]rules.LastMove{{Text: "1", Turn: 3, Before: 2}, {Text: "3", Turn: 2, Before: 1}}},
		"moves at the same time": {evenodd.Game{}, alternating("even", "odd"), true,
			[2]rules.LastMove{{Text: "even", Turn: 1}, {Text: "odd", Turn: 1}}},
		"one of two moves at the same time": {evenodd.Game{}, []rules.Move{{Side: rules.SideB, Text: "odd"}}, false,
			[2]rules.LastMove{{}, {Text: "odd", Turn: 1}}},
	} {
		t.Run(name, func(t *testing.T) {
			course, err := rules.Begin(tt.game).Replay(tt.moves, nil)
			require.NoError(t, err)
			assert.Equal(t, tt.over, course.Over())
			last := [2]rules.LastMove{course.Last(rules.SideA), course.Last(rules.SideB)}
			assert.Equal(t, tt.last, last)
			assert.Equal(t, tt.moves, withoutTurns(course.Moves()))
		})
	}
}

func TestCourseAdvancesWhenAllSidesHaveMoved(t *testing.T) {
	start := rules.Begin(evenodd.Game{})
	assert.Equal(t, []rules.Side{rules.SideA, rules.SideB}, start.ToMove())

	half, err := start.Move(rules.SideB, "odd")
	require.NoError(t, err)
	assert.Equal(t, []rules.Side{rules.SideA}, half.ToMove())
	assert.Equal(t, start.Ask(rules.SideA), half.Ask(rules.SideA), "no side is shown the other's move of the turn")
	assert.Equal(t, 1, half.Turn())
	_, err = half.Move(rules.SideB, "even")
	require.EqualError(t, err, "the side has no move to make")
	_, err = half.Move(rules.SideA, "seven")
	require.EqualError(t, err, `choice must be "even" or "odd"`)

	one, err := half.Move(rules.SideA, "even")
	require.NoError(t, err)
	other, err := half.Move(rules.SideA, "odd")
	require.NoError(t, err)
	assert.True(t, one.Over())
	assert.Equal(t, alternating("even", "odd"), withoutTurns(one.Moves()), "that of side A is first, whichever came first")
	assert.Equal(t, alternating("odd", "odd"), withoutTurns(other.Moves()))
	assert.Equal(t, start.Play([2]string{"even", "odd"}), one)
	assert.Equal(t, [2]string{"even", "odd"}, one.Judge(rules.Chance{}).Moves)
	assert.Equal(t, []rules.Move{{Side: rules.SideB, Text: "odd"}}, withoutTurns(half.Moves()), "a course does not change")
	assert.True(t, start.Owes(rules.SideB) && !half.Owes(rules.SideB) && !start.Owes(rules.NoSide))
}

func TestCoursesFromOnePositionAreIndependent(t *testing.T) {
	course, err := rules.Begin(tictactoe.Game{}).Replay(alternating("0", "3", "1", "4"), nil)
	require.NoError(t, err)
	won, open := course.Play([2]string{"2"}), course.Play([2]string{"8"})
	assert.True(t, won.Over())
	assert.False(t, open.Over())
	assert.Equal(t, alternating("0", "3", "1", "4", "2"), withoutTurns(won.Moves()))
	assert.Equal(t, alternating("0", "3", "1", "4", "8"), withoutTurns(open.Moves()))
	assert.Equal(t, open.Moves()[3:], open.MovesAfter(3))
	assert.Empty(t, open.MovesAfter(5))
	assert.Equal(t, rules.LastMove{Text: "8", Turn: 5, Before: 4}, open.Last(rules.SideA))
	assert.Equal(t, rules.LastMove{Text: "4", Turn: 4, Before: 3}, open.Last(rules.SideB))
}

func TestBetterFindsWhatGivesAwayAPosition(t *testing.T) {
	for name, tt := range map[string]struct {
		game         rules.Game
		moves        []string // the last one is judged
		move, better string
	}{
		"a corner against the centre":   {tictactoe.Game{}, []string{"4"}, "0", ""},
		"an edge against the centre":    {tictactoe.Game{}, []string{"4"}, "1", "0"},
		"a win that is not taken":       {tictactoe.Game{}, []string{"0", "3", "1", "5"}, "8", "2"},
		"a lost position":               {tictactoe.Game{}, []string{"4", "1", "0"}, "8", ""},
		"a threat that is not answered": {tictactoe.Game{}, []string{"0", "4", "1"}, "8", "2"},
		"a game without a solver":       {connectfour.Game{}, []string{"1", "1"}, "2", ""},
		"moves at the same time":        {evenodd.Game{}, nil, "even", ""},
	} {
		t.Run(name, func(t *testing.T) {
			course, err := rules.Begin(tt.game).Replay(alternating(tt.moves...), nil)
			require.NoError(t, err)
			assert.Equal(t, tt.better, rules.Better(course.Position(), tt.move))
		})
	}
}

func TestBoardsShowTheMoves(t *testing.T) {
	four := [][]string{{"", "", "", "", "", "", ""}, {"", "", "", "", "", "", ""}, {"", "", "", "", "", "", ""}, {"", "", "", "", "", "", ""},
		{"", "", "", "O", "", "", ""}, {"X", "", "", "X", "", "", ""}, {"1", "2", "3", "4", "5", "6", "7"}}
	for name, tt := range map[string]struct {
		game  rules.Game
		moves []string
		want  [][]string
	}{
		"connect four":        {connectfour.Game{}, []string{"4", "4", "1"}, four},
		"tic-tac-toe":         {tictactoe.Game{}, []string{"4", "2"}, [][]string{{"", "", "O"}, {"", "X", ""}, {"", "", ""}}},
		"even/odd":            {evenodd.Game{}, []string{"even", "odd"}, [][]string{{"A", "B"}, {"E", "O"}}},
		"even/odd at first":   {evenodd.Game{}, nil, [][]string{{"A", "B"}, {"", ""}}},
		"rock paper scissors": {rockpaperscissors.Game{}, []string{"rock", "paper"}, [][]string{{"A", "B"}, {"R", "P"}}},
	} {
		t.Run(name, func(t *testing.T) {
			course, err := rules.Begin(tt.game).Replay(alternating(tt.moves...), nil)
			require.NoError(t, err)
			assert.Equal(t, tt.want, course.Position().(rules.Drawer).Draw(rules.NoSide))
		})
	}
}

func TestReplayRejectsMovesAgainstTheRules(t *testing.T) {
	swapped := alternating("even", "odd")
	swapped[0], swapped[1] = swapped[1], swapped[0]
	for name, tt := range map[string]struct {
		game  rules.Game
		moves []rules.Move
	}{
		"a cell that is taken":         {tictactoe.Game{}, alternating("0", "0")},
		"a side that is not to move":   {tictactoe.Game{}, []rules.Move{{Side: rules.SideB, Text: "0"}}},
		"two moves of one side":        {tictactoe.Game{}, []rules.Move{{Side: rules.SideA, Text: "0"}, {Side: rules.SideA, Text: "1"}}},
		"a move after the end":         {tictactoe.Game{}, alternating("0", "3", "1", "4", "2", "5")},
		"an unknown side":              {tictactoe.Game{}, []rules.Move{{Side: rules.NoSide, Text: "0"}}},
		"the wrong order in a turn":    {evenodd.Game{}, swapped},
		"an unknown move":              {evenodd.Game{}, alternating("even", "seven")},
		"a second turn after a gap":    {evenodd.Game{}, []rules.Move{{Side: rules.SideB, Text: "odd"}, {Side: rules.SideB, Text: "odd"}}},
		"more turns than the game has": {evenodd.Game{}, alternating("even", "odd", "even")},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := rules.Begin(tt.game).Replay(tt.moves, nil)
			assert.Error(t, err)
		})
	}
}
