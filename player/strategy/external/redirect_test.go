package external

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
)

// An MCP server may redirect within its host, and not to another service (SSRF).
func TestServerRedirectsOnlyWithinItsHost(t *testing.T) {
	sdk := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return chooser(saysText("odd"), anything) }, nil)
	var calls atomic.Int64
	victim := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		sdk.ServeHTTP(w, r)
	}))
	defer victim.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/elsewhere":
			http.Redirect(w, r, victim.URL+"/mcp/", http.StatusTemporaryRedirect)
		case "/mcp":
			http.Redirect(w, r, "/mcp/", http.StatusTemporaryRedirect)
		default:
			sdk.ServeHTTP(w, r)
		}
	}))
	defer server.Close()
	choice, _, logged := askAt(t, MCP{URL: server.URL + "/elsewhere"})
	assert.Equal(t, "even", choice, "the fallback")
	assert.Zero(t, calls.Load(), "the server led the player to another service")
	assert.Contains(t, logged, "to another host")
	choice, _, _ = askAt(t, MCP{URL: server.URL + "/mcp"})
	assert.Equal(t, "odd", choice)
}
