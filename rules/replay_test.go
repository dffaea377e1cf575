package rules_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/rules"
	"evenodd/rules/evenodd"
	"evenodd/rules/tictactoe"
)

// alternating are moves of the sides in turn, SideA first.
func alternating(texts ...string) (moves []rules.Move) {
	for i, text := range texts {
		moves = append(moves, rules.Move{Side: rules.Side(i % 2), Text: text})
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
			course, err := rules.Replay(tt.game, tt.moves)
			require.NoError(t, err)
			assert.Equal(t, tt.over, course.Over())
			assert.Equal(t, tt.last, course.Last)
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
			_, err := rules.Replay(tt.game, tt.moves)
			assert.Error(t, err)
		})
	}
}
