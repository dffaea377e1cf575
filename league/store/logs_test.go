package store_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/store"
)

// writeLog writes a log file of so many lines about an agent.
func writeLog(t *testing.T, path, about string, from, to int) (lines []string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	for n := from; n < to; n++ {
		lines = append(lines, fmt.Sprintf(`{"agent_id":%q,"n":%d,"rest":%q}`, about, n, strings.Repeat("x", 1000)))
	}
	require.NoError(t, os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	return lines
}

// The log of an agent comes in parts: its own files, the oldest first, and then the lines of
// the manager about it.
func TestAgentLogHasAllItsLinesInOrder(t *testing.T) {
	f := store.Folder(t.TempDir())
	own, manager := filepath.Join(f.AgentLogs(), "P01.log.jsonl"), filepath.Join(f.LeagueLogs("lab"), "league.log.jsonl")
	want := writeLog(t, own+".2", "player:P01", 0, 10)
	want = append(want, writeLog(t, own+".1", "player:P01", 10, 900)...)
	want = append(want, writeLog(t, own, "player:P01", 900, 1000)...)
	writeLog(t, manager+".1", "P010", 0, 900)
	want = append(want, writeLog(t, manager, "P01", 0, 300)...)
	var got []string
	parts := 0
	for offset, last := int64(0), false; !last; parts++ {
		lines, next, err := f.AgentLog("lab", "P01", offset)
		require.NoError(t, err)
		require.True(t, next == 0 || next > offset)
		got = append(got, lines...)
		offset, last = next, next == 0
	}
	assert.Equal(t, want, got)
	assert.Greater(t, parts, 5)
}

func TestAgentLogHidesTokensAndDropsTornLines(t *testing.T) {
	f := store.Folder(t.TempDir())
	path := filepath.Join(f.AgentLogs(), "P01.log.jsonl")
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(`{"a":"tok-p01-`+strings.Repeat("x", 43)+`"}`+"\n"+`{"b":`), 0o600))
	lines, next, err := f.AgentLog("lab", "P01", 0)
	require.NoError(t, err)
	assert.Equal(t, []string{`{"a":"***"}`}, lines)
	assert.Zero(t, next)
}

func TestAgentWithoutLogHasNoLines(t *testing.T) {
	lines, next, err := store.Folder(t.TempDir()).AgentLog("lab", "P01", 0)
	require.NoError(t, err)
	assert.Empty(t, lines)
	assert.Zero(t, next)
}
