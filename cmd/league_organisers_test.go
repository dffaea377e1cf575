package cmd_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Of several organisers that make the same decision at once, one succeeds. The others are told
// by whom it was made.
func TestOneOfSeveralOrganisersMakesADecision(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "SHARED")
	startManager(t, "--data", data)
	organisers := map[string]*process{}
	for _, name := range []string{"Ann", "Ben", "Cid", "Dee"} {
		organisers[name] = start(t, "league", "pause", "--data", data, "--by", name)
	}
	var winner string
	var refused []string
	for name, p := range organisers {
		if p.awaitExit(t) == 0 {
			assert.Empty(t, winner, "one decision")
			winner = name
		} else {
			refused = append(refused, p.stderr.String())
		}
	}
	require.NotEmpty(t, winner)
	require.Len(t, refused, 3)
	for _, text := range refused {
		assert.Contains(t, text, "the league is paused already, by "+winner+" at ")
	}
	assert.Contains(t, output(t, "league", "status", "--data", data), "Paused by "+winner+" since ")
}
