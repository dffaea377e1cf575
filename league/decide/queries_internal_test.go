package decide

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEachQueryOfAgentsHasAnAnswer(t *testing.T) {
	source, err := os.ReadFile("../protocol/query_messages.go")
	require.NoError(t, err)
	block := regexp.MustCompile(`(?s)const \(\n\tQueryStandings.*?\n\n`).Find(source) // without those of the organiser
	var named, rows []string
	for _, found := range regexp.MustCompile(`"(GET_\w+)"`).FindAllSubmatch(block, -1) {
		named = append(named, string(found[1]))
	}
	for _, row := range queries {
		rows = append(rows, row.name)
	}
	assert.NotEmpty(t, named)
	assert.Equal(t, named, rows)
}
