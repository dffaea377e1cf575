package leaguetest_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/transport"
)

// leagueErrorTo sends LEAGUE_ERROR to an agent by a method. The params may be anything.
func leagueErrorTo(w *leaguetest.World, host, method, bearer string, params any) error {
	_, _, err := w.Untrusted.Call(w.Context, transport.Request{
		Endpoint: leaguetest.EndpointOf(host), Method: method, Bearer: bearer, Params: params, Limit: 5 * leaguetest.Second,
		Decode: func(raw []byte) (any, error) {
			if !strings.Contains(string(raw), `"LEAGUE_ERROR_ACK"`) {
				assert.Fail(w.T, "no acknowledgement", string(raw))
			}
			return nil, nil //nolint:nilnil // nothing else counts
		},
	})
	return err
}

// LEAGUE_ERROR is a notice for all roles, by whatever name it comes: it is acknowledged, never answered by an error, and
// logged if its sender proves itself.
func TestLeagueErrorIsANotice(t *testing.T) {
	leaguetest.OnHTTP(t, func(t *testing.T, w *leaguetest.World) {
		log := w.CaptureLog()
		w.StartManager(2, 1)
		w.Referee("REF01", leaguetest.WithDelays(0, 0, 0))
		w.Player("P01")
		message := func(sender, token, code string) *protocol.LeagueError {
			e := &protocol.LeagueError{
				Envelope:  protocol.NewStamp(sender, w.Clock).Envelope(protocol.TypeLeagueError, "conv-said"),
				ErrorCode: code, ErrorDescription: protocol.Code(code).Name(), Context: map[string]any{"detail": "said " + code},
			}
			e.AuthToken = token
			return e
		}
		methods := []string{protocol.TypeLeagueError, protocol.LeagueErrorMethod, "mcp_message", "anything"}
		for host, id := range map[string]string{"p01": "P01", "ref01": "REF01"} {
			for _, method := range methods {
				before := strings.Count(log.Text(), `"event_type":"LEAGUE_ERROR"`)
				require.NoError(t, leagueErrorTo(w, host, method, "", message(protocol.ManagerSender, "", "E018")), "without the credential")
				require.NoError(t, leagueErrorTo(w, host, method, "wrong", message(protocol.ManagerSender, "", "E018")))
				assert.Equal(t, before, strings.Count(log.Text(), `"event_type":"LEAGUE_ERROR"`), "anybody may send it")
				require.NoError(t, leagueErrorTo(w, host, method, w.ManagerCredential(id), message(protocol.ManagerSender, "", "E018")))
				assert.Equal(t, before+1, strings.Count(log.Text(), `"event_type":"LEAGUE_ERROR"`))
				assert.Contains(t, log.Text(), "E018 PROTOCOL_VERSION_MISMATCH: said E018")
			}
		}
		for _, method := range methods {
			before := strings.Count(log.Text(), `"event_type":"LEAGUE_ERROR"`)
			require.NoError(t, leagueErrorTo(w, leaguetest.ManagerHost, method, "", message("player:P01", "wrong", "E008")))
			require.NoError(t, leagueErrorTo(w, leaguetest.ManagerHost, method, "", message("player:P01", "", "E008")))
			assert.Equal(t, before, strings.Count(log.Text(), `"event_type":"LEAGUE_ERROR"`))
			require.NoError(t, leagueErrorTo(w, leaguetest.ManagerHost, method, "", message("player:P01", w.Token("P01"), "E008")))
			assert.Equal(t, before+1, strings.Count(log.Text(), `"event_type":"LEAGUE_ERROR"`))
		}
		for _, host := range []string{"p01", "ref01", leaguetest.ManagerHost} {
			for _, params := range []string{`{}`, `[]`, `{"error_code": 7, "conversation_id": ["x"]}`,
				`{"conversation_id": "` + strings.Repeat("x", 1000) + `", "error_code": "nonsense"}`} {
				require.NoError(t, leagueErrorTo(w, host, protocol.TypeLeagueError, "", jsontext.Value(params)), "%s %.60s", host, params)
			}
		}
	})
}

// Only the manager calls its errors LEAGUE_ERROR. Those of a player to its referee are GAME_ERROR, and other errors of
// players and referees have no type.
func TestOnlyTheManagerAnswersWithLeagueError(t *testing.T) {
	leaguetest.OnWire(t, func(t *testing.T, w *leaguetest.World) {
		w.StartManager(2, 1)
		w.Referee("REF01")
		p := w.Player("P01")
		errorOf := func(host, method string, params any) map[string]any {
			_, _, err := w.Untrusted.Call(w.Context, transport.Request{Endpoint: leaguetest.EndpointOf(host), Method: method, Params: params,
				Limit: 5 * leaguetest.Second, Decode: func([]byte) (any, error) { return nil, nil }}) //nolint:nilnil // it fails
			var e transport.RPCError
			require.ErrorAs(t, err, &e)
			_, _, data := e.RPCError()
			var members map[string]any
			require.NoError(t, json.Unmarshal(leaguetest.Encode(data), &members))
			assert.Equal(t, members["error_description"], members["error_name"])
			require.NotNil(t, protocol.AsError(err))
			assert.Equal(t, members["error_code"], string(protocol.AsError(err).Code), "our agents understand it")
			return members
		}
		stamp := protocol.NewStamp("referee:REF01", w.Clock)
		invitation := &protocol.GameInvitation{Envelope: stamp.Envelope(protocol.TypeGameInvitation, "conv-r1m1-a1"), LeagueID: leaguetest.LeagueID,
			RoundID: 1, MatchID: "R1M1", GameType: "even_odd", RoleInMatch: protocol.RolePlayerA, OpponentID: "P02"}
		round := &protocol.RoundCompleted{Envelope: stamp.Envelope("ROUND_COMPLETED", "conv-round"), LeagueID: leaguetest.LeagueID, RoundID: 1}
		inMatch := errorOf("p01", protocol.Invite.Name, invitation)
		assert.Equal(t, []any{"GAME_ERROR", "R1M1", "P01", "conv-r1m1-a1", "E011"}, []any{inMatch["message_type"], inMatch["match_id"],
			inMatch["affected_player"], inMatch["conversation_id"], inMatch["error_code"]})
		broken := errorOf(p.Host, protocol.ChooseParity.Name, map[string]any{"match_id": "R1M1", "message_type": protocol.TypeChooseParityCall,
			"conversation_id": "conv-r1m1-a1"})
		assert.Equal(t, []any{"GAME_ERROR", "R1M1", "E003"}, []any{broken["message_type"], broken["match_id"], broken["error_code"]})
		for name, members := range map[string]map[string]any{
			"a player, a broadcast":       errorOf("p01", protocol.NotifyRoundCompleted.Name, round),
			"a player, its state":         errorOf("p01", protocol.GetPlayerState.Name, map[string]any{}),
			"a referee, a broadcast":      errorOf("ref01", protocol.NotifyRoundCompleted.Name, round),
			"a referee, a broken message": errorOf("ref01", protocol.StartMatch.Name, map[string]any{"match_id": "R1M1"}),
		} {
			assert.NotContains(t, members, "message_type", name)
			assert.Contains(t, members, "original_message_type", name)
		}
		assert.Equal(t, protocol.TypeLeagueError, errorOf(leaguetest.ManagerHost, protocol.GetStandings.Name, map[string]any{})["message_type"])
	})
}
