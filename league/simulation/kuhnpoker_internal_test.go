package simulation

import (
	"context"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/player/strategy"
	"evenodd/rules"
	"evenodd/rules/kuhnpoker"
	"evenodd/rules/pig"
)

// A reporter is a network that keeps the reports.
type reporter struct {
	network

	mu      sync.Mutex
	reports []*protocol.MatchResultReport
}

// Call implements network.
func (n *reporter) Call(ctx context.Context, r protocol.CallRequest) (any, *protocol.Timing, error) {
	if report, ok := r.Params.(*protocol.MatchResultReport); ok {
		n.mu.Lock()
		n.reports = append(n.reports, report)
		n.mu.Unlock()
	}
	return n.network.Call(ctx, r)
}

// chipsOfFirst returns the chips that the first player of each hand of a match has won.
func chipsOfFirst(t *testing.T, report *protocol.MatchResultReport) (won []int) {
	t.Helper()
	draws, before := report.Draws, 0
	ended := func(course rules.Course) {
		drawer, ok := course.Position().(rules.Drawer)
		require.True(t, ok)
		chips, err := strconv.Atoi(drawer.Draw(rules.NoSide)[rules.SideA][3])
		require.NoError(t, err)
		sign := 1 - 2*(len(won)%2) // PLAYER_B is first in every other hand
		won = append(won, sign*(chips-before))
		before = chips
	}
	moves := make([]rules.Move, len(report.Moves))
	for i, m := range report.Moves {
		moves[i] = rules.Move{Side: rules.SideA, Text: m.Move, Turn: m.Turn}
		if m.PlayerID != report.Moves[0].PlayerID { // the first move is that of PLAYER_A
			moves[i].Side = rules.SideB
		}
	}
	course, err := rules.Begin(kuhnpoker.Game{}).Replay(moves, func(course rules.Course) (rules.Course, error) {
		if course.Turn() > 2 {
			ended(course)
		}
		number := draws[0].Number
		draws = draws[1:]
		return course.Drawn(number), nil
	})
	require.NoError(t, err)
	require.True(t, course.Over())
	ended(course)
	require.Len(t, won, kuhnpoker.Hands)
	return won
}

// The first player of a hand loses 1/18 chip on average: kuhnpoker.TestEquilibriumHasTheValueOfTheGame. The test allows
// three standard errors. 5,000 hands, or 20,000.
func TestNashPlaysTheValueOfKuhnPoker(t *testing.T) {
	t.Parallel()
	o := benchmarkLeague(2, Memory)
	o.GameType, o.Games, o.Strategies, o.Legs = kuhnpoker.Type, rules.NewRegistry(kuhnpoker.Game{}), []string{"nash"}, 250
	if leaguetest.All() {
		o.Legs = 1000
	}
	n := &reporter{network: newNetwork(Memory)}
	_, err := runOn(t.Context(), o, n)
	require.NoError(t, err)
	var hands, sum, squares float64
	for _, report := range n.reports {
		for _, chips := range chipsOfFirst(t, report) {
			hands, sum, squares = hands+1, sum+float64(chips), squares+float64(chips*chips)
		}
	}
	assert.InDelta(t, o.Legs*kuhnpoker.Hands, hands, 0)
	mean := sum / hands
	deviation := math.Sqrt((squares/hands - mean*mean) / hands)
	assert.InDelta(t, -1./18, mean, 3*deviation)
	assert.Less(t, deviation, 0.02)
}

// Each strategy plays each game of draws that it can play, and loses no match technically.
func TestStrategiesPlayGamesWithDraws(t *testing.T) {
	t.Parallel()
	for _, game := range []rules.Game{kuhnpoker.Game{}, pig.Game{}} {
		var fitting []string
		for _, name := range strategy.Names() {
			s, err := strategy.New(name)
			require.NoError(t, err)
			if strategy.Fits(s, game.Info().Type) == nil {
				fitting = append(fitting, name)
			}
		}
		require.Contains(t, fitting, "random")
		o := benchmarkLeague(len(fitting), Memory)
		o.GameType, o.Games, o.Strategies = game.Info().Type, rules.NewRegistry(game), fitting
		r, err := runOn(t.Context(), o, newNetwork(Memory))
		require.NoError(t, err)
		for _, m := range matchesOf(r) {
			assert.NotEqual(t, "TECHNICAL_LOSS", m.Status, "%v", m)
		}
	}
}

// A forger is a network that changes messages of referees.
type forger struct {
	network

	change func(message any) any
}

// Call implements network.
func (n *forger) Call(ctx context.Context, r protocol.CallRequest) (any, *protocol.Timing, error) {
	r.Params = n.change(r.Params)
	return n.network.Call(ctx, r)
}

func TestPlayerFindsAWrongCardAndAnotherDraw(t *testing.T) {
	t.Parallel()
	none := func(message any) any { return message }
	for name, test := range map[string]struct {
		change func(message any) any
		found  string
	}{
		"none": {none, ""},
		"a wrong card": {func(message any) any {
			q, ok := message.(*protocol.GameMoveCall)
			if !ok || q.PlayerID != "P02" {
				return message
			}
			changed := *q
			changed.MoveRequest.Context = maps.Clone(q.MoveRequest.Context)
			if view, ok := changed.MoveRequest.Context["view"].(map[string]any); ok {
				view = maps.Clone(view)
				view[kuhnpoker.ViewCard] = "K"
				changed.MoveRequest.Context["view"] = view
			}
			return &changed
		}, `"member":"view"`},
		"another draw": {func(message any) any {
			q, ok := message.(*protocol.GameOver)
			if !ok {
				return message
			}
			changed := *q
			changed.Draws = slices.Clone(q.Draws)
			changed.Draws[7].Number = (changed.Draws[7].Number + 1) % 6
			return &changed
		}, `"member":"draws"`},
	} {
		t.Run(name, func(t *testing.T) {
			n := &tap{network: newNetwork(Memory)}
			o := benchmarkLeague(2, Memory)
			o.GameType, o.Games = kuhnpoker.Type, rules.NewRegistry(kuhnpoker.Game{})
			o.Log = zerolog.New(n).Level(zerolog.WarnLevel)
			_, err := runOn(t.Context(), o, &forger{n.network, test.change})
			require.NoError(t, err)
			found := slices.ContainsFunc(n.sent, func(s sending) bool {
				line := string(s.text)
				return strings.Contains(line, "VIEW_CONTRADICTED") && strings.Contains(line, `"sender":"referee:REF01"`) &&
					strings.Contains(line, test.found)
			})
			assert.Equal(t, test.found != "", found)
		})
	}
}
