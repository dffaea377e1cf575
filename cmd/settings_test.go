package cmd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/config"
)

func TestLeagueOptionsFollowTheFile(t *testing.T) {
	for text, want := range map[string][2]int{
		`{}`:                                  {3, 10},
		`{"lifecycle": {"suspend_after": 2}}`: {2, 10},
		`{"lifecycle": {"suspend_after": 0, "shutdown_after": 0}}`:  {-1, -1}, // never: below 0 in the options of the manager
		`{"lifecycle": {"suspend_after": 1, "shutdown_after": 50}}`: {1, 50},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "config", "leagues", "cup.json")
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(`{"schema_version": "1.0.0", "league_id": "cup", `+text[1:]), 0o600))
		if text == `{}` {
			require.NoError(t, os.WriteFile(path, []byte(`{"schema_version": "1.0.0", "league_id": "cup"}`), 0o600))
		}
		o, _, err := leagueOptions(t.Context(), config.NewLoader(dir, known()), leagueFlags{id: "cup", game: "even_odd", players: 4, referees: 1, legs: 1})
		require.NoError(t, err)
		assert.Equal(t, want, [2]int{o.SuspendAfter, o.ShutdownAfter}, text)
	}
}

// The registry of init contains the two games of spec 003 §3.8.3.
func TestGamesRegistryMatchesTheSpecification(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "testdata", "messages", "003-3.8.3-game_registry.json"))
	require.NoError(t, err)
	var shown struct {
		Registry map[string]map[string]any `json:"game_registry"`
	}
	require.NoError(t, json.Unmarshal(raw, &shown))
	require.Len(t, shown.Registry, 2)
	dir := t.TempDir()
	_, err = config.Init(dir, known(), time.Now())
	require.NoError(t, err)
	raw, err = os.ReadFile(filepath.Join(dir, "config", "games", "games_registry.json"))
	require.NoError(t, err)
	var written struct{ Games []map[string]any }
	require.NoError(t, json.Unmarshal(raw, &written))
	found := 0
	for _, game := range written.Games {
		for member, value := range shown.Registry[game["game_type"].(string)] {
			found++
			assert.Equal(t, value, game[member], "%s of %s", member, game["game_type"])
		}
	}
	assert.Equal(t, 2*5, found)
}

func TestManagerKnowsTheGamesOfTheRegistry(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "config", "games", "games_registry.json")
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(`{"games": [{"game_type": "tic_tac_toe"}, {"game_type": "even_odd"}]}`), 0o600))
	o, _, err := leagueOptions(t.Context(), config.NewLoader(dir, known()), leagueFlags{id: "cup", game: "even_odd", players: 4, referees: 1, legs: 1})
	require.NoError(t, err)
	assert.Equal(t, []string{"even_odd", "tic_tac_toe"}, o.Games.Types())
}
