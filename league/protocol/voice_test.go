package protocol_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"evenodd/league/protocol"
)

func TestVoiceBeginsEveryMessage(t *testing.T) {
	clock := stopped()
	v := protocol.NewVoice("player:alpha", clock)
	assert.Same(t, clock, v.Clock())
	want := protocol.Envelope{Protocol: "league.v2", MessageType: "LEAGUE_REGISTER_REQUEST", Sender: "player:alpha",
		Timestamp: "2025-01-15T10:30:00Z", ConversationID: "conv-1"}
	assert.Equal(t, want, v.Envelope(protocol.TypeLeagueRegisterRequest, "conv-1"))
	v.Rename("player:P01")
	want.Sender = "player:P01"
	assert.Equal(t, want, v.Envelope(protocol.TypeLeagueRegisterRequest, "conv-1"))
}

// TestVoiceIsRenamedWhileItSpeaks: every message has the one name or the other.
func TestVoiceIsRenamedWhileItSpeaks(t *testing.T) {
	v := protocol.NewVoice("player:alpha", stopped())
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			assert.Contains(t, []string{"player:alpha", "player:P01"}, v.Envelope(protocol.TypeGameJoinAck, "c").Sender)
		})
	}
	v.Rename("player:P01")
	all.Wait()
	assert.Equal(t, "player:P01", v.Sender())
}
