package cmd

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The page of the protocol tells the kinds of moves of games. Games that it does not list are
// allowed.
func TestProtocolPageHasTheMovesOfGames(t *testing.T) {
	text, err := os.ReadFile("../docs/protocol.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(text), "\n### GAME_MOVE_CALL\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n### ")
	rows := regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| `([a-z_]+)` \\|").FindAllStringSubmatch(section, -1)
	require.NotEmpty(t, rows)
	for _, row := range rows {
		game, err := games().Game(row[1])
		require.NoError(t, err)
		assert.Equal(t, []string{row[2]}, game.Info().MoveTypes, row[1])
	}
}
