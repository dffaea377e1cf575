package cmd_test

import (
	"encoding/json"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A player that is only an MCP server, by the TypeScript SDK, plays a league with our
// player: with the names of the protocol, and with names of its own.
func TestMCPServerPlaysALeague(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{"our names": nil, "other names": {"--other-names"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := startManager(t, "--players", "2", "--legs", "3", "--exit-when-done")
			typed := node(t, "player.mjs", append([]string{"--manager", m.url}, args...)...)
			agents := []*process{m.join(t, "referee"), m.join(t, "player"), typed, m.process}
			for _, p := range agents {
				require.Zero(t, p.awaitExit(t), p.stderr.String())
			}
			rows := regexp.MustCompile(`│ +\d │ P0\d +│ .+ │ +3 │ \d │ \d │ \d │ +0 │ +\d │`).FindAllString(m.stdout.String(), -1)
			assert.Len(t, rows, 2, "three matches each, none lost technically: %s", m.stdout.String())
			var played struct{ Calls map[string]int }
			require.NoError(t, json.Unmarshal(typed.stdout.Bytes(), &played), typed.stdout.String())
			for tool, n := range map[string]int{
				"notify_round": 3, "handle_game_invitation": 3, "choose_parity": 3, "notify_match_result": 3,
				"notify_round_completed": 3, "notify_league_completed": 1,
			} {
				assert.Equal(t, n, played.Calls[tool], tool)
			}
			assert.Positive(t, played.Calls["update_standings"])
			assert.Zero(t, played.Calls["notify_game_error"])
		})
	}
}
