package cmd

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/config"
	"evenodd/league/manager"
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
		o := manager.Options{LeagueID: "cup", GameType: "even_odd", Players: 4, Referees: 1, Legs: 1}
		_, err := new(leagueSettings).complete(config.NewLoader(dir, known()), &o)
		require.NoError(t, err)
		assert.Equal(t, want, [2]int{o.SuspendAfter, o.ShutdownAfter}, text)
	}
}

func TestManagerKnowsTheGamesOfTheRegistry(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "config", "games", "games_registry.json")
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(`{"games": [{"game_type": "tic_tac_toe"}, {"game_type": "even_odd"}]}`), 0o600))
	o := manager.Options{LeagueID: "cup", GameType: "even_odd", Players: 4, Referees: 1, Legs: 1}
	_, err := new(leagueSettings).complete(config.NewLoader(dir, known()), &o)
	require.NoError(t, err)
	assert.Equal(t, []string{"even_odd", "tic_tac_toe"}, o.Games.Types())
}
