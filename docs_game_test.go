package main_test

import (
	"os"
	"regexp"
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
	require.Len(t, blocks, 2)
	for _, b := range blocks {
		named := file.FindAllStringSubmatch(page[:b[0]], -1)
		require.NotEmpty(t, named, "the page shows a source without its name")
		path := named[len(named)-1][1]
		source, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Contains(t, string(source), page[b[2]:b[3]], path)
	}
	whole, err := os.ReadFile("rules/rockpaperscissors/rockpaperscissors.go")
	require.NoError(t, err)
	assert.Equal(t, string(whole), page[blocks[0][2]:blocks[0][3]], "the complete file")
	for _, named := range file.FindAllStringSubmatch(page, -1) {
		assert.FileExists(t, named[1])
	}
	for _, test := range regexp.MustCompile("`(Test\\w+)` in `([\\w/]+)/\\w+_test\\.go`").FindAllStringSubmatch(page, -1) {
		assert.True(t, hasTest(t, test[2], test[1]), "%s has no %s", test[2], test[1])
	}
}

// Only its own package and the list of games know Rock Paper Scissors.
func TestGameIsOnePackageAndOneLine(t *testing.T) {
	var knowing []string
	for _, s := range sources(t) {
		text, err := os.ReadFile(s.path)
		require.NoError(t, err)
		name := regexp.MustCompile(`(?i)rock_?paper_?scissors`)
		if !s.isTest() && name.Match(text) && !strings.HasPrefix(s.path, "rules/rockpaperscissors/") {
			knowing = append(knowing, s.path)
			assert.Len(t, name.FindAll(text, -1), 2, "%s: one import and one line", s.path)
		}
	}
	assert.Equal(t, []string{"cmd/games.go"}, knowing)
	builtin, err := os.ReadDir("config/builtin")
	require.NoError(t, err)
	for _, file := range builtin {
		text, err := os.ReadFile("config/builtin/" + file.Name())
		require.NoError(t, err)
		assert.NotContains(t, string(text), "rock_paper_scissors", file.Name())
	}
}
