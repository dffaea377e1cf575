package protocol_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"evenodd/league/protocol"
)

func TestCounted(t *testing.T) {
	for noun, several := range map[string]string{
		"player": "0 players", "technical loss": "0 technical losses", "match": "0 matches", "entry": "0 entries",
		"manual page": "0 manual pages",
	} {
		assert.Equal(t, "1 "+noun, protocol.Counted(1, noun))
		assert.Equal(t, several, protocol.Counted(0, noun))
	}
	assert.Equal(t, "once, 2 times", protocol.Times(1)+", "+protocol.Times(2))
}
