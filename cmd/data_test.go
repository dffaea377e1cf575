package cmd_test

import (
	"context"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/cmd"
)

// folderOf makes a folder with these files.
func folderOf(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return dir
}

// tempFile makes a file in a folder of its own, and returns its path.
func tempFile(t *testing.T, name, text string) string {
	t.Helper()
	return filepath.Join(folderOf(t, map[string]string{name: text}), name)
}

// textsIn returns the texts of the files in a folder, by path.
func textsIn(t *testing.T, folder string) map[string]string {
	t.Helper()
	texts := map[string]string{}
	require.NoError(t, filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			texts[path] = readText(t, path)
		}
		return err
	}))
	return texts
}

func TestLeagueFollowsItsConfigurationFiles(t *testing.T) {
	t.Parallel()
	data := folderOf(t, map[string]string{
		"config/system.json": `{"default_league_id": "cup"}`,
		"config/leagues/cup.json": `{"legs": 2, "participants": {"min_players": 2, "max_players": 2},
			"scoring": {"win_points": 7, "draw_points": 5, "loss_points": 1, "tiebreakers": ["wins"]}}`,
		"config/agents/agents_config.json": `{
			"referees": [{"referee_id": "REF07", "display_name": "Whistle", "max_concurrent_matches": 1}],
			"players": [{"player_id": "P11", "display_name": "Eleven", "preferred_leagues": ["shield", "cup"]},
				{"player_id": "P12", "display_name": "Twelve"}]}`,
		"config/defaults/player.json": `{"strategy": "even"}`,
	})
	m := startManager(t, "--data", data, "--exit-when-done", "--league-id", "cup")
	players := []*process{
		m.join(t, "player", "--data", data, "--id", "P11"),
		m.join(t, "player", "--data", data, "--id", "P12", "--strategy", "odd"),
	}
	referee := m.join(t, "referee", "--data", data, "--id", "REF07")
	require.Zero(t, m.awaitExit(t), m.stderr.String())
	awaitSuccess(t, append(players, referee)...)
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
	taken, port := listenAtFreePort(t)
	defer func() { _ = taken.Close() }()
	for _, flag := range []string{"--players=1", "--legs=-1"} {
		code, _, stderr := run(t.Context(), "manager", "--port", port, flag)
		assert.Equal(t, 2, code, stderr)
	}
}

func TestAgentTakesTheFirstFreePortOfARange(t *testing.T) {
	t.Parallel()
	first := takenPorts(t)
	portsOf := func(last int) string {
		return folderOf(t, map[string]string{"config/system.json": `{"network": {"base_host": "127.0.0.1",
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
	awaitSuccess(t, m.process, twin)
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
	first.endByInterrupt(t)
	assert.Empty(t, first.stdout.String())
	assert.True(t, strings.HasSuffix(first.stderr.String(), "its identity is in SHARED.\n"), first.stderr.String())

	again := launch(t, dir, nil, "evenodd", args...)
	assert.Equal(t, want, identities(again))
	m.join(t, "referee")
	awaitSuccess(t, again, m.process)
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

// runOnSmallVolume runs a script with the program evenodd and a small file system $DATA, mounted
// with these options. If the system does not allow the mount, it skips the test, or fails it in
// continuous integration.
func runOnSmallVolume(t *testing.T, options, script string, env ...string) *process {
	t.Helper()
	if err := exec.Command("unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
		"mount -t tmpfs -o size=16k none "+t.TempDir()).Run(); err != nil {
		cmd.NotTested(t, "allow unprivileged user namespaces (unshare --user --mount): "+err.Error())
	}
	data := t.TempDir()
	return launch(t, t.TempDir(), append(env, "DATA="+data), "unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
		"mount -t tmpfs -o "+options+" none "+data+" && "+script)
}

// flood sends calls without a credential to a manager on this machine, from several
// addresses. In the long version it sends the burst that the manager allows to each.
func flood(t *testing.T, url string) {
	t.Helper()
	const addresses, calls = 20, 50
	batches := 10
	if testAll() {
		batches = 40
	}
	one := `{"jsonrpc":"2.0","id":1,"method":"league_query","params":{"sender":"player:P01","auth_token":"wrong"}},`
	batch := posted("[" + strings.TrimSuffix(strings.Repeat(one, calls), ",") + "]")
	batch = strings.Replace(batch, "\r\n\r\n", "\r\nConnection: close\r\n\r\n", 1) // send waits for the end
	target := strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/mcp")
	var all sync.WaitGroup
	for n := range addresses {
		all.Go(func() {
			for range batches {
				send(t.Context(), target, n+1, batch, 1, io.Discard)
			}
		})
	}
	all.Wait()
}

// A disk of 12 MB: a flood of requests without a credential fills the logs of a manager, at the
// finest level, but not the disk, and the league is played. The manager warns of the small disk.
// When something else fills it, also the space that old logs leave, the manager stops with a
// clear error; with space it resumes the league, and nothing is lost.
func TestFloodDoesNotFillADiskOf12MB(t *testing.T) {
	t.Parallel()
	k := newStoredLeague(t)
	k.args[4] = `"$DATA"`
	command := "evenodd " + strings.Join(k.args, " ") + " --host 127.0.0.1 --legs 4 --log-level "
	control := filepath.Join(t.TempDir(), "control")
	m := runOnSmallVolume(t, "size=12m", `mkfifo "$CONTROL"; { read _; du -sk "$DATA/logs" >&2; until [ -e "$CONTROL.end" ]; do cat /dev/zero 2>/dev/null >> "$DATA/filler"; sleep 0.1; done; } < "$CONTROL" & `+
		`{ `+command+`debug --pace 1s; echo "ended with $?"; } 2>&1 | grep --line-buffered -v '"level":"DEBUG"' >&2; `+
		`touch "$CONTROL.end"; wait; rm "$DATA/filler"; exec `+command+`error`, "CONTROL="+control)
	m.await(t, "waits for 4 players")
	m.await(t, `"low_space_mb":100.*"event_type":"DISK_SPACE_LOW"`)
	flood(t, k.url)
	_, health := fetch(t, http.MethodGet, strings.TrimSuffix(k.url, "/mcp")+"/healthz", nil)
	assert.Contains(t, string(health), `"low":true`)
	assert.Contains(t, string(health), `"status":"warning"`)
	agents := k.agents(t, 4)
	m.await(t, `"event_type":"ROUND_COMPLETED"`)
	var flooding sync.WaitGroup
	defer flooding.Wait()
	flooding.Go(func() { flood(t, k.url) })
	require.NoError(t, os.WriteFile(control, []byte("fill\n"), 0o600))
	logs := m.await(t, `\n(\d+)\t\S+/logs\n`)
	m.await(t, `\nevenodd: cannot write the journal: .*no space left on device\. Nothing that was acknowledged is lost: free space on the disk and start again\nended with 1\n`)
	size, err := strconv.Atoi(logs[1])
	require.NoError(t, err)
	assert.Less(t, size, 6<<10, "kilobytes of logs")
	assert.Greater(t, size, 2<<10, "the flood is in the logs")
	assert.Zero(t, m.awaitExit(t), m.stderr.String())
	assert.Regexp(t, `resumes: round \d+ of 12, \d+ of 24 matches recorded`, m.stderr.String())
	awaitSuccess(t, agents...)
	assert.Contains(t, m.stdout.String(), "Champion: ")
	t.Logf("%d KB of logs, %d lines on the screen", size, strings.Count(m.stderr.String(), "\n"))
}
