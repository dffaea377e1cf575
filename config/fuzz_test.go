package config_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"evenodd/config"
)

// fuzzedFiles are the files of the configuration layer. Their order is part of
// the corpus.
var fuzzedFiles = []struct {
	path string
	load func(*config.Loader) (config.File, error)
}{
	{"system.json", func(l *config.Loader) (config.File, error) { return l.System() }},
	{"agents/agents_config.json", func(l *config.Loader) (config.File, error) { return l.Agents() }},
	{"leagues/L.json", func(l *config.Loader) (config.File, error) { return l.League("L") }},
	{"games/games_registry.json", func(l *config.Loader) (config.File, error) { return l.Games() }},
	{"defaults/referee.json", func(l *config.Loader) (config.File, error) { return l.RefereeDefaults() }},
	{"defaults/player.json", func(l *config.Loader) (config.File, error) { return l.PlayerDefaults() }},
}

// FuzzFiles reads any text as each file: nothing panics, an error names the file, and
// reading the file again gives the same.
func FuzzFiles(f *testing.F) {
	for i, builtin := range []string{"system", "agents_config", "league", "games_registry", "referee", "player"} {
		raw, err := os.ReadFile(filepath.Join("builtin", builtin+".json"))
		require.NoError(f, err)
		f.Add(uint8(i), raw)
		f.Add(uint8(i), bytes.Replace(raw, []byte("{"), []byte(`{"_ours": {"deep": [1, {"a": null}]}, "schema_version": "1.7.3",`), 1))
		f.Add(uint8(i), []byte("{}"))
	}
	dir := f.TempDir()
	if inMemory, err := os.MkdirTemp("/dev/shm", "evenodd-fuzz-"); err == nil { // every rewrite waits for the disk
		f.Cleanup(func() { os.RemoveAll(inMemory) })
		dir = inMemory
	}
	f.Fuzz(func(t *testing.T, which uint8, raw []byte) {
		file := fuzzedFiles[int(which)%len(fuzzedFiles)]
		path := filepath.Join(dir, "config", filepath.FromSlash(file.path))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, raw, 0o600))
		defer os.Remove(path)
		l := config.NewLoader(dir, known())
		first, err := file.load(l)
		if err != nil {
			require.ErrorContains(t, err, path)
			return
		}
		for _, member := range l.Unknown() {
			require.Contains(t, member, path)
		}
		second, err := file.load(config.NewLoader(dir, known()))
		require.NoError(t, err, "a file that was accepted is accepted again")
		require.Equal(t, first, second)
	})
}
