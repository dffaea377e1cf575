package protocol_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"evenodd/league/protocol"
)

func TestStampFillsInTheEnvelope(t *testing.T) {
	clock := stopped()
	v := protocol.NewStamp("player:alpha", clock)
	assert.Same(t, clock, v.Clock())
	want := protocol.Envelope{Protocol: "league.v2", MessageType: "LEAGUE_REGISTER_REQUEST", Sender: "player:alpha",
		Timestamp: "2025-01-15T10:30:00Z", ConversationID: "conv-1"}
	assert.Equal(t, want, v.Envelope(protocol.TypeLeagueRegisterRequest, "conv-1"))
	v.SetSender("player:P01")
	want.Sender = "player:P01"
	assert.Equal(t, want, v.Envelope(protocol.TypeLeagueRegisterRequest, "conv-1"))
	assert.Equal(t, "player:P01", v.Sender())
}
