package conversations

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
)

// What a player's token is worth: its own seat in the league, and nothing else,
// whatever it is shown for.
func TestWhatAPlayersTokenIsWorth(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.reporting()
		token := w.token("P02")
		for name, test := range map[string]struct {
			code protocol.Code
			call func(ctx context.Context) error
		}{
			"report a match": {protocol.ErrRefereeNotRegistered, func(context.Context) error {
				q := w.wins("REF01")
				q.AuthToken, q.Sender = token, "player:P02"
				_, err := w.report(q)
				return err
			}},
			"report it as its referee": {protocol.ErrNotAuthorized, func(context.Context) error {
				q := w.wins("REF01")
				q.AuthToken = token
				_, err := w.report(q)
				return err
			}},
			"register as a referee": {protocol.ErrNotAuthorized, func(context.Context) error {
				q := w.refereeApplication("Whistle")
				q.AuthToken = token
				_, err := w.applyReferee(q)
				return err
			}},
			"query as another": {protocol.ErrNotAuthorized, func(context.Context) error {
				q := w.query("P01", protocol.QueryStandings)
				q.AuthToken = token
				_, err := q.send()
				return err
			}},
			"start the league": {protocol.ErrTokenInvalid, func(ctx context.Context) error {
				q := &protocol.ToolRequest{}
				q.AuthToken = token
				_, err := protocol.StartLeague.Call(ctx, w.stranger, w.manage(), q)
				return err
			}},
			"see a match at its referee": {protocol.ErrTokenInvalid, func(ctx context.Context) error {
				q := &protocol.ToolRequest{MatchID: "R1M1"}
				q.AuthToken = token
				_, err := protocol.GetMatchState.Call(ctx, w.stranger, protocol.Peer{Endpoint: endpointOf("ref01")}, q)
				return err
			}},
			"see another player's state": {protocol.ErrTokenInvalid, func(ctx context.Context) error {
				q := &protocol.ToolRequest{}
				q.AuthToken = token
				_, err := protocol.GetPlayerState.Call(ctx, w.stranger, protocol.Peer{Endpoint: endpointOf("p01")}, q)
				return err
			}},
			"end the league at a referee": {protocol.ErrTokenInvalid, func(ctx context.Context) error {
				referee := w.everybody()[1]
				require.Equal(t, "ref01", referee.host)
				return w.manages(referee, w.credential("P02"))["notify_league_completed"]()
			}},
		} {
			err := test.call(w.life)
			e := protocol.AsError(err)
			if assert.NotNil(t, e, name) {
				assert.Equal(t, test.code, e.Code, "%s: %v", name, e)
			}
		}

		victim := w.everybody()[3]
		require.Equal(t, "p01", victim.host)
		for _, shown := range []string{token, w.access("P02", "R1M1", 1, "REF01"), w.access("P02", "R1M1", 1, "P02")} {
			c := w.conducts(victim, "R1M1", 1)
			c.token = shown
			for name, call := range c.everything() {
				if err := protocol.AsError(call()); assert.NotNil(t, err, name) && name != "choose" {
					assertRefused(t, err, protocol.ErrTokenInvalid, 4001)
				}
			}
		}
		for name, call := range w.manages(victim, w.credential("P02")) {
			assertRefused(t, call(), protocol.ErrTokenInvalid, 3001)
			assert.False(t, ended(victim.player.Done()), name)
		}

		back := w.application("Agent P01")
		back.AuthToken, back.Sender, back.PlayerMeta.ContactEndpoint = token, "player:P01", endpointOf("p02")
		r, err := w.apply(back)
		require.NoError(t, err)
		assert.Equal(t, "P02", *r.PlayerID, "whatever it calls itself, it is who its token says")
		w.listener("elsewhere")
		back.PlayerMeta.ContactEndpoint = endpointOf("elsewhere")
		r, err = w.apply(back)
		require.NoError(t, err)
		assert.Equal(t, string(protocol.ErrInvalidEndpoint), r.ErrorCode, "it answers at its old place")
		assert.Zero(t, w.manager.Status().Recorded)
		w.assertNoSecret("P01", "REF01", "REF02")
	})
}
