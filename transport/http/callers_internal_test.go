package http

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestCallerWithACallIsNotEvicted(t *testing.T) {
	limits := NoLimits()
	limits.CallsPerAddress = 1
	callers := newCallers(limits)
	for i := range 3 * maxKnown {
		id := callerID{name: strconv.Itoa(i)}
		caller, _ := callers.enter(id)
		if i > 0 {
			callers.leave(caller)
		}
	}
	again, _ := callers.enter(callerID{name: "0"})
	assert.Nil(t, again, "its call is forgotten")
}
