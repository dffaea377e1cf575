package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/transport"
)

// readFile returns the contents of a log file.
func readFile(t *testing.T, elements ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(elements...))
	require.NoError(t, err)
	return string(text)
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
	tests := []struct{ name, component, line, want string }{
		{
			"a line of the manager", "league_manager",
			`{"level":"INFO","round_id":1,"matches_count":2,"timestamp":"2025-01-15T10:15:00.000Z","agent_id":"league_manager","event_type":"ROUND_ANNOUNCEMENT_SENT","message":"round announced"}`,
			`{"timestamp":"2025-01-15T10:15:00.000Z","level":"INFO","agent_id":"league_manager","component":"league_manager","event_type":"ROUND_ANNOUNCEMENT_SENT","message":"round announced","details":{"round_id":1,"matches_count":2}}`,
		},
		{
			"a message sent", "player",
			`{"level":"DEBUG","message_type":"GAME_JOIN_ACK","conversation_id":"conv-r1m1-a1","method":"m","endpoint":"http://localhost:8001/mcp","timestamp":"2025-01-15T10:15:00.000Z","agent_id":"player:P01","event_type":"MESSAGE_SENT","message":"sent"}`,
			`{"timestamp":"2025-01-15T10:15:00.000Z","level":"DEBUG","agent_id":"player:P01","component":"player","event_type":"MESSAGE_SENT","message":"sent","message_type":"GAME_JOIN_ACK","conversation_id":"conv-r1m1-a1","data":{"method":"m","endpoint":"http://localhost:8001/mcp"}}`,
		},
		{
			"nothing but what has a place", "referee",
			`{"message":"sent","event_type":"MESSAGE_SENT","agent_id":"referee:REF01"}`,
			`{"agent_id":"referee:REF01","component":"referee","event_type":"MESSAGE_SENT","message":"sent"}`,
		},
		{
			"an event that has a name", "referee",
			`{"event_type":"GAME_ERROR","message":"no answer in time"}`,
			`{"component":"referee","event_type":"GAME_ERROR","message":"no answer in time"}`,
		},
		{
			"no message, no event", "referee",
			`{"level":"WARN","error":"x"}`,
			`{"level":"WARN","component":"referee","data":{"error":"x"}}`,
		},
		{
			"values to the last digit and escape", "player",
			`{"seed":9007199254740993,"took_ms":0.10000000000000000001,"big":1e400,"zero":-0,"none":null,"on":true,"text":"a\u0000\/<é\u00e9","list":[1,[2]],"deep":{"timestamp":"x","b":1,"a":{}}}`,
			`{"component":"player","data":{"seed":9007199254740993,"took_ms":0.10000000000000000001,"big":1e400,"zero":-0,"none":null,"on":true,"text":"a\u0000\/<é\u00e9","list":[1,[2]],"deep":{"timestamp":"x","b":1,"a":{}}}}`,
		},
		{
			"a name with a quote", "player",
			`{"a\"b":1}`,
			`{"component":"player","data":{"a\"b":1}}`,
		},
		{
			"members called data and details", "league_manager",
			`{"a":1,"details":{"b":2},"data":[3]}`,
			`{"component":"league_manager","details":{"a":1,"details":{"b":2},"data":[3]}}`,
		},
		{
			"the same name twice", "player",
			`{"agent_id":"player:me","x":1,"y":2,"x":3,"agent_id":"player:P01"}`,
			`{"agent_id":"player:P01","component":"player","data":{"x":1,"y":2,"x":3}}`,
		},
		{
			"a value on several lines", "player",
			"{\"raw\":{\n  \"a\": [1.0,\r\n 2]\n},\"message\":\"sent\"}",
			`{"component":"player","message":"sent","data":{"raw":{"a":[1.0,2]}}}`,
		},
		{"text of broken bytes", "player", "{\"a\":\"\xff\"}", `{"component":"player","data":{"a":"` + "\uFFFD" + `"}}`},
		{"an empty object", "player", `{}`, `{"component":"player"}`},
		{
			"the manager of a simulation", "",
			`{"agent_id":"league_manager"}`,
			`{"agent_id":"league_manager","component":"league_manager"}`,
		},
		{
			"a player of a simulation", "",
			`{"agent_id":"player:P01"}`,
			`{"agent_id":"player:P01","component":"player"}`,
		},
		{
			"a referee of a simulation", "",
			`{"agent_id":"referee:REF01"}`,
			`{"agent_id":"referee:REF01","component":"referee"}`,
		},
		{
			"the simulation itself", "",
			`{"message":"it begins"}`,
			`{"agent_id":"orchestrator","component":"orchestrator","message":"it begins"}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			given := []byte(tt.line + "\n")
			assert.Equal(t, tt.want+"\n", string(arranged(given, tt.component)))
			assert.Equal(t, tt.line+"\n", string(given), "another writer reads it too")
		})
	}
}

func TestLogFileAcceptsTextThatIsNotAnObject(t *testing.T) {
	tests := []struct{ name, line, want string }{
		{"text", "disk on \"fire\"\n", `disk on \"fire\"`},
		{"text of several lines", "a\nb\n", `a\nb`},
		{"nothing", "\n", ``},
		{"a list", `[1]`, `[1]`},
		{"half an object", `{"message":"se`, `{\"message\":\"se`},
		{"half a member", `{"message"`, `{\"message\"`},
		{"an object and more", `{"a":1} 2`, `{\"a\":1} 2`},
		{"two objects", "{}\n{}\n", `{}\n{}`},
		{"an impossible character", `{"a":"\ud800"}`, `{\"a\":\"\\ud800\"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Regexp(t, `^\{"timestamp":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z","message":"`+regexp.QuoteMeta(tt.want)+`"\}\n$`,
				string(arranged([]byte(tt.line), "player")))
		})
	}
}

func TestLogFilePaths(t *testing.T) {
	tests := []struct {
		name string
		open func(dir string) *logFile
		want string // "" for P01
	}{
		{"a league", func(dir string) *logFile { return openLeagueLog(dir, "league_2025_even_odd", nil) }, "logs/league/league_2025_even_odd/league.log.jsonl"},
		{"a league that cannot be", func(dir string) *logFile { return openLeagueLog(dir, "../..", nil) }, "logs/league/league_manager/league.log.jsonl"},
		{"a player", func(dir string) *logFile { return openAgentLog(dir, "player", "player-8101", nil) }, "logs/agents/P01.log.jsonl"},
		{"a simulation", func(dir string) *logFile { return openSystemLog(dir, nil) }, "logs/system/orchestrator.log.jsonl"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			f := tt.open(dir)
			f.setAgent("P01")
			assert.NoDirExists(t, dir, "nothing is made before the first line")
			writeLine(t, f, numberedLine(1))
			assert.Equal(t, []int{1}, numbersOf(t, readFile(t, dir, tt.want)), "a line is there at once")
			require.NoError(t, f.Close())
			require.NoError(t, f.Close(), "again")
			writeLine(t, f, numberedLine(2))
			assert.Equal(t, []int{1}, numbersOf(t, readFile(t, dir, tt.want)), "it is closed")

			f = tt.open(dir)
			f.setAgent("P01")
			writeLine(t, f, numberedLine(3))
			require.NoError(t, f.Close())
			assert.Equal(t, []int{1, 3}, numbersOf(t, readFile(t, dir, tt.want)), "it goes on")
			assert.Equal(t, []string{tt.want}, filesIn(t, dir))
		})
	}
}

func TestLogFileWithoutLinesIsNotCreated(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	require.NoError(t, openAgentLog(dir, "player", "player-8101", nil).Close())
	require.NoError(t, openSystemLog(dir, nil).Close())
	var none *logFile
	none.setAgent("P01")
	require.NoError(t, none.Close())
	assert.NoDirExists(t, dir)
}

func TestLogFileWaitsForTheID(t *testing.T) {
	dir := t.TempDir()
	f := openAgentLog(dir, "referee", "referee-8001", nil)
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

func TestLogFileOfAnAgentWithoutIDHasItsSlug(t *testing.T) {
	dir := t.TempDir()
	f := openAgentLog(dir, "referee", "referee-8001", nil)
	writeLine(t, f, numberedLine(1))
	require.NoError(t, f.Close())
	f.setAgent("REF01")
	writeLine(t, f, numberedLine(2))
	assert.Equal(t, []string{"logs/agents/referee-8001.log.jsonl"}, filesIn(t, dir))
	assert.Equal(t, []int{1}, numbersOf(t, readFile(t, dir, "logs/agents/referee-8001.log.jsonl")))
}

func TestNoLogFileWithoutADataFolder(t *testing.T) {
	for _, f := range []*logFile{openLeagueLog("", "L", nil), openAgentLog("", "player", "slug", nil), openSystemLog("", nil)} {
		assert.Nil(t, f)
		f.setAgent("P01")
		require.NoError(t, f.Close())
	}
}

func TestLogFileRefusesUnsafeIDs(t *testing.T) {
	tests := []struct{ id, want string }{
		{"P01", "P01"},
		{"A_b-c.9", "A_b-c.9"},
		{"a..b", "a..b"},
		{strings.Repeat("x", 64), strings.Repeat("x", 64)},
		{strings.Repeat("x", 65), "slug"},
		{".", "slug"},
		{"..", "slug"},
		{".hidden", "slug"},
		{"-rf", "slug"},
		{"../P01", "slug"},
		{"a/b", "slug"},
		{`a\b`, "slug"},
		{"/etc/passwd", "slug"},
		{"C:", "slug"},
		{"a b", "slug"},
		{"a\n", "slug"},
		{"a\x00", "slug"},
		{"é", "slug"},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%q", tt.id), func(t *testing.T) {
			dir := t.TempDir()
			f := openAgentLog(dir, "player", "slug", nil)
			writeLine(t, f, numberedLine(1))
			f.setAgent(tt.id)
			require.NoError(t, f.Close())
			assert.Equal(t, []string{"logs/agents/" + tt.want + ".log.jsonl"}, filesIn(t, dir))
		})
	}
	assert.Equal(t, "player", openAgentLog("shared", "player", "../x", nil).slug)
}

func TestLogFileDropsTheOldestOfTooManyWaitingLines(t *testing.T) {
	for _, lines := range []int{maxWaiting, maxWaiting + 1, 3*maxWaiting + 7} {
		t.Run(fmt.Sprint(lines), func(t *testing.T) {
			dir := t.TempDir()
			f := openAgentLog(dir, "player", "player-8101", nil)
			for n := range lines {
				writeLine(t, f, numberedLine(n))
			}
			f.setAgent("P01")
			require.NoError(t, f.Close())
			text := readFile(t, dir, "logs/agents/P01.log.jsonl")
			if lost := lines - maxWaiting; lost > 0 {
				var note string
				note, text, _ = strings.Cut(text, "\n")
				assert.Regexp(t, `^\{"timestamp":"[^"]+Z","level":"WARN","agent_id":"player:P01","component":"player",`+
					`"event_type":"LINES_DROPPED","message":"[^"]+","data":\{"dropped":`+fmt.Sprint(lost)+`\}\}$`, note)
			}
			kept := numbersOf(t, text)
			require.Len(t, kept, maxWaiting)
			assert.Equal(t, lines-maxWaiting, kept[0])
			assert.Equal(t, lines-1, kept[maxWaiting-1])
		})
	}
}

func TestLogFileCompletesAnUnfinishedLine(t *testing.T) {
	tests := []struct{ name, before, want string }{
		{"an empty file", "", ""},
		{"whole lines", "{}\n{}\n", "{}\n{}\n"},
		{"a torn line", "{}\n{\"mess", "{}\n{\"mess\n"},
		{"nothing but a torn line", "{", "{\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "logs", "system", "orchestrator.log.jsonl")
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
			require.NoError(t, os.WriteFile(path, []byte(tt.before), 0o644))
			f := openSystemLog(dir, nil)
			writeLine(t, f, `{"agent_id":"player:P01"}`)
			require.NoError(t, f.Close())
			assert.Equal(t, tt.want+`{"agent_id":"player:P01","component":"player"}`+"\n", readFile(t, path))
		})
	}
}

func TestLogFileThatCannotBeWritten(t *testing.T) {
	tests := []struct {
		name  string
		spoil func(t *testing.T, dir, path string)
		why   string
	}{
		{"a file where a folder should be", func(t *testing.T, dir, _ string) {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "logs"), nil, 0o644))
		}, "not a directory"},
		{"a folder where the file should be", func(t *testing.T, _, path string) {
			require.NoError(t, os.MkdirAll(path, 0o755))
		}, "is a directory"},
		{"a full disk", func(t *testing.T, _, path string) {
			if _, err := os.Stat("/dev/full"); err != nil {
				t.Skip("a disk that is always full is needed")
			}
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
			require.NoError(t, os.Symlink("/dev/full", path))
		}, "no space left on device"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "logs", "agents", "P01.log.jsonl")
			tt.spoil(t, dir, path)
			var screen bytes.Buffer
			f := openAgentLog(dir, "player", "player-8101", &screen)
			writeLine(t, f, numberedLine(1))
			writeLine(t, f, numberedLine(2))
			assert.Empty(t, screen.String())
			f.setAgent("P01")
			writeLine(t, f, numberedLine(3))
			require.NoError(t, f.Close())
			assert.Equal(t, "evenodd: cannot write the log "+path+": "+tt.why+"; continuing without it\n", screen.String())
		})
	}
}

// The disk fills up while the agent runs.
func TestLogFileReportsAFullDiskOnce(t *testing.T) {
	var screen bytes.Buffer
	dir := t.TempDir()
	f := openSystemLog(dir, &screen)
	writeLine(t, f, numberedLine(1))
	require.NoError(t, f.file.Close())
	writeLine(t, f, numberedLine(2))
	writeLine(t, f, numberedLine(3))
	require.NoError(t, f.Close())
	assert.Equal(t, 1, strings.Count(screen.String(), "\n"), screen.String())
	assert.Equal(t, []int{1}, numbersOf(t, readFile(t, dir, "logs/system/orchestrator.log.jsonl")))
}

// Several log files with the same path stand for the agents of several processes. Each
// has concurrent writers.
func TestLogFileKeepsTheLinesOfConcurrentWriters(t *testing.T) {
	const writers, lines = 8, 50
	dir := t.TempDir()
	processes := []*logFile{openAgentLog(dir, "player", "a", nil), openAgentLog(dir, "player", "b", nil)}
	var all sync.WaitGroup
	for i, f := range processes {
		all.Go(func() { f.setAgent("P01") })
		for w := range writers {
			all.Go(func() {
				for n := range lines {
					_, _ = io.WriteString(f, numberedLine((i*writers+w)*lines+n))
				}
			})
		}
	}
	all.Wait()
	for _, f := range processes {
		require.NoError(t, f.Close())
	}
	got := numbersOf(t, readFile(t, dir, "logs/agents/P01.log.jsonl"))
	require.Len(t, got, len(processes)*writers*lines)
	last := map[int]int{} // by writer
	for _, n := range got {
		w := n / lines
		assert.Equal(t, last[w], n%lines, "each writer's lines are in order")
		last[w]++
	}
}

func TestLevelsOfScreenAndFile(t *testing.T) {
	fromDebug := []string{"DEBUG", "INFO", "WARN", "ERROR"}
	fromInfo := fromDebug[1:]
	tests := []struct {
		level        string
		screen, file []string
	}{
		{"trace", fromDebug, fromDebug},
		{"debug", fromDebug, fromDebug},
		{"info", fromInfo, fromInfo},
		{"WARN", fromInfo[1:], fromInfo[1:]},
		{"error", fromInfo[2:], fromInfo[2:]},
		{"disabled", nil, nil},
	}
	levels := func(text string) (all []string) {
		for line := range strings.Lines(text) {
			var l struct{ Level string }
			require.NoError(t, json.Unmarshal([]byte(line), &l), line)
			if l.Level != "TRACE" {
				all = append(all, l.Level)
			}
		}
		return all
	}
	speak := func(log zerolog.Logger) {
		log.Trace().Msg("x")
		log.Debug().Msg("x")
		log.Info().Msg("x")
		log.Warn().Msg("x")
		log.Error().Msg("x")
	}
	for _, tt := range tests {
		t.Run(tt.level, func(t *testing.T) {
			dir := t.TempDir()
			var screen, alone bytes.Buffer
			f := openSystemLog(dir, &screen)
			log, err := newLogger(&screen, tt.level, tt.level, func() string { return "player:P01" }, f)
			require.NoError(t, err)
			speak(log)
			require.NoError(t, f.Close())
			text := ""
			if tt.file != nil {
				text = readFile(t, dir, "logs/system/orchestrator.log.jsonl")
			} else {
				assert.Empty(t, filesIn(t, dir), "no line, no file")
			}
			assert.Equal(t, tt.screen, levels(screen.String()))
			assert.Equal(t, tt.file, levels(text))
			assert.NotContains(t, text, "TRACE")
			assert.NotContains(t, screen.String(), "component", "the screen shows lines as they were")

			log, err = newLogger(&alone, tt.level, "", func() string { return "player:P01" }, nil)
			require.NoError(t, err)
			speak(log)
			assert.Equal(t, tt.screen, levels(alone.String()), "without a file")
		})
	}
	_, err := newLogger(io.Discard, "loud", "info", nil, openSystemLog(t.TempDir(), nil))
	assert.ErrorContains(t, err, `--log-level "loud"`)
}

// A failingCaller fails every call.
type failingCaller struct{}

func (failingCaller) Call(context.Context, transport.Request) (any, *transport.Timing, error) {
	return nil, nil, errors.New("nobody there")
}

// At level debug the log file has the messages of an agent.
func TestMessagesReachTheFileAtLevelDebug(t *testing.T) {
	dir := t.TempDir()
	f := openAgentLog(dir, "player", "player-8101", io.Discard)
	id := "player:p"
	log, err := newLogger(io.Discard, "debug", "debug", func() string { return id }, f)
	require.NoError(t, err)
	caller := transport.Logged(failingCaller{}, log)
	_, _, err = caller.Call(t.Context(), transport.Request{Endpoint: "http://localhost:8000/mcp", Bearer: "tok-secret", Method: "ping"})
	require.Error(t, err)
	id = "player:P01"
	f.setAgent("P01")
	log.Info().Str("league_id", "l").Str("event_type", "REGISTERED").Msg("registered")
	require.NoError(t, f.Close())
	text := regexp.MustCompile(`"timestamp":"[^"]{24}"|"took_ms":[0-9.e-]+`).ReplaceAllString(readFile(t, dir, "logs/agents/P01.log.jsonl"), "*")
	assert.Equal(t, `{*,"level":"DEBUG","agent_id":"player:p","component":"player","event_type":"MESSAGE_SENT","message":"sent","data":{"method":"ping","endpoint":"http://localhost:8000/mcp"}}
{*,"level":"DEBUG","agent_id":"player:p","component":"player","event_type":"CALL_FAILED","message":"failed","data":{"method":"ping","endpoint":"http://localhost:8000/mcp",*,"error":"nobody there"}}
{*,"level":"INFO","agent_id":"player:P01","component":"player","event_type":"REGISTERED","message":"registered","data":{"league_id":"l"}}
`, text)
}
