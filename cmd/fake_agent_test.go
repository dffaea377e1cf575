package cmd_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// serveAgent serves an agent of a test, and returns its endpoint. answer returns the result of a call; without one the
// agent knows no such method.
func serveAgent(t *testing.T, answer func(ctx context.Context, method string, params object) object) (endpoint string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var call struct {
			ID     any
			Method string
			Params object
		}
		if r.URL.Path != "/mcp" || json.NewDecoder(r.Body).Decode(&call) != nil {
			http.NotFound(w, r)
			return
		}
		response := object{"jsonrpc": "2.0", "id": call.ID}
		if result := answer(r.Context(), call.Method, call.Params); result != nil {
			response["result"] = result
		} else {
			response["error"] = object{"code": -32601, "message": "Method not found"}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(response)
	}))
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	return server.URL + "/mcp"
}

// acknowledge answers every call.
func acknowledge(context.Context, string, object) object { return object{"status": "ok"} }

// answerOf is the answer of a player to a question of its referee, and nil to anything else.
func answerOf(id, choice, method string, params object) object {
	now := time.Now().UTC().Format(time.RFC3339)
	answer := object{
		"protocol": "league.v2", "sender": "player:" + id, "timestamp": now, "conversation_id": params["conversation_id"],
		"auth_token": params["auth_token"], "match_id": params["match_id"], "player_id": id,
	}
	switch method {
	case "handle_game_invitation":
		answer["message_type"], answer["arrival_timestamp"], answer["accept"] = "GAME_JOIN_ACK", now, true
	case "choose_parity":
		answer["message_type"], answer["parity_choice"] = "CHOOSE_PARITY_RESPONSE", choice
	default:
		return nil
	}
	return answer
}
