package cmd_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// docs/running-a-league.md shows a file of players and two commands; the test of the README
// runs the agents by hand, which the third block shows.
func TestRunningALeaguePageWorks(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "docs", "running-a-league.md"))
	require.NoError(t, err)
	block := func(language string) (all []string) {
		for _, found := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
			all = append(all, found[1])
		}
		return all
	}
	files, commands := block("yaml"), block("sh")
	require.Len(t, files, 1)
	require.Len(t, commands, 3)

	t.Run("a league from a file", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		bot, err := os.ReadFile(filepath.Join(root, "testdata", "bots", "alternate.sh"))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "bot.sh"), bot, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "class.yaml"), []byte(files[0]), 0o600))
		words := strings.Fields(commands[0])
		p := launch(t, dir, nil, words[0], append(words[1:], "--port", "0")...)
		require.Zero(t, p.awaitExit(t), p.stderr.String())
		for _, name := range []string{"Alice", "Bob", "Random-1", "Random-2", "Random-3"} {
			assert.Regexp(t, `│ `+name+` +│ +4 │ \d │ \d │ \d │ +0 │`, p.stdout.String())
		}
	})
	t.Run("many players for a manager", func(t *testing.T) {
		t.Parallel()
		m := startManager(t, "--players", "30", "--tournament", "swiss", "--rounds", "2", "--exit-when-done")
		m.join(t, "referee", "--max-concurrent", "10")
		words := strings.Fields(strings.Replace(commands[1], "http://localhost:8000/mcp", m.url, 1))
		p := launch(t, t.TempDir(), nil, words[0], append(words[1:], "--port", "0")...)
		require.Zero(t, p.awaitExit(t), p.stderr.String())
		assert.Len(t, regexp.MustCompile(`(?m)^Bot-\d+: P\d\d: 2 played, `).FindAllString(p.stdout.String(), -1), 30)
		assert.Zero(t, m.awaitExit(t))
	})
}
