package bridge_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
	"evenodd/transport"
	"evenodd/transport/dialect/bridge"
)

// FuzzServe posts any body to any path of an agent in a third-party league. The answer is
// JSON or empty. The codec gets the body unchanged or one JSON call, and a body that is no
// JSON object unchanged.
func FuzzServe(f *testing.F) {
	files, err := filepath.Glob("../testdata/peers/*/*.json")
	require.NoError(f, err)
	require.NotEmpty(f, files)
	for _, file := range files {
		var captured []struct {
			Path    string
			Request jsontext.Value
		}
		exchanges, err := os.ReadFile(file)
		require.NoError(f, err)
		require.NoError(f, json.Unmarshal(exchanges, &captured))
		for _, e := range captured {
			f.Add(e.Path, string(e.Request), true)
		}
	}
	for _, body := range []string{
		call("tools/call", `{"name":"choose_parity","arguments":`+choiceCall+`}`), call("handle_message", `{"message":`+gameOver+`}`), invitation,
		call("notify_round", `{"matches":[{"match_id":"a","player_A_id":"P01","player_B_id":"P02","referee_id":"REF01"}]}`),
		call("league_completed", `{"champion":{"id":"P02"},"standings":[{"id":"P02","points":3}]}`),
		`{"jsonrpc":"2.0","method":"choose_parity","params":{"protocol":"league.v2","message_type":"CHOOSE_PARITY_CALL","sender":"referee:REF01","timestamp":"2025-01-15T10:30:00Z","conversation_id":"conv-r1m1-a1","match_id":"R1M1"},"id":1}`,
	} {
		f.Add("/mcp", body, false)
	}
	f.Add("/create_schedule", "", false)
	registered := map[bool][]byte{
		true:  []byte(`{"jsonrpc":"2.0","result":{"status":"ACCEPTED","league_id":"L","referee_id":"REF01"},"id":1}`),
		false: []byte(`{"jsonrpc":"2.0","result":{"status":"ACCEPTED","league_id":"L","player_id":"P01"},"id":1}`),
	}
	f.Fuzz(func(t *testing.T, path, body string, isReferee bool) {
		d := bridge.New(bridge.Options{Endpoint: ourReferee, Clock: protocol.SystemClock(), Log: zerolog.Nop()})
		method := map[bool]string{true: "register_referee", false: "register_player"}[isReferee]
		_, err := d.Call(t.Context(), &transport.Request{Endpoint: managerURL, Method: method}, []byte(`{"jsonrpc":"2.0","method":"`+method+`","params":{},"id":1}`),
			func(context.Context, string, map[string]string, []byte) (transport.Posted, error) {
				return transport.Posted{Status: 200, Body: registered[isReferee]}, nil
			})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		served := 0
		status, answer := d.ServeText(ctx, netip.Addr{}, path, []byte(body), func(_ context.Context, one []byte) []byte {
			served++
			if string(one) != body {
				require.True(t, jsontext.Value(one).IsValid(), "%s", one)
			}
			cancel() // do not wait for the end of a match
			for _, answer := range []string{
				`{"jsonrpc":"2.0","error":{"code":-32602,"message":"E","data":{"error_code":"E003"}},"id":1}`,
				`{"jsonrpc":"2.0","result":{"message_type":"X","status":"BUSY","accept":true,"parity_choice":"odd","player_id":"P01"},"id":1}`,
			} {
				if served%2 == len(one)%2 {
					return []byte(answer)
				}
			}
			return []byte(`{"jsonrpc":"2.0","result":{"status":"ACCEPTED","data":{"rounds":2}},"id":1}`)
		})
		require.Contains(t, []int{200, 400, 401, 404}, status)
		if answer != nil && utf8.ValidString(body) {
			require.True(t, jsontext.Value(answer).IsValid(), "%s", answer)
		}
		if path == "/mcp" && !isReferee { // a referee tries again to start a match, or starts several
			require.LessOrEqual(t, served, 1, "a request is served once")
		}
		trimmed := bytes.TrimLeft([]byte(body), " \t\r\n")
		isObject := len(trimmed) > 0 && trimmed[0] == '{' && jsontext.Value(trimmed).IsValid()
		if path == "/mcp" && !isObject {
			require.Equal(t, 1, served)
		}
	})
}
