package manager_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	league "evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
)

func TestOrganiserQueriesTheLeagueWithTheAdminToken(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(2, 1)
		w.Referee("REF01")
		w.Players(2)
		w.Finish()
		q := &protocol.ToolRequest{}
		q.AuthToken = w.Manager.AdminToken()
		r, err := protocol.GetStandings.Call(w.Context, w.Untrusted, w.ManagerPeer(), q)
		require.NoError(t, err)
		assert.Len(t, r.Standings, 2)

		ask := func(queryType, playerID string) *protocol.LeagueQueryResponse {
			q := &protocol.LeagueQuery{
				Envelope: protocol.NewStamp("player:nobody", w.Clock).Envelope(protocol.TypeLeagueQuery, "conv-organiser"),
				LeagueID: leaguetest.LeagueID, QueryType: queryType, QueryParams: protocol.QueryParams{PlayerID: playerID},
			}
			q.AuthToken = w.Manager.AdminToken()
			r, err := protocol.Query.Call(w.Context, w.Untrusted, w.ManagerPeer(), q)
			require.NoError(t, err)
			return r
		}
		assert.True(t, *ask(protocol.QueryStatus, "").Success)
		assert.True(t, *ask(protocol.QueryPlayerStats, "P02").Success)
		refused := ask(protocol.QueryNextMatch, "")
		assert.False(t, *refused.Success, "the organiser has no next match")
		assert.Equal(t, string(protocol.ErrPlayerNotRegistered), refused.Error.ErrorCode)
	})
}

func TestRequestsOfTheOrganiserAreLimited(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(0, 1)
		q := &protocol.ToolRequest{}
		q.AuthToken = w.Manager.AdminToken()
		for range 100 {
			_, err := protocol.GetStandings.Call(w.Context, w.Untrusted, w.ManagerPeer(), q)
			require.NoError(t, err)
		}
		_, err := protocol.GetStandings.Call(w.Context, w.Untrusted, w.ManagerPeer(), q)
		leaguetest.AssertRefused(t, err, protocol.ErrRateLimited, 22)
		_, err = protocol.StartLeague.Call(w.Context, w.Untrusted, w.ManagerPeer(), q)
		leaguetest.AssertRefused(t, err, protocol.ErrRateLimited, 22)
	})
}

func TestAdminTokenStaysTheSameAfterARestart(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := leaguetest.TempFolder(t)
		ownSecret := func(o *league.Options) { o.Secret = nil }
		first := w.StartManagerIn(folder, 0, 1, ownSecret)
		token := w.Manager.AdminToken()
		first.Kill()
		w.StartManagerIn(folder, 0, 1, ownSecret)
		assert.Equal(t, token, w.Manager.AdminToken())
		assert.NotContains(t, string(leaguetest.ReadJournal(w, folder)), token)
	})
}
