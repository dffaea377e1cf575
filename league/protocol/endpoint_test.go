package protocol_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"evenodd/league/protocol"
)

func TestSameEndpoint(t *testing.T) {
	assert.True(t, protocol.SameEndpoint("http://LOCALHOST:80/mcp/", "http://127.0.0.1/mcp"))
	assert.True(t, protocol.SameEndpoint("https://agents.example/mcp", "https://agents.example:443/mcp"))
	assert.False(t, protocol.SameEndpoint("http://localhost:8101/mcp", "http://localhost:8102/mcp"))
	assert.False(t, protocol.SameEndpoint("https://localhost:8101/mcp", "http://localhost:8101/mcp"))
	assert.False(t, protocol.SameEndpoint("http://agents.example:8101/mcp", "http://localhost:8101/mcp"))
}
