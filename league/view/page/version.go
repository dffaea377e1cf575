package page

import (
	"fmt"
	"strconv"
	"strings"
)

// A version identifies what a board has folded. Equal versions mean equal leagues.
type version struct {
	replays int
	events  int
}

// String is the version as an ETag and an SSE id have it.
func (v version) String() string {
	if v.replays == 0 {
		return strconv.Itoa(v.events)
	}
	return fmt.Sprintf("%d.%d", v.replays, v.events)
}

// parseVersion reads the String of a version; any other text is the version before all events.
func parseVersion(text string) version {
	replays, events, ok := strings.Cut(text, ".")
	if !ok {
		replays, events = "0", text
	}
	var v [2]int
	for i, digits := range []string{replays, events} {
		n, err := strconv.Atoi(digits)
		if err != nil {
			return version{}
		}
		v[i] = n
	}
	return version{v[0], v[1]}
}

// before tells whether a version is older than another one.
func (v version) before(other version) bool {
	return v.replays < other.replays || v.replays == other.replays && v.events < other.events
}
