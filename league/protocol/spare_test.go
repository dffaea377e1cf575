package protocol_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"evenodd/league/protocol"
)

func TestSpareServesOnce(t *testing.T) {
	var spare protocol.Spare[protocol.Ack]
	first, second, third := spare.New(), spare.New(), spare.New()
	first.Status = protocol.StatusAccepted
	assert.Empty(t, second.Status)
	assert.NotSame(t, second, third)
}

func TestConversationsOfAnyMatchID(t *testing.T) {
	for _, id := range []string{"R1M1", "r12m7", "", "MiXeD-9", "Ünï·ÀÉ", "R1M1\xff", strings.Repeat("LONG", 40), "İR1"} {
		want := "conv-" + strings.ToLower(id) + "-a" + strconv.Itoa(3)
		assert.Equal(t, want, protocol.MatchConversation(id, 3))
		assert.Equal(t, 3, protocol.ConversationAttempt(id, want), id)
		for _, other := range []string{want + "0x", "conv-", "", "x" + want, strings.TrimSuffix(want, "3"), strings.Replace(want, "-a3", "-a03", 1)} {
			assert.Zero(t, protocol.ConversationAttempt(id, other), other)
		}
	}
}
