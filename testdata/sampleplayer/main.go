// Sampleplayer is the sample player of the specification (003 §5.3.2) in Go. It
// does what that program does with FastAPI around it, and no more: it answers
// bare messages, gives no id back, and has the time of its own clock. It is what
// evenodd check is tried on; to play, it would have to register.
//
//	go run ./testdata/sampleplayer -port 8101
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// A request is MCPRequest: jsonrpc, params and id may be missing.
type request struct {
	method string
	params map[string]any
}

func main() {
	port := flag.Int("port", 8101, "port to listen at; 0 for a free one")
	flag.Parse()
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", net.JoinHostPort("localhost", strconv.Itoa(*port)))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("running on http://%s\n", listener.Addr())
	server := &http.Server{Handler: http.HandlerFunc(serve), ReadHeaderTimeout: 10 * time.Second}
	log.Fatal(server.Serve(listener))
}

// serve is the framework: what it does not understand never reaches the player.
func serve(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path != "/mcp":
		answer(w, http.StatusNotFound, map[string]any{"detail": "Not Found"})
		return
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", "POST")
		answer(w, http.StatusMethodNotAllowed, map[string]any{"detail": "Method Not Allowed"})
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, 16<<20))
	if err != nil {
		return
	}
	if deep(body) { // Python gives up at a thousand levels
		answer(w, http.StatusBadRequest, map[string]any{"detail": "There was an error parsing the body"})
		return
	}
	q, problem := read(body)
	if problem != nil {
		answer(w, http.StatusUnprocessableEntity, map[string]any{"detail": []any{problem}})
		return
	}
	answer(w, http.StatusOK, mcpEndpoint(q))
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a caller that has gone is its own loss
}

func deep(body []byte) bool {
	depth := 0
	for _, c := range body {
		switch c {
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		}
		if depth > 990 {
			return true
		}
	}
	return false
}

// read is what pydantic makes of a body: the request, or what is wrong with it.
func read(body []byte) (request, map[string]any) {
	var raw any
	if err := json.Unmarshal(body, &raw); err != nil {
		return request{}, complaint("json_invalid", "JSON decode error", "body")
	}
	object, ok := raw.(map[string]any)
	if !ok {
		return request{}, complaint("model_attributes_type", "Input should be a valid dictionary or object to extract fields from", "body")
	}
	q := request{params: map[string]any{}}
	method, there := object["method"]
	switch q.method, ok = method.(string); {
	case !there:
		return q, complaint("missing", "Field required", "body", "method")
	case !ok:
		return q, complaint("string_type", "Input should be a valid string", "body", "method")
	}
	if version, there := object["jsonrpc"]; there {
		if _, ok := version.(string); !ok {
			return q, complaint("string_type", "Input should be a valid string", "body", "jsonrpc")
		}
	}
	if params, there := object["params"]; there {
		if q.params, ok = params.(map[string]any); !ok {
			return q, complaint("dict_type", "Input should be a valid dictionary", "body", "params")
		}
	}
	if id, there := object["id"]; there && !integer(id) {
		return q, complaint("int_parsing", "Input should be a valid integer", "body", "id")
	}
	return q, nil
}

func complaint(kind, message string, where ...string) map[string]any {
	return map[string]any{"type": kind, "loc": where, "msg": message}
}

// integer tells whether pydantic takes a value for an int: also a string of
// digits, and a number without a fraction.
func integer(v any) bool {
	switch v := v.(type) {
	case float64:
		return v == math.Trunc(v)
	case string:
		_, err := strconv.Atoi(strings.TrimSpace(v))
		return err == nil
	case bool:
		return true
	}
	return false
}

// mcpEndpoint is mcp_endpoint.
func mcpEndpoint(q request) map[string]any {
	switch q.method {
	case "handle_game_invitation":
		return handleInvitation(q.params)
	case "choose_parity":
		return handleChooseParity(q.params)
	case "notify_match_result":
		return handleResult(q.params)
	}
	return map[string]any{"error": "Unknown method"}
}

// handleInvitation is handle_invitation.
func handleInvitation(params map[string]any) map[string]any {
	return map[string]any{
		"message_type":      "GAME_JOIN_ACK",
		"match_id":          params["match_id"],
		"arrival_timestamp": time.Now().Format("2006-01-02T15:04:05.000000"),
		"accept":            true,
	}
}

// handleChooseParity is handle_choose_parity.
func handleChooseParity(params map[string]any) map[string]any {
	return map[string]any{
		"message_type":  "CHOOSE_PARITY_RESPONSE",
		"match_id":      params["match_id"],
		"player_id":     params["player_id"],
		"parity_choice": []string{"even", "odd"}[rand.IntN(2)], //nolint:gosec // as the sample has it
	}
}

// handleResult is handle_result.
func handleResult(params map[string]any) map[string]any {
	log.Printf("Match result: %v", params)
	return map[string]any{"status": "ok"}
}
