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
}

// The remark of init tells what the specification asks for, and has no effect.
func TestInitRemarksTheLeadOfAnnouncements(t *testing.T) {
	l, file := leagueFileOf(t)
	assert.Equal(t, "seconds from the announcement of a round to its first match; the specification asks for 60", file["_announce_lead_sec"])
	league, err := l.League(file["league_id"].(string))
	require.NoError(t, err)
	assert.Zero(t, league.AnnounceLead)
	assert.Empty(t, l.Unknown())
}
