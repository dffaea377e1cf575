package cmd

import (
	"bytes"
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/player/strategy/external"
)

const strategiesPage = "../docs/strategies.md"

func TestStrategiesPageNamesEveryStrategy(t *testing.T) {
	page, err := os.ReadFile(strategiesPage)
	require.NoError(t, err)
	_, table, found := strings.Cut(string(page), "\n| strategy | choice | rationale | use it |\n")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n\n")
	var named []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(table, -1) {
		named = append(named, row[1])
	}
	assert.Equal(t, strings.Split(external.Names(true), ", "), named, "docs/strategies.md has a row for each strategy, in the order of the list")
}

// 'go test ./cmd -run TestStrategiesPage -update' writes the results into the page.
func TestStrategiesPageShowsWhatItsCommandsPrint(t *testing.T) {
	page, err := os.ReadFile(strategiesPage)
	require.NoError(t, err)
	commands := 0
	block := regexp.MustCompile("(?s)```sh\nevenodd ([^\n]+)\n```\n\n```text\n(.*?)```\n")
	shown := block.ReplaceAllStringFunc(string(page), func(text string) string {
		commands++
		line := block.FindStringSubmatch(text)[1]
		var out, problems bytes.Buffer
		require.Zero(t, Execute(t.Context(), "test", strings.Fields(line), &out, &problems), "%s\n%s", line, problems.String())
		return "```sh\nevenodd " + line + "\n```\n\n```text\n" + out.String() + "```\n"
	})
	assert.Equal(t, 5, commands)
	if flag.Lookup("update").Value.String() == "true" {
		require.NoError(t, os.WriteFile(strategiesPage, []byte(shown), 0o644))
		return
	}
	assert.Equal(t, shown, string(page), "run 'go test ./cmd -run TestStrategiesPage -update' and read the change")
}

func TestStrategiesPageShowsTheSources(t *testing.T) {
	page, err := os.ReadFile(strategiesPage)
	require.NoError(t, err)
	source, err := os.ReadFile("../player/strategy/strategy.go")
	require.NoError(t, err)
	for _, code := range regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		assert.Contains(t, string(source), code[1])
	}
	for _, path := range regexp.MustCompile("`(player/[\\w/]+\\.go)`").FindAllStringSubmatch(string(page), -1) {
		assert.FileExists(t, "../"+path[1])
	}
}
