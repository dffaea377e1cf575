package strategy_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/player/strategy"
	"evenodd/rules"
	"evenodd/rules/connectfour"
	"evenodd/rules/kuhnpoker"
	"evenodd/rules/tictactoe"
)

func TestSpecialistPlaysItsOwnGames(t *testing.T) {
	both := []string{"even_odd", "tic_tac_toe"}
	assert.Equal(t, []string{"tic_tac_toe"}, strategy.Playable(named(t, "perfect"), both))
	assert.Equal(t, []string{"even_odd", "tic_tac_toe"}, both)
	require.NoError(t, strategy.Fits(named(t, "perfect"), both...))
	require.EqualError(t, strategy.Fits(named(t, "perfect"), "even_odd"), "strategy perfect plays tic_tac_toe, not even_odd")
	for _, name := range everyName {
		assert.Equal(t, both, strategy.Playable(named(t, name), both))
		require.NoError(t, strategy.Fits(named(t, name), "chess"), "%s plays any game", name)
	}
}

// marks returns the view of a player of Tic-Tac-Toe.
func marks(q rules.Question, n uint64) strategy.View {
	return strategy.View{
		GameType: tictactoe.Type, MoveType: q.MoveType, Options: q.Options, Context: q.Context,
		MatchID: "R1M1", RoundID: 1, PlayerID: "P01", OpponentID: "P02", Memory: strategy.NewMemory, Random: source(n),
	}
}

func TestPerfectRefusesOtherGames(t *testing.T) {
	_, err := named(t, "perfect").Choose(t.Context(), parities(strategy.NewMemory(), 1))
	require.EqualError(t, err, "strategy perfect plays tic_tac_toe, not even_odd")

	start := tictactoe.Game{}.Start().Ask(rules.SideA)
	for _, board := range []any{nil, 7, "", "XXX......"} {
		v := marks(start, 1)
		v.Context = map[string]any{tictactoe.ContextBoard: board, tictactoe.ContextMark: "O"}
		choice, err := named(t, "perfect").Choose(t.Context(), v)
		require.ErrorContains(t, err, "perfect: ")
		assert.Empty(t, choice)
	}
}

func TestPerfectMakesEachOfTheBestMoves(t *testing.T) {
	counts := map[string]int{}
	answer := tictactoe.Game{}.Start().Play([2]string{"4", ""}).Ask(rules.SideB) // after the centre
	for n := range uint64(4000) {
		choice, err := named(t, "perfect").Choose(t.Context(), marks(answer, n))
		require.NoError(t, err)
		again, err := named(t, "perfect").Choose(t.Context(), marks(answer, n))
		require.NoError(t, err)
		require.Equal(t, choice, again, "the same from the same source")
		counts[choice]++
	}
	assert.Len(t, counts, 4)
	for _, corner := range []string{"0", "2", "6", "8"} {
		assert.InDelta(t, 1000, counts[corner], 150)
	}
}

// drops returns the view of a player of Connect Four, with the context as it arrives as JSON.
func drops(t *testing.T, q rules.Question, n uint64) strategy.View {
	t.Helper()
	text, err := json.Marshal(q.Context)
	require.NoError(t, err)
	v := strategy.View{GameType: connectfour.Type, Options: q.Options, OpponentID: "P02", Memory: strategy.NewMemory, Random: source(n)}
	require.NoError(t, json.Unmarshal(text, &v.Context))
	return v
}

func TestLookaheadRefusesOtherGamesAndBoards(t *testing.T) {
	_, err := named(t, "lookahead").Choose(t.Context(), parities(strategy.NewMemory(), 1))
	require.EqualError(t, err, "strategy lookahead plays connect_four, not even_odd")
	for _, board := range []any{nil, 7, "", []any{1, 2, 3, 4, 5, 6}, []string{"......."}} {
		v := drops(t, connectfour.Game{}.Start().Ask(rules.SideA), 1)
		v.Context[connectfour.ContextBoard] = board
		_, err := named(t, "lookahead").Choose(t.Context(), v)
		assert.ErrorContains(t, err, "lookahead: ")
	}
}

// The choice is the same whether the context came as a value or as JSON.
func TestLookaheadReadsValuesAndJSON(t *testing.T) {
	q := connectfour.Game{}.Start().Play([2]string{"4"}).Ask(rules.SideB)
	choices := map[string]bool{}
	for n := range uint64(50) {
		arrived := drops(t, q, n)
		choice, err := named(t, "lookahead").Choose(t.Context(), arrived)
		require.NoError(t, err)
		arrived.Context, arrived.Random = q.Context, source(n)
		same, err := named(t, "lookahead").Choose(t.Context(), arrived)
		require.NoError(t, err)
		assert.Equal(t, choice, same)
		choices[choice] = true
	}
	assert.Greater(t, len(choices), 3, "equally good moves are chosen at random")
}

// Skill decides Connect Four: lookahead wins nearly all matches against a random player, on both
// sides.
func TestLookaheadBeatsRandomPlayers(t *testing.T) {
	const matches = 20
	for side, name := range []string{"first", "second"} {
		t.Run(name, func(t *testing.T) {
			wins := 0
			for n := range uint64(matches) {
				p := connectfour.Game{}.Start()
				for turn := uint64(0); len(p.ToMove()) > 0; turn++ {
					mover, player := p.ToMove()[0], "random"
					if mover == rules.Side(side) {
						player = "lookahead"
					}
					choice, err := named(t, player).Choose(t.Context(), drops(t, p.Ask(mover), 100*n+turn))
					require.NoError(t, err)
					require.NoError(t, p.Check(mover, choice))
					var made [2]string
					made[mover] = choice
					p = p.Play(made)
				}
				if p.Judge(rules.Chance{}).Winner == rules.Side(side) {
					wins++
				}
			}
			assert.GreaterOrEqual(t, wins, matches-1)
		})
	}
}

func TestSpecialtiesListTheGamesOfSpecialists(t *testing.T) {
	assert.Equal(t, "perfect plays only tic_tac_toe; lookahead plays only connect_four; nash plays only kuhn_poker",
		strategy.Specialties())
}

// hand returns the view of a player of Kuhn poker, as it comes over a network.
func hand(t *testing.T, p rules.Position, n uint64) strategy.View {
	t.Helper()
	q := p.Ask(p.ToMove()[0])
	text, err := json.Marshal(map[string]any{"view": q.View})
	require.NoError(t, err)
	v := strategy.View{
		GameType: kuhnpoker.Type, MoveType: q.MoveType, Options: q.Options,
		MatchID: "R1M1", RoundID: 1, PlayerID: "P01", OpponentID: "P02", Memory: strategy.NewMemory, Random: source(n),
	}
	require.NoError(t, json.Unmarshal(text, &v.Context))
	return v
}

func TestNashMixesItsMoves(t *testing.T) {
	deal := func(outcome int) rules.Position { return kuhnpoker.Game{}.Start().(rules.Drawing).Drawn(outcome) }
	check, bet := [2]string{"check", ""}, [2]string{"bet", ""}
	for _, tt := range []struct {
		name string
		p    rules.Position
		want map[string]float64
	}{
		{"J first", deal(0), map[string]float64{"bet": 1. / 3, "check": 2. / 3}},
		{"Q first", deal(2), map[string]float64{"check": 1}},
		{"K after a check", deal(1).Play(check), map[string]float64{"bet": 1}},
		{"Q after a bet", deal(0).Play(bet), map[string]float64{"call": 1. / 3, "fold": 2. / 3}},
		{"Q after a check and a bet", deal(3).Play(check).Play([2]string{"", "bet"}),
			map[string]float64{"call": 2. / 3, "fold": 1. / 3}},
	} {
		counts := choices(t, "nash", func(n uint64) strategy.View { return hand(t, tt.p, n) })
		for move, want := range tt.want {
			assert.InDelta(t, want, float64(counts[move])/1000, 0.045, "%s: %s", tt.name, move) // three standard errors
		}
		assert.Len(t, counts, len(tt.want), tt.name)
	}
	v := hand(t, deal(0), 1)
	v.Context["view"].(map[string]any)["card"] = "A"
	_, err := named(t, "nash").Choose(t.Context(), v)
	require.ErrorContains(t, err, "nash: nobody is to move with card")
	_, err = named(t, "nash").Choose(t.Context(), parities(strategy.NewMemory(), 1))
	require.EqualError(t, err, "strategy nash plays kuhn_poker, not even_odd")
}
