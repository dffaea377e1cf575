package main_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// docs/adding-a-game.md shows sources unchanged and names existing things.
func TestAddingAGamePageShowsTheSources(t *testing.T) {
	text, err := os.ReadFile("docs/adding-a-game.md")
	require.NoError(t, err)
	page := string(text)
	file := regexp.MustCompile("`((?:rules|cmd|player)/[\\w/]+\\.go)`")
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatchIndex(page, -1)
	require.NotEmpty(t, blocks)
	for _, b := range blocks {
		named := file.FindAllStringSubmatch(page[:b[0]], -1)
		require.NotEmpty(t, named, "the page shows a source without its name")
		path := named[len(named)-1][1]
		source, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Contains(t, string(source), page[b[2]:b[3]], path)
	}
	for _, named := range file.FindAllStringSubmatch(page, -1) {
		assert.FileExists(t, named[1])
	}
	for _, test := range regexp.MustCompile("`(Test\\w+)` in `([\\w/]+)/\\w+_test\\.go`").FindAllStringSubmatch(page, -1) {
		assert.True(t, hasTest(t, test[2], test[1]), "%s has no %s", test[2], test[1])
	}
}

// Only its own package, the list of games and strategies for this game alone know a game. Even/Odd
// has messages of its own in the protocol.
func TestGameIsOnePackageAndOneLine(t *testing.T) {
	texts := map[string]string{}
	all := slices.DeleteFunc(sources(t), source.isTest)
	for _, s := range all {
		text, err := os.ReadFile(s.path)
		require.NoError(t, err)
		texts[s.path] = regexp.MustCompile(`evenodd \w+ .*--game \w+`).ReplaceAllString(string(text), "") // an example of a command may name a game
	}
	for _, gameType := range []string{"connect_four", "rock_paper_scissors", "tic_tac_toe"} {
		pkg := strings.ReplaceAll(gameType, "_", "")
		var knowing []string
		name := regexp.MustCompile("(?i)" + strings.ReplaceAll(gameType, "_", "_?"))
		for _, s := range all {
			found := len(name.FindAllString(texts[s.path], -1))
			specialist := strings.HasPrefix(s.path, "player/strategy/") && s.nameOf(module+"/rules/"+pkg) != ""
			if found > 0 && !specialist && !strings.HasPrefix(s.path, "rules/"+pkg+"/") {
				knowing = append(knowing, s.path)
				assert.Equal(t, 2, found, "%s: one import and one line", s.path)
			}
		}
		assert.Equal(t, []string{"cmd/games.go"}, knowing)
		builtin, err := os.ReadDir("config/builtin")
		require.NoError(t, err)
		for _, file := range builtin {
			text, err := os.ReadFile("config/builtin/" + file.Name())
			require.NoError(t, err)
			assert.NotContains(t, string(text), gameType, file.Name())
		}
	}
}
