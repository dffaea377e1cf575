package protocol_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"evenodd/league/protocol"
)

func TestMatchConversations(t *testing.T) {
	assert.Equal(t, "conv-r1m1-a1", protocol.MatchConversation("R1M1", 1))
	assert.Equal(t, "conv-r12m345-a10", protocol.MatchConversation("R12M345", 10))
	assert.Equal(t, "conv-finale é-a2", protocol.MatchConversation("FINALE é", 2), "third-party ids stay readable")
}

func TestLeagueIDs(t *testing.T) {
	for _, test := range []struct {
		name, id string
		valid    bool
	}{
		{"of the documents", "league_2025_even_odd", true},
		{"all signs", "a.b-c_D.9", true},
		{"underscore first", "_league", true},
		{"as long as it may be", strings.Repeat("a", 64), true},
		{"too long", strings.Repeat("a", 65), false},
		{"empty", "", false},
		{"a hidden file", ".league", false},
		{"an option", "-league", false},
		{"a path", "a/b", false},
		{"a space", "a b", false},
		{"another script", "ליגה", false},
		{"a line end", "a\n", false},
	} {
		t.Run(test.name, func(t *testing.T) { assert.Equal(t, test.valid, protocol.ValidLeagueID(test.id)) })
	}
}

func TestDisplayNames(t *testing.T) {
	for _, test := range []struct {
		name, displayName string
		valid             bool
	}{
		{"plain", "Agent Alpha", true},
		{"another script", "אלפא", true},
		{"an emoji of several parts", "👩\u200d🚀", true},
		{"fifty letters", strings.Repeat("é", 50), true},
		{"one more", strings.Repeat("é", 51), false},
		{"nothing", "", false},
		{"an escape sequence", "\x1b[2J", false},
		{"a line end", "a\nb", false},
		{"a null byte", "a\x00", false},
		{"delete", "a\x7f", false},
		{"a C1 control", "a\u009b2J", false},
		{"a line separator", "a\u2028b", false},
		{"letters turned round", "a\u202eb", false},
		{"an isolate", "a\u2066b", false},
	} {
		t.Run(test.name, func(t *testing.T) { assert.Equal(t, test.valid, protocol.ValidName(test.displayName)) })
	}
}

func TestProtocolVersions(t *testing.T) {
	for _, test := range []struct {
		version   string
		supported bool
	}{
		{"", true},
		{"2.1.0", true},
		{"2.0.0", true},
		{"2.0.1", true},
		{"2.0.99999999999999999999", true},
		{"2.1.0-rc.1", true},
		{"2.1.0+build-5", true},
		{"2.1.1", false},
		{"2.2.0", false},
		{"1.9.9", false},
		{"1.0.0", false},
		{"2.1", false},
		{"2.1.0.5", false},
		{"2.01.0", false},
		{"2.x.0", false},
		{"2.1.0\n", false},
	} {
		t.Run(test.version, func(t *testing.T) { assert.Equal(t, test.supported, protocol.SupportedVersion(test.version)) })
	}
}

func TestSenders(t *testing.T) {
	for _, test := range []struct {
		name, sender, agent string
		valid               bool
	}{
		{"the manager", "league_manager", "league_manager", true},
		{"a player", "player:P01", "P01", true},
		{"a referee", "referee:REF01", "REF01", true},
		{"a name", "player:Agent Alpha", "Agent Alpha", true},
		{"a colon in the name", "player:a:b", "a:b", true},
		{"nobody", "", "", false},
		{"no kind", "P01", "P01", false},
		{"no name", "player:", "", false},
		{"an unknown kind", "spectator:P01", "P01", false},
		{"capitals", "PLAYER:P01", "P01", false},
		{"a manager with a name", "league_manager:1", "1", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			assert.Equal(t, test.valid, protocol.ValidSender(test.sender))
			assert.Equal(t, test.agent, protocol.AgentOf(test.sender))
		})
	}
	assert.Equal(t, "player:P01", protocol.PlayerSender("P01"))
	assert.Equal(t, "referee:REF01", protocol.RefereeSender("REF01"))
	assert.True(t, (&protocol.Envelope{Sender: "player:unknown"}).NamelessSender())
	assert.False(t, (&protocol.Envelope{Sender: "player:P01"}).NamelessSender())
}

func TestSameEndpoint(t *testing.T) {
	assert.True(t, protocol.SameEndpoint("http://LOCALHOST:80/mcp/", "http://127.0.0.1/mcp"))
	assert.True(t, protocol.SameEndpoint("https://agents.example/mcp", "https://agents.example:443/mcp"))
	assert.False(t, protocol.SameEndpoint("http://localhost:8101/mcp", "http://localhost:8102/mcp"))
	assert.False(t, protocol.SameEndpoint("https://localhost:8101/mcp", "http://localhost:8101/mcp"))
	assert.False(t, protocol.SameEndpoint("http://agents.example:8101/mcp", "http://localhost:8101/mcp"))
}
