package cmd

import (
	"context"
	"slices"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
	"evenodd/transport"
	"evenodd/transport/mcp"
)

// A client of MCP may register a player by members at the top level, as by any other form of a call.
func TestToolTakesAFlatRegistration(t *testing.T) {
	mux := transport.NewMux(zerolog.Nop())
	var got protocol.LeagueRegisterRequest
	protocol.RegisterPlayer.Handle(mux, protocol.NewStamp(protocol.ManagerSender, protocol.SystemClock()),
		func(_ context.Context, _ string, q *protocol.LeagueRegisterRequest) (*protocol.LeagueRegisterResponse, error) {
			got = *q
			return &protocol.LeagueRegisterResponse{}, nil
		})
	tools := mcpTools(mux, false)
	i := slices.IndexFunc(tools, func(t mcp.Tool) bool { return t.Name == protocol.RegisterPlayer.Name })
	require.GreaterOrEqual(t, i, 0)
	_, err := tools[i].Call(t.Context(), "", []byte(`{"display_name":"A","endpoint":"http://localhost:8101/mcp"}`))
	require.NoError(t, err)
	assert.Equal(t, "A", got.PlayerMeta.DisplayName)
	assert.Equal(t, "http://localhost:8101/mcp", got.PlayerMeta.ContactEndpoint)
}
