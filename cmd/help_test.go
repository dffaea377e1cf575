package cmd

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// documented returns the program's commands that its help lists, by path.
func documented(t *testing.T) map[string]*cobra.Command {
	t.Helper()
	all := map[string]*cobra.Command{}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		all[c.CommandPath()] = c
		for _, below := range c.Commands() {
			if !below.Hidden {
				walk(below)
			}
		}
	}
	walk(newRoot("test", streams{&bytes.Buffer{}, &bytes.Buffer{}}))
	require.Greater(t, len(all), 30)
	return all
}

// The help of each command is a file in testdata/help. 'go test ./cmd -run TestHelp -update'
// writes these files.
func TestHelpOfEveryCommandIsItsFile(t *testing.T) {
	const dir = "testdata/help"
	updating := flag.Lookup("update").Value.String() == "true"
	if updating {
		require.NoError(t, os.RemoveAll(dir))
		require.NoError(t, os.MkdirAll(dir, 0o755))
	}
	// The files leave out the lists of games and strategies, so that a new one changes no file.
	games := regexp.MustCompile(`(?s)(game of the \w+: )[\w,\s]+?\s+\(default\s+"even_odd"\)`)
	strategies := regexp.MustCompile(`(?s)\nStrategies: random,.*?\n\n`)
	files := 0
	for path := range documented(t) {
		var out, problems bytes.Buffer
		arguments := append(strings.Fields(path)[1:], "--help")
		require.Zero(t, Execute(t.Context(), "test", arguments, &out, &problems), path)
		require.Empty(t, problems.String(), path)
		help := games.ReplaceAll(out.Bytes(), []byte("${1}GAMES (default even_odd)"))
		help = strategies.ReplaceAll(help, []byte("\nStrategies: STRATEGIES\n\n"))
		file := filepath.Join(dir, strings.ReplaceAll(path, " ", "-")+".txt")
		if updating {
			require.NoError(t, os.WriteFile(file, help, 0o644))
		}
		want, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Equal(t, string(want), string(help), "%s differs: run 'go test ./cmd -run TestHelp -update' and read the change", file)
		files++
	}
	there, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	assert.Len(t, there, files, "each file belongs to a command")
}

func TestHelpFitsIn80Columns(t *testing.T) {
	for path, c := range documented(t) {
		var out bytes.Buffer
		c.SetOut(&out)
		require.NoError(t, c.Help())
		for line := range strings.Lines(out.String()) {
			assert.LessOrEqual(t, len([]rune(strings.TrimSuffix(line, "\n"))), helpWidth, "%s: %s", path, line)
		}
	}
}

func TestHelpShowsAnExampleOfEveryCommand(t *testing.T) {
	for path, c := range documented(t) {
		for example := range strings.SplitSeq(c.Example, "\n\n") {
			assert.Regexp(t, `^  # .+\n  \S.*`, example, path)
		}
		assert.Regexp(t, `(?m)^  .*\b`+path, c.Example, path)
	}
}
