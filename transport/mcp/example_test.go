package mcp_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"evenodd/transport/mcp"
)

// A client lists the tools of an agent by one request over HTTP.
func ExampleServer() {
	server := mcp.NewServer(mcp.Options{Name: "player", Version: "1.0.0", Tools: []mcp.Tool{{
		Name: "get_my_record", Description: "Show the record", ReadOnly: true, Input: map[string]any{"type": "object"},
		Call: func(context.Context, string, []byte) (any, error) { return map[string]int{"wins": 2}, nil },
	}}})
	request := httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/mcp",
		strings.NewReader(`{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "get_my_record", "arguments": {}}}`))
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	response := httptest.NewRecorder()
	server.ServeHTTP(response, request)
	fmt.Println(response.Code, strings.Contains(response.Body.String(), `"wins":2`))
	// Output: 200 true
}
