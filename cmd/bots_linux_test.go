package cmd_test

import (
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A killed player cannot stop its bot, so the supervisor ends all processes of the bot.
func TestKilledPlayerEndsItsBot(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "alive")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	p := startProcess(t, "player", "--port", "0", "--manager", "http://127.0.0.1:1/mcp",
		"--strategy", `exec:sh -c 'trap "" TERM; exec 9>"$0"; (setsid sleep 1000 &); setsid sleep 1000 & echo ready >&2; exec <&-; wait' `+pipe)
	alive, err := os.Open(pipe)
	require.NoError(t, err)
	defer func() { _ = alive.Close() }()
	p.await(t, `"stderr":"ready"`)
	p.kill(t)
	_, err = io.ReadAll(alive) // ends when no process has the pipe open
	assert.NoError(t, err)
}
