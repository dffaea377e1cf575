package cmd

import (
	"embed"
	"errors"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// skeleton is a complete game: the package cmd/skeleton with its test.
//
//go:embed skeleton/*.go
var skeleton embed.FS

// gamesFile is the file with the list of games.
const gamesFile = "cmd/games.go"

// newGame makes 'evenodd new game'.
func newGame(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "game NAME",
		Short: "Write the source code of a new game",
		Long: `Write the source code of a new game into a clone of evenodd. Run the command in the root
folder of the clone. It writes a small complete game with its test into the folder
rules, and adds the game to the list in ` + gamesFile + `. The comments of the game say what
to change.

NAME is the type of the game in the protocol: words of lower-case letters and digits,
joined by underscores. The name of the Go package is the same without underscores.`,
		Example: examples("Write the package rules/pickstones in a clone", "evenodd new game pick_stones"),
		Args:    takes(1, nil, "new game takes one name, such as pick_stones"),
		RunE:    func(_ *cobra.Command, args []string) error { return runNewGame(s, ".", args[0]) },
	}
}

// runNewGame writes the game into the clone at root.
func runNewGame(s streams, root, gameType string) error {
	if !regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`).MatchString(gameType) || len(gameType) > 40 {
		return usage("%.60q is not the name of a game: use words of lower-case letters and digits joined by underscores, such as pick_stones, at most 40 characters", gameType)
	}
	pkg := strings.ReplaceAll(gameType, "_", "")
	folder := filepath.Join("rules", pkg)
	if module, _ := os.ReadFile(filepath.Join(root, "go.mod")); !strings.HasPrefix(string(module), "module evenodd\n") {
		return usage("this folder is not a clone of evenodd: it has no go.mod of module evenodd. Run the command in the root folder of a clone")
	}
	if _, err := os.Stat(filepath.Join(root, folder)); err == nil {
		return usage("the folder %s exists already: choose another name", folder)
	}
	list, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(gamesFile)))
	if err != nil {
		return err
	}
	files, err := skeletonFiles(gameType, pkg)
	if err != nil {
		return err
	}
	if at := meaning(root, pkg, string(list), files[1]); at != "" {
		return usage("%s cannot be the name of a game, because %s uses the name %s: choose another name", gameType, at, pkg)
	}
	withImport, imported := insertLine(string(list), `^\t"evenodd/rules/`, gameImport(pkg))
	withGame, listed := insertLine(withImport, `^\t\t\w+\.Game\{\},$`, "\t\t"+pkg+".Game{},")
	if !imported || !listed {
		return errors.New(gamesFile + " does not have the list of games in its usual form: no file is written")
	}
	if err := os.Mkdir(filepath.Join(root, folder), 0o755); err != nil {
		return err
	}
	for i, suffix := range []string{".go", "_test.go"} {
		path := filepath.Join(folder, pkg+suffix)
		if err := writeSource(s, "created", root, path, files[i]); err != nil {
			return err
		}
	}
	if err := writeSource(s, "changed", root, filepath.FromSlash(gamesFile), withGame); err != nil {
		return err
	}
	return errors.Join(
		printLine(s.err, "Try it: go run . simulate --game %s --players 4", gameType),
		printLine(s.err, "Then change the game as its comments say; docs/adding-a-game.md has all steps."))
}

func writeSource(s streams, did, root, path, text string) error {
	if err := os.WriteFile(filepath.Join(root, path), []byte(text), 0o644); err != nil { //nolint:gosec // source code is for everybody to read
		return err
	}
	return printLine(s.out, "%s %s", did, path)
}

// skeletonFiles returns the skeleton and its test for a game.
func skeletonFiles(gameType, pkg string) (files [2]string, err error) {
	words := strings.Split(gameType, "_")
	for i, word := range words {
		words[i] = strings.ToUpper(word[:1]) + word[1:]
	}
	renamed := strings.NewReplacer("\t\"evenodd/cmd/skeleton\"\n", "", `"skeleton"`, `"`+gameType+`"`, "skeleton", pkg, "Skeleton", strings.Join(words, " "))
	for i, name := range []string{"skeleton.go", "skeleton_test.go"} {
		text, err := fs.ReadFile(skeleton, "skeleton/"+name)
		if err != nil {
			return files, err
		}
		files[i] = renamed.Replace(string(text))
	}
	files[1], _ = insertLine(files[1], `^\t"evenodd/rules`, gameImport(pkg))
	return files, nil
}

func gameImport(pkg string) string { return "\t\"evenodd/rules/" + pkg + `"` }

// insertLine inserts a line among the lines that match a pattern, which are in order. It
// returns false if there are none.
func insertLine(text, pattern, line string) (with string, ok bool) {
	lines, at := strings.Split(text, "\n"), -1
	for i, l := range lines {
		if regexp.MustCompile(pattern).MatchString(l) && (at < 0 || l < line) {
			at = i
			if l < line {
				at++
			}
		}
	}
	if at < 0 {
		return text, false
	}
	return strings.Join(slices.Insert(lines, at, line), "\n"), true
}

// meaning returns the place where the name of a package has another meaning: in Go, in the list
// of games, in the test that imports the package, or in package cmd. It returns "" for none.
func meaning(root, pkg, list, test string) string {
	if token.IsKeyword(pkg) || slices.Contains([]string{"documentation", "init", "internal", "main", "testdata", "vendor"}, pkg) {
		return "Go"
	}
	word := regexp.MustCompile(`\b` + pkg + `\b`)
	if word.MatchString(list) {
		return gamesFile
	}
	own := regexp.MustCompile(`"evenodd/rules/` + pkg + `"|\b` + pkg + `\.Game\b`)
	if word.MatchString(own.ReplaceAllString(test, "")) {
		return "the test of a new game"
	}
	declared := regexp.MustCompile(`(?m)^(func|type|var|const) ` + pkg + `\b|^\t(\w+, )*` + pkg + `\b[^\n:(]* = `)
	paths, _ := filepath.Glob(filepath.Join(root, "cmd", "*.go")) // the pattern is valid
	for _, path := range paths {
		if text, err := os.ReadFile(path); err == nil && declared.Match(text) {
			return "cmd/" + filepath.Base(path)
		}
	}
	return ""
}
