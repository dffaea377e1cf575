package leaguetest_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/transport"
)

// limiting returns a reply with E022 and a retry delay.
func limiting(wait time.Duration) leaguetest.Reply {
	e := protocol.RateLimited(wait)
	message := protocol.LeagueError{
		Envelope:  protocol.Envelope{Protocol: protocol.Name, MessageType: protocol.TypeLeagueError, Sender: "player:script"},
		ErrorCode: string(e.Code), ErrorName: e.Code.Name(), ErrorDescription: e.Code.Name(), Context: e.Context,
	}
	return leaguetest.FailWith(&transport.Error{Code: e.RPC, Message: e.Code.Name(), Data: leaguetest.Encode(message)})
}

func TestRateLimitedPlayerIsAskedAgainAfterItsDelay(t *testing.T) {
	leaguetest.OnEveryCarrier(t, func(t *testing.T, w *leaguetest.World) {
		w.Duel(nil, leaguetest.Options(leaguetest.On(protocol.ChooseParity.Name, leaguetest.FirstN(5, limiting(4*leaguetest.Second), leaguetest.Normally))))
		assert.Equal(t, []time.Duration{0, 4 * leaguetest.Second, 8 * leaguetest.Second, 12 * leaguetest.Second, 16 * leaguetest.Second, 20 * leaguetest.Second},
			leaguetest.Times(w.Calls(protocol.ChooseParity.Name, "p02")), "more attempts than retries")
		assert.Empty(t, w.GameErrors())
		assert.Equal(t, league.StatusWin, leaguetest.Results(w.Manager)[0].Status)
	})
}

func TestPausesGrowForARateLimitedPlayerWithoutADelay(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		w.Duel(nil, leaguetest.Options(leaguetest.On(protocol.Invite.Name, leaguetest.RefuseWith(protocol.ErrRateLimited))))
		assert.Equal(t, []time.Duration{0, 250 * ms, 750 * ms, 1500 * ms, 2500 * ms, 3500 * ms, 4500 * ms},
			leaguetest.Times(w.Calls(protocol.Invite.Name, "p02")))
		assert.Equal(t, []leaguetest.GameError{leaguetest.FinalError(5*leaguetest.Second, protocol.ErrRateLimited, 0, leaguetest.JoinAck)}, w.GameErrors())
		result := leaguetest.Results(w.Manager)[0]
		assert.Equal(t, "P02 answered GAME_INVITATION with JSON-RPC error 22 (rate limited) - P01 wins by default", result.Reason)
	})
}

func TestRateLimitUsesUpNoRetry(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		w.Duel(nil, leaguetest.Options(leaguetest.On(protocol.ChooseParity.Name, leaguetest.InTurn(
			leaguetest.FailWith(leaguetest.ErrHangUp), limiting(leaguetest.Second), leaguetest.EditAnswer("parity_choice", "Even"), limiting(leaguetest.Second), leaguetest.EditAnswer("parity_choice", 0), leaguetest.Normally))))
		assert.Len(t, w.GameErrors(), 3, "three retries are allowed")
		assert.Equal(t, league.StatusWin, leaguetest.Results(w.Manager)[0].Status)
	})
}

func TestPlayerRateLimitedForItsWholeWindowLosesWithE022(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		w.Duel(nil, leaguetest.Options(leaguetest.On(protocol.ChooseParity.Name, limiting(time.Hour))))
		assert.Equal(t, []leaguetest.GameError{leaguetest.FinalError(30*leaguetest.Second, protocol.ErrRateLimited, 0, leaguetest.ChoiceReply)}, w.GameErrors())
		w.OnlyCall(protocol.ChooseParity.Name, "p02")
		result := w.GameOver("p01").GameResult
		assert.Equal(t, "P02 answered CHOOSE_PARITY_CALL with JSON-RPC error 22 (rate limited, asked to wait 1h0m0s) - P01 wins by default", result.Reason)
		fault, _ := result.Faults.Get("P02")
		assert.Equal(t, string(protocol.ErrRateLimited), fault)
	})
}

func busy(status int, after time.Duration) error {
	return &transport.CallError{Kind: transport.Refused, Status: status, After: after, Err: errors.New("refused")}
}

func TestHTTP429IsRateLimited(t *testing.T) {
	for name, err := range map[string]error{
		"plain": busy(429, 7*leaguetest.Second),
		"with another error code": &transport.CallError{Kind: transport.Failed, Status: 429, After: 7 * leaguetest.Second,
			Err: &transport.Error{Code: -32000, Message: "slow down"}},
	} {
		t.Run(name, func(t *testing.T) {
			e := protocol.AsError(err)
			assert.Equal(t, protocol.ErrRateLimited, e.Code)
			assert.True(t, e.Remote)
			assert.Equal(t, 7*leaguetest.Second, e.RetryAfter())
		})
	}
	assert.Equal(t, protocol.ErrConnection, protocol.AsError(busy(503, leaguetest.Second)).Code)
}

func TestRateLimitedPlayerIsNotSuspended(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		playTwo(w, func(o *manager.Options) { o.Legs, o.SuspendAfter = 3, 1 },
			leaguetest.On(protocol.Invite.Name, limiting(leaguetest.Second)))
		require.Len(t, leaguetest.Results(w.Manager), 3)
		for _, m := range leaguetest.Results(w.Manager) {
			assert.Contains(t, m.Reason, "P02 answered GAME_INVITATION with JSON-RPC error 22 (rate limited, asked to wait 1s)", "it was invited, so it is not suspended")
		}
	})
}

func TestAuditAcceptsRateLimitsAndResultsFromTheStandings(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		w.Varies = true
		folder := leaguetest.TempFolder(t)
		x := w.StartManagerIn(folder, 4, 1)
		w.RefereeWithFiles("REF01", folder)
		player := w.PlayerIn("P01", folder, leaguetest.On(protocol.NotifyMatchResult.Name, leaguetest.RefuseWith(protocol.ErrInvalidFieldType)))
		w.Player("P02", leaguetest.On(protocol.ChooseParity.Name, leaguetest.FirstN(9, limiting(2*leaguetest.Second), leaguetest.Normally)))
		w.Player("P03", leaguetest.On(protocol.Invite.Name, limiting(leaguetest.Second)))
		w.Player("P04")
		x.Finish()
		require.NoError(t, player.Player.Close())
		assert.Len(t, leaguetest.ReadHistory(t, folder, "P01").Matches, 3)
		x.CloseAudited()
	})
}
