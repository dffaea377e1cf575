package bridge

import (
	"context"
	"os"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
)

// Any answer of an agent becomes one JSON-RPC response, or stays as it is for the carrier.
func FuzzReply(f *testing.F) {
	f.Add(uint8(0), 200, []byte(chooses))
	f.Add(uint8(1), 200, []byte("data: {\"result\":\n\n"))
	f.Add(uint8(10), 400, []byte(`{"error":{"code":1e9,"message":null,"data":"x"}}`))
	f.Add(uint8(3), 200, []byte(`{"result":{"content":[{"text":"{\"a\":[]}"}]}}`))
	f.Add(uint8(5), 404, []byte(`{"result":"{\"error\":{}}"}`))
	f.Add(uint8(13), 200, []byte(`{"result":{"status":"busy","draw_commitment":5}}`))
	for _, capture := range []string{"a", "b", "c", "d", "e"} {
		text, err := os.ReadFile("../testdata/peers/maker-" + capture + "/match1.json")
		require.NoError(f, err)
		var list []struct {
			Status   int            `json:"status"`
			Response jsontext.Value `json:"response"`
		}
		require.NoError(f, json.Unmarshal(text, &list))
		for i, x := range list {
			f.Add(uint8(i), x.Status, []byte(x.Response))
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, status int, answer []byte) {
		p, sent := newTestPeers(zerolog.Nop()), 0
		method, message := []string{"choose_parity", "handle_game_invitation", "notify_match_result", "register_player", "report_match_result", "league_query", "start_match"}[which%7], invitation
		if method == "start_match" {
			message = theAssignment
		}
		got, body, err := p.call(t.Context(), there, "", method, asking(method, message), func(context.Context, string, map[string]string, []byte) (posted, error) {
			sent++
			return posted{Status: status, Body: answer}, nil
		})
		require.NoError(t, err)
		require.LessOrEqual(t, sent, 64)
		if got == status && string(body) == string(withoutTokens(answer, nil)) {
			return
		}
		o := protocol.ParseObject(body)
		require.NotNil(t, o, "%s", body)
		require.Equal(t, "2.0", o.Text("jsonrpc"))
		require.NotEqual(t, o.Object("result") == nil, o.Object("error") == nil, "%s", body)
	})
}
