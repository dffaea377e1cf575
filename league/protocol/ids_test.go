package protocol_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"evenodd/league/protocol"
)

func TestAgentIDs(t *testing.T) {
	tests := []struct {
		id              string
		player, referee int // 0: no such id
	}{
		{"P01", 1, 0},
		{"P09", 9, 0},
		{"P10", 10, 0},
		{"P99", 99, 0},
		{"P100", 100, 0},
		{"P10000", 10000, 0},
		{"P999999", 999999, 0},
		{"P1000000", 0, 0},
		{"REF01", 0, 1},
		{"REF99", 0, 99},
		{"REF100", 0, 100},
		{"P00", 0, 0},
		{"P1", 0, 0},
		{"P001", 0, 0},
		{"P099", 0, 0},
		{"P000", 0, 0},
		{"P", 0, 0},
		{"", 0, 0},
		{"p01", 0, 0},
		{"P0x", 0, 0},
		{"P+1", 0, 0},
		{"P-1", 0, 0},
		{"P 1", 0, 0},
		{"P01 ", 0, 0},
		{" P01", 0, 0},
		{"P0\u0661", 0, 0},
		{"PLAYER01", 0, 0},
		{"REF", 0, 0},
		{"REF1", 0, 0},
		{"REF001", 0, 0},
		{"ref01", 0, 0},
		{"player:P01", 0, 0},
	}
	for _, test := range tests {
		t.Run(test.id, func(t *testing.T) {
			n, ok := protocol.ParsePlayerID(test.id)
			assert.Equal(t, []any{test.player, test.player > 0}, []any{n, ok})
			n, ok = protocol.ParseRefereeID(test.id)
			assert.Equal(t, []any{test.referee, test.referee > 0}, []any{n, ok})
		})
	}
}

func TestAgentIDsAreNumbers(t *testing.T) {
	for n := 1; n < 2000; n++ {
		player, ok := protocol.ParsePlayerID(protocol.PlayerID(n))
		require.Equal(t, []any{n, true}, []any{player, ok})
		referee, ok := protocol.ParseRefereeID(protocol.RefereeID(n))
		require.Equal(t, []any{n, true}, []any{referee, ok})
	}
	assert.Equal(t, []string{"P01", "P99", "P100"}, []string{protocol.PlayerID(1), protocol.PlayerID(99), protocol.PlayerID(100)})
	assert.Equal(t, []string{"REF01", "REF100"}, []string{protocol.RefereeID(1), protocol.RefereeID(100)})
}

func TestIDsAreInOrder(t *testing.T) {
	ordered := []string{"P01", "P02", "P10", "P99", "P100", "P1000", "REF01", "REF99", "REF100", "", "P0", "P001", "P9", "alpha", "p01"}
	for i, a := range ordered {
		for j, b := range ordered {
			assert.Equal(t, sign(i-j), sign(protocol.CompareIDs(a, b)), "%q and %q", a, b)
		}
	}
}

func sign(n int) int { return min(max(n, -1), 1) }

// TestOrderOfIDsIsTotal checks that the comparisons of all pairs of ids agree.
func TestOrderOfIDsIsTotal(t *testing.T) {
	some := rapid.OneOf(rapid.StringMatching(`P\d{1,4}`), rapid.StringMatching(`REF\d{1,3}`), rapid.StringMatching(`[PR]?[a-z0-9]{0,3}`))
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := some.Draw(t, "a"), some.Draw(t, "b"), some.Draw(t, "c")
		require.Equal(t, sign(protocol.CompareIDs(a, b)), -sign(protocol.CompareIDs(b, a)))
		require.Equal(t, a == b, protocol.CompareIDs(a, b) == 0)
		three := []string{a, b, c}
		slices.SortFunc(three, protocol.CompareIDs)
		require.LessOrEqual(t, protocol.CompareIDs(three[0], three[1]), 0)
		require.LessOrEqual(t, protocol.CompareIDs(three[1], three[2]), 0)
		require.LessOrEqual(t, protocol.CompareIDs(three[0], three[2]), 0)
	})
}

func TestMatchIDs(t *testing.T) {
	tests := []struct {
		id           string
		round, match int // 0: no such id
	}{
		{"R1M1", 1, 1},
		{"R12M345", 12, 345},
		{"R999999999M999999999", 999999999, 999999999},
		{"R1000000000M1", 0, 0},
		{"", 0, 0},
		{"R", 0, 0},
		{"RM", 0, 0},
		{"R1", 0, 0},
		{"R1M", 0, 0},
		{"RM1", 0, 0},
		{"M1R1", 0, 0},
		{"R0M1", 0, 0},
		{"R1M0", 0, 0},
		{"R01M1", 0, 0},
		{"R1M01", 0, 0},
		{"R+1M1", 0, 0},
		{"R-1M1", 0, 0},
		{"R1M1M1", 0, 0},
		{"R1M1 ", 0, 0},
		{"r1m1", 0, 0},
		{"R1.5M1", 0, 0},
		{"../R1M1", 0, 0},
	}
	for _, test := range tests {
		t.Run(test.id, func(t *testing.T) {
			id, ok := protocol.ParseMatchID(test.id)
			assert.Equal(t, test.round > 0, ok)
			assert.Equal(t, protocol.MatchID{Round: test.round, Number: test.match}, id)
			var decoded protocol.MatchID
			assert.Equal(t, ok, decoded.UnmarshalText([]byte(test.id)) == nil)
			assert.Equal(t, id, decoded)
			if ok {
				assert.Equal(t, test.id, id.String())
			}
		})
	}
}

func TestMatchIDHasOneTextForm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.StringMatching(`R?[0-9]{0,4}M?[0-9]{0,4}`).Draw(t, "id")
		if parsed, ok := protocol.ParseMatchID(id); ok {
			require.Equal(t, id, parsed.String())
		}
		want := protocol.MatchID{Round: rapid.IntRange(1, 1e9-1).Draw(t, "round"), Number: rapid.IntRange(1, 1e9-1).Draw(t, "number")}
		text, err := want.MarshalText()
		require.NoError(t, err)
		require.Equal(t, want.String(), string(text))
		got, ok := protocol.ParseMatchID(string(text))
		require.True(t, ok)
		require.Equal(t, want, got)
	})
}

func TestMatchConversations(t *testing.T) {
	assert.Equal(t, "conv-r1m1-a1", protocol.MatchConversation("R1M1", 1))
	assert.Equal(t, "conv-r12m345-a10", protocol.MatchConversation("R12M345", 10))
	assert.Equal(t, "conv-finale é-a2", protocol.MatchConversation("FINALE é", 2), "third-party ids stay readable")
}

func TestLeagueIDs(t *testing.T) {
	tests := []struct {
		name, id string
		valid    bool
	}{
		{"of the documents", "league_2025_even_odd", true},
		{"one letter", "L", true},
		{"a digit", "7", true},
		{"all signs", "a.b-c_D.9", true},
		{"underscore first", "_league", true},
		{"as long as it may be", strings.Repeat("a", 64), true},
		{"too long", strings.Repeat("a", 65), false},
		{"empty", "", false},
		{"a hidden file", ".league", false},
		{"the folder above", "..", false},
		{"an option", "-league", false},
		{"a path", "a/b", false},
		{"a Windows path", `a\b`, false},
		{"a space", "a b", false},
		{"a drive", "C:", false},
		{"another script", "ליגה", false},
		{"a null byte", "a\x00", false},
		{"a line end", "a\n", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { assert.Equal(t, test.valid, protocol.ValidLeagueID(test.id)) })
	}
}

func TestDisplayNames(t *testing.T) {
	tests := []struct {
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
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { assert.Equal(t, test.valid, protocol.ValidName(test.displayName)) })
	}
}

func TestProtocolVersions(t *testing.T) {
	tests := []struct {
		version   string
		supported bool
	}{
		{"", true},
		{"2.1.0", true},
		{"2.0.0", true},
		{"2.0.1", true},
		{"2.0.99", true},
		{"2.0.99999999999999999999", true},
		{"2.1.0-rc.1", true},
		{"2.1.0+build-5", true},
		{"2.1.1", false},
		{"2.2.0", false},
		{"3.0.0", false},
		{"20.0.0", false},
		{"1.9.9", false},
		{"1.0.0", false},
		{"0.0.0", false},
		{"2", false},
		{"2.1", false},
		{"2.1.0.5", false},
		{"2.01.0", false},
		{"2.x.0", false},
		{"v2.1.0", false},
		{"2.1.0 ", false},
		{"2.1.0\n", false},
		{"latest", false},
	}
	for _, test := range tests {
		t.Run(test.version, func(t *testing.T) { assert.Equal(t, test.supported, protocol.SupportedVersion(test.version)) })
	}
}

func TestSenders(t *testing.T) {
	tests := []struct {
		name, sender, agent string
		valid               bool
	}{
		{"the manager", "league_manager", "league_manager", true},
		{"a player", "player:P01", "P01", true},
		{"a referee", "referee:REF01", "REF01", true},
		{"a name", "player:Agent Alpha", "Agent Alpha", true},
		{"a name in another script", "player:אלפא", "אלפא", true},
		{"a colon in the name", "player:a:b", "a:b", true},
		{"as long as it may be", "player:" + strings.Repeat("é", 113), strings.Repeat("é", 113), true},
		{"too long", "player:" + strings.Repeat("é", 114), strings.Repeat("é", 114), false},
		{"nobody", "", "", false},
		{"no kind", "P01", "P01", false},
		{"no name", "player:", "", false},
		{"no name either", "referee:", "", false},
		{"an unknown kind", "spectator:P01", "P01", false},
		{"capitals", "PLAYER:P01", "P01", false},
		{"a manager with a name", "league_manager:1", "1", false},
	}
	for _, test := range tests {
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
