package player_test

import (
	"bytes"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/store"
)

// playRounds plays a match in each of some rounds, completes the rounds, and stops the player
// with or without Close.
func playRounds(w *leaguetest.World, folder store.Folder, from, to int, closes bool) {
	w.T.Helper()
	p := w.PlayerIn("P01", folder, leaguetest.WithStrategy("even"))
	for round := from; round <= to; round++ {
		w.Announce(p, round, protocol.RefereeAuthAccessToken)
		playMatch(w.ScriptedReferee(p, league.MatchID{Round: round, Number: 1}.String(), 1), 8)
		completeRound(w, p, round)
	}
	if closes {
		require.NoError(w.T, p.Player.Close())
	}
	p.Stop()
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return text
}

// derived reads history.json.
func derived(t *testing.T, folder store.Folder) *store.History {
	t.Helper()
	doc, err := store.Read[store.History](folder.History("P01"))
	require.NoError(t, err)
	return doc
}

// A power cut may leave any part of history.jsonl, and any of the states of history.json.
func TestHistoryContinuesAfterACutAtAnyByte(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := store.Folder(t.TempDir())
		path := folder.History("P01")
		lines := store.HistoryLines(path)
		w.ScriptedManager()
		playRounds(w, folder, 1, 3, true)
		whole, document := readFile(t, lines), readFile(t, path)
		for n := range len(whole) + 1 {
			if !leaguetest.All() && n%7 > 0 && n < len(whole)-2 {
				continue
			}
			require.NoError(t, os.WriteFile(lines, whole[:n], 0o600))
			require.NoError(t, os.Remove(path))
			left := max(0, bytes.Count(whole[:n], []byte("\n"))-1)
			switch n % 4 {
			case 0:
				require.NoError(t, os.WriteFile(path, document, 0o600))
			case 1:
				require.NoError(t, os.WriteFile(path, document[:min(n, len(document))], 0o600))
			case 2:
				require.NoError(t, os.WriteFile(path, nil, 0o600))
			}
			playRounds(w, folder, 4, 4, true)
			h := leaguetest.ReadHistory(t, folder, "P01")
			require.Len(t, h.Matches, left+1, "cut after %d bytes", n)
			assert.Equal(t, "R4M1", h.Matches[left].MatchID)
			d := derived(t, folder)
			h.LastUpdated = d.LastUpdated
			assert.Equal(t, h, d)
		}
	})
}

func TestHistoryDocumentIsWrittenFromTimeToTime(t *testing.T) {
	leaguetest.InMemory(t, func(t *testing.T, w *leaguetest.World) {
		folder := store.Folder(t.TempDir())
		w.ScriptedManager()
		p := w.PlayerIn("P01", folder, leaguetest.WithStrategy("even"))
		play := func(round, want int) {
			t.Helper()
			playMatch(w.ScriptedReferee(p, league.MatchID{Round: round, Number: 1}.String(), 1), 8)
			completeRound(w, p, round)
			assert.Len(t, leaguetest.ReadHistory(t, folder, "P01").Matches, round)
			assert.Len(t, derived(t, folder).Matches, want)
		}
		play(1, 1)
		play(2, 1)
		time.Sleep(11 * time.Second)
		play(3, 3)
		play(4, 3)
		completeLeague(w, p)
		assert.Len(t, derived(t, folder).Matches, 4)
		require.NoError(t, p.Player.Close())
	})
}
