package decide

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"evenodd/league/lists"
	"evenodd/league/protocol"
)

func TestEachQueryOfAgentsHasAnAnswer(t *testing.T) {
	answered := lists.Map(queries[:], func(row query) string { return row.name })
	assert.Equal(t, protocol.Queries[:], answered)
}
