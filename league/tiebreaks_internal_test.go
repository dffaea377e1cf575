package league

import (
	"os"
	"regexp"
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
