package http

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
)

// listen is the MCP method that opens a stream of updates.
const listen = "subscriptions/listen"

var mcpFamilies = []string{
	"server", "resources", "prompts", "subscriptions", "notifications", "completion", "logging",
}

// mcpMethod tells whether a method belongs to the Model Context Protocol alone. A bare
// tools/call does not: third-party agents of the league use it.
func mcpMethod(method string) bool {
	if method == "initialize" || method == "tools/list" {
		return true
	}
	family, _, ok := strings.Cut(method, "/")
	return ok && slices.Contains(mcpFamilies, family)
}

// methodOf returns the method of a JSON-RPC request; "" for a batch, and for text that
// parsers could read differently, such as an object that repeats a name.
func methodOf(body []byte) string {
	var request struct {
		Method string `json:"method"`
	}
	if json.Unmarshal(body, &request) != nil {
		return ""
	}
	return request.Method
}

// serveMCP answers a request by the MCP server if it is one; else handled is false. It
// returns a stream for a request that opens one: the caller serves it after the request
// has ended for the limits of calls.
func (s *Server) serveMCP(w http.ResponseWriter, r *http.Request, body []byte) (handled bool, stream func()) {
	if s.config.MCP == nil || r.URL.Path != Path {
		return false, nil
	}
	versioned := r.Header.Get("Mcp-Protocol-Version") != ""
	method := methodOf(body)
	if method == "" || !versioned && !mcpMethod(method) {
		return false, nil // the mux reports what is wrong with it
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if method == listen {
		return true, func() { s.streams.serve(w, r, s.config.MCP) }
	}
	// The response is JSON, also for a client that does not say what it accepts.
	r.Header.Set("Accept", "application/json, text/event-stream")
	s.config.MCP.ServeHTTP(w, r)
	return true, nil
}
