package check

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"evenodd/league/protocol"
)

func TestEachRemedyNamesARequirementWithAHint(t *testing.T) {
	for _, r := range remedies {
		assert.NotEmpty(t, requirements()[r.id].Hint, r.id)
	}
	assert.NotEmpty(t, requirements()[refusal].Hint)
	assert.Equal(t, requirements()[validAnswer], Remedy("choose_parity", protocol.ErrConnection, true))
}
