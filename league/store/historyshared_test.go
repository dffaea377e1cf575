package store_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
	"evenodd/league/store"
)

// A line of history.jsonl leaves out what earlier lines say, and a reader fills it in.
func TestHistoryLinesLeaveOutWhatEarlierLinesSay(t *testing.T) {
	entropy := protocol.Secret{1, 2, 3}
	text, own := protocol.CommitEntropy("R1M1", "P01", entropy)
	other := strings.Repeat("0", 64)
	decision := func(started, role string, commitments protocol.PerPlayer[string], entropy string) *store.HistoryDecision {
		return &store.HistoryDecision{MatchID: "R1M1", Attempt: 1, Decision: store.Decision{
			Turn: 1, Choice: "even", Entropy: entropy, Started: started, RoleInMatch: role, EntropyCommitments: commitments,
		}}
	}
	head := func(key string) *store.HistoryHead {
		return &store.HistoryHead{Head: store.SignedHead{Round: 1, JournalHead: other, ManagerKey: key}}
	}
	lines := []any{
		decision("first", protocol.RolePlayerA, protocol.Both("P01", own, "P02", other), text),
		decision("first", protocol.RolePlayerB, protocol.Both("P02", other, "P01", own), text),
		decision("second", protocol.RolePlayerA, protocol.Both("P01", other, "P02", other), text), // not the commitment to the entropy
		decision("second", protocol.RolePlayerA, protocol.PerPlayer[string]{{Name: "P02", Value: other}}, ""),
		head("key"), head("key"), head("other key"),
	}
	check := func(path string) {
		h, _, _, err := store.ReadHistoryLines(path)
		require.NoError(t, err)
		require.Len(t, h.Decisions, 4)
		require.Len(t, h.Heads, 3)
		for i := range h.Decisions {
			h.Decisions[i].Line = 0
			assert.Equal(t, lines[i], &h.Decisions[i])
		}
		for i := range h.Heads {
			h.Heads[i].Line = 0
			assert.Equal(t, lines[4+i], &h.Heads[i])
		}
	}
	header := &store.HistoryHeader{SchemaVersion: store.SchemaVersion, PlayerID: "P01", DisplayName: "Player", LeagueID: "L"}
	path := filepath.Join(t.TempDir(), "history.jsonl")
	tail := store.HistoryTail{}
	for _, line := range lines {
		require.NoError(t, store.AppendHistory(path, header, []any{line}, &tail))
	}
	check(path)
	written, err := os.ReadFile(path)
	require.NoError(t, err)
	for text, want := range map[string]int{`"first"`: 1, `"second"`: 1, `"manager_key"`: 2, own: 0} {
		assert.Equal(t, want, strings.Count(string(written), text), text)
	}

	require.NoError(t, os.Remove(path)) // a new file has no earlier lines
	require.NoError(t, store.AppendHistory(path, header, lines, &tail))
	check(path)
}
