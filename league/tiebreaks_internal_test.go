package league

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEachTiebreakerHasACompleteRow(t *testing.T) {
	source, err := os.ReadFile("tiebreaks.go")
	require.NoError(t, err)
	var named, rows []string
	for _, found := range regexp.MustCompile(`(?m)^\tTiebreak\w+ += "(\w+)"$`).FindAllSubmatch(source, -1) {
		named = append(named, string(found[1]))
	}
	for _, row := range tiebreaks() {
		rows = append(rows, row.name)
		assert.NotEmpty(t, row.label, row.name)
		assert.NotEmpty(t, row.meaning, row.name)
		assert.NotNil(t, row.value, row.name)
	}
	assert.NotEmpty(t, named)
	assert.Equal(t, named, rows)
}

func TestFormatsPageListsEachTiebreaker(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "docs", "formats.md"))
	require.NoError(t, err)
	_, list, found := strings.Cut(strings.Join(strings.Fields(string(page)), " "), "`scoring.tiebreakers` in the league's file: a list of ")
	require.True(t, found)
	list, _, _ = strings.Cut(list, ".")
	var listed []string
	for _, name := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(list, -1) {
		listed = append(listed, name[1])
	}
	assert.Equal(t, Tiebreakers(), listed)
}
