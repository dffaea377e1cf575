package config_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/config"
)

// leagueFileOf writes the files of a data folder, and returns the file of its league.
func leagueFileOf(t *testing.T) (l *config.Loader, file map[string]any) {
	t.Helper()
	dir := t.TempDir()
	_, err := config.Init(dir, known(), time.Now())
	require.NoError(t, err)
	l = config.NewLoader(dir, known())
	system, err := l.System()
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(dir, "config", "leagues", system.DefaultLeagueID+".json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &file))
	return l, file
}

// The fields of a league's file in docs/settings.md exist, with the built-in values of the page.
func TestSettingsPageHasTheBuiltInValues(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "docs", "settings.md"))
	require.NoError(t, err)
	_, section, found := strings.Cut(string(page), "\n## Fields of a league's file\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	_, file := leagueFileOf(t)
	compared := 0
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|.*\\| ([^|]+) \\|$").FindAllStringSubmatch(section, -1) {
		require.Contains(t, file, row[1], "a league's file has no such field")
		var want any
		word := strings.Trim(row[2], "`")
		if json.Unmarshal([]byte(word), &want) != nil {
			if word == row[2] {
				continue // a sentence, or several values
			}
			want = word
		}
		compared++
		assert.Equal(t, want, file[row[1]], row[1])
	}
	assert.GreaterOrEqual(t, compared, 6)
	var pages strings.Builder // other pages describe some fields
	paths, err := filepath.Glob(filepath.Join("..", "docs", "*.md"))
	require.NoError(t, err)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		pages.Write(text)
	}
	delete(file, "last_updated") // of no effect
	for name := range file {
		assert.Contains(t, pages.String(), strings.TrimPrefix(name, "_"), "no page names this field of a league's file")
	}
}
