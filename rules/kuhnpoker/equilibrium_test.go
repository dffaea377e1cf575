package kuhnpoker_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/rules"
	"evenodd/rules/kuhnpoker"
)

// A behaviour says with which probability a side pays a chip, with a card after a betting.
type behaviour func(t *testing.T, card string, betting []string) float64

func nash(t *testing.T, card string, betting []string) float64 {
	t.Helper()
	_, _, probability, err := kuhnpoker.Equilibrium(card, betting)
	require.NoError(t, err)
	return probability
}

// value returns the chips that side A, which moves first, wins in hand 1 on average, by all deals.
func value(t *testing.T, by [2]behaviour) (sum float64) {
	t.Helper()
	for outcome := range 6 {
		start, ok := kuhnpoker.Game{}.Start().(rules.Drawing)
		require.True(t, ok)
		sum += valueOf(t, start.Drawn(outcome), by) / 6
	}
	return sum
}

func valueOf(t *testing.T, p rules.Position, by [2]behaviour) (sum float64) {
	t.Helper()
	if len(p.ToMove()) == 0 { // the hand is over: hand 2 tells what side A has won
		next, ok := p.(rules.Drawing)
		require.True(t, ok)
		p = next.Drawn(0)
		side := p.ToMove()[0]
		view, ok := p.Ask(side).View.(map[string]any)
		require.True(t, ok)
		chips, ok := view[kuhnpoker.ViewChips].(int)
		require.True(t, ok)
		return float64(chips) * map[rules.Side]float64{rules.SideA: 1, rules.SideB: -1}[side]
	}
	side := p.ToMove()[0]
	q := p.Ask(side)
	view, ok := q.View.(map[string]any)
	require.True(t, ok)
	card, _ := view[kuhnpoker.ViewCard].(string)
	betting, _ := view[kuhnpoker.ViewBetting].([]string)
	pay, pass, _, err := kuhnpoker.Equilibrium(card, betting)
	require.NoError(t, err)
	require.ElementsMatch(t, q.Options, []string{pay, pass})
	probability := by[side](t, card, betting)
	for move, weight := range map[string]float64{pay: probability, pass: 1 - probability} {
		if weight > 0 {
			var moves [2]string
			moves[side] = move
			sum += weight * valueOf(t, p.Play(moves), by)
		}
	}
	return sum
}

func TestEquilibriumHasTheValueOfTheGame(t *testing.T) {
	assert.InDelta(t, -1./18, value(t, [2]behaviour{nash, nash}), 1e-12)
}

// Each side has two decisions with each of three cards: after a bet, and without one. The test tries all 64 pure
// strategies of a side: no mixture of them can do better than the best one.
func TestNoStrategyGainsAgainstTheEquilibrium(t *testing.T) {
	for side := range rules.Side(2) {
		best := math.Inf(-1)
		for choices := range 64 {
			pure := func(_ *testing.T, card string, betting []string) float64 {
				decision := 0
				if len(betting) > 0 && betting[len(betting)-1] == kuhnpoker.Bet {
					decision = 1
				}
				index := map[string]int{"J": 0, "Q": 1, "K": 2}[card]
				return float64(choices >> (2*index + decision) & 1)
			}
			by := [2]behaviour{nash, nash}
			by[side] = pure
			gained := value(t, by)
			if side == rules.SideB {
				gained = -gained
			}
			best = max(best, gained)
		}
		assert.InDelta(t, map[rules.Side]float64{rules.SideA: -1. / 18, rules.SideB: 1. / 18}[side], best, 1e-12)
	}
}

func TestEquilibriumOfNoPositionIsAnError(t *testing.T) {
	for _, test := range []struct {
		card    string
		betting []string
	}{
		{"A", nil}, {"", nil}, {"K", []string{"call"}}, {"K", []string{"check", "check"}},
		{"K", []string{"check", "bet", "call", "bet"}},
	} {
		_, _, _, err := kuhnpoker.Equilibrium(test.card, test.betting)
		assert.Error(t, err, "%v", test)
	}
}
