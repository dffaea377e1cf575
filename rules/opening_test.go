package rules_test

import (
	"errors"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"evenodd/rules"
	"evenodd/rules/connectfour"
	"evenodd/rules/evenodd"
	"evenodd/rules/kuhnpoker"
	"evenodd/rules/pig"
	"evenodd/rules/tictactoe"
)

// The openings were computed in Python, by another implementation of the game and of the draw.
func TestDrawnOpeningsFollowFromTheirKey(t *testing.T) {
	pair := [2]string{"P01", "P02"}
	for _, tt := range []struct {
		key   rules.OpeningKey
		plies int
		want  []string
	}{
		{rules.OpeningKey{Start: "seed 7", Players: pair, Double: 1}, 2, []string{"1", "6"}},
		{rules.OpeningKey{Start: "seed 7", Players: pair, Double: 1}, 7, []string{"1", "6", "4", "5", "3", "2", "0"}},
		{rules.OpeningKey{Start: "cced28c6dc3f99c2396a5eaad732bf6b28142335892b1cd0e6af6cdb53f5ccfa", Players: pair, Double: 2}, 4,
			[]string{"1", "5", "3", "0"}}, // of league/protocol/testdata/signatures.txt
		{rules.OpeningKey{Start: "seed 7", Players: pair, Double: 2}, 4, []string{"1", "4", "8", "6"}},
		// the fifth one that is drawn: the others end the match
		{rules.OpeningKey{Start: "seed 7", Players: pair, Double: 2}, 7, []string{"4", "8", "0", "3", "5", "7", "1"}},
	} {
		drawn, err := rules.DrawOpening(tictactoe.Game{}, tt.plies, &tt.key, nil)
		require.NoError(t, err)
		assert.Equal(t, tt.want, drawn)
	}
}

func TestMatchGoesOnAfterItsOpeningAsAfterThesePlies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		game := rapid.SampledFrom([]rules.Game{tictactoe.Game{}, connectfour.Game{}}).Draw(t, "game")
		key := &rules.OpeningKey{Start: rapid.String().Draw(t, "start"), Players: [2]string{"P01", "P02"}, Double: 1}
		plies := rapid.IntRange(1, 7).Draw(t, "plies")
		opening, err := rules.DrawOpening(game, plies, key, nil)
		require.NoError(t, err)
		require.Len(t, opening, plies)

		naive := game.Start()
		for i, ply := range opening {
			side := rules.Side(i % 2)
			require.Equal(t, []rules.Side{side}, naive.ToMove())
			require.Contains(t, naive.Ask(side).Options, ply)
			naive = naive.Play([2]string{ply, ply})
		}
		require.NotEmpty(t, naive.ToMove(), "it does not end the match")
		c, err := rules.BeginAfter(game, opening)
		require.NoError(t, err)
		var made [2]string
		for turn := 1; !c.Over(); turn++ {
			require.Equal(t, turn, c.Turn(), "turns count after the opening")
			side := c.ToMove()[0]
			require.Equal(t, naive.Ask(side), c.Ask(side))
			require.Len(t, c.Moves(), turn-1)
			require.Len(t, c.History(), plies+turn-1)
			made[side] = rapid.SampledFrom(c.Ask(side).Options).Draw(t, "move")
			naive = naive.Play(made)
			c, err = c.Move(side, made[side])
			require.NoError(t, err)
		}
		want, got := naive.Judge(rules.Chance{}), c.Judge(rules.Chance{})
		require.Equal(t, want.Winner, got.Winner)
		require.Equal(t, made, got.Moves, "the last moves are those of the match")
	})
}

func TestOpeningsThatTheRulesDoNotAllow(t *testing.T) {
	for _, tt := range []struct {
		opening []string
		want    string
	}{
		{[]string{"4", "4"}, `ply 2, "4": `},
		{[]string{"4", "9"}, `ply 2, "9": `},
		{[]string{"0", "3", "1", "4", "2"}, "it ends the match"},
		{[]string{"0", "3", "1", "4", "2", "5"}, "side B is not to move at ply 6"},
		{make([]string, rules.MaxOpening+1), "an opening has 1 to 32 plies, not 33"},
	} {
		_, err := rules.BeginAfter(tictactoe.Game{}, tt.opening)
		assert.ErrorContains(t, err, tt.want)
	}
}

func TestGamesWithoutOpenings(t *testing.T) {
	long := rules.NewProgram(rules.Info{Type: "long_test", MaxMove: 1000}, 40)
	for _, tt := range []struct {
		game  rules.Game
		plies int
		want  string
	}{
		{evenodd.Game{}, 2, "its sides do not move in turn"},
		{pig.Game{}, 2, "it has draws"},
		{kuhnpoker.Game{}, 2, "it has draws"},
		{rules.NewProgram(rules.Info{Type: "veiled_test", Hidden: true}, 9), 2, "it hides something"},
		{long, 4, "more than 2048: at most 2 plies"},
		{tictactoe.Game{}, 0, "1 to 32 plies"},
		{tictactoe.Game{}, 9, "tic_tac_toe has no openings of 9 plies: each of 1000 that were drawn ends the match"},
	} {
		_, err := rules.DrawOpening(tt.game, tt.plies, &rules.OpeningKey{}, nil)
		assert.ErrorContains(t, err, tt.want)
	}
}

// counting is a program in which the sides count in turn to 9, whose side to move says one of the next two numbers. A
// side that says 5 moves again.
func counting(c rules.Course) (rules.Course, error) {
	last, side := 0, rules.SideA
	for i, e := range c.History() {
		side = rules.Side(i % 2)
		last, _ = strconv.Atoi(e.Moves[0] + e.Moves[1])
		if side = side.Other(); e.Moves[side] != "" {
			side = side.Other()
		}
		if last == 5 {
			side = side.Other()
		}
	}
	if last >= 9 {
		return c.Told(&rules.State{Over: true, Winner: side})
	}
	state := rules.State{Board: [][]string{{strconv.Itoa(last)}}}
	state.ToMove[side] = option(strconv.Itoa(last+1), strconv.Itoa(last+2))
	return c.Told(&state)
}

func TestOpeningOfAProgram(t *testing.T) {
	game := rules.NewProgram(rules.Info{Type: "count_test", MaxMove: 1}, 9)
	for n := range 20 {
		opening, err := rules.DrawOpening(game, 3, &rules.OpeningKey{Start: strconv.Itoa(n)}, counting)
		require.NoError(t, err)
		assert.NotContains(t, opening[:2], "5", "a side would move twice")
		c, err := rules.BeginAfter(game, opening)
		require.NoError(t, err)
		require.True(t, c.Awaits())
		history := c.History()
		require.Len(t, history, 3)
		assert.Equal(t, [2]string{"", opening[1]}, history[1].Moves)
		c, err = counting(c)
		require.NoError(t, err)
		assert.Equal(t, 1, c.Turn())
		assert.Len(t, c.ToMove(), 1)
	}
	c, err := rules.BeginAfter(game, []string{"2", "9"})
	require.NoError(t, err)
	_, err = c.Told(&rules.State{Illegal: &rules.Illegal{Index: 1, Side: rules.SideB, Reason: "too many"}})
	require.ErrorContains(t, err, "too many")
	_, err = c.Told(&rules.State{Over: true})
	require.ErrorContains(t, err, "over before the first move")

	broken := func(rules.Course) (rules.Course, error) { return rules.Course{}, errors.New("it failed") }
	_, err = rules.DrawOpening(game, 3, &rules.OpeningKey{}, broken)
	require.ErrorContains(t, err, "it failed")
	text := func(c rules.Course) (rules.Course, error) {
		return c.Told(&rules.State{ToMove: [2]*rules.Question{{MoveType: "say", Text: 9}}})
	}
	_, err = rules.DrawOpening(game, 3, &rules.OpeningKey{}, text)
	require.ErrorContains(t, err, "free text")
	both := func(c rules.Course) (rules.Course, error) {
		return c.Told(&rules.State{ToMove: [2]*rules.Question{option("a"), option("b")}})
	}
	_, err = rules.DrawOpening(game, 3, &rules.OpeningKey{}, both)
	require.ErrorContains(t, err, "side A does not move first, alone")
}
