package protocol_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"evenodd/league/protocol"
)

func TestTimestamps(t *testing.T) {
	at := func(nanosecond int) time.Time { return time.Date(2025, 1, 15, 10, 30, 0, nanosecond, time.UTC) }
	day := func(year int, month time.Month, day int) time.Time {
		return time.Date(year, month, day, 23, 59, 59, 0, time.UTC)
	}
	var none time.Time
	for _, test := range []struct {
		text string
		want time.Time // none: refused
	}{
		// Spec 003 §2.4.2 table 3.
		{"2025-01-15T10:30:00Z", at(0)},
		{"2025-01-15T10:30:00+00:00", at(0)},
		{"2025-01-15T10:30:00+02:00", none},
		{"2025-01-15T10:30:00", none},
		// Fractions.
		{"2025-01-15T10:30:00.5Z", at(5e8)},
		{"2025-01-15T10:30:00.123456Z", at(123456e3)},
		{"2025-01-15T10:30:00.123456789+00:00", at(123456789)},
		{"2025-01-15T10:30:00.1234567891Z", at(123456789)},
		{"2025-01-15T10:30:00.1234567890123456789Z", at(123456789)},
		{"2025-01-15T10:30:00.12345678901234567890Z", none},
		{"2025-01-15T10:30:00.Z", none},
		{"2025-01-15T10:30:00,5Z", none},
		// Ends of months.
		{"2025-02-28T23:59:59Z", day(2025, 2, 28)},
		{"2025-02-29T23:59:59Z", none},
		{"2024-02-29T23:59:59Z", day(2024, 2, 29)},
		{"2024-02-30T23:59:59Z", none},
		{"2025-04-31T23:59:59Z", none},
		{"2025-12-32T23:59:59Z", none},
		{"2025-01-00T23:59:59Z", none},
		{"2025-13-15T10:30:00Z", none},
		// Hours, minutes, seconds.
		{"2025-01-15T24:00:00Z", none},
		{"2025-01-15T10:60:00Z", none},
		{"2025-01-15T10:30:60Z", none},
		{"2016-12-31T23:59:60Z", none}, // Go has no leap seconds
		{"2025-01-15T1:30:00Z", none},
		{"2025-01-15T1:30:00.5Z", none},
		{"2025-01-15T10:3:00Z", none},
		// Zones.
		{"2025-01-15T10:30:00-00:00", none},
		{"2025-01-15T10:30:00+00:00Z", none},
		{"2025-01-15T10:30:00+0000", none},
		{"2025-01-15T10:30:00z", none},
		// Garbage.
		{"", none},
		{"now", none},
		{"2025-01-15 10:30:00Z", none},
		{"2025-01-15t10:30:00Z", none},
		{"20250115T103000Z", none},
		{"2025-01-15Z", none},
		{"2025-1-15T10:30:00Z", none},
		{"2025-01-15T10:30:00Z\n", none},
		{"2025-01-1\u0665T10:30:00Z", none},
		{strings.Repeat("2025-01-15T10:30:00Z", 1000), none},
	} {
		t.Run(test.text, func(t *testing.T) {
			got, err := protocol.ParseTimestamp(test.text)
			assert.Equal(t, test.want, got)
			assert.Equal(t, test.want.IsZero(), err != nil)
			assert.Equal(t, err == nil, protocol.ValidTimestamp(test.text))
			if err != nil {
				assert.Less(t, len(err.Error()), 200, "untrusted text is clipped")
			}
		})
	}
}

func TestFormattedTimestampsCanBeRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		second := rapid.Int64Range(-62135596800, 253402300799).Draw(t, "second") // those that the protocol can write
		moment := time.Unix(second, rapid.Int64Range(0, 999999999).Draw(t, "nanosecond"))
		zone := time.FixedZone("", rapid.IntRange(-12*3600, 14*3600).Draw(t, "zone"))
		written := protocol.FormatTimestamp(moment.In(zone))
		require.Len(t, written, 20)
		require.True(t, protocol.ValidTimestamp(written), written)
		read, err := protocol.ParseTimestamp(written)
		require.NoError(t, err)
		require.Equal(t, moment.Unix(), read.Unix())
		require.Equal(t, time.UTC, read.Location())
	})
}

func TestClockShowsItsOwnTime(t *testing.T) {
	moment := time.Date(2025, 1, 15, 12, 30, 0, 5, time.FixedZone("", 2*3600))
	var slept time.Duration
	clock := protocol.NewClock(func() time.Time { return moment },
		func(_ context.Context, d time.Duration) error { slept += d; return context.Canceled })
	assert.Equal(t, moment, clock.Now())
	assert.Equal(t, "2025-01-15T10:30:00Z", clock.Timestamp())
	assert.Equal(t, context.Canceled, clock.Sleep(context.Background(), time.Hour))
	assert.Equal(t, time.Hour, slept)
	moment = moment.Add(time.Second)
	assert.Equal(t, "2025-01-15T10:30:01Z", clock.Timestamp())
}

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

func TestMatchConversations(t *testing.T) {
	assert.Equal(t, "conv-r1m1-a1", protocol.MatchConversation("R1M1", 1))
	assert.Equal(t, "conv-r12m345-a10", protocol.MatchConversation("R12M345", 10))
	assert.Equal(t, "conv-finale é-a2", protocol.MatchConversation("FINALE é", 2), "third-party ids stay readable")
}

func TestUsualIDFollowsFromThePort(t *testing.T) {
	for _, test := range []struct {
		endpoint, wantPlayer, wantReferee string
	}{
		{"http://localhost:8101/mcp", "P01", ""},
		{"http://localhost:8199/mcp", "P99", ""},
		{"https://10.1.2.3:8112/mcp", "P12", ""},
		{"http://localhost:8100/mcp", "", ""},
		{"http://localhost:8200/mcp", "", ""},
		{"http://localhost:8001/mcp", "", "REF01"},
		{"http://localhost:8099/mcp", "", "REF99"},
		{"http://localhost:8000/mcp", "", ""},
		{"http://localhost/mcp", "", ""},
	} {
		assert.Equal(t, test.wantPlayer, protocol.UsualID("player", test.endpoint))
		assert.Equal(t, test.wantReferee, protocol.UsualID("referee", test.endpoint))
	}
}

func TestLeagueIDs(t *testing.T) {
	for _, id := range []string{"league_2025_even_odd", "a.b-c_D.9", "_league", strings.Repeat("a", 64)} {
		assert.True(t, protocol.ValidLeagueID(id), id)
	}
	for _, id := range []string{strings.Repeat("a", 65), "", ".league", "-league", "a/b", "a b", "ליגה", "a\n"} {
		assert.False(t, protocol.ValidLeagueID(id), "%q", id)
	}
}

func TestDisplayNames(t *testing.T) {
	for _, name := range []string{"Agent Alpha", "אלפא", "👩\u200d🚀", strings.Repeat("é", 50)} {
		assert.True(t, protocol.ValidName(name), name)
	}
	for _, name := range []string{
		strings.Repeat("é", 51), "", "\x1b[2J", "a\nb", "a\x00", "a\x7f", "a\u009b2J", "a\u2028b",
		"a\u202eb", "a\u2066b",
	} {
		assert.False(t, protocol.ValidName(name), "%q", name)
	}
}

func TestProtocolVersions(t *testing.T) {
	for _, version := range []string{
		"", "2.1.0", "2.0.0", "2.0.1", "2.0.99999999999999999999", "2.1.0-rc.1", "2.1.0+build-5",
	} {
		assert.True(t, protocol.SupportedVersion(version), version)
	}
	for _, version := range []string{
		"2.1.1", "2.2.0", "1.9.9", "1.0.0", "2.1", "2.1.0.5", "2.01.0", "2.x.0", "2.1.0\n",
	} {
		assert.False(t, protocol.SupportedVersion(version), version)
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
