package manager_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	league "evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/player/strategy"
)

// recordingStrategy records its views and chooses the first option.
type recordingStrategy struct {
	strategy.Strategy

	seen []strategy.View
}

func (c *recordingStrategy) Choose(_ context.Context, v strategy.View) (string, error) {
	c.seen = append(c.seen, v)
	return v.Options[0], nil
}

// A view has the time limit of the choice and the last matches.
func TestStrategyIsShownDeadlineAndHistory(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(0, 0)
		random, err := strategy.New("random")
		require.NoError(t, err)
		looks := &recordingStrategy{Strategy: random}
		a := w.Player("P01", func(a *leaguetest.Agent) { a.Decide = looks })
		first := w.ScriptedReferee(a, "R1M1", 1)
		for _, ask := range []func() error{
			func() error { _, err := first.Invite(); return err },
			func() error { _, err := first.Choose(); return err }, // its deadline has passed: the referee's clock is wrong
			func() error { _, err := first.SendGameOver(8); return err },
		} {
			require.NoError(t, ask())
		}
		second := w.ScriptedReferee(a, "R2M1", 1)
		_, err = second.Invite()
		require.NoError(t, err)
		_, err = second.Move(w.Clock.Format(w.Clock.Now().Add(30*time.Second)), "left", "right")
		require.NoError(t, err)

		require.Len(t, looks.seen, 2)
		assert.Zero(t, looks.seen[0].Within)
		assert.Equal(t, 30*time.Second, looks.seen[1].Within)
		past := []strategy.Past{{
			MatchID: "R1M1", OpponentID: "P02", Result: "WIN", Choice: "even", OpponentChoice: "odd", DrawnNumber: 8,
		}}
		assert.Equal(t, past, looks.seen[1].Recent(10))
		assert.Equal(t, past, looks.seen[1].Recent(1))
		assert.Empty(t, looks.seen[1].Recent(0))
	})
}

func TestStrategyIsShownTheStandingsOfTheLastCompletedRound(t *testing.T) {
	for name, change := range map[string]func(*league.Options){
		"a table each round": func(*league.Options) {},
		"a table each match": func(o *league.Options) { o.EveryMatch = true },
	} {
		t.Run(name, func(t *testing.T) {
			leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
				w.StartManager(4, 2, change)
				w.Referee("REF01")
				w.Referee("REF02")
				random, err := strategy.New("random")
				require.NoError(t, err)
				looks := &recordingStrategy{Strategy: random}
				w.Player("P01", func(a *leaguetest.Agent) { a.Decide = looks }, leaguetest.On(protocol.Invite.Name, leaguetest.Delayed(3*leaguetest.Second, leaguetest.Normally)))
				for _, id := range []string{"P02", "P03", "P04"} {
					w.Player(id)
				}
				w.Finish()
				require.Len(t, looks.seen, 3)
				assert.Nil(t, looks.seen[0].Table)
				for round, v := range looks.seen[1:] {
					require.Len(t, v.Table, 4)
					for i, r := range v.Table {
						assert.Equal(t, i+1, r.Rank)
						assert.Equal(t, round+1, r.Played, "without the round that is being played")
						assert.Equal(t, r.Played, r.Wins+r.Draws+r.Losses)
					}
				}
			})
		})
	}
}
