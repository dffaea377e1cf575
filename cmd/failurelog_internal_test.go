package cmd

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/config"
	"evenodd/league/store"
)

// A bot that cannot start fails four times in a match, and player and referee log each time: the screen has one line
// in a round, the file all of them.
func TestFailureIsLoggedOncePerPlayerCauseAndRound(t *testing.T) {
	var screen bytes.Buffer
	dir := t.TempDir()
	file := newLogFile(dir, dir, "all", orchestrator, config.Logs{MaxFileMB: 1, MaxFiles: 1}, &screen)
	log := newLogger(&screen, "info", "info", func() string { return "" }, file)
	failed := func(player, match, cause string) {
		log.Error().Str("agent_id", "player:"+player).Str("error", cause).Str("match_id", match).
			Str("event_type", "STRATEGY_FAILED").Msg("the strategy cannot decide")
	}
	seen := func(player, match, code, detail string) {
		conversation := "conv-" + strings.ToLower(match) + "-a1"
		log.Warn().Str("agent_id", "referee:REF01").Str("conversation_id", conversation).Str("player_id", player).
			Str("error_code", code).Str("detail", detail).Str("event_type", "GAME_ERROR").Msg("a player failed")
		log.Warn().Str("agent_id", "player:"+player).Str("conversation_id", conversation).Str("match_id", match).
			Str("error_code", code).Str("error", "A_NAME").Str("affected_player", player).Str("event_type", "GAME_ERROR").
			Msg("the referee reports an error")
	}
	for range 4 {
		failed("P01", "R1M1", "exit status 1")
		seen("P01", "R1M1", "E002", "answered with an error")
	}
	seen("P02", "R1M2", "E001", "no answer in time")
	seen("P02", "R1M2", "E001", "no answer in time")
	seen("P02", "R1M2", "E009", "connection refused")
	failed("P01", "R2M1", "exit status 1")
	failed("P01", "R2M1", "another cause")
	require.NoError(t, file.Close())

	var told []string
	for line := range strings.Lines(screen.String()) {
		for _, cause := range []string{"exit status 1", "another cause", "no answer in time", "connection refused", "A_NAME"} {
			if strings.Contains(line, cause) {
				told = append(told, cause)
			}
		}
	}
	assert.Equal(t, []string{"exit status 1", "no answer in time", "connection refused", "exit status 1", "another cause"}, told)
	text, err := os.ReadFile(filepath.Join(dir, "all"+store.LogEnd))
	require.NoError(t, err)
	assert.Len(t, strings.Split(strings.TrimSpace(string(text)), "\n"), 20)
}
