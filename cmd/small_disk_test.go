package cmd_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// runOnSmallVolume runs a script with the program evenodd and a small file system $DATA, mounted
// with these options. If the system does not allow the mount, it skips the test, or fails it in
// continuous integration.
func runOnSmallVolume(t *testing.T, options, script string, env ...string) *process {
	t.Helper()
	if err := exec.Command("unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
		"mount -t tmpfs -o size=16k none "+t.TempDir()).Run(); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("continuous integration must run this test: allow unprivileged user namespaces (unshare --user --mount): %v", err)
		}
		t.Skipf("NOT RUN: no file system can be mounted here: unshare: %v", err)
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
	batch := "[" + strings.TrimSuffix(strings.Repeat(one, calls), ",") + "]"
	var all sync.WaitGroup
	for n := range addresses {
		dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(n+2))}}
		client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			return dialer.DialContext(ctx, "tcp4", address)
		}}}
		all.Go(func() {
			defer client.CloseIdleConnections()
			for range batches {
				request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(batch))
				if !assert.NoError(t, err) {
					return
				}
				request.Header.Set("Content-Type", "application/json")
				if response, err := client.Do(request); err == nil {
					_, _ = io.Copy(io.Discard, response.Body)
					_ = response.Body.Close()
				}
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
	m.await(t, `"low_space_mb":100.*"event_type":"DISK_SPACE_IS_LOW"`)
	flood(t, k.url)
	_, health := fetch(t, http.MethodGet, strings.TrimSuffix(k.url, "/mcp")+"/healthz", nil)
	assert.Contains(t, string(health), `"low":true`)
	assert.Contains(t, string(health), `"status":"warning"`)
	agents := k.agents(t)
	m.await(t, `"event_type":"ROUND_COMPLETED"`)
	var flooding sync.WaitGroup
	defer flooding.Wait()
	flooding.Go(func() { flood(t, k.url) })
	require.NoError(t, os.WriteFile(control, []byte("fill\n"), 0o600))
	logs := m.await(t, `\n(\d+)\t\S+/logs\n`)
	m.await(t, `\nevenodd: cannot write the journal: .*no space left on device\. Nothing that was acknowledged is lost: repair the disk and start again\nended with 1\n`)
	size, err := strconv.Atoi(logs[1])
	require.NoError(t, err)
	assert.Less(t, size, 6<<10, "kilobytes of logs")
	assert.Zero(t, m.awaitExit(t), m.stderr.String())
	assert.Regexp(t, `resumes: round \d+ of 12, \d+ of 24 matches recorded`, m.stderr.String())
	awaitSuccess(t, agents...)
	assert.Contains(t, m.stdout.String(), "Champion: ")
	t.Logf("%d KB of logs, %d lines on the screen", size, bytes.Count([]byte(m.stderr.String()), []byte("\n")))
}
