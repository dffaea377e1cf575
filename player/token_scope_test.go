package player_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
)

func TestPlayerTokenGrantsNothingBeyondTheOwnPlayer(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		w.StartReporting()
		token := w.Token("P02")
		for name, test := range map[string]struct {
			code protocol.Code
			call func(ctx context.Context) error
		}{
			"report a match": {protocol.ErrRefereeNotRegistered, func(context.Context) error {
				q := w.WinReport("REF01")
				q.AuthToken, q.Sender = token, "player:P02"
				_, err := w.Report(q)
				return err
			}},
			"report it as its referee": {protocol.ErrNotAuthorized, func(context.Context) error {
				q := w.WinReport("REF01")
				q.AuthToken = token
				_, err := w.Report(q)
				return err
			}},
			"register as a referee": {protocol.ErrNotAuthorized, func(context.Context) error {
				q := w.RefereeApplication("Whistle")
				q.AuthToken = token
				_, err := w.ApplyReferee(q)
				return err
			}},
			"query as another": {protocol.ErrNotAuthorized, func(context.Context) error {
				q := w.Query("P01", protocol.QueryStandings)
				q.AuthToken = token
				_, err := q.Send()
				return err
			}},
			"start the league": {protocol.ErrTokenInvalid, func(ctx context.Context) error {
				q := &protocol.ToolRequest{}
				q.AuthToken = token
				_, err := protocol.StartLeague.Call(ctx, w.Untrusted, w.ManagerPeer(), q)
				return err
			}},
			"see a match at its referee": {protocol.ErrTokenInvalid, func(ctx context.Context) error {
				q := &protocol.ToolRequest{MatchID: "R1M1"}
				q.AuthToken = token
				_, err := protocol.GetMatchState.Call(ctx, w.Untrusted, protocol.Peer{Endpoint: leaguetest.EndpointOf("ref01")}, q)
				return err
			}},
			"see another player's state": {protocol.ErrTokenInvalid, func(ctx context.Context) error {
				q := &protocol.ToolRequest{}
				q.AuthToken = token
				_, err := protocol.GetPlayerState.Call(ctx, w.Untrusted, protocol.Peer{Endpoint: leaguetest.EndpointOf("p01")}, q)
				return err
			}},
			"end the league at a referee": {protocol.ErrTokenInvalid, func(ctx context.Context) error {
				referee := w.Agents()[1]
				require.Equal(t, "ref01", referee.Host)
				return w.ManagerCalls(referee, w.ManagerCredential("P02"))["notify_league_completed"]()
			}},
		} {
			err := test.call(w.Context)
			e := protocol.AsError(err)
			if assert.NotNil(t, e, name) {
				assert.Equal(t, test.code, e.Code, "%s: %v", name, e)
			}
		}

		victim := w.Agents()[3]
		require.Equal(t, "p01", victim.Host)
		for _, shown := range []string{token, w.AccessToken("P02", "R1M1", 1, "REF01"), w.AccessToken("P02", "R1M1", 1, "P02")} {
			c := w.ScriptedReferee(victim, "R1M1", 1)
			c.Token = shown
			for name, call := range c.AllCalls() {
				if err := protocol.AsError(call()); assert.NotNil(t, err, name) && name != "choose" {
					leaguetest.AssertRefused(t, err, protocol.ErrTokenInvalid, 4001)
				}
			}
		}
		for name, call := range w.ManagerCalls(victim, w.ManagerCredential("P02")) {
			leaguetest.AssertRefused(t, call(), protocol.ErrTokenInvalid, 3001)
			assert.False(t, leaguetest.IsClosed(victim.Player.Done()), name)
		}

		back := w.Application("Agent P01")
		back.AuthToken, back.Sender, back.PlayerMeta.ContactEndpoint = token, "player:P01", leaguetest.EndpointOf("p02")
		r, err := w.Apply(back)
		require.NoError(t, err)
		assert.Equal(t, "P02", *r.PlayerID, "the token determines the id")
		w.PingOnly("elsewhere")
		back.PlayerMeta.ContactEndpoint = leaguetest.EndpointOf("elsewhere")
		r, err = w.Apply(back)
		require.NoError(t, err)
		assert.Equal(t, string(protocol.ErrInvalidEndpoint), r.ErrorCode, "it answers at its registered endpoint")
		assert.Zero(t, w.Manager.Status().Recorded)
		w.AssertNoTokenLeaked("P01", "REF01", "REF02")
	})
}
