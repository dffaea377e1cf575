package cmd

import (
	"go/format"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// clone makes a folder with some files of a clone.
func clone(t *testing.T, files ...string) string {
	t.Helper()
	root := t.TempDir()
	for _, name := range append(files, "go.mod", "cmd/games.go", "cmd/print.go", "rules/evenodd/evenodd.go") {
		writeFile(t, readFile(t, "..", name), root, name)
	}
	return root
}

// The game is tested in a module with nothing but its imports.
func TestNewGameCompilesAndPassesItsTests(t *testing.T) {
	t.Parallel()
	root := clone(t, "go.sum", "rules/rules.go", "rules/course.go", "rules/draw.go", "rules/turns.go", "rules/chance.go", "rules/opening.go",
		"rules/program.go", "rules/rulestest/rulestest.go")
	var out strings.Builder
	require.NoError(t, runNewGame(streams{out: &out, err: io.Discard}, root, "pick_2_stones"))
	assert.Equal(t, "created rules/pick2stones/pick2stones.go\ncreated rules/pick2stones/pick2stones_test.go\nchanged cmd/games.go\n", out.String())
	game := readFile(t, root, "rules/pick2stones/pick2stones.go")
	assert.Contains(t, game, "// Package pick2stones is the game Pick 2 Stones: ")
	assert.Contains(t, game, "const Type = \"pick_2_stones\"\n")
	assert.NotContains(t, strings.ToLower(game), "skeleton")

	list, before := readFile(t, root, gamesFile), readFile(t, "..", gamesFile)
	const imported, line = "\t\"evenodd/rules/pick2stones\"\n", "\t\tpick2stones.Game{},\n"
	assert.Contains(t, list, imported)
	assert.Contains(t, list, line)
	assert.Equal(t, before, strings.NewReplacer(imported, "", line, "").Replace(list))
	inFolder(t, root, "go", "test", "-vet=all", "evenodd/rules/pick2stones")
	assert.Empty(t, inFolder(t, root, "gofmt", "-l", "."))
}

// inFolder runs a program and returns its output.
func inFolder(t *testing.T, folder, program string, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), program, args...)
	command.Dir = folder
	output, err := command.CombinedOutput()
	require.NoError(t, err, "%s %s\n%s", program, strings.Join(args, " "), output)
	return string(output)
}

// The import of a game stands where gofmt has it.
func TestImportOfAGameIsSorted(t *testing.T) {
	for _, pkg := range []string{"aardvark", "kuhn", "pigs", "zoo"} {
		list, err := withImport(readFile(t, "..", gamesFile), pkg)
		require.NoError(t, err)
		formatted, err := format.Source([]byte(list))
		require.NoError(t, err)
		assert.Equal(t, string(formatted), list)
		assert.Contains(t, list, "\t\"evenodd/rules/"+pkg+"\"\n")
	}
	_, err := withImport("package cmd\n", "zoo")
	require.ErrorContains(t, err, "does not import evenodd/rules")
}

func TestNewGameRefusesOtherNamesAndFolders(t *testing.T) {
	const form = "words of lower-case letters and digits joined by underscores"
	for name, want := range map[string]string{
		"PickStones": form, "pick-stones": form, "pick__stones": form, "_stones": form, "2stones": form, "": form, "../stones": form,
		strings.Repeat("stones", 7): "at most 40 characters",
		"even_odd":                  "the folder rules/evenodd exists already",
		"go":                        "Go or cmd/games.go uses the name go",
		"known":                     "Go or cmd/games.go uses the name known",
	} {
		t.Run(name, func(t *testing.T) {
			root := clone(t)
			err := runNewGame(streams{out: io.Discard, err: io.Discard}, root, name)
			require.ErrorContains(t, err, want)
			assert.Equal(t, exitUsage, exitCode(err))
			games, err := os.ReadDir(filepath.Join(root, "rules"))
			require.NoError(t, err)
			assert.Len(t, games, 1, "no game is written")
		})
	}
	err := runNewGame(streams{out: io.Discard, err: io.Discard}, t.TempDir(), "pick_stones")
	require.ErrorContains(t, err, "this folder is not a clone of evenodd")
}
