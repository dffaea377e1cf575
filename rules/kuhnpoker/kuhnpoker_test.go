package kuhnpoker_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/rules"
	"evenodd/rules/kuhnpoker"
	"evenodd/rules/rulestest"
)

func TestGameKeepsTheRulesOfGames(t *testing.T) {
	rulestest.Check(t, kuhnpoker.Game{})
}

// outcomes are the draws, by the cards of both sides.
var outcomes = map[string]int{"JQ": 0, "JK": 1, "QJ": 2, "QK": 3, "KJ": 4, "KQ": 5}

// after returns the position after hands, such as "JQ check bet fold" or "KJ check, check": the cards of both sides,
// then the moves.
func after(t *testing.T, hands ...string) rules.Position {
	t.Helper()
	p := kuhnpoker.Game{}.Start()
	for _, hand := range hands {
		words := strings.Fields(strings.ReplaceAll(hand, ",", ""))
		drawing, ok := p.(rules.Drawing)
		require.True(t, ok && drawing.Outcomes() == 6, "a deal is due before %s", hand)
		p = drawing.Drawn(outcomes[words[0]])
		for _, move := range words[1:] {
			require.Len(t, p.ToMove(), 1, hand)
			side := p.ToMove()[0]
			require.NoError(t, p.Check(side, move), hand)
			var moves [2]string
			moves[side] = move
			p = p.Play(moves)
		}
	}
	return p
}

// repeat returns a hand n times.
func repeat(hand string, n int) []string {
	return strings.Split(strings.TrimSuffix(strings.Repeat(hand+"\n", n), "\n"), "\n")
}

func TestHands(t *testing.T) {
	for _, test := range []struct {
		hand  string
		chips int // of side A, which is first in hand 1
	}{
		{"JQ check, check", -1},
		{"KQ check, check", 1},
		{"JQ check bet fold", -1},
		{"KQ check bet fold", -1},
		{"KQ check bet call", 2},
		{"QK check bet call", -2},
		{"JK bet fold", 1},
		{"JK bet call", -2},
		{"QJ bet call", 2},
	} {
		p := after(t, test.hand)
		assert.Equal(t, fmt.Sprintf("%+d", test.chips), p.(rules.Drawer).Draw(rules.NoSide)[0][3], test.hand)
		assert.Equal(t, fmt.Sprintf("%+d", -test.chips), p.(rules.Drawer).Draw(rules.NoSide)[1][3], test.hand)
		// in hand 2 side B is first: the same hand with exchanged cards has the same result for it
		cards, moves, _ := strings.Cut(test.hand, " ")
		p = after(t, test.hand, cards[1:]+cards[:1]+" "+moves, "JQ")
		question := p.Ask(rules.SideA)
		view, ok := question.View.(map[string]any)
		require.True(t, ok)
		assert.Equal(t, 0, view[kuhnpoker.ViewChips], test.hand)
		hands, ok := view[kuhnpoker.ViewHands].([]map[string]any)
		require.True(t, ok)
		assert.Equal(t, test.chips, hands[0][kuhnpoker.ViewChips], test.hand)
		assert.Equal(t, -test.chips, hands[1][kuhnpoker.ViewChips], test.hand)
	}
}

func TestMatches(t *testing.T) {
	for _, test := range []struct {
		name   string
		hands  []string
		winner rules.Side
		last   [2]string
		reason string
	}{
		{"A wins", repeat("KQ check, check", 20), rules.SideA, [2]string{"check", "check"},
			"P01 has won 20 chips from P02 in 20 hands"},
		{"B wins", append(repeat("JQ bet fold", 18), "JQ bet call", "JQ check, check"), rules.SideB,
			[2]string{"check", "check"}, "P02 has won 3 chips from P01 in 20 hands"},
		{"by one chip", append(repeat("JQ bet fold", 19), "JK check bet call"), rules.SideB, [2]string{"bet", "call"},
			"P02 has won 1 chip from P01 in 20 hands"},
		{"a draw", repeat("JQ bet fold", 20), rules.NoSide, [2]string{"fold", "bet"}, "Nobody has won chips after 20 hands"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := after(t, test.hands...)
			assert.Empty(t, p.ToMove())
			assert.Zero(t, p.(rules.Drawing).Outcomes())
			verdict := p.Judge(rules.Chance{})
			assert.Equal(t, test.winner, verdict.Winner)
			assert.Equal(t, test.last, verdict.Moves)
			assert.Equal(t, test.reason, verdict.Reason([2]string{"P01", "P02"}))
		})
	}
}

func TestViewHasWhatTheSideHasSeen(t *testing.T) {
	q := after(t, "JQ bet fold", "KQ check bet call", "QJ check bet").Ask(rules.SideA)
	assert.Equal(t, "act", q.MoveType)
	assert.Equal(t, []string{"fold", "call"}, q.Options)
	assert.Equal(t, map[string]any{
		"hand": 3, "card": "Q", "betting": []string{"check", "bet"}, "chips": 3,
		"hands": []map[string]any{
			{"betting": []string{"bet", "fold"}, "card": "J", "chips": 1},
			{"betting": []string{"check", "bet", "call"}, "card": "K", "shown": "Q", "chips": 2},
		},
	}, q.View)
}

// A card that a side has not seen may be another one, and nothing that the side is shown differs: neither in the hand
// that is played nor after a fold.
func TestNothingShownDependsOnACardThatASideHasNotSeen(t *testing.T) {
	other := func(cards string, side rules.Side) string {
		for deal := range outcomes {
			if deal != cards && deal[side] == cards[side] {
				return deal
			}
		}
		panic(cards)
	}
	bettings := []string{"", " check", " bet", " check bet", " bet fold", " check bet fold"}
	for cards := range outcomes {
		for _, betting := range bettings {
			for _, before := range []string{"", "KJ check, check", "QJ check bet fold"} {
				for side := range rules.Side(2) {
					hands := []string{cards + betting}
					hidden := []string{other(cards, side) + betting}
					if before != "" {
						hands, hidden = append([]string{before}, hands...), append([]string{before}, hidden...)
					}
					if strings.HasSuffix(betting, "fold") {
						hands, hidden = append(hands, "JK"), append(hidden, "JK")
					}
					one, two := after(t, hands...), after(t, hidden...)
					require.Equal(t, one.Ask(side), two.Ask(side), "%v, %v", hands, hidden)
					require.Equal(t, one.(rules.Drawer).Draw(side), two.(rules.Drawer).Draw(side), "%v, %v", hands, hidden)
				}
			}
		}
	}
}

func TestBoards(t *testing.T) {
	for _, test := range []struct {
		hands      []string
		side       rules.Side
		rowA, rowB string
	}{
		{nil, rules.SideA, "A,,,0", "B,,,0"},
		{[]string{"JQ"}, rules.SideA, "A,J,1,0", "B,?,1,0"},
		{[]string{"JQ"}, rules.SideB, "A,?,1,0", "B,Q,1,0"},
		{[]string{"JQ bet"}, rules.NoSide, "A,J,2,0", "B,Q,1,0"},
		{[]string{"JQ bet fold"}, rules.SideB, "A,?,2,+1", "B,Q,1,-1"},
		{[]string{"JQ bet call"}, rules.SideB, "A,J,2,-2", "B,Q,2,+2"},
		{[]string{"JQ bet call", "KQ bet"}, rules.SideA, "A,K,1,-2", "B,?,2,+2"},
	} {
		board := after(t, test.hands...).(rules.Drawer).Draw(test.side)
		assert.Equal(t, [][]string{strings.Split(test.rowA, ","), strings.Split(test.rowB, ",")}, board, "%v", test.hands)
	}
}

func TestIllegalMoves(t *testing.T) {
	for _, test := range []struct {
		hand string
		side rules.Side
		move string
		want string
	}{
		{"JQ", rules.SideA, "call", "choice must be check or bet"},
		{"JQ check", rules.SideB, "fold", "choice must be check or bet"},
		{"JQ bet", rules.SideB, "check", "choice must be fold or call"},
		{"JQ check bet", rules.SideA, "", "choice must be fold or call"},
		{"JQ check", rules.SideA, "bet", "it is the other's turn"},
		{"JQ check, check", rules.SideB, "check", "nobody is to move"},
	} {
		assert.EqualError(t, after(t, test.hand).Check(test.side, test.move), test.want, test.hand)
	}
}
