package cmd

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/config"
	"evenodd/league/store"
)

// largeLine is a numbered line of about 100 KB.
func largeLine(n int) string {
	return fmt.Sprintf(`{"level":"INFO","n":%d,"text":"%s"}`+"\n", n, strings.Repeat("x", 100<<10))
}

const systemLog = "logs/system/orchestrator.log.jsonl"

// The files of a log have a limited size together, and the newest lines are kept, also
// after a restart.
func TestLogFilesAreRotatedAndBounded(t *testing.T) {
	for _, files := range []int{1, 3} {
		t.Run(fmt.Sprint(files), func(t *testing.T) {
			dir := t.TempDir()
			const lines = 50
			for n := range lines {
				f := openSystemLog(dir, testLogs, io.Discard)
				f.limits = config.Logs{MaxFileMB: 1, MaxFiles: files}
				writeLine(t, f, largeLine(n))
				require.NoError(t, f.Close())
			}
			names := filesIn(t, dir)
			assert.Len(t, names, files)
			var kept []int
			for n := files - 1; n >= 0; n-- {
				name := systemLog
				if n > 0 {
					name = fmt.Sprintf("%s.%d", systemLog, n)
				}
				about, err := os.Stat(filepath.Join(dir, name))
				require.NoError(t, err)
				assert.LessOrEqual(t, about.Size(), int64(megabyte))
				kept = append(kept, numbersOf(t, readFile(t, dir, name))...)
			}
			for i, n := range kept {
				assert.Equal(t, lines-len(kept)+i, n, "the newest lines, in order")
			}
		})
	}
}

// Logs alone cannot fill a disk: a file takes at most an eighth of the space that is free when it is
// opened, whatever the settings say.
func TestLogFileIsBoundedByTheFreeSpace(t *testing.T) {
	dir := t.TempDir()
	f := openSystemLog(dir, testLogs, io.Discard)
	f.limits = config.Logs{MaxFileMB: 1 << 30, MaxFiles: 1} // a petabyte
	writeLine(t, f, numberedLine(1))
	free, err := store.FreeSpace(dir)
	require.NoError(t, err)
	assert.InDelta(t, free/8, f.most, float64(free/16))
	require.NoError(t, f.Close())
}

// Two processes with the same file lose no line when they rotate it.
func TestRotatedLogFileKeepsTheLinesOfConcurrentProcesses(t *testing.T) {
	const lines = 40
	dir := t.TempDir()
	files := make([]*logFile, 2)
	for process := range files {
		files[process] = openSystemLog(dir, testLogs, io.Discard)
		files[process].limits = config.Logs{MaxFileMB: 1, MaxFiles: 100}
		writeLine(t, files[process], largeLine(process*lines)) // opens the file while nobody writes: see openLog
	}
	var all sync.WaitGroup
	for process, f := range files {
		all.Go(func() {
			for n := 1; n < lines; n++ {
				_, _ = io.WriteString(f, largeLine(process*lines+n))
			}
			_ = f.Close()
		})
	}
	all.Wait()
	seen := map[int]bool{}
	for _, name := range filesIn(t, dir) {
		for _, n := range numbersOf(t, readFile(t, dir, name)) {
			assert.False(t, seen[n], "line %d is there twice", n)
			seen[n] = true
		}
	}
	assert.Len(t, seen, 2*lines)
}
