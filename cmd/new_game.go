package cmd

import (
	"embed"
	"errors"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"evenodd/cmd/starter"
	"evenodd/league/store/disk"
	"evenodd/rules"
)

// skeleton is a complete game: the package cmd/skeleton with its test.
//
//go:embed skeleton/*.go
var skeleton embed.FS

// gamesFile is the file with the list of games.
const gamesFile = "cmd/games.go"

// newGame makes 'evenodd new game'.
func newGame(s streams) *cobra.Command {
	var language string
	c := &cobra.Command{
		Use:   "game NAME",
		Short: "Write the source code of a new game",
		Long: `Write the source code of a small complete game with its test. The comments of the game say what to change.

With --lang python or javascript the game is a program, which --game exec: plays (testdata/games): the command writes it
into the new folder NAME. With --lang go, the default, it is a part of evenodd: run the command in the root folder of a
clone. It writes the game into the folder rules, and adds it to the list in ` + gamesFile + `.

NAME is the type of the game in the protocol: words of lower-case letters and
digits, joined by underscores. The name of the Go package is the same without
underscores.`,
		Example: examples(
			"Write a game in Python into the folder pick_stones", "evenodd new game --lang python pick_stones",
			"Write the package rules/pickstones in a clone", "evenodd new game pick_stones"),
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if language != "go" {
				return writeGame(s, language, args[0])
			}
			return runNewGame(s, ".", args[0])
		},
	}
	choiceFlag(c.Flags(), &language, "lang", "go", "language", languages()...)
	return c
}

// checkGameName returns an error for a name that no game can have.
func checkGameName(gameType string) error {
	if !regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`).MatchString(gameType) || len(gameType) > 40 {
		return usage("%.60q is not the name of a game: use words of lower-case letters and digits joined by underscores, "+
			"such as pick_stones, at most 40 characters", gameType)
	}
	return nil
}

// writeGame writes a game that is a program into a folder with its name.
func writeGame(s streams, language, gameType string) error {
	if err := checkGameName(gameType); err != nil {
		return err
	}
	_, err := games().Game(gameType)
	switch {
	case err == nil || gameType == rules.Ready || slices.Contains(pythonModules(), gameType):
		return usage("%s cannot be the name of a game: evenodd or Python uses it; choose another name", gameType)
	case os.Mkdir(gameType, 0o755) != nil:
		return usage("the folder %s cannot be made, or exists already: choose another name", gameType)
	}
	for _, file := range starter.Game(language, gameType, titleOf(gameType)) {
		if err := writeSource(s, "created", ".", filepath.Join(gameType, file.Name), file.Text); err != nil {
			return err
		}
	}
	command, test := "python3 "+gameType+".py", "python3 -m unittest"
	if language == "javascript" {
		command, test = "node "+gameType+".mjs", "node --test"
	}
	if runtime.GOOS == "windows" { // its Python has another name
		command, test = strings.Replace(command, "python3", "py", 1), strings.Replace(test, "python3", "py", 1)
	}
	for _, line := range []string{"Test it, examine it, and play a league:", "  cd " + gameType, "  " + test,
		"  evenodd check game '" + command + "'", "  evenodd simulate --game 'exec:" + command + "' --players 4"} {
		if err := printLine(s.err, "%s", line); err != nil {
			return err
		}
	}
	return nil
}

// pythonModules are modules of Python that a game imports, whose names a file beside it would hide.
func pythonModules() []string { return []string{"json", "sys", "unittest"} }

// titleOf is the name of a game for people: Pick Stones for pick_stones.
func titleOf(gameType string) string {
	words := strings.Split(gameType, "_")
	for i, word := range words {
		words[i] = strings.ToUpper(word[:1]) + word[1:]
	}
	return strings.Join(words, " ")
}

// maxSource is the largest size in bytes of a file of the clone that is read.
const maxSource = 1 << 20

// runNewGame writes the game into the clone at root.
func runNewGame(s streams, root, gameType string) error {
	if err := checkGameName(gameType); err != nil {
		return err
	}
	pkg := strings.ReplaceAll(gameType, "_", "")
	folder := filepath.Join("rules", pkg)
	module, _ := disk.Read(disk.Real{}, filepath.Join(root, "go.mod"), maxSource)
	if !strings.HasPrefix(string(module), "module evenodd\n") {
		return usage("this folder is not a clone of evenodd: it has no go.mod of module evenodd. Run the command in the " +
			"root folder of a clone")
	}
	if _, err := os.Stat(filepath.Join(root, folder)); err == nil {
		return usage("the folder %s exists already: choose another name", folder)
	}
	list, err := disk.Read(disk.Real{}, filepath.Join(root, filepath.FromSlash(gamesFile)), maxSource)
	if err != nil {
		return err
	}
	if token.IsKeyword(pkg) || regexp.MustCompile(`\b`+pkg+`\b`).Match(list) {
		return usage("%s cannot be the name of a game: Go or %s uses the name %s; choose another name", gameType, gamesFile, pkg)
	}
	files := skeletonFiles(gameType, pkg)
	withGame, err := withImport(strings.Replace(string(list), "rules.NewRegistry(\n", "rules.NewRegistry(\n\t\t"+pkg+
		".Game{},\n", 1), pkg)
	if err != nil {
		return err
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
		printLine(s.err, "Then change the game as its comments say; docs/games.md has all steps."))
}

func writeSource(s streams, did, root, path, text string) error {
	if err := os.WriteFile(filepath.Join(root, path), []byte(text), 0o644); err != nil { //nolint:gosec // source code is for everybody to read
		return err
	}
	return printLine(s.out, "%s %s", did, path)
}

// skeletonFiles returns the skeleton and its test for a game.
func skeletonFiles(gameType, pkg string) (files [2]string) {
	renamed := strings.NewReplacer("\t\"evenodd/cmd/skeleton\"\n", "", `"skeleton"`, `"`+gameType+`"`, "skeleton",
		pkg, "Skeleton", titleOf(gameType))
	for i, name := range []string{"skeleton.go", "skeleton_test.go"} {
		text, _ := skeleton.ReadFile("skeleton/" + name) // an embedded file can be read
		files[i] = renamed.Replace(string(text))
	}
	files[1], _ = withImport(files[1], pkg) // it is Go
	return files
}

// withImport adds the import of a game to a source that imports package rules: in the order of gofmt, among the
// packages of games.
func withImport(source, pkg string) (string, error) {
	const rules = "\t\"evenodd/rules\"\n"
	before, games, found := strings.Cut(source, rules)
	if !found {
		return "", errors.New("the source does not import evenodd/rules")
	}
	added, next := "\t\"evenodd/rules/"+pkg+"\"\n", 0
	for line := range strings.Lines(games) {
		if !strings.HasPrefix(line, "\t\"evenodd/rules/") || line > added {
			break
		}
		next += len(line)
	}
	return before + rules + games[:next] + added + games[next:], nil
}
