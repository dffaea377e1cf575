package cmd

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"evenodd/config"
	"evenodd/league/inspect/audit"
	"evenodd/league/simulation"
	"evenodd/league/store"
	"evenodd/rules/evenodd"
)

// These benchmarks run commands with a data folder in $TMPDIR. Each measures its floor in
// the same run; x-floor is the ratio. docs/performance.md describes the method.

// A benchLeague is a league that evenodd simulate plays.
type benchLeague struct {
	players   int
	atOnce    int // matches at once
	transport string
	data      string // "" for no data folder
	resume    bool
}

func (l benchLeague) matches() int { return l.players * (l.players - 1) / 2 }

// play runs the command. It calls recorded after each result, with the number of results;
// nil to call nothing. The command is interrupted when recorded returns false.
func (l benchLeague) play(b *testing.B, recorded func(n int) bool) {
	ctx, interrupt := context.WithCancel(b.Context())
	defer interrupt()
	o := &simulateOptions{resume: l.resume, output: "table", list: "matches", quiet: true}
	o.data, o.given = l.data, func(flag string) bool { return flag == "seed" }
	o.LeagueID, o.GameType, o.Transport = defaultLeague, evenodd.Type, l.transport
	o.Players, o.Referees, o.Seed, o.Legs, o.Concurrency = l.players, 2, 7, 1, l.atOnce
	o.Strategies = []string{"random"}
	o.Progress = func(n, _ int) {
		if recorded != nil && !recorded(n) {
			interrupt()
		}
	}
	err := runSimulate(ctx, streams{out: io.Discard, err: io.Discard}, config.NewLoader(l.data, known()), o)
	if ctx.Err() == nil {
		require.NoError(b, err)
	}
}

// reportTime reports the time of a match beside its floor.
func reportTime(b *testing.B, took, floor time.Duration, matches int) {
	b.ReportMetric(0, "ns/op") // omits it
	b.ReportMetric(float64(took.Nanoseconds())/float64(matches), "ns/match")
	b.ReportMetric(float64(floor.Nanoseconds())/float64(matches), "floor-ns/match")
	b.ReportMetric(float64(took)/float64(floor), "x-floor")
}

// BenchmarkDisk plays whole leagues with a data folder. The floor appends as many bytes to
// a file, and syncs it each time that all concurrent matches have been written.
func BenchmarkDisk(b *testing.B) {
	for _, l := range []benchLeague{{players: 64, atOnce: 32}, {players: 200, atOnce: 100}} {
		b.Run(fmt.Sprintf("players=%d", l.players), func(b *testing.B) {
			l.transport = simulation.Memory
			var took, floor time.Duration
			var size int64
			for b.Loop() {
				l.data = filepath.Join(b.TempDir(), "data")
				start := time.Now()
				l.play(b, nil)
				took += time.Since(start)
				b.StopTimer()
				written := sizeOf(b, l.data)
				size += written
				floor += appendInGroups(b, written, l.matches()/l.atOnce)
				require.NoError(b, os.RemoveAll(l.data))
				b.StartTimer()
			}
			reportTime(b, took, floor, b.N*l.matches())
			b.ReportMetric(float64(size)/float64(b.N*l.matches()), "disk-B/match")
		})
	}
}

// sizeOf returns the number of bytes in the files of a folder.
func sizeOf(b *testing.B, dir string) (size int64) {
	eachFile(b, dir, func(path string) {
		info, err := os.Stat(path)
		require.NoError(b, err)
		size += info.Size()
	})
	return size
}

func eachFile(b *testing.B, dir string, visit func(path string)) {
	require.NoError(b, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			visit(path)
		}
		return err
	}))
}

// appendInGroups appends so many bytes to a file in equal groups, and syncs it after each.
func appendInGroups(b *testing.B, size int64, groups int) time.Duration {
	path := filepath.Join(b.TempDir(), "floor")
	group := bytes.Repeat([]byte("x"), int(size)/groups)
	start := time.Now()
	file, err := os.Create(path)
	require.NoError(b, err)
	for range groups {
		_, err := file.Write(group)
		require.NoError(b, err)
		require.NoError(b, file.Sync())
	}
	require.NoError(b, file.Close())
	took := time.Since(start)
	require.NoError(b, os.Remove(path))
	return took
}

// killVariable names the data folder of the league that BenchmarkResume kills.
const killVariable = "BENCHMARK_KILLED_LEAGUE"

// BenchmarkResume resumes leagues that were killed after half of their matches, and measures
// the time until the first new result, per result in the journal. The floor reads the
// journal and parses its JSON.
func BenchmarkResume(b *testing.B) {
	for _, l := range []benchLeague{{players: 64, atOnce: 32}, {players: 200, atOnce: 100}} {
		b.Run(fmt.Sprintf("players=%d", l.players), func(b *testing.B) {
			l.transport, l.data = simulation.Memory, os.Getenv(killVariable)
			if l.data != "" { // this is the process that is killed
				l.playUntilKilled(b)
			}
			killed := killedLeague(b)
			l.resume = true
			var took, floor time.Duration
			results := 0
			for b.Loop() {
				b.StopTimer()
				l.data = filepath.Join(b.TempDir(), "data")
				require.NoError(b, os.CopyFS(l.data, os.DirFS(killed)))
				floor += parse(b, store.In(l.data).Journal(defaultLeague))
				b.StartTimer()
				start := time.Now()
				first := 0
				l.play(b, func(n int) bool {
					if first == 0 {
						took += time.Since(start)
						first = n
					}
					return false
				})
				b.StopTimer()
				results += first - 1
				require.NoError(b, os.RemoveAll(l.data))
				b.StartTimer()
			}
			reportTime(b, took, floor, results)
			b.ReportMetric(float64(took.Milliseconds())/float64(b.N), "ms/resume")
		})
	}
}

// playUntilKilled plays half of a league in this process, and kills the process.
func (l benchLeague) playUntilKilled(b *testing.B) {
	l.play(b, func(n int) bool {
		if n == l.matches()/2 {
			self, err := os.FindProcess(os.Getpid())
			require.NoError(b, err)
			require.NoError(b, self.Kill())
			select {}
		}
		return true
	})
}

// killedLeague runs the current benchmark in a process that is killed. It returns the data
// folder.
func killedLeague(b *testing.B) (data string) {
	data = filepath.Join(b.TempDir(), "killed")
	only := "^" + strings.ReplaceAll(b.Name(), "/", "$/^") + "$"
	process := exec.CommandContext(b.Context(), os.Args[0], "-test.run", "^$", "-test.bench", only, "-test.benchtime", "1x")
	process.Env = append(os.Environ(), killVariable+"="+data, "TMPDIR="+b.TempDir())
	output, _ := process.CombinedOutput()
	require.Equal(b, -1, process.ProcessState.ExitCode(), "it was not killed: %s", output)
	return data
}

// BenchmarkAudit audits a league of 64 players. The floor reads the files of the data folder
// and parses their JSON.
func BenchmarkAudit(b *testing.B) {
	l := benchLeague{players: 64, atOnce: 32, transport: simulation.Memory, data: filepath.Join(b.TempDir(), "data")}
	l.play(b, nil)
	var took, floor time.Duration
	for b.Loop() {
		before := debug.SetGCPercent(auditGC)
		start := time.Now()
		found, err := audit.Run(store.In(l.data), audit.Options{Games: games()})
		took += time.Since(start)
		b.StopTimer()
		debug.SetGCPercent(before)
		require.NoError(b, err)
		require.Zero(b, found.Findings())
		floor += parse(b, filepath.Join(l.data, "data"))
		b.StartTimer()
	}
	reportTime(b, took, floor, b.N*l.matches())
}

// parse reads the files in a folder, or one file, and parses their JSON without decoding
// it into Go values.
func parse(b *testing.B, path string) time.Duration {
	start := time.Now()
	eachFile(b, path, func(path string) {
		text, err := os.ReadFile(path)
		require.NoError(b, err)
		values := jsontext.NewDecoder(bytes.NewReader(text))
		for err == nil {
			_, err = values.ReadValue()
		}
		require.ErrorIs(b, err, io.EOF, path)
	})
	return time.Since(start)
}
