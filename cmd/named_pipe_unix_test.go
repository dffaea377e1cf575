//go:build unix

package cmd_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// awaitReader opens a named pipe that a process reads.
func awaitReader(t *testing.T, reader *process, path string) *os.File {
	t.Helper()
	for {
		pipe, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		if err == nil {
			return pipe
		}
		require.ErrorIs(t, err, syscall.ENXIO) // nobody reads it
		select {
		case <-reader.done:
			require.Fail(t, "the process has ended", reader.stderr.String())
		default:
			runtime.Gosched()
		}
	}
}

// A command that reads from a silent writer ends with the first signal.
func TestSignalEndsTheReadingOfANamedPipe(t *testing.T) {
	for _, line := range []string{
		"audit . --keys PIPE", "up --entrants PIPE", "simulate --entrants PIPE", "simulate --strategies llm --llm-url http://localhost:1/v1 --llm-model m --llm-prompt PIPE",
		"manager --roster PIPE", "simulate --tournament swiss --seeding PIPE", "simulate --config PIPE", "league codes PIPE",
		"query standings --tls-ca PIPE", "manager --port 0 --tls-cert PIPE --tls-key PIPE",
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "pipe")
			require.NoError(t, syscall.Mkfifo(path, 0o600))
			p := start(t, strings.Fields(strings.ReplaceAll(line, "PIPE", path))...)
			silent := awaitReader(t, p, path)
			require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
			assert.Equal(t, 130, p.awaitExit(t))
			assert.Contains(t, p.stderr.String(), "evenodd: ")
			assert.Contains(t, p.stderr.String(), "interrupted: context canceled\n")
			require.NoError(t, silent.Close())
		})
	}
}
