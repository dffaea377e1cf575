package cmd_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fourPlayers is an entrants file.
const fourPlayers = `entrants:
  - {name: Alice, strategy: contrarian}
  - {name: Bot, strategy: random, count: 2}
  - {name: Zoé, strategy: mirror}
`

// startUp runs evenodd up with an entrants file in a folder.
func startUp(t *testing.T, dir, entrants string, args ...string) *process {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "class.yaml"), []byte(entrants), 0o600))
	return launch(t, dir, nil, "evenodd", append([]string{"up", "--entrants", "class.yaml", "--port", "0"}, args...)...)
}

// awaitChild waits until evenodd up has started so many children, and returns the process id of the last one.
func (p *process) awaitChild(t *testing.T, runs int) int {
	t.Helper()
	found := p.await(t, `(?s)`+strings.Repeat(`(?m:^The agents of the league run in process (\d+)$).*`, runs))
	pid, err := strconv.Atoi(found[runs])
	require.NoError(t, err)
	return pid
}

// checkTable checks the final table of four players.
func checkTable(t *testing.T, table string, played int) {
	t.Helper()
	for _, name := range []string{"Alice", "Bot-1", "Bot-2", "Zoé"} {
		assert.Regexp(t, `│ P0\d +│ `+name+` +│ +`+strconv.Itoa(played)+` │`, table)
	}
	assert.Regexp(t, championPattern("Alice|Bot-1|Bot-2|Zoé"), table)
}

func TestUpPlaysALeague(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := startUp(t, dir, fourPlayers)
	require.Zero(t, p.awaitExit(t), p.stderr.String())
	checkTable(t, p.stdout.String(), 3)
	assert.Regexp(t, `\nLeague league_2025_even_odd: manager at http://\S+/mcp, data in `+dir+`/SHARED\n`, p.stderr.String())
	assert.Regexp(t, `\nWatch the league in a browser: http://localhost:\d+/\n`, p.stderr.String())
	assert.Regexp(t, `\nReferee-\d \| REF0\d: \d match(?:es)? conducted`, p.stderr.String())
	assert.NotContains(t, p.stderr.String(), "starts again")
	assert.FileExists(t, filepath.Join(dir, "SHARED/logs/agents/P04.log.jsonl"), "the logs are in the data folder")

	again := startUp(t, dir, fourPlayers)
	require.Zero(t, again.awaitExit(t), again.stderr.String())
	assert.Equal(t, p.stdout.String(), again.stdout.String(), "the league is over")
	assert.NotContains(t, again.stderr.String(), "Alice")
	assert.Contains(t, again.stderr.String(), "\nNo match was played: the league in "+dir+"/SHARED was over. Add --new-league to play a new one.\n")

	fresh := startUp(t, dir, fourPlayers, "--new-league", "--legs", "2")
	require.Zero(t, fresh.awaitExit(t), fresh.stderr.String())
	checkTable(t, fresh.stdout.String(), 6)
}

func TestUpExitsWith3AfterTechnicalLosses(t *testing.T) {
	t.Parallel()
	p := startUp(t, t.TempDir(), "entrants:\n  - {name: Good, strategy: even}\n  - {name: Bad, exec: \"sh -c 'exit 1'\"}\n", "--force", "--strict", "--referees", "1")
	assert.Equal(t, 3, p.awaitExit(t), p.stderr.String())
	assert.Regexp(t, `│ P02 +│ Bad +│ +1 │ 0 │ 0 │ 1 │ +1 │`, p.stdout.String())
	assert.Regexp(t, `\nevenodd: 1 technical loss`, p.stderr.String())
}

// A league that waits for an agent that cannot run ends with the reason.
func TestUpStopsIfAPlayerCannotTakePart(t *testing.T) {
	t.Parallel()
	dir := folderOf(t, map[string]string{"SHARED/config/agents/agents_config.json": `{"schema_version": "1.0.0",
		"last_updated": "2026-01-01T00:00:00Z", "players": [{"player_id": "P02", "active": false}]}`})
	p := startUp(t, dir, fourPlayers)
	assert.Equal(t, 1, p.awaitExit(t), p.stderr.String())
	assert.Empty(t, p.stdout.String())
	assert.Regexp(t, `\nBot-1 \(player\) has ended: player P02 is not active: .*; it is not started again, because the same would happen\n`, p.stderr.String())
	assert.Regexp(t, `\nevenodd: the league cannot start without Bot-1: player P02 is not active: .*\n$`, p.stderr.String())
}

func TestUpWaitsForAnAgentThatRunsElsewhere(t *testing.T) {
	t.Parallel()
	port := freePort(t)
	p := startUp(t, t.TempDir(), "entrants:\n  - {name: Here, strategy: even}\n  - {name: There, url: \"http://localhost:"+port+"/mcp\"}\n", "--referees", "1")
	manager := p.await(t, `\nThere runs elsewhere: let the agent at http://localhost:\d+/mcp register with the manager at (http://\S+/mcp)\. The league waits for it\.\n`)[1]
	there := start(t, "player", "--port", port, "--manager", manager, "--name", "There")
	awaitSuccess(t, there, p)
	assert.Regexp(t, `│ There │ +1 │`, p.stdout.String())
}

// After evenodd up was killed, its manager lets running matches end, and holds the league and
// the port as long. The same command waits for that.
func TestUpResumesAfterItWasKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "bot.sh"), []byte(
		"#!/bin/sh\nwhile read -r question; do touch asked; until [ -e answer ]; do sleep 0.1; done; echo even; done\n"), 0o700))
	port := freePort(t)
	entrants := "entrants:\n  - {name: Slow, exec: ./bot.sh}\n  - {name: Quick, strategy: odd}\n"
	first := startUp(t, dir, entrants, "--port", port, "--legs", "2", "--bot-timeout", "20s", "--force")
	asked := func() bool {
		_, err := os.Stat(filepath.Join(dir, "asked"))
		return err == nil
	}
	if !assert.Eventually(t, asked, patience, 20*time.Millisecond) {
		require.FailNow(t, first.stderr.String())
	}
	first.kill(t)

	again := startUp(t, dir, entrants, "--port", port, "--legs", "2", "--bot-timeout", "20s", "--force")
	again.await(t, `(?m)^Another manager runs league league_2025_even_odd in \S+/SHARED\. If it is of an 'evenodd up' that was killed, it ends by itself: waiting for that, 20s at most\.$`)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "answer"), nil, 0o600))
	require.Zero(t, again.awaitExit(t), again.stderr.String())
	assert.Regexp(t, `manager \| League \S+ at http://\S+:`+port+`/mcp resumes: `, again.stderr.String())
	assert.Regexp(t, `│ Slow +│ +2 │`, again.stdout.String())
}

// A process that dies as the league ends has not told all agents. The next one does, and knows that the league was
// played.
func TestUpWhoseProcessIsKilledAtTheEndTellsTheAgents(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "bot.sh"), []byte( // the process waits for its end
		"#!/bin/sh\ntrap '' TERM\nwhile read -r question; do echo even; done\nsleep 60\n"), 0o700))
	p := startUp(t, dir, strings.Replace(fourPlayers, "strategy: contrarian", "exec: ./bot.sh", 1), "--force")
	p.await(t, `"event_type":"LEAGUE_OVER"`)
	require.NoError(t, p.killChild(t, 1, time.Millisecond))
	require.Zero(t, p.awaitExit(t), p.stderr.String())
	checkTable(t, p.stdout.String(), 3)
	assert.NotContains(t, p.stderr.String(), "No match was played")
	assert.NotContains(t, p.stderr.String(), "No league manager listens", "evenodd up starts it again")
	assert.Regexp(t, `(?s) is over already: .*\nZoé \(player\) (?:has ended|is stopped)\n`, p.stderr.String())
}
