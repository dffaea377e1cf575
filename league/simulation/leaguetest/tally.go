package leaguetest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// A Tally counts what happened in random leagues, by kind. It is safe for concurrent use; its zero value is empty.
type Tally struct {
	mu     sync.Mutex
	counts map[string]int
}

// Add counts so many things of a kind.
func (c *Tally) Add(kind string, number int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts == nil {
		c.counts = map[string]int{}
	}
	c.counts[kind] += number
}

// Of returns how many things of a kind were counted.
func (c *Tally) Of(kind string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts[kind]
}

// String lists the kinds in alphabetical order, a line for each.
func (c *Tally) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var text strings.Builder
	for _, kind := range slices.Sorted(maps.Keys(c.counts)) {
		fmt.Fprintf(&text, "%9d %s\n", c.counts[kind], kind)
	}
	return text.String()
}
