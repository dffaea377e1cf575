package store_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
	"evenodd/league/store"
)

// history.json has the matches of history.jsonl, and replaces no file of another league.
func TestHistoryIsDerivedFromItsLines(t *testing.T) {
	const now = "2026-01-01T00:00:00Z"
	folder := store.In(t.TempDir())
	path, size := folder.History("P01"), int64(0)
	header := &store.HistoryHeader{
		Header: store.NewHeader(""), PlayerID: "P01", DisplayName: "league_id", LeagueID: "cup",
	}
	lines := []any{
		&store.HistoryDecision{MatchID: "R1M1", Attempt: 1, Decision: store.Decision{Turn: 1, Choice: `,"decision":{`}},
		&store.HistoryMatch{PlayedMatch: protocol.PlayedMatch{MatchID: "R1M1", Result: store.ResultWin}, Attempt: 1},
		&store.HistoryMatch{PlayedMatch: protocol.PlayedMatch{MatchID: "R2M1", OpponentID: `,"decision":{`, Result: store.ResultDraw}, Attempt: 1},
	}
	require.NoError(t, store.AppendHistory(folder.Disk, store.HistoryLines(path), header, lines, &size))
	want, _, _, err := store.ReadHistoryLines(folder.Disk, store.HistoryLines(path))
	require.NoError(t, err)
	require.Len(t, want.Matches, 2)
	for _, before := range []string{"", "{", `{"league_id":"cup"}`, `{"display_name":"league_id","league_id":"cup","x":`, `{"matches":[{"league_id":"other"}]}`} {
		require.NoError(t, os.WriteFile(path, []byte(before), 0o600))
		require.NoError(t, store.DeriveHistory(folder.Disk, path, now), before)
		got, err := store.Read[store.History](folder.Disk, path)
		require.NoError(t, err, before)
		assert.Equal(t, want.Matches, got.Matches)
		assert.Equal(t, want.Stats, got.Stats)
		assert.Equal(t, now, got.LastUpdated)
	}
	other := `{"display_name":"league_id","league_id":"other","matches":[]}`
	require.NoError(t, os.WriteFile(path, []byte(other), 0o600))
	require.NoError(t, store.DeriveHistory(folder.Disk, path, now))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, other, string(text))

	require.NoError(t, os.Truncate(store.HistoryLines(path), 3))
	require.Error(t, store.DeriveHistory(folder.Disk, path, now))
}
