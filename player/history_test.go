package player

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"evenodd/league/protocol"
	"evenodd/league/store"
)

func TestHistoryReturnsItsMatchesAsTheyWere(t *testing.T) {
	text := rapid.SampledFrom([]string{"", "even", "R1M1", "a longer text"})
	number := rapid.IntRange(0, 3)
	rapid.Check(t, func(t *rapid.T) {
		h := newHistory(nil)
		want := map[string]store.HistoryMatch{}
		for range rapid.IntRange(0, 20).Draw(t, "matches") {
			m := store.HistoryMatch{
				Attempt: 1 + number.Draw(t, "attempt"),
				PlayedMatch: protocol.PlayedMatch{
					MatchID:    rapid.SampledFrom([]string{"", "R0M1", "R1M1", "R1M10", "R2M1", "R999999999M999999999", "R01M1", "game 7", "game 8"}).Draw(t, "id"),
					OpponentID: text.Draw(t, "opponent"), Result: rapid.SampledFrom([]string{"WIN", "DRAW", "LOSS", "TECHNICAL_WIN", "TECHNICAL_LOSS"}).Draw(t, "result"), MyChoice: text.Draw(t, "mine"),
					OpponentChoice: text.Draw(t, "other"), DrawnNumber: number.Draw(t, "number"), FromStandings: rapid.Bool().Draw(t, "inferred"),
				},
			}
			require.Zero(t, h.attempt("never played"))
			if h.add(&m) {
				want[m.MatchID] = m
			}
		}
		got := map[string]store.HistoryMatch{}
		for _, m := range matchesOf(h) {
			got[m.MatchID] = m
		}
		require.Equal(t, want, got)
		require.Len(t, h.played(), len(want))
		again := newHistory(matchesOf(h))
		require.Equal(t, h.remembered(), again.remembered())
		require.Equal(t, h.stats, again.stats)
		require.Equal(t, len(want), h.stats.Wins+h.stats.Draws+h.stats.Losses)
	})
}

// matchesOf returns the matches of a history, in the order in which they were added.
func matchesOf(h *history) (list []store.HistoryMatch) {
	for i := range h.entries {
		list = append(list, h.match(i))
	}
	return list
}

func TestRenamedFileReplacesNoOther(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "history.json")
	for i, want := range []string{
		"history-2025-01-15T100000Z.json", "history-2025-01-15T100000Z-2.json", "history-2025-01-15T100000Z-3.json",
	} {
		text := []byte{byte('a' + i)}
		require.NoError(t, os.WriteFile(path, text, 0o600))
		to, err := renameAside(path, "2025-01-15T10:00:00Z")
		require.NoError(t, err)
		assert.Equal(t, want, filepath.Base(to))
		got, err := os.ReadFile(to)
		require.NoError(t, err)
		assert.Equal(t, text, got)
	}
	_, err := renameAside(path, "2025-01-15T10:00:00Z")
	require.ErrorIs(t, err, os.ErrNotExist)
}
