package conversations

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/referee"
	"evenodd/transport"
	"evenodd/transport/http"
)

// limiting answers E022 and asks to wait.
func limiting(wait time.Duration) part {
	e := protocol.RateLimited(wait)
	message := protocol.LeagueError{
		Envelope:  protocol.Envelope{Protocol: protocol.Name, MessageType: protocol.TypeLeagueError, Sender: "player:script"},
		ErrorCode: string(e.Code), ErrorName: e.Code.Name(), ErrorDescription: e.Code.Name(), Context: e.Context,
	}
	return failing(&transport.Error{Code: e.RPC, Message: e.Code.Name(), Data: written(message)})
}

func TestRateLimitedPlayerIsAskedAgainWhenItSays(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.duel(nil, with(does(protocol.ChooseParity.Name, nTimes(5, limiting(4*second), honestly))))
		assert.Equal(t, []time.Duration{0, 4 * second, 8 * second, 12 * second, 16 * second, 20 * second},
			times(w.said(protocol.ChooseParity.Name, "p02")), "more often than there are retries")
		assert.Empty(t, w.complaints())
		assert.Equal(t, protocol.StatusWin, w.manager.Results()[0].Status)
	})
}

func TestPausesGrowWhereARateLimitedPlayerNamesNone(t *testing.T) {
	const ms = time.Millisecond
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.duel(nil, with(does(protocol.Invite.Name, refusing(protocol.ErrRateLimited))))
		assert.Equal(t, []time.Duration{0, 250 * ms, 750 * ms, 1500 * ms, 2500 * ms, 3500 * ms, 4500 * ms},
			times(w.said(protocol.Invite.Name, "p02")))
		assert.Equal(t, []complaint{last(5*second, protocol.ErrRateLimited, 0, join)}, w.complaints())
		result := w.manager.Results()[0]
		assert.Equal(t, "P02 answered GAME_INVITATION with JSON-RPC error 22 (rate limited) - P01 wins by default", result.Reason)
	})
}

func TestRateLimitUsesUpNoRetry(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.duel(nil, with(does(protocol.ChooseParity.Name, inTurn(
			failing(errHangUp), limiting(second), editing("parity_choice", "Even"), limiting(second), editing("parity_choice", 0), honestly))))
		assert.Len(t, w.complaints(), 3, "there are three retries")
		assert.Equal(t, protocol.StatusWin, w.manager.Results()[0].Status)
	})
}

func TestPlayerThatIsRateLimitedForItsWholeWindowLosesByE022(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.duel(nil, with(does(protocol.ChooseParity.Name, limiting(time.Hour))))
		assert.Equal(t, []complaint{last(30*second, protocol.ErrRateLimited, 0, choice)}, w.complaints())
		w.only(protocol.ChooseParity.Name, "p02")
		result := w.gameOver("p01").GameResult
		assert.Equal(t, "P02 answered CHOOSE_PARITY_CALL with JSON-RPC error 22 (rate limited, asked to wait 1h0m0s) - P01 wins by default", result.Reason)
		fault, _ := result.Faults.Get("P02")
		assert.Equal(t, string(protocol.ErrRateLimited), fault)
	})
}

// A free clock does not advance, as in a simulation with faults.
func TestRateLimitEndsAlsoWhereNoTimePasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, byValue, zerolog.Nop())
		w.startManager(2, 1)
		frozen := protocol.NewClock(time.Now, func(ctx context.Context, _ time.Duration) error { return ctx.Err() })
		a := w.refereeWith("REF01", nil, func(o *referee.Options) { o.Clock = frozen })
		require.NoError(t, a.referee.Register(w.life))
		w.player("P01", choosing("even"))
		w.player("P02", does(protocol.ChooseParity.Name, refusing(protocol.ErrRateLimited)))
		w.finish()
		assert.Equal(t, "P01", w.manager.Results()[0].Winner)
		assert.Len(t, w.said(protocol.ChooseParity.Name, "p02"), 32)
		w.close()
	})
}

func TestHTTP429IsRateLimited(t *testing.T) {
	for name, err := range map[string]error{
		"plain":                         &http.StatusError{Status: 429, After: 7 * second},
		"with an error of another code": &transport.Error{Code: -32000, Message: "slow down", After: 7 * second, Status: 429},
	} {
		t.Run(name, func(t *testing.T) {
			e := protocol.AsError(err)
			assert.Equal(t, protocol.ErrRateLimited, e.Code)
			assert.True(t, e.Remote)
			assert.Equal(t, 7*second, e.RetryAfter())
		})
	}
	assert.Equal(t, protocol.ErrConnection, protocol.AsError(&http.StatusError{Status: 503, After: second}).Code)
}

func TestRateLimitedPlayerIsNotSuspended(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.startManager(2, 1, func(o *league.Options) { o.Legs, o.SuspendAfter = 3, 1 })
		w.referee("REF01")
		w.player("P01")
		w.player("P02", does(protocol.Invite.Name, limiting(second)))
		w.finish()
		require.Len(t, w.manager.Results(), 3)
		for _, m := range w.manager.Results() {
			assert.Contains(t, m.Reason, "P02 answered GAME_INVITATION with JSON-RPC error 22 (rate limited, asked to wait 1s)", "it was asked, and forfeited nothing")
		}
	})
}

func TestAuditFindsNothingWrongWithRateLimitsAndResultsFromTheStandings(t *testing.T) {
	onEveryCarrier(t, func(t *testing.T, w *world) {
		w.varies = true
		folder := folderOf(t)
		x := w.tenure(folder, 4, 1)
		w.writer("REF01", folder)
		deaf := w.lives("P01", folder, does(protocol.NotifyMatchResult.Name, refusing(protocol.ErrInvalidFieldType)))
		w.player("P02", does(protocol.ChooseParity.Name, nTimes(9, limiting(2*second), honestly)))
		w.player("P03", does(protocol.Invite.Name, limiting(second)))
		w.player("P04")
		x.finish()
		require.NoError(t, deaf.player.Close())
		assert.Len(t, historyOf(t, folder, "P01").Matches, 3)
		x.closeAudited()
	})
}
