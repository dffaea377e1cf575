package rules_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/rules"
	"evenodd/rules/connectfour"
	"evenodd/rules/evenodd"
	"evenodd/rules/rockpaperscissors"
	"evenodd/rules/rulestest"
	"evenodd/rules/tictactoe"
)

// nim is a game of alternating moves: side A begins, a move takes one to three from a
// heap, and the side that takes the last one wins.
type nim struct{ heap int }

func (nim) Info() rules.Info {
	return rules.Info{
		Type: "nim", DisplayName: "Nim", Rules: "Take one to three from the heap; the last one wins.", MoveTypes: []string{"take"},
		ValidChoices: map[string][]string{"take": {"1", "2", "3"}},
		MaxMoves:     6,
	}
}

func (nim) MaxTurns() int { return 12 } // a heap has at most 12

func (g nim) Start() rules.Position { return taking{heap: g.heap} }

// taking is a position of nim.
type taking struct {
	heap   int
	toMove rules.Side
	last   [2]string
}

func (p taking) ToMove() []rules.Side {
	if p.heap == 0 {
		return nil
	}
	return []rules.Side{p.toMove}
}

func (p taking) Ask(rules.Side) rules.Question {
	return rules.Question{
		MoveType: "take", Options: []string{"1", "2", "3"}[:min(p.heap, 3)],
		Context: map[string]any{"heap": p.heap},
	}
}

func (p taking) Check(side rules.Side, move string) error {
	if side != p.toMove {
		return errors.New("it is the other's turn")
	}
	if !slices.Contains(p.Ask(side).Options, move) {
		return fmt.Errorf("of %d one can take 1 to %d", p.heap, min(p.heap, 3))
	}
	return nil
}

func (p taking) Play(moves [2]string) rules.Position {
	taken, _ := strconv.Atoi(moves[p.toMove]) // it is legal
	p.heap -= taken
	p.last[p.toMove] = moves[p.toMove]
	p.toMove = p.toMove.Other()
	return p
}

func (p taking) Judge(rules.Chance) rules.Verdict {
	winner := p.toMove.Other()
	return rules.Verdict{
		Winner: winner, Moves: p.last,
		Explain: func(_ rules.Verdict, ids [2]string) string { return ids[winner] + " took the last one" },
	}
}

var (
	_ rules.Game     = nim{}
	_ rules.Position = taking{}
)

func TestAnyGamePlaysThroughTheInterface(t *testing.T) {
	first := func(_ rules.Side, q rules.Question) string { return q.Options[0] }
	// Leaving a multiple of four wins nim.
	perfect := func(s rules.Side, q rules.Question) string {
		if rest := q.Context["heap"].(int) % 4; s == rules.SideA && rest > 0 {
			return strconv.Itoa(rest)
		}
		return "1"
	}
	fours := rules.Chance{Nonce: [32]byte{0: 0x39, 31: 0x39}}
	for _, tt := range []struct {
		name   string
		game   rules.Game
		choose func(rules.Side, rules.Question) string
		asked  [2]int
		winner rules.Side
		moves  [2]string
		reason string
	}{
		{"an empty heap has no moves", nim{0}, first, [2]int{0, 0}, rules.SideB, [2]string{}, "P02 took the last one"},
		{"one move ends it", nim{1}, first, [2]int{1, 0}, rules.SideA, [2]string{"1", ""}, "P01 took the last one"},
		{"alternating, the last by B", nim{12}, first, [2]int{6, 6}, rules.SideB, [2]string{"1", "1"}, "P02 took the last one"},
		{"A plays perfectly", nim{11}, perfect, [2]int{3, 2}, rules.SideA, [2]string{"3", "1"}, "P01 took the last one"},
		{"simultaneous choices", evenodd.Game{}, first, [2]int{1, 1}, rules.NoSide, [2]string{"even", "even"},
			fmt.Sprintf("Both chose even, number was %[1]d (%[2]s) - both %[3]s", numbered(fours)...)},
		{"marks in turn, the first cells first", tictactoe.Game{}, first, [2]int{4, 3}, rules.SideA, [2]string{"6", "5"},
			"P01 has three X in a row: 2, 4, 6"},
		{"hands at once", rockpaperscissors.Game{}, first, [2]int{1, 1}, rules.NoSide, [2]string{"rock", "rock"}, "Both chose rock"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := rulestest.Play(t, tt.game, fours, tt.choose)
			assert.Equal(t, tt.asked, m.Asked)
			assert.Equal(t, tt.winner, m.Verdict.Winner)
			assert.Equal(t, tt.moves, m.Verdict.Moves)
			assert.Equal(t, tt.reason, m.Verdict.Reason([2]string{"P01", "P02"}))
		})
	}
}

// numbered returns the number that a chance draws, its parity, and the result of two
// players that chose even.
func numbered(c rules.Chance) []any {
	number := evenodd.Number(c)
	if number%2 == 0 {
		return []any{number, "even", "correct"}
	}
	return []any{number, "odd", "incorrect"}
}

func TestNimAlternatesSides(t *testing.T) {
	start := nim{2}.Start()
	assert.Equal(t, []rules.Side{rules.SideA}, start.ToMove())
	require.NoError(t, start.Check(rules.SideA, "2"))
	require.EqualError(t, start.Check(rules.SideB, "1"), "it is the other's turn")
	require.EqualError(t, start.Check(rules.SideA, "3"), "of 2 one can take 1 to 2")

	next := start.Play([2]string{"1", "ignored: B is not to move"})
	assert.Equal(t, []rules.Side{rules.SideB}, next.ToMove())
	assert.Equal(t, map[string]any{"heap": 1}, next.Ask(rules.SideB).Context)
}

// The games of the program have this test in cmd/settings_test.go.
func TestEveryMatchEndsWithAVerdict(t *testing.T) {
	for _, heap := range []int{1, 5, 12} {
		rulestest.Check(t, nim{heap})
	}
}

func TestOtherSide(t *testing.T) {
	assert.Equal(t, rules.SideB, rules.SideA.Other())
	assert.Equal(t, rules.SideA, rules.SideB.Other())
	assert.Equal(t, [2]rules.Side{0, 1}, [2]rules.Side{rules.SideA, rules.SideB}, "sides index moves and ids")
}

func TestRegistryFindsGames(t *testing.T) {
	r := rules.NewRegistry(nim{7}, evenodd.Game{})
	for _, tt := range []struct {
		name string
		find string
		want rules.Game
	}{
		{"the first given", "nim", nim{7}},
		{"the last given", "even_odd", evenodd.Game{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g, err := r.Game(tt.find)
			require.NoError(t, err)
			assert.Equal(t, tt.want, g)
		})
	}
	assert.Equal(t, []string{"even_odd", "nim"}, r.Types(), "in order of names, whatever the order given")
	assert.Equal(t, r.Types(), rules.NewRegistry(evenodd.Game{}, nim{7}).Types())
}

func TestRegistryRefusesUnknownGames(t *testing.T) {
	for _, tt := range []struct {
		name     string
		registry rules.Registry
		find     string
		want     string
	}{
		{"unknown", rules.NewRegistry(nim{}, evenodd.Game{}), "chess", `unknown game "chess"; known: even_odd, nim`},
		{"another case", rules.NewRegistry(evenodd.Game{}), "Even_Odd", `unknown game "Even_Odd"; known: even_odd`},
		{"no name", rules.NewRegistry(evenodd.Game{}), "", `unknown game ""; known: even_odd`},
		{"nothing is known", rules.Registry{}, "nim", `unknown game "nim"; known: none`},
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
	one, other := rules.NewRegistry(nim{}), rules.NewRegistry(evenodd.Game{})
	types := one.Types()
	types[0] = "changed by the caller"
	assert.Equal(t, []string{"nim"}, one.Types())
	assert.Equal(t, []string{"even_odd"}, other.Types())
}

func TestFollows(t *testing.T) {
	number := func(n int) *int { return &n }
	for _, test := range []struct {
		name    string
		game    rules.Game
		moves   [2]string
		number  *int
		decided bool
		winner  string
		err     string
	}{
		{"a win", evenodd.Game{}, [2]string{"even", "odd"}, number(7), true, "P02", ""},
		{"a draw", evenodd.Game{}, [2]string{"even", "even"}, number(7), true, "", ""},
		{"no number", evenodd.Game{}, [2]string{"even", "odd"}, nil, false, "", ""},
		{"one choice", evenodd.Game{}, [2]string{"even", ""}, number(7), false, "", ""},
		{"a number that is never drawn", evenodd.Game{}, [2]string{"even", "odd"}, number(11), true, "P02", "the number is drawn from 1 to 10, not 11"},
		{"number 0", evenodd.Game{}, [2]string{"even", "odd"}, number(0), true, "P01", "the number is drawn from 1 to 10, not 0"},
		{"a number that is never drawn, without choices", evenodd.Game{}, [2]string{}, number(-1), false, "", "the number is drawn from 1 to 10, not -1"},
		{"an illegal choice", evenodd.Game{}, [2]string{"even", "maybe"}, number(7), false, "", `choice must be "even" or "odd"`},
		{"a game without a number", rockpaperscissors.Game{}, [2]string{"rock", "paper"}, number(0), true, "P02", ""},
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
			course, err := rules.Replay(tt.game, alternating(tt.moves...))
			require.NoError(t, err)
			assert.Equal(t, tt.better, rules.Better(course.Position, tt.move))
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
			course, err := rules.Replay(tt.game, alternating(tt.moves...))
			require.NoError(t, err)
			assert.Equal(t, tt.want, course.Position.(rules.Drawer).Draw(rules.NoSide))
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
