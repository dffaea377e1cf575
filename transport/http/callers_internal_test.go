package http

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCallerWithACallIsNotEvicted(t *testing.T) {
	limits := NoLimits()
	limits.CallsPerAddress = 1
	callers := newCallers(limits)
	busy, _ := callers.enter(callerID{name: "busy"})
	require.NotNil(t, busy)
	for i := range 3 * maxKnown {
		other, _ := callers.enter(callerID{name: strconv.Itoa(i)})
		require.NotNil(t, other)
		callers.leave(other)
	}
	again, _ := callers.enter(callerID{name: "busy"})
	assert.Nil(t, again, "its call is forgotten")
	assert.LessOrEqual(t, len(callers.young)+len(callers.old), 2*maxKnown)
	callers.leave(busy)
	again, _ = callers.enter(callerID{name: "busy"})
	assert.NotNil(t, again)
}
