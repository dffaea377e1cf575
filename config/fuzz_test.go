package config_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
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

// FuzzFiles: whatever stands in a file, nothing panics, an error names the
// file, and what is accepted survives when it is written again, with all that
// nobody here knows.
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
		l := config.NewLoader(dir, program())
		first, err := file.load(l)
		if err != nil {
			require.ErrorContains(t, err, path)
			return
		}
		_ = l.Unknown()
		require.NoError(t, l.Save(first, time.Unix(0, 0)))
		written, err := os.ReadFile(path)
		require.NoError(t, err)
		second, err := file.load(config.NewLoader(dir, program()))
		require.NoError(t, err, "what was accepted is not accepted when it is written again:\n%s", written)
		require.NoError(t, config.NewLoader(dir, program()).Save(second, time.Unix(0, 0)))
		again, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, string(written), string(again), "written twice, it is the same")

		var before, after any
		require.NoError(t, json.Unmarshal(bytes.TrimPrefix(raw, []byte("\ufeff")), &before))
		require.NoError(t, json.Unmarshal(written, &after))
		requireKept(t, "", before, after)
	})
}

// program is what the program of these tests knows.
func program() config.Known {
	return config.Known{
		Tiebreakers: []string{"points", "wins", "draws", "head_to_head"},
		Strategies:  []string{"random"},
		Games:       map[string]config.KnownGame{"even_odd": {DisplayName: "Even/Odd", Module: "rules/evenodd", MinPlayers: 2, MaxPlayers: 2}},
	}
}

// requireKept fails when a member that says something is gone, or says
// something else.
func requireKept(t *testing.T, path string, before, after any) {
	t.Helper()
	switch before := before.(type) {
	case map[string]any:
		members, _ := after.(map[string]any)
		for name, value := range before {
			kept, there := members[name]
			if !there && empty(value) || path == "" && name == "last_updated" {
				continue
			}
			require.True(t, there, "%s.%s is gone", path, name)
			requireKept(t, path+"."+name, value, kept)
		}
	case []any:
		items, _ := after.([]any)
		require.Len(t, items, len(before), path)
		for i := range before {
			requireKept(t, path+"[]", before[i], items[i])
		}
	default:
		require.Equal(t, before, after, path)
	}
}

// empty tells whether a value says no more than that nothing is there.
func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case bool:
		return !v
	case float64:
		return v == 0
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}
