package dialect

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestFormsOfAMethodAreDifferentAndFitASet(t *testing.T) {
	for i := range methods {
		m, seen, n := &methods[i], map[Form]bool{}, 0
		for position, f := range m.Forms() {
			assert.Equal(t, n, position)
			assert.False(t, seen[f], "%s twice", f)
			seen[f] = true
			n++
		}
		assert.LessOrEqual(t, n, 64, m.Name)
		assert.True(t, seen[SpecForm(m.Name)], m.Name)
	}
}

func TestLikeliestFormsComeFirst(t *testing.T) {
	var names []string
	for _, f := range MethodOf("choose_parity").Forms() {
		names = append(names, f.String())
	}
	assert.Equal(t, []string{"choose_parity", "CHOOSE_PARITY_CALL", "choose_parity_call", "receive_parity_call", "parity_choose",
		"handle_message", "mcp_message", "the message without JSON-RPC", "a tool that the MCP server lists", "tools/call choose_parity", "tools/call receive_parity_call",
		"choose_parity with nested members", "CHOOSE_PARITY_CALL with nested members", "choose_parity_call with nested members"}, names)
}
