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
