package cmd

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
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
	walk(newRoot("test", streams{out: &bytes.Buffer{}, err: &bytes.Buffer{}}))
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
	games := regexp.MustCompile(`(?s)(testdata/games\)\s+or\s+one\s+of:\s+)[\w,\s]+?\s+\(default\s+"(even_odd|connect_four)"\)`)
	strategies := regexp.MustCompile(`(?s)\nStrategies: random,.*?\n\n`)
	rated := regexp.MustCompile(`(?s)(that of\s+all leagues\): )[\w,\s]+?\n  -h`)
	files := 0
	for path := range documented(t) {
		code, help, problems := printedBy(t, append(strings.Fields(path)[1:], "--help")...)
		require.Zero(t, code, path)
		require.Empty(t, problems, path)
		help = games.ReplaceAllString(help, "${1}GAMES (default ${2})")
		help = rated.ReplaceAllString(help, "${1}GAMES\n  -h")
		help = strategies.ReplaceAllString(help, "\nStrategies: STRATEGIES\n\n")
		file := filepath.Join(dir, strings.ReplaceAll(path, " ", "-")+".txt")
		if updating {
			require.NoError(t, os.WriteFile(file, []byte(help), 0o644))
		}
		assert.Equal(t, readFile(t, file), help,
			"%s differs: run 'go test ./cmd -run TestHelp -update' and read the change", file)
		files++
	}
	there, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	assert.Len(t, there, files, "each file belongs to a command")
}

// A name in a group is one of a command or of a flag, so that none stays there when it is gone.
func TestHelpGroupsNameWhatExists(t *testing.T) {
	names := map[string]bool{}
	for path, c := range documented(t) {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) { names["--"+f.Name] = true })
		if name, below := strings.CutPrefix(path, "evenodd "); below && !strings.Contains(name, " ") {
			names[name] = true
			assert.NotEmpty(t, c.GroupID, "%s has no group in the help", path)
		}
	}
	grouped := map[string]bool{}
	for prefix, groups := range map[string][]helpGroup{"": commandGroups[:], "--": flagGroups[:]} {
		for _, group := range groups {
			for name := range strings.FieldsSeq(group.names) {
				assert.True(t, names[prefix+name], "%q in the group %s", prefix+name, group.title)
				assert.False(t, grouped[prefix+name], "%s is in two groups", prefix+name)
				grouped[prefix+name] = true
			}
		}
	}
}

// checkGenerated compares the text between the marks of a name on a page, or writes it with -update.
func checkGenerated(t *testing.T, page, name, want string) {
	t.Helper()
	begin := "<!-- generated: " + name + " -->\n"
	before, rest, found := strings.Cut(readFile(t, page), begin)
	require.True(t, found, name)
	written, after, found := strings.Cut(rest, "<!-- end -->")
	require.True(t, found, name)
	if flag.Lookup("update").Value.String() == "true" {
		require.NoError(t, os.WriteFile(page, []byte(before+begin+want+"<!-- end -->"+after), 0o644))
		return
	}
	assert.Equal(t, want, written, "go test ./cmd -run TestGeneratedTables -update writes the table %s", name)
}

// The list of all commands in docs/commands.md, with their flags in the groups of the help.
func TestGeneratedTablesOfTheCommandsPage(t *testing.T) {
	var table strings.Builder
	table.WriteString("| command | what it does | its flags |\n| --- | --- | --- |\n")
	commands, use := documented(t), strings.NewReplacer("evenodd ", "", " [flags]", "", "|", `\|`)
	for _, path := range slices.Sorted(maps.Keys(commands)) {
		c := commands[path]
		if path == c.Root().Name() {
			continue
		}
		var groups []string
		for _, group := range flagsByGroup(c.LocalFlags()) {
			names := group.title
			group.flags.VisitAll(func(f *pflag.Flag) {
				if f.Name != "help" && !f.Hidden {
					names += " `--" + f.Name + "`"
				}
			})
			if strings.Contains(names, "`") {
				groups = append(groups, strings.TrimPrefix(names, "Flags: "))
			}
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s |\n", use.Replace(c.UseLine()), c.Short, strings.Join(groups, "; "))
	}
	checkGenerated(t, "../docs/commands.md", "commands", table.String())
}

// Each flag that a page names is one of a command.
func TestFlagsOfPagesExist(t *testing.T) {
	known, programs := map[string]bool{"--help": true, "--version": true}, map[string]bool{"evenodd": true}
	for _, c := range documented(t) {
		programs[c.Name()] = true
		c.Flags().VisitAll(func(f *pflag.Flag) { known["--"+f.Name] = true })
		c.PersistentFlags().VisitAll(func(f *pflag.Flag) { known["--"+f.Name] = true })
	}
	pages, err := filepath.Glob("../docs/*.md")
	require.NoError(t, err)
	named := 0
	for _, page := range append(pages, "../README.md", "../CONTRIBUTING.md", "../ARCHITECTURE.md") {
		for _, code := range regexp.MustCompile("`([^`\n]+)`").FindAllStringSubmatch(readFile(t, page), -1) {
			if first, _, _ := strings.Cut(code[1], " "); !strings.HasPrefix(first, "-") && !programs[first] {
				continue // another program has flags of its own
			}
			for _, flag := range regexp.MustCompile(`(?:^|[ (])(--[a-z][a-z0-9-]*)`).FindAllStringSubmatch(code[1], -1) {
				named++
				assert.True(t, known[flag[1]], "%s: no command has %s", page, flag[1])
			}
		}
	}
	assert.Greater(t, named, 200)
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

// pagesIn returns the files of a folder by name.
func pagesIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	pages := map[string]string{}
	for _, f := range files {
		pages[f.Name()] = readFile(t, dir, f.Name())
	}
	return pages
}

// A command line that begins with the name of a command makes that command alone, with all its flags.
func TestCommandLineMakesTheCommandThatItCalls(t *testing.T) {
	s := streams{out: &bytes.Buffer{}, err: &bytes.Buffer{}}
	names := func(root *cobra.Command) (names []string) {
		for _, c := range root.Commands() {
			names = append(names, c.Name())
		}
		return names
	}
	all := newRoot("test", s)
	for _, c := range all.Commands() {
		if alone := newRoot("test", s, c.Name(), "--help"); c.Name() != "man" {
			require.Equal(t, []string{c.Name()}, names(alone))
			assert.Equal(t, c.Flags().FlagUsages(), alone.Commands()[0].Flags().FlagUsages(), c.Name())
		}
	}
	for _, args := range [][]string{{}, {"help"}, {"man", "."}, {"--config", "file", "audit"}, {"simulat"}, {"--help"},
		{"__complete", "s"}, {"--version", "audit"}} {
		assert.Equal(t, names(all), names(newRoot("test", s, args...)), "%q", args)
	}
	assert.Empty(t, names(newRoot("test", s, "--version")))
}

// The manual has a page for each command with all its flags, and the same bytes each time.
func TestManualHasEveryCommandAndFlag(t *testing.T) {
	dir := t.TempDir()
	first, second := filepath.Join(dir, "new", "man1"), filepath.Join(dir, "again")
	for _, to := range []string{first, second} {
		assert.Empty(t, mustPrint(t, "man", to))
	}
	pages := pagesIn(t, first)
	assert.Equal(t, pages, pagesIn(t, second))
	commands := documented(t)
	for path, c := range commands {
		page := pages[strings.ReplaceAll(path, " ", "-")+".1"]
		require.NotEmpty(t, page, path)
		assert.Contains(t, page, c.Short, path)
		c.InheritedFlags()
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				assert.Contains(t, page, "--"+f.Name, "%s --%s", path, f.Name)
			}
		})
		for line := range strings.Lines(page) {
			assert.False(t, strings.HasPrefix(line, "'"), "%s: roff takes the line for a request: %s", path, line)
		}
	}
}

// The pages are those that package doc of cobra writes, byte for byte.
func TestManualIsThatOfCobra(t *testing.T) {
	dir := t.TempDir()
	ours, cobras := filepath.Join(dir, "ours"), filepath.Join(dir, "cobra")
	require.NoError(t, os.Mkdir(cobras, 0o755))
	mustPrint(t, "man", ours)
	date := manualDate()
	root := newRoot("test", streams{out: &bytes.Buffer{}, err: &bytes.Buffer{}})
	refuseUnknownTopics(root)
	header := &doc.GenManHeader{Section: "1", Source: "evenodd", Manual: "User Commands", Date: &date}
	require.NoError(t, doc.GenManTree(root, header, cobras))
	assert.Equal(t, pagesIn(t, cobras), pagesIn(t, ours))
}

func TestVersionShowsTheCommitOfTheBuild(t *testing.T) {
	rest := "go        " + runtime.Version() + "\nplatform  " + runtime.GOOS + "/" + runtime.GOARCH + "\n"
	stamped := []debug.BuildSetting{{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: "0123abcd"}, {Key: "vcs.time", Value: "2026-11-23T09:00:00Z"}}
	for _, tt := range []struct {
		name string
		info *debug.BuildInfo
		want string
	}{
		{"a checkout", &debug.BuildInfo{Settings: stamped}, "commit    0123abcd\ndate      2026-11-23T09:00:00Z\n"},
		{"a checkout with changes", &debug.BuildInfo{Settings: append(stamped, debug.BuildSetting{Key: "vcs.modified", Value: "true"})}, "commit    0123abcd (with changes)\ndate      2026-11-23T09:00:00Z\n"},
		{"no checkout", &debug.BuildInfo{}, "commit    unknown: the build had no Git checkout, or -buildvcs=false\n"},
		{"no build information", nil, "commit    unknown: the build had no Git checkout, or -buildvcs=false\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			require.NoError(t, printVersion(&out, buildOf("v1.2.3", tt.info)))
			assert.Equal(t, "evenodd v1.2.3\n"+tt.want+rest, out.String())
		})
	}
}
