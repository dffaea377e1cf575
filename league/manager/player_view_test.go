package manager_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/journal"
	"evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/store"
	"evenodd/player/strategy"
)

func TestReturnedPlayerHasTheTotalsOfTheWholeLeague(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := store.In(t.TempDir())
		w.StartManager(2, 1, func(o *manager.Options) { o.Legs = 2 })
		w.Referee("REF01")
		first := w.PlayerIn("P01", folder)
		w.Player("P02", leaguetest.On(protocol.ChooseParity.Name, leaguetest.Delayed(10*leaguetest.Second, leaguetest.Normally)))
		w.WaitUntil(11 * leaguetest.Second) // in the second of two rounds
		require.Nil(t, first.Player.Record().League, "it has played the whole league")
		require.Len(t, leaguetest.Results(w.Manager), 1)
		first.Stop()
		require.NoError(t, first.Player.Close())
		require.NoError(t, os.RemoveAll(filepath.Dir(folder.History("P01"))))

		again := w.PlayerIn("P01", folder)
		r := w.Manager.Standings()[0]
		if r.PlayerID != "P01" {
			r = w.Manager.Standings()[1]
		}
		assert.Zero(t, again.Player.Record().Stats.TotalMatches)
		assert.Equal(t, &protocol.PlayerStats{TotalMatches: 1, Wins: r.Wins, Draws: r.Draws, Losses: r.Losses}, again.Player.Record().League)
		end := w.Finish()
		require.NotNil(t, again.Player.Record().League)
		assert.Equal(t, 2, again.Player.Record().League.TotalMatches, "by the final standings")
		assert.Equal(t, 1, again.Player.Record().Stats.TotalMatches, "by its own history")
		assert.Equal(t, 2, end.Rows()[0].Played)

		q := &protocol.ToolRequest{}
		q.AuthToken = w.Token("P01")
		state, err := protocol.GetPlayerState.Call(w.Context, w.Untrusted, protocol.Peer{Endpoint: leaguetest.EndpointOf("p01")}, q)
		require.NoError(t, err)
		assert.Equal(t, again.Player.Record().League, state.LeagueStats)
		assert.Equal(t, 1, state.Stats.TotalMatches)
	})
}

// recordingStrategy records its views and chooses the first option.
type recordingStrategy struct{ seen []strategy.View }

func (c *recordingStrategy) Name() string { return "recording" }

func (c *recordingStrategy) Choose(_ context.Context, v strategy.View) (string, error) {
	c.seen = append(c.seen, v)
	return v.Options[0], nil
}

// A view has the time limit of the choice and the last matches.
func TestStrategyIsShownDeadlineAndHistory(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(0, 0)
		looks := &recordingStrategy{}
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
		_, err := second.Invite()
		require.NoError(t, err)
		_, err = second.Move(protocol.FormatTimestamp(w.Clock.Now().Add(30*time.Second)), "left", "right")
		require.NoError(t, err)

		require.Len(t, looks.seen, 2)
		assert.Zero(t, looks.seen[0].Within)
		assert.Equal(t, 30*time.Second, looks.seen[1].Within)
		past := []protocol.PlayedMatch{{
			MatchID: "R1M1", OpponentID: "P02", Result: "WIN", MyChoice: "even", OpponentChoice: "odd", DrawnNumber: 8,
		}}
		assert.Equal(t, past, looks.seen[1].Recent(10))
		assert.Equal(t, past, looks.seen[1].Recent(1))
		assert.Empty(t, looks.seen[1].Recent(0))
	})
}

func TestStrategyIsShownTheStandingsOfTheLastCompletedRound(t *testing.T) {
	for name, change := range map[string]func(*manager.Options){
		"a table each round": func(*manager.Options) {},
		"a table each match": func(o *manager.Options) { o.Broadcast = journal.BroadcastMatch },
	} {
		leaguetest.RunInMemory(t, name, func(t *testing.T, w *leaguetest.World) {
			w.StartManager(4, 2, change)
			w.Referee("REF01")
			w.Referee("REF02")
			looks := &recordingStrategy{}
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
	}
}
