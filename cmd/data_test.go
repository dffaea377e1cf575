package cmd_test

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/cmd"
)

// dataFolder makes a data folder with these files below config.
func dataFolder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, "config", name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return dir
}

func TestLeagueFollowsItsConfigurationFiles(t *testing.T) {
	t.Parallel()
	data := dataFolder(t, map[string]string{
		"system.json": `{"default_league_id": "cup"}`,
		"leagues/cup.json": `{"legs": 2, "participants": {"min_players": 2, "max_players": 2},
			"scoring": {"win_points": 7, "draw_points": 5, "loss_points": 1, "tiebreakers": ["wins"]}}`,
		"agents/agents_config.json": `{
			"referees": [{"referee_id": "REF07", "display_name": "Whistle", "max_concurrent_matches": 1}],
			"players": [{"player_id": "P11", "display_name": "Eleven", "preferred_leagues": ["shield", "cup"]},
				{"player_id": "P12", "display_name": "Twelve"}]}`,
		"defaults/player.json": `{"strategy": "even"}`,
	})
	m := startManager(t, "--data", data, "--exit-when-done")
	players := []*process{
		m.join(t, "player", "--data", data, "--id", "P11"),
		m.join(t, "player", "--data", data, "--id", "P12", "--strategy", "odd"),
	}
	referee := m.join(t, "referee", "--data", data, "--id", "REF07")
	require.Zero(t, m.awaitExit(t), m.stderr.String())
	for _, p := range append(players, referee) {
		require.Zero(t, p.awaitExit(t), p.stderr.String())
	}
	assert.Contains(t, referee.stdout.String(), "REF07: 2 matches conducted.")
	// Even against odd has a winner in each of the two matches.
	points := 0
	for _, row := range regexp.MustCompile(`│ P1[12] +│ (?:Eleven|Twelve) +│ +2 │ \d │ 0 │ \d │ +0 │ +(\d+) │`).FindAllStringSubmatch(m.stdout.String(), -1) {
		n, err := strconv.Atoi(row[1])
		require.NoError(t, err)
		points += n
	}
	assert.Equal(t, 2*(7+1), points, m.stdout.String())
}

// takenPorts takes two consecutive ports, and returns the first.
func takenPorts(t *testing.T) (first int) {
	t.Helper()
	for range 100 {
		a, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		t.Cleanup(func() { _ = a.Close() })
		first := a.Addr().(*net.TCPAddr).Port
		if b, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(first+1))); err == nil {
			t.Cleanup(func() { _ = b.Close() })
			return first
		}
	}
	require.Fail(t, "no two ports in a row")
	return 0
}

// A value that no league can have is wrong usage, also while the port is taken.
func TestWrongUsageOfAManagerIsFoundBeforeATakenPort(t *testing.T) {
	taken, err := net.Listen("tcp", "localhost:0")
	require.NoError(t, err)
	defer func() { _ = taken.Close() }()
	_, port, err := net.SplitHostPort(taken.Addr().String())
	require.NoError(t, err)
	for _, flag := range []string{"--players=1", "--legs=-1"} {
		var out, problem bytes.Buffer
		assert.Equal(t, 2, cmd.Execute(t.Context(), "test", []string{"manager", "--port", port, flag}, &out, &problem), problem.String())
	}
}

func TestAgentTakesTheFirstFreePortOfARange(t *testing.T) {
	t.Parallel()
	first := takenPorts(t)
	portsOf := func(last int) string {
		return dataFolder(t, map[string]string{"system.json": `{"network": {"base_host": "127.0.0.1",
			"default_player_port_range": [` + strconv.Itoa(first) + `, ` + strconv.Itoa(last) + `]}}`})
	}
	p := start(t, "player", "--data", portsOf(min(first+40, 65535)))
	found := p.await(t, `"endpoint":"http://127\.0\.0\.1:(\d+)/mcp".*"event_type":"LISTENING"`)
	port, err := strconv.Atoi(found[1])
	require.NoError(t, err)
	assert.Greater(t, port, first+1)
	assert.LessOrEqual(t, port, first+40)
	p.interrupt(t)
	p.awaitExit(t)

	p = start(t, "player", "--data", portsOf(first+1))
	assert.Equal(t, 1, p.awaitExit(t))
	assert.Equal(t, "evenodd: all ports of "+strconv.Itoa(first)+"-"+strconv.Itoa(first+1)+
		" are taken by other programs: choose another with --port, or 0 for a free one\n", p.stderr.String())
}
