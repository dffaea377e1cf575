package player

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/membership"
	"evenodd/league/protocol"
	"evenodd/league/store"
)

func TestResultIsTakenFromUnambiguousStandingsOnly(t *testing.T) {
	type table struct{ round, wins, draws, losses int }
	for _, test := range []struct {
		name    string
		current []int // rounds of matches without a result
		filed   int   // wins that the history gets after the first table
		unknown bool  // the totals before the first table are unknown
		tables  []table
		want    string
	}{
		{name: "a win", current: []int{1}, tables: []table{{1, 1, 0, 0}}, want: "WIN"},
		{name: "a draw", current: []int{2}, tables: []table{{1, 0, 0, 0}, {2, 0, 1, 0}}, want: "DRAW"},
		{name: "a loss, after a table during the round", current: []int{2}, tables: []table{{2, 0, 0, 0}, {2, 0, 0, 1}}, want: "LOSS"},
		{name: "the match is not over", current: []int{1}, tables: []table{{1, 0, 0, 0}}},
		{name: "two more matches", current: []int{1}, tables: []table{{1, 1, 0, 1}}},
		{name: "a known match", current: []int{2}, filed: 1, tables: []table{{1, 0, 0, 0}, {2, 1, 0, 0}}},
		{name: "a known match and one more", current: []int{2}, filed: 1, tables: []table{{1, 0, 0, 0}, {2, 2, 0, 0}}, want: "WIN"},
		{name: "two matches without a result", current: []int{1, 2}, tables: []table{{1, 1, 0, 0}}},
		{name: "a match of another round", current: []int{2}, tables: []table{{1, 1, 0, 0}}},
		{name: "a missing table", current: []int{3}, tables: []table{{1, 0, 0, 0}, {3, 1, 0, 0}}},
		{name: "the first table after a restart", current: []int{2}, unknown: true, tables: []table{{2, 1, 0, 0}}},
		{name: "no match", tables: []table{{1, 1, 0, 0}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := &Player{Agent: member(t, "P01"), current: map[string]*match{}, history: newHistory(nil)}
			if !test.unknown {
				p.tally = tally{known: true}
			}
			for _, round := range test.current {
				id := league.MatchID{Round: round, Number: 1}.String()
				p.current[id] = &match{id: id, opponent: "P02", round: round, attempt: 1, chosen: "odd"}
			}
			for i, at := range test.tables {
				for n := range test.filed {
					if i == 1 {
						won := Seen("P01", league.MatchID{Round: 9, Number: n + 1}.String(), 1, &league.Result{Status: league.StatusWin, WinnerPlayerID: new("P01")})
						p.history.add(&won)
					}
				}
				p.infer(at.round, []protocol.StandingRow{{PlayerID: "P02", Wins: 7}, {PlayerID: "P01", Wins: at.wins, Draws: at.draws, Losses: at.losses}})
			}
			matches := p.history.played()[test.filed:]
			if test.want == "" {
				assert.Empty(t, matches)
				assert.Len(t, p.current, len(test.current))
				return
			}
			round := test.current[0]
			assert.Equal(t, []protocol.PlayedMatch{{
				MatchID: league.MatchID{Round: round, Number: 1}.String(), OpponentID: "P02", Result: test.want, MyChoice: "odd", FromStandings: true,
			}}, matches)
			assert.Empty(t, p.current)
			assert.Empty(t, p.recentMatches(10)[test.filed:], "strategies do not get results from the standings")
		})
	}
}

func TestGameOverReplacesAResultFromTheStandings(t *testing.T) {
	h := newHistory(nil)
	inferred := Seen("P01", "R1M1", 2, &league.Result{Status: league.StatusDraw})
	inferred.FromStandings = true
	assert.True(t, h.add(&inferred))
	final := Seen("P01", "R1M1", 2, &league.Result{Status: league.StatusTechnicalLoss})
	assert.True(t, h.add(&final))
	assert.False(t, h.add(&final), "the same result counts once")
	assert.Equal(t, protocol.PlayerStats{TotalMatches: 1, Losses: 1}, h.stats)
}

// member returns an agent that is registered under an id.
func member(t *testing.T, id string) *membership.Agent {
	t.Helper()
	a, err := membership.NewAgent(protocol.RolePlayer, &membership.Options{Name: id, Clock: protocol.SystemClock()})
	require.NoError(t, err)
	accept := func(context.Context) (*membership.Answer, error) {
		return &membership.Answer{AgentID: &id, Token: "t", Registration: &protocol.Registration{Status: protocol.StatusAccepted}}, nil
	}
	apply := func(*store.Identity, string) func(context.Context) (*membership.Answer, error) { return accept }
	require.NoError(t, a.Register(t.Context(), apply, nil))
	return a
}
