package transport

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestCallerWithACallIsNotEvicted(t *testing.T) {
	limits := NoLimits()
	limits.CallsPerAddress = 1
	callers := NewBudgets(limits)
	for i := range 3 * maxBudgets {
		id := CallerID{Name: strconv.Itoa(i)}
		caller, _ := callers.Enter(id)
		if i > 0 {
			callers.Leave(caller)
		}
	}
	again, _ := callers.Enter(CallerID{Name: "0"})
	assert.Nil(t, again, "its call is forgotten")
}
