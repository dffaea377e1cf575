package cmd

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
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
	require.Greater(t, len(all), 35)
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
	games := regexp.MustCompile(`(?s)(game of the \w+: )[\w,\s]+?\s+\(default even_odd\)`)
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

func TestHelpListsEveryCommandInOneGroup(t *testing.T) {
	var grouped []string
	for _, s := range commandSections() {
		grouped = append(grouped, strings.Fields(s.names)...)
	}
	var names []string
	for path := range documented(t) {
		if words := strings.Fields(path); len(words) == 2 {
			names = append(names, words[1])
		}
	}
	assert.ElementsMatch(t, names, grouped, "commandSections lists the commands of the program")
}

func TestHelpListsEveryFlagInOneGroup(t *testing.T) {
	commands := documented(t)
	for path, c := range commands {
		listed := 0
		groups := groupFlags(c.LocalFlags())
		for _, g := range groups {
			listed += len(g.flags)
			if g.title == "Other" {
				require.Len(t, g.flags, 1, "%s: flagSections has no section for one of the flags", path)
				assert.Equal(t, "help", g.flags[0].Name, "%s: flagSections has no section for the flag", path)
			}
		}
		visible := 0
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				visible++
			}
		})
		assert.Equal(t, visible, listed, path)
	}
	var names []string
	for _, s := range flagSections() {
		for name := range strings.FieldsSeq(s.names) {
			assert.NotContains(t, names, name, "a flag has one section")
			names = append(names, name)
			exists := func(c *cobra.Command) bool { return c.Flags().Lookup(name) != nil }
			assert.True(t, name == "help" || slices.ContainsFunc(mapValues(commands), exists), "no command has --%s", name)
		}
	}
}

func mapValues(commands map[string]*cobra.Command) []*cobra.Command {
	var all []*cobra.Command
	for _, c := range commands {
		all = append(all, c)
	}
	return all
}
