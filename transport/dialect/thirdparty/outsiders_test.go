package thirdparty

import (
	nethttp "net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	league "evenodd/league/manager"
	"evenodd/league/protocol"
)

// An outsider is a minimal third-party player without a capture, over HTTP.
type uncapturedPlayer struct {
	w      *world
	port   int
	handle func(o *uncapturedPlayer, out nethttp.ResponseWriter, method string, id any, params map[string]any)
}

// register registers the player before it listens.
func (o *uncapturedPlayer) register(name string) {
	_, answer := o.w.post(o.w.life, at(managerPort), map[string]any{
		"jsonrpc": "2.0", "id": 1, "method": "register_player", "params": map[string]any{
			"protocol": "league.v2", "message_type": "LEAGUE_REGISTER_REQUEST", "sender": "player:" + strings.ToLower(name),
			"timestamp": protocol.FormatTimestamp(time.Now()), "conversation_id": "conv-" + name,
			"player_meta": map[string]any{"display_name": name, "version": "1.0.0", "game_types": []string{"even_odd"}, "contact_endpoint": at(o.port)},
		},
	})
	require.Equal(o.w.t, protocol.StatusAccepted, text(answer, "result", "status"), "%v", answer)
}

func (o *uncapturedPlayer) ServeHTTP(out nethttp.ResponseWriter, in *nethttp.Request) {
	var call struct {
		ID     any            `json:"id"`
		Method string         `json:"method"`
		Params map[string]any `json:"params"`
	}
	if json.UnmarshalRead(in.Body, &call) != nil {
		out.WriteHeader(nethttp.StatusBadRequest)
		return
	}
	o.handle(o, out, call.Method, call.ID, call.Params)
}

// reply is the right reply to a question; nil for anything else.
func (o *uncapturedPlayer) reply(params map[string]any) map[string]any {
	answer := map[string]any{
		"protocol": "league.v2", "sender": "player:me", "timestamp": protocol.FormatTimestamp(time.Now()),
		"conversation_id": params["conversation_id"], "match_id": params["match_id"], "player_id": params["player_id"], "auth_token": params["auth_token"],
	}
	switch params["message_type"] {
	case protocol.TypeGameInvitation:
		answer["message_type"], answer["accept"] = protocol.TypeGameJoinAck, true
	case protocol.TypeChooseParityCall:
		answer["message_type"], answer["parity_choice"] = protocol.TypeChooseParityResponse, "odd"
	default:
		return nil
	}
	return answer
}

// only500 answers HTTP 500 to every method but the message type.
func only500(o *uncapturedPlayer, out nethttp.ResponseWriter, method string, id any, params map[string]any) {
	answer := o.reply(params)
	if answer == nil || method != params["message_type"] {
		out.Header().Set("Content-Type", "text/html")
		say(out, nethttp.StatusInternalServerError, "<h1>Internal Server Error</h1>")
		return
	}
	say(out, 200, map[string]any{"jsonrpc": "2.0", "id": id, "result": answer})
}

// postsLater answers RECEIVED, and posts its answers to the referee.
func postsLater(o *uncapturedPlayer, out nethttp.ResponseWriter, _ string, id any, params map[string]any) {
	if answer := o.reply(params); answer != nil {
		o.w.running.Go(func() {
			time.Sleep(time.Second)
			o.w.post(o.w.life, at(refereePort), map[string]any{
				"jsonrpc": "2.0", "id": 7, "method": strings.ToLower(answer["message_type"].(string)), "params": answer,
			})
		})
	}
	say(out, 200, map[string]any{"jsonrpc": "2.0", "id": id, "result": map[string]any{"status": "RECEIVED"}})
}

// A strict league completes with an agent that registers before it listens, one that
// rejects unknown methods with HTTP 500, and one that posts its answers later. It drops an
// unreachable applicant that took the slot of the fourth player. No player has a technical
// loss.
func TestLeagueOfUncapturedPlayersCompletes(t *testing.T) {
	inAWorld(t, func(w *world) {
		m := w.manager(4, 1, func(o *league.Options) { o.RegistrationGrace = 5 * time.Second })
		require.NoError(t, w.referee(refereePort).Register(w.life))
		(&uncapturedPlayer{w: w, port: 8199}).register("Squatter") // nothing ever listens there
		refuses := &uncapturedPlayer{w: w, port: 8101, handle: only500}
		later := &uncapturedPlayer{w: w, port: 8102, handle: postsLater}
		for name, o := range map[string]*uncapturedPlayer{"Refuses": refuses, "Later": later} {
			o.register(name)
			time.Sleep(20 * time.Millisecond)
			w.thirdPartyAgent(o.port, o)
		}
		require.NoError(t, w.player(8103).Register(w.life))
		synctest.Wait()
		assert.Equal(t, 4, m.Status().Players, "the league is full")

		late := make(chan error, 1)
		w.running.Go(func() { late <- w.player(8104).Register(w.life) }) // its slot is the squatter's
		require.NoError(t, await(w, late), "the manager says when to try again")
		await(w, m.over)
		require.NoError(t, m.failed)
		assert.Len(t, m.Results(), 6)
		for _, row := range m.Standings() {
			assert.Zero(t, row.TechnicalLosses, "%s", row.DisplayName)
			assert.NotEqual(t, "Squatter", row.DisplayName)
		}
		time.Sleep(2 * time.Second) // the last posts are on their way
	})
}
