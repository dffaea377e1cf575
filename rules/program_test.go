package rules_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/rules"
)

// diceGame is told by its test: a die, then both sides choose, then side A alone.
func diceGame() *rules.Program {
	return rules.NewProgram(rules.Info{Type: "dice_test", Draws: true, Hidden: true}, 2)
}

func option(options ...string) *rules.Question {
	return &rules.Question{MoveType: "bet", Options: options}
}

// tell returns a function for each of several steps of a course.
func tell(t *testing.T, c rules.Course, state rules.State) rules.Course {
	t.Helper()
	require.True(t, c.Awaits())
	c, err := c.Told(&state)
	require.NoError(t, err)
	return c
}

func play(t *testing.T, c rules.Course, side rules.Side, move string) rules.Course {
	t.Helper()
	c, err := c.Move(side, move)
	require.NoError(t, err)
	return c
}

func TestCourseOfAProgram(t *testing.T) {
	game, chance := diceGame(), rules.Chance{Nonce: [32]byte{1}}
	c := rules.Begin(game)
	assert.Equal(t, []rules.Side{rules.SideA, rules.SideB}, c.ToMove(), "the ready turn")
	assert.Equal(t, rules.Question{MoveType: rules.Ready, Options: []string{rules.Ready}}, c.Ask(rules.SideB))
	require.ErrorContains(t, c.Check(rules.SideA, "bet"), "must be ready")
	c = play(t, play(t, c, rules.SideB, rules.Ready), rules.SideA, rules.Ready)
	assert.Empty(t, c.History())
	assert.False(t, c.Over())

	c = tell(t, c, rules.State{Draw: 6})
	assert.Empty(t, c.ToMove())
	assert.False(t, c.Over())
	require.Equal(t, 6, c.Outcomes())
	c = c.Settle("R1M1", &chance)
	drawn := chance.Draw("R1M1", 1, 6)
	assert.Equal(t, []rules.Draw{{Turn: 2, Of: 6, Number: drawn}}, c.Draws())
	assert.Equal(t, []rules.Entry{{Draw: &drawn}}, c.History())

	c = tell(t, c, rules.State{ToMove: [2]*rules.Question{option("1", "2"), {MoveType: "say", Text: 3}},
		Board: [][]string{{"x"}}})
	require.ErrorContains(t, c.Check(rules.SideA, "3"), "must be one of the options")
	for _, text := range []string{"", "four", "\xff"} {
		require.Error(t, c.Check(rules.SideB, text), "%q", text)
	}
	c = play(t, c, rules.SideB, "hi")
	assert.Equal(t, []rules.Entry{{Draw: &drawn}, {Moves: [2]string{"", "hi"}}}, c.History(), "one of two sides has moved")
	c = play(t, c, rules.SideA, "2")
	assert.Equal(t, 1, c.Played())

	_, err := c.Told(&rules.State{Over: true, Board: [][]string{{"x", "y"}}})
	require.ErrorContains(t, err, "all boards of a match have one size")
	_, err = c.Told(&rules.State{Illegal: &rules.Illegal{Index: 1, Side: rules.SideB, Reason: "too rude"}})
	require.ErrorContains(t, err, "refuses entry 1 of a history to which it led")
	assert.NotContains(t, err.Error(), "too rude", "it may tell a card")

	c = play(t, tell(t, c, rules.State{ToMove: [2]*rules.Question{option("1"), nil}}), rules.SideA, "1")
	_, err = c.Told(&rules.State{ToMove: [2]*rules.Question{option("1"), nil}})
	require.ErrorContains(t, err, "not over after 2 turns")
	assert.Equal(t, []rules.Move{{rules.SideA, "2", 2}, {rules.SideB, "hi", 2}, {rules.SideA, "1", 3}}, c.MovesAfter(2))
	history := c.History()
	c = tell(t, c, rules.State{Over: true, Winner: rules.SideB, Reason: "{B} bluffed {A}"})
	assert.True(t, c.Over())
	verdict := c.Judge(chance)
	assert.Equal(t, [2]string{"1", "hi"}, verdict.Moves)
	assert.Equal(t, "P02 bluffed P01", verdict.Reason([2]string{"P01", "P02"}))
	assert.Equal(t, history, c.History())
	assert.Equal(t, []rules.Entry{{Draw: &drawn}, {Moves: [2]string{"2", "hi"}}, {Moves: [2]string{"1", ""}}}, history)
}

func TestGamesWithViews(t *testing.T) {
	plain := rules.NewProgram(rules.Info{Type: "plain_test"}, 1)
	assert.False(t, rules.HasDraws(plain))
	assert.True(t, rules.HasViews(plain) && rules.ListsMoves(plain))
	assert.Equal(t, 1, rules.MaxTurns(plain))
	assert.True(t, rules.Begin(plain).Awaits())
	_, err := rules.Begin(plain).Told(&rules.State{Over: true, Reason: "x"})
	require.ErrorContains(t, err, "over before the first move", "no report could prove that")
	assert.Equal(t, 3, rules.MaxTurns(diceGame()), "with the ready turn")
}

// The numbers were computed with Python's hashlib by the definition.
func TestDrawsFollowFromTheChance(t *testing.T) {
	chance := rules.Chance{Nonce: [32]byte{1}, EntropyA: [32]byte{2}, EntropyB: [32]byte{3}}
	for _, tt := range []struct{ k, n, want int }{
		{1, 2, 1}, {1, 6, 5}, {2, 6, 5}, {12, 52, 41}, {3, 2147483647, 807407982},
	} {
		assert.Equal(t, tt.want, chance.Draw("R1M1", tt.k, tt.n), "draw %d of %d", tt.k, tt.n)
	}
	counts := map[int]int{}
	for k := range 6000 {
		counts[chance.Draw("R1M1", k+1, 6)]++
	}
	for outcome := range 6 {
		assert.InDelta(t, 1000, counts[outcome], 150, "outcome %d", outcome)
	}
}
