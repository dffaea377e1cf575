package manager_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/decide"
	"evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
)

// A player that is invited against itself, or asked under another id, plays on, and says so once in its log and to its
// manager.
func TestMisnamedPlayerTellsItsManagerOnce(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		log := w.CaptureLog()
		w.StartManagerIn(leaguetest.TempFolder(t), 2, 1)
		thirdPartyReferee(w, "REF01", w.AcceptMatch)
		players := w.Players(2)
		w.WaitUntil(leaguetest.Second)
		itself, other := w.ScriptedReferee(players[0], "R1M1", 1), w.ScriptedReferee(players[1], "R1M1", 1)
		itself.Opponent, other.Opponent, other.AskedAs = players[0].ID, players[0].ID, "P77"
		for range 2 {
			for _, c := range []*leaguetest.ScriptedReferee{itself, other} {
				joined, err := c.Invite()
				require.NoError(t, err)
				assert.True(t, *joined.Accept)
				_, err = c.Choose()
				require.NoError(t, err)
			}
			w.WaitUntil(w.Now() + leaguetest.Second)
		}
		told := w.Calls(protocol.NotifyGameError.Name, leaguetest.ManagerHost)
		require.Len(t, told, 2)
		assert.Equal(t, 2, strings.Count(log.Text(), `"event_type":"MISNAMED"`))
		assert.Equal(t, 2, strings.Count(log.Text(), `"message":"a player says that a referee takes it for another one"`))
		assert.Contains(t, log.Text(), `"player_id":"P01","match_id":"R1M1","error_code":"E002","defect":"opponent_id is P01, which is this player itself"`)
		assert.Contains(t, log.Text(), `"player_id":"P02","match_id":"R1M1","error_code":"E005","defect":"player_id is P77, and this player is P02"`)
	})
}

// A referee that acknowledges every request is known as such after its first match without a report, until it reports.
func TestRefereeThatAcknowledgesEverythingIsNamed(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		const why = "REF01 acknowledges every request; it may not know how a match starts"
		log := w.CaptureLog()
		x := w.StartManagerIn(leaguetest.TempFolder(t), 2, 1, func(o *manager.Options) { o.LongestMatch = 20 })
		thirdPartyReferee(w, "REF01", func(c *leaguetest.Call) (jsontext.Value, error) {
			accepted, err := w.AcceptMatch(c)
			ack := leaguetest.Decode[protocol.MatchAssignmentAck](accepted)
			ack.Reason = protocol.AcknowledgesAll // as the dialect says
			return leaguetest.Encode(ack), err
		})
		w.Players(2)
		lifecycle := func() string {
			reason, err := x.Manager.Read(t.Context(), manager.ReadResource, w.Token("REF01"), func(v *decide.View) (any, error) {
				_, reason := v.State.Lifecycle(v.State.Agents["REF01"])
				return reason, nil
			})
			require.NoError(t, err)
			return reason.(string)
		}
		w.WaitUntil(10 * leaguetest.Second)
		assert.Empty(t, lifecycle())
		w.WaitUntil(25 * leaguetest.Second)
		assert.Equal(t, why, lifecycle())
		assert.Contains(t, log.Text(), `"reason":"`+why+`"`)
		q := w.WinReport("REF01")
		q.Attempt = len(w.Calls(protocol.StartMatch.Name, "ref01"))
		mustReport(w, q)
		state := finish(x)
		_, reason := state.Lifecycle(state.Agents["REF01"])
		assert.NotContains(t, reason, "acknowledges")
	})
}

// Only a player with its token can tell the manager an error.
func TestErrorOfAnyoneButAPlayerIsRefused(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManagerIn(leaguetest.TempFolder(t), 2, 1)
		thirdPartyReferee(w, "REF01", w.AcceptMatch)
		w.Players(2)
		w.WaitUntil(leaguetest.Second)
		q := &protocol.GameError{
			Envelope: protocol.NewStamp("player:P01", w.Clock).Envelope(protocol.TypeGameError, "conv-r1m1-a1"), MatchID: "R1M1",
			ErrorCode: "E005", ErrorDescription: "PLAYER_NOT_REGISTERED", AffectedPlayer: "P01", ActionRequired: "NONE",
		}
		for token, code := range map[string]protocol.Code{
			"": protocol.ErrTokenMissing, "tok-p01-x": protocol.ErrTokenInvalid, w.Token("REF01"): protocol.ErrNotAuthorized,
		} {
			q.AuthToken = token
			_, err := protocol.NotifyGameError.Call(w.Context, w.Untrusted, w.ManagerPeer(), q)
			assert.Equal(t, code, protocol.AsError(err).Code, token)
		}
	})
}
