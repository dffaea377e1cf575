//go:build unix

package cmd

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/store"
)

// A hostileFile is a file of a league that another user has replaced, and the commands that must refuse it.
type hostileFile struct {
	name    string
	replace func(t *testing.T, dir string)
	refused string   // what the error says
	readers []string // words of the commands
}

func hostileFiles() []hostileFile {
	pipe := func(path func(store.Folder) string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			t.Helper()
			at := path(store.In(dir))
			_ = os.Remove(at)
			require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o700))
			require.NoError(t, syscall.Mkfifo(at, 0o600))
		}
	}
	sparse := func(path func(store.Folder) string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			t.Helper()
			at := path(store.In(dir))
			writeFile(t, "", at)
			require.NoError(t, os.Truncate(at, 4<<30))
		}
	}
	changed := func(old, by string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			t.Helper()
			at := store.In(dir).Journal(defaultLeague)
			text := strings.Replace(readFile(t, at), old, by, 1)
			require.Contains(t, text, by)
			writeFile(t, string(sealed([]byte(text), true)), at)
		}
	}
	journal := func(f store.Folder) string { return f.Journal(defaultLeague) }
	match := func(f store.Folder) string { return f.Match(defaultLeague, "R1M1") }
	system := func(f store.Folder) string { return filepath.Join(f.Path, "config", "system.json") }
	standings := func(f store.Folder) string { return f.Standings(defaultLeague) }
	history := func(f store.Folder) string { return store.HistoryLines(f.History("P01")) }
	secret := func(f store.Folder) string { return filepath.Join(f.Path, "private", defaultLeague+".key") }
	readers := []string{"report", "status", "export", "logs", "standings", "schedule", "audit", "serve", "simulate"}
	settings := []string{"status", "export", "logs", "standings", "schedule", "list", "pause", "config", "simulate", "manager"}
	return []hostileFile{
		{"a named pipe as journal", pipe(journal), "it is not a regular file", readers},
		{"a journal of 4 GB", sparse(journal), "longer than 16777216 bytes", readers},
		{"a name of 10 MB", changed(`"display_name":"Player 01`, `"display_name":"`+strings.Repeat("x", 10_000_000)),
			"a text of 10000000 bytes", readers},
		{"tokens of 1 GB", changed(`"token_length":43`, `"token_length":1000000000`), "token_length: 1000000000; the longest is 43", readers},
		{"a named pipe as settings", pipe(system), "it is not a regular file", settings},
		{"settings of 4 GB", sparse(system), "the file has more than 4194304 bytes", settings},
		{"settings for tokens of 1 GB", func(t *testing.T, dir string) {
			t.Helper()
			require.NoError(t, os.MkdirAll(filepath.Join(dir, "config"), 0o700))
			writeFile(t, `{"security": {"token_length": 1e9}}`, system(store.In(dir)))
		}, "token_length: must be a whole number from 22 to 43, got 1000000000", settings},
		{"a named pipe as match", pipe(match), "it is not a regular file", []string{"replay", "audit"}},
		{"a match of 4 GB", sparse(match), "the file has more than 67108864 bytes", []string{"replay", "audit"}},
		{"a named pipe as table", pipe(standings), "it is not a regular file", []string{"audit"}},
		{"a table of 4 GB", sparse(standings), "the file has more than 1073741824 bytes", []string{"audit"}},
		{"a named pipe as history", pipe(history), "it is not a regular file", []string{"audit"}},
		{"a history of 4 GB", sparse(history), "longer than 16777216 bytes", []string{"audit"}},
		{"a named pipe as secret", pipe(secret), "it is not a regular file", []string{"simulate"}},
		{"a secret of 4 GB", sparse(secret), "the file has more than 1048576 bytes", []string{"simulate"}},
	}
}

// commandsOn are commands that open files of a data folder. Their names are a part of the command line.
func commandsOn(dir string) (lines [][]string) {
	for _, line := range []string{
		"audit DIR", "report DIR --format text", "ratings DIR", "replay R1M1 --data DIR", "league status --data DIR",
		"league export --data DIR", "league list --data DIR", "league logs P01 --data DIR -o DIR/logs.zip",
		"league standings --data DIR", "league schedule --data DIR", "league pause --data DIR", "config manager --data DIR",
		"serve DIR --port 0", "manager --data DIR --port 0 --players 5", "simulate --resume --players 2 --seed 7 --quiet --data DIR", // last, because it writes
	} {
		lines = append(lines, strings.Fields(strings.ReplaceAll(line, "DIR", dir)))
	}
	return lines
}

// hang is longer than any command takes on a busy machine.
const hang = 30 * time.Second

// No file that another user can put into a data folder makes a command wait, read without end or use all memory: it is
// an error of the commands that need the file, and no matter to others. The short version tries each command with a
// fourth of the files.
func TestHostileFilesEndEachCommandInTime(t *testing.T) {
	t.Parallel()
	root := os.DirFS(mustSimulate(t, "--players", "2"))
	tried := 0
	for _, hostile := range hostileFiles() {
		t.Run(hostile.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			require.NoError(t, os.CopyFS(dir, root))
			hostile.replace(t, dir)
			for _, line := range commandsOn(dir) {
				name := strings.Join(line[:2], " ")
				refuses := slices.ContainsFunc(hostile.readers, func(reader string) bool { return strings.Contains(name, reader) })
				usual := refuses && strings.Contains(name, hostile.readers[0])
				tried++
				if tried%sampled() != 0 && !usual || !refuses && (line[0] == "manager" || line[0] == "serve") { // which would run
					continue
				}
				ctx, stop := context.WithTimeout(t.Context(), hang)
				var printed bytes.Buffer
				out := zerolog.SyncWriter(&printed)
				code := Execute(ctx, "test", line, out, out)
				assert.NoError(t, ctx.Err(), "%q hangs", line)
				stop()
				if refuses {
					assert.Contains(t, printed.String(), hostile.refused, "%q", line)
					assert.Contains(t, []int{exitFailed, exitUsage, exitFound}, code, "%q", line)
				}
			}
		})
	}
}

// A named pipe without a reader is no place for a report. A pipe whose reader does not read blocks a command only
// until the first signal.
func TestOutputIntoANamedPipeEnds(t *testing.T) {
	t.Parallel()
	dir := mustSimulate(t, "--players", "8") // its report is larger than the buffer of a pipe
	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	var printed bytes.Buffer
	out := zerolog.SyncWriter(&printed)
	assert.Equal(t, exitFailed, Execute(t.Context(), "test", []string{"report", dir, "-o", pipe}, out, out))
	assert.Equal(t, "evenodd: cannot write the report: open "+pipe+": it is a named pipe, and no program reads from it\n", printed.String())

	reader, err := os.OpenFile(pipe, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	require.NoError(t, err)
	defer func() { _ = reader.Close() }() // ends the writer
	ctx, stop := context.WithCancel(t.Context())
	printed.Reset()
	code := make(chan int)
	go func() { code <- Execute(ctx, "test", []string{"report", dir, "-o", pipe}, out, out) }()
	_, err = io.ReadFull(reader, make([]byte, 1)) // the command writes
	for err != nil {
		_, err = io.ReadFull(reader, make([]byte, 1))
	}
	stop()
	assert.Equal(t, exitInterrupted, <-code)
	assert.Equal(t, "evenodd: interrupted. Run the same command again.\n", printed.String())
}
