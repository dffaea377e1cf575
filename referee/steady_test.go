package referee

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestTimesOfAMatchAreNeverSetBack(t *testing.T) {
	at := func(second int) time.Time { return time.Date(2026, 3, 1, 10, 0, second, 0, time.UTC) }
	var c steadyClock
	begun := time.Now() // it has both clocks
	assert.Equal(t, begun, c.at(begun))
	later := begun.Add(2 * time.Second)
	assert.Equal(t, later, c.at(later))
	c = steadyClock{}
	assert.Equal(t, []time.Time{at(10), at(50), at(52)}, []time.Time{c.at(at(10)), c.at(at(50)), c.at(at(52))},
		"it follows a wall clock that is set forward")
}
