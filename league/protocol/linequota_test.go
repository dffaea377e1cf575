package protocol_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"evenodd/league/protocol"
)

func TestLineQuotaCountsOmittedLines(t *testing.T) {
	var q protocol.LineQuota
	now := time.Date(2025, 1, 15, 10, 0, 0, 0, time.UTC)
	lines := 0
	for range 1000 {
		omitted, ok := q.Take(now)
		assert.Zero(t, omitted)
		if ok {
			lines++
		}
	}
	assert.Equal(t, 20, lines)
	omitted, ok := q.Take(now.Add(time.Minute))
	assert.True(t, ok)
	assert.Equal(t, 980, omitted)
	omitted, ok = q.Take(now.Add(time.Minute))
	assert.True(t, ok)
	assert.Zero(t, omitted, "they are counted once")
}
