package cmd

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/config"
)

func TestTheLimitsOfALeaguesFile(t *testing.T) {
	for text, want := range map[string][2]int{
		`{}`:                                  {3, 10},
		`{"lifecycle": {"suspend_after": 2}}`: {2, 10},
		`{"lifecycle": {"suspend_after": 0, "shutdown_after": 0}}`:  {-1, -1}, // never, which the manager says below 0
		`{"lifecycle": {"suspend_after": 1, "shutdown_after": 50}}`: {1, 50},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "config", "leagues", "cup.json")
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(`{"schema_version": "1.0.0", "league_id": "cup", `+text[1:]), 0o600))
		if text == `{}` {
			require.NoError(t, os.WriteFile(path, []byte(`{"schema_version": "1.0.0", "league_id": "cup"}`), 0o600))
		}
		o, _, err := leagueOptions(config.NewLoader(dir, known()), "cup", "even_odd", 4, 1, 1)
		require.NoError(t, err)
		assert.Equal(t, want, [2]int{o.SuspendAfter, o.ShutdownAfter}, text)
	}
}
