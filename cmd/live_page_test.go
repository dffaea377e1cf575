package cmd_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// checkPage checks that a process shows a league, and ends with code 0 when it is interrupted.
func checkPage(t *testing.T, p *process) {
	t.Helper()
	url := p.await(t, `Watch .*(http://localhost:\d+/)`)[1]
	if strings.Contains(p.name, "simulate") {
		p.await(t, "The league is over; ")
	}
	r, err := http.Get(url)
	require.NoError(t, err)
	_ = r.Body.Close()
	assert.Equal(t, http.StatusOK, r.StatusCode)
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGINT))
	assert.Zero(t, p.awaitExit(t), p.stderr.String())
}

// docs/live-page.md shows commands that serve pages.
func TestLivePageCommandsWork(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "docs", "live-page.md"))
	require.NoError(t, err)
	dir := t.TempDir()
	require.Zero(t, start(t, "simulate", "--players", "2", "--data", filepath.Join(dir, "SHARED")).awaitExit(t))
	commands := 0
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		for command := range strings.Lines(block[1]) {
			commands++
			checkPage(t, launch(t, dir, nil, "evenodd", strings.Fields(atFreePort(command))[1:]...))
		}
	}
	assert.Equal(t, 3, commands)
}

// atFreePort is a command that serves a page, at a free port and without pauses.
func atFreePort(command string) string {
	command = strings.ReplaceAll(command, ":8080", ":0")
	if strings.Contains(command, "serve SHARED") && !strings.Contains(command, "--listen") {
		command += " --listen localhost:0"
	}
	return strings.Replace(command, "--pace 300ms", "--pace 1ms", 1)
}

// Viewers of a page have no credential: requests for pages have limits of their own, and use up no
// calls of agents.
func TestRequestsForPagesUseUpNoCallsOfAgents(t *testing.T) {
	t.Parallel()
	m := startManager(t, "--players", "2")
	status := http.StatusOK
	for n := 0; n < 3900 && status != http.StatusTooManyRequests; n++ { // agents may make 4,000 calls at once
		page, err := http.Get(strings.TrimSuffix(m.url, "/mcp") + "/players/P99")
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, page.Body)
		require.NoError(t, err)
		require.NoError(t, page.Body.Close())
		status = page.StatusCode
	}
	assert.Equal(t, http.StatusTooManyRequests, status)
	status, _ = post(t, m.url, `{"jsonrpc":"2.0","method":"ping","params":{},"id":1}`)
	assert.Equal(t, http.StatusOK, status)
}
