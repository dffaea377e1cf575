package cmd_test

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPlayerThatFailsStopsNoOtherPlayerOfItsProcess(t *testing.T) {
	t.Parallel()
	m := startManager(t, "--players", "4", "--exit-when-done")
	twin := m.join(t, "player", "--name", "Bot-2")
	twin.await(t, `"event_type":"REGISTERED"`)
	m.awaitPings(t, 1)
	bots := m.join(t, "player", "--count", "4", "--name", "Bot", "--strategy", "even")
	bots.await(t, `\nevenodd: Bot-2 has failed: registration refused: display_name "Bot-2" is taken: `)
	m.join(t, "referee")
	assert.Equal(t, 1, bots.awaitExit(t))
	assert.True(t, strings.HasSuffix(bots.stderr.String(), "\nevenodd: 1 of 4 players failed: Bot-2\n"), bots.stderr.String())
	assert.Zero(t, m.awaitExit(t))
	assert.Zero(t, twin.awaitExit(t))
	for _, name := range []string{"Bot-1", "Bot-3", "Bot-4"} {
		assert.Regexp(t, `(?m)^`+name+`: P0\d: 3 played, \d won, \d drawn, \d lost; .*rank \d of 4 with \d points?$`, bots.stdout.String())
	}
	assert.NotContains(t, bots.stdout.String(), "Bot-2:")
	champion := regexp.MustCompile(`Champion: \S+ \(P0\d\)`)
	require.Regexp(t, champion, twin.stdout.String())
	assert.Equal(t, champion.FindString(twin.stdout.String()), champion.FindString(bots.stdout.String()))
}

func TestRestartedPlayersOfOneProcessHaveTheirIdentities(t *testing.T) {
	t.Parallel()
	m, dir := startManager(t, "--players", "3", "--exit-when-done"), t.TempDir()
	args := []string{"player", "--port", "0", "--manager", m.url, "--count", "3", "--name", "Bot"}
	registered := regexp.MustCompile(`"display_name":"(Bot-\d)".*"event_type":"REGISTERED".*"agent_id":"(player:P0\d)"`)
	identities := func(p *process) map[string]string {
		p.await(t, strings.Repeat(`(?s)"event_type":"REGISTERED".*`, 3))
		ids := map[string]string{}
		for _, found := range registered.FindAllStringSubmatch(p.stderr.String(), -1) {
			ids[found[1]] = found[2]
		}
		return ids
	}
	first := launch(t, dir, nil, "evenodd", args...)
	want := identities(first)
	require.Len(t, want, 3)
	first.interrupt(t)
	assert.Equal(t, 130, first.awaitExit(t))
	assert.Empty(t, first.stdout.String())
	assert.True(t, strings.HasSuffix(first.stderr.String(), "its identity is in SHARED.\n"), first.stderr.String())

	again := launch(t, dir, nil, "evenodd", args...)
	assert.Equal(t, want, identities(again))
	m.join(t, "referee")
	assert.Zero(t, again.awaitExit(t), again.stderr.String())
	assert.Zero(t, m.awaitExit(t))
	assert.Equal(t, 3, strings.Count(again.stdout.String(), "\n")-1, "a line of each, and the champion")
}

// The end of the league ends a player's process, also if its manager tells neither table nor champion.
func TestPlayerEndsWithALeagueWithoutTables(t *testing.T) {
	t.Parallel()
	endpoint := make(chan string, 1)
	manager := serveAgent(t, func(_ context.Context, method string, params object) object {
		if method == "register_player" {
			endpoint <- params["player_meta"].(object)["contact_endpoint"].(string)
		}
		return object{"status": "ACCEPTED", "player_id": "P01", "league_id": "league_of_others"}
	})
	p := start(t, "player", "--port", "0", "--manager", manager)
	p.await(t, `"event_type":"REGISTERED"`)
	_, answer := post(t, <-endpoint, `{"jsonrpc":"2.0","method":"notify_league_completed","params":{"protocol":"league.v2","message_type":"LEAGUE_COMPLETED",`+
		`"sender":"league_manager","timestamp":"2026-11-20T17:02:32Z","conversation_id":"c","league_id":"league_of_others","final_standings":[]},"id":1}`)
	assert.Contains(t, string(answer), "ACKNOWLEDGED")
	assert.Zero(t, p.awaitExit(t))
	assert.Equal(t, "P01: 0 played, 0 won, 0 drawn, 0 lost. The manager named no champion.\n", p.stdout.String())
}
