package cmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/config"
	"evenodd/league/store/disk"
)

// testLogs are the limits of log files in tests.
var testLogs = config.Logs{MaxFileMB: 16, MaxFiles: 4}

// readFile returns the contents of a file.
func readFile(t *testing.T, elements ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(elements...))
	require.NoError(t, err)
	return string(text)
}

// writeFile writes a file into a folder, which need not exist yet, and returns its path.
func writeFile(t *testing.T, text string, elements ...string) (path string) {
	t.Helper()
	path = filepath.Join(elements...)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// filesIn returns the paths of all files in a folder, with slashes.
func filesIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	require.NoError(t, fs.WalkDir(os.DirFS(dir), ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			names = append(names, name)
		}
		return err
	}))
	return names
}

func writeLine(t *testing.T, f *logFile, text string) {
	t.Helper()
	n, err := io.WriteString(f, text)
	require.NoError(t, err)
	require.Equal(t, len(text), n)
}

// numberedLine returns a line with a number.
func numberedLine(n int) string { return fmt.Sprintf(`{"level":"INFO","n":%d}`+"\n", n) }

// numbersOf returns the numbers of lines.
func numbersOf(t *testing.T, text string) (all []int) {
	t.Helper()
	for line := range strings.Lines(text) {
		var l struct {
			Data, Details struct{ N int }
		}
		require.NoError(t, json.Unmarshal([]byte(line), &l), line)
		all = append(all, l.Data.N+l.Details.N)
	}
	return all
}

func TestLogFileArrangesLines(t *testing.T) {
	for _, tt := range []struct{ component, line, want string }{
		{"league_manager", // whose rest is in details
			`{"level":"INFO","round_id":1,"timestamp":"T","agent_id":"league_manager","event_type":"ROUND_ANNOUNCEMENT_SENT","message":"round announced"}`,
			`{"timestamp":"T","level":"INFO","agent_id":"league_manager","component":"league_manager","event_type":"ROUND_ANNOUNCEMENT_SENT","message":"round announced","details":{"round_id":1}}`},
		{"player",
			`{"message_type":"GAME_JOIN_ACK","conversation_id":"c","method":"m","agent_id":"player:P01","event_type":"MESSAGE_SENT"}`,
			`{"agent_id":"player:P01","component":"player","event_type":"MESSAGE_SENT","message_type":"GAME_JOIN_ACK","conversation_id":"c","data":{"method":"m"}}`},
		{"player", // values keep their last digit and escape
			`{"seed":9007199254740993,"took_ms":0.10000000000000000001,"zero":-0,"none":null,"text":"a\u0000\/<é\u00e9","deep":{"timestamp":"x","b":[1,[2]]}}`,
			`{"component":"player","data":{"seed":9007199254740993,"took_ms":0.10000000000000000001,"zero":-0,"none":null,"text":"a\u0000\/<é\u00e9","deep":{"timestamp":"x","b":[1,[2]]}}}`},
		{"player", `{"agent_id":"player:me","a\"b":1,"a\"b":3,"agent_id":"player:P01"}`, `{"agent_id":"player:P01","component":"player","data":{"a\"b":1,"a\"b":3}}`},
		{"player", "{\"raw\":{\n  \"a\": [1.0,\r\n 2]\n}}", `{"component":"player","data":{"raw":{"a":[1.0,2]}}}`},
		{"player", "{\"a\":\"\xff\"}", `{"component":"player","data":{"a":"` + "\uFFFD" + `"}}`},
		{"player", `{}`, `{"component":"player"}`},
		{"", `{"agent_id":"league_manager"}`, `{"agent_id":"league_manager","component":"league_manager"}`},
		{"", `{"agent_id":"player:P01"}`, `{"agent_id":"player:P01","component":"player"}`},
		{"", `{"agent_id":"referee:REF01"}`, `{"agent_id":"referee:REF01","component":"referee"}`},
		{"", `{"message":"it begins"}`, `{"agent_id":"orchestrator","component":"orchestrator","message":"it begins"}`},
	} {
		given := []byte(tt.line + "\n")
		assert.Equal(t, tt.want+"\n", string(arranged(given, tt.component)))
		assert.Equal(t, tt.line+"\n", string(given), "another writer reads it too")
	}
}

func TestLogFileWaitsForTheID(t *testing.T) {
	dir := t.TempDir()
	f := openAgentLog(dir, "referee", "referee-8001", testLogs, nil)
	writeLine(t, f, numberedLine(1))
	f.setAgent("")
	writeLine(t, f, numberedLine(2))
	assert.Empty(t, filesIn(t, dir))
	f.setAgent("REF01")
	writeLine(t, f, numberedLine(3))
	f.setAgent("REF01")
	writeLine(t, f, numberedLine(4))
	f.setAgent("REF02") // registered again
	writeLine(t, f, numberedLine(5))
	require.NoError(t, f.Close())
	assert.Equal(t, []string{"logs/agents/REF01.log.jsonl", "logs/agents/REF02.log.jsonl"}, filesIn(t, dir))
	assert.Equal(t, []int{1, 2, 3, 4}, numbersOf(t, readFile(t, dir, "logs/agents/REF01.log.jsonl")))
	assert.Equal(t, []int{5}, numbersOf(t, readFile(t, dir, "logs/agents/REF02.log.jsonl")))
}

func TestLogFileRefusesUnsafeIDs(t *testing.T) {
	for id, want := range map[string]string{
		"A_b-c.9": "A_b-c.9", strings.Repeat("x", 65): "slug", "..": "slug", ".hidden": "slug", "-rf": "slug", "../P01": "slug", `a\b`: "slug", "C:": "slug", "a\x00": "slug",
	} {
		dir := t.TempDir()
		f := openAgentLog(dir, "player", "slug", testLogs, nil)
		writeLine(t, f, numberedLine(1))
		f.setAgent(id)
		require.NoError(t, f.Close())
		assert.Equal(t, []string{"logs/agents/" + want + ".log.jsonl"}, filesIn(t, dir), "%q", id)
	}
	assert.Equal(t, "player", openAgentLog("shared", "player", "../x", testLogs, nil).slug)
}

func TestLogFileDropsTheOldestOfTooManyWaitingLines(t *testing.T) {
	for _, lost := range []int{0, 1, 2*maxWaiting + 7} {
		dir := t.TempDir()
		f := openAgentLog(dir, "player", "player-8101", testLogs, nil)
		for n := range maxWaiting + lost {
			writeLine(t, f, numberedLine(n))
		}
		f.setAgent("P01")
		require.NoError(t, f.Close())
		text := readFile(t, dir, "logs/agents/P01.log.jsonl")
		kept := numbersOf(t, text)
		require.Len(t, kept, maxWaiting)
		assert.Equal(t, []int{lost, lost + maxWaiting - 1}, []int{kept[0], kept[maxWaiting-1]})
	}
}

func TestLogFileCompletesAnUnfinishedLine(t *testing.T) {
	for before, want := range map[string]string{"": "", "{}\n{}\n": "{}\n{}\n", "{}\n{\"mess": "{}\n{\"mess\n", "{": "{\n"} {
		dir := t.TempDir()
		path := writeFile(t, before, dir, systemLog)
		f := openSystemLog(dir, testLogs, nil)
		writeLine(t, f, `{"agent_id":"player:P01"}`)
		require.NoError(t, f.Close())
		assert.Equal(t, want+`{"agent_id":"player:P01","component":"player"}`+"\n", readFile(t, path))
	}
}

func TestLogFileThatCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "logs", "agents", "P01.log.jsonl")
	require.NoError(t, os.MkdirAll(path, 0o755)) // a folder in its place
	var screen bytes.Buffer
	f := openAgentLog(dir, "player", "player-8101", testLogs, &screen)
	writeLine(t, f, numberedLine(1))
	assert.Empty(t, screen.String())
	f.setAgent("P01")
	writeLine(t, f, numberedLine(3))
	require.NoError(t, f.Close())
	assert.Equal(t, "evenodd: cannot write the log "+path+": is a directory; continuing without it\n", screen.String())
}

// The disk fills up while the agent runs.
func TestLogFileReportsAFullDiskOnce(t *testing.T) {
	var screen bytes.Buffer
	dir := t.TempDir()
	f := openSystemLog(dir, testLogs, &screen)
	writeLine(t, f, numberedLine(1))
	require.NoError(t, f.file.Close())
	writeLine(t, f, numberedLine(2))
	writeLine(t, f, numberedLine(3))
	require.NoError(t, f.Close())
	assert.Equal(t, 1, strings.Count(screen.String(), "\n"), screen.String())
	assert.Equal(t, []int{1}, numbersOf(t, readFile(t, dir, systemLog)))
}

func TestLevelsOfScreenAndFile(t *testing.T) {
	all := []string{"DEBUG", "INFO", "WARN", "ERROR"}
	for level, want := range map[string][]string{"trace": all, "debug": all, "info": all[1:], "WARN": all[2:], "error": all[3:], "disabled": nil} {
		levels := func(text string) (found []string) {
			for line := range strings.Lines(text) {
				var l struct{ Level string }
				require.NoError(t, json.Unmarshal([]byte(line), &l), line)
				if l.Level != "TRACE" {
					found = append(found, l.Level)
				}
			}
			return found
		}
		for _, withFile := range []bool{true, false} {
			dir := t.TempDir()
			var screen bytes.Buffer
			var f *logFile
			if withFile {
				f = openSystemLog(dir, testLogs, &screen)
			}
			log := newLogger(&screen, level, level, func() string { return "player:P01" }, f)
			log.Trace().Msg("x")
			log.Debug().Msg("x")
			log.Info().Msg("x")
			log.Warn().Msg("x")
			log.Error().Msg("x")
			require.NoError(t, f.Close())
			assert.Equal(t, want, levels(screen.String()), level)
			assert.NotContains(t, screen.String(), "component", "the screen shows lines as they were")
			if !withFile || want == nil {
				assert.Empty(t, filesIn(t, dir), "no line, no file")
				continue
			}
			text := readFile(t, dir, systemLog)
			assert.Equal(t, want, levels(text), level)
			assert.NotContains(t, text, "TRACE")
		}
	}
}

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
	free, err := disk.FreeSpace(dir)
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
