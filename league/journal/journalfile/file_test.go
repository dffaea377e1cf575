package journalfile_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/journal/journalfile"
	"evenodd/league/protocol"
	"evenodd/league/store/appendfile"
	"evenodd/league/store/disk"
)

// when is the time of all events of these tests. No result depends on it.
const when = "2026-01-01T00:00:00.000Z"

// firstAttempt is the first attempt at the first match.
var firstAttempt = league.Attempt{MatchID: league.MatchID{Round: 1, Number: 1}, Number: 1}

// events are a whole league of two players: one match, one round.
func events() []journal.Data {
	agent := func(id, role string) journal.Data {
		return &journal.AgentRegistered{AgentID: id, Role: role, DisplayName: id + " ✓\n", Endpoint: "http://" + id + "/mcp", Generation: 1}
	}
	return []journal.Data{
		&journal.Created{
			SchemaVersion: journal.SchemaVersion, LeagueID: "L", DisplayName: "A league", GameType: "even_odd", Legs: 1,
			Scoring: league.MatchPoints{Win: 3, Draw: 1}, Tiebreakers: []string{"points"},
		},
		agent("REF01", protocol.RoleReferee), agent("P01", protocol.RolePlayer), agent("P02", protocol.RolePlayer),
		&journal.AgentSuspended{AgentID: "P02", Reason: "gone"},
		&journal.AgentReturned{AgentID: "P02", Endpoint: "http://2b/mcp", Generation: 2},
		&journal.Started{Algorithm: journal.Algorithm, Players: []string{"P01", "P02"}, Referees: []string{"REF01"}},
		&journal.RoundAnnounced{RoundID: 1, Referees: []string{"REF01"}},
		&journal.MatchAssigned{Attempt: firstAttempt, RefereeID: "REF01"},
		reported(),
		&journal.RoundCompleted{RoundID: 1, Summary: protocol.RoundSummary{TotalMatches: 1, Wins: 1}},
		&journal.LeagueCompleted{Champion: league.Champion{PlayerID: "P02", DisplayName: "P02 ✓\n", Points: 3}},
		&journal.AgentInformed{AgentID: "P01"},
	}
}

func reported() *journal.MatchReported {
	return &journal.MatchReported{
		Attempt: firstAttempt, RefereeID: "REF01", Score: league.Both("P01", 0, "P02", 3),
		Result: league.Result{
			Status: league.StatusWin, WinnerPlayerID: new("P02"), DrawnNumber: new(7), NumberParity: new("odd"),
			Choices: league.Both("P01", new("even"), "P02", new("odd")), Reason: "so",
		},
		Draw: &protocol.Draw{Commitment: strings.Repeat("ab", 32), Nonce: strings.Repeat("cd", 32)},
	}
}

func textOf(t *testing.T, s *journal.State) string {
	t.Helper()
	raw, err := json.Marshal(map[string]any{
		"events": s.Events, "created": s.Created, "agents": s.Agents, "started": s.Started, "rounds": s.Rounds,
		"recorded": s.Recorded, "completed": s.Completed, "standings": s.Standings(), "records": s.RoundRecords(),
	})
	require.NoError(t, err)
	return string(raw)
}

// begun is a new journal with its first event.
func begun(t testing.TB) (j *journalfile.File, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "journal.jsonl")
	j, _, torn, err := journalfile.Open(disk.Real{}, path, nil, "")
	require.NoError(t, err)
	require.Nil(t, torn)
	require.NoError(t, j.Append(when, events()[0]))
	return j, path
}

// written returns the bytes of a journal of all events.
func written(t testing.TB) []byte {
	t.Helper()
	j, path := begun(t)
	for _, e := range events()[1:] {
		require.NoError(t, j.Append(when, e))
	}
	require.NoError(t, j.Close())
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	return raw
}

// folded returns the state after the first n events as JSON, because states cannot be
// compared directly.
func folded(t *testing.T, raw []byte, n int) string {
	t.Helper()
	lines := bytes.SplitAfter(raw, []byte("\n"))
	state, _, _, torn, err := journalfile.Replay("x", bytes.NewReader(bytes.Join(lines[:n], nil)), nil)
	require.NoError(t, err)
	require.Zero(t, torn)
	return textOf(t, state)
}

func TestReplayReadsWrittenEvents(t *testing.T) {
	raw := written(t)
	want := events()
	var got []journal.Data
	state, head, end, torn, err := journalfile.Replay("x", bytes.NewReader(raw), func(e *journal.Event, _ string) {
		got = append(got, e.Data)
	})
	require.NoError(t, err)
	assert.Zero(t, torn)
	assert.EqualValues(t, len(raw), end)
	assert.Equal(t, len(want), state.Events)
	lines := bytes.Split(bytes.TrimSuffix(raw, []byte("\n")), []byte("\n"))
	assert.Equal(t, journal.Hash(lines[len(lines)-1]), head)
	a, err := json.Marshal(want)
	require.NoError(t, err)
	b, err := json.Marshal(got)
	require.NoError(t, err)
	assert.JSONEq(t, string(a), string(b))
	assert.NotNil(t, state.Completed)
	assert.True(t, state.Agents["P01"].Informed)
}

// A machine can lose power at any byte.
func TestJournalCutAfterAnyByteIsResumed(t *testing.T) {
	raw := written(t)
	start := len(bytes.Join(bytes.SplitAfter(raw, []byte("\n"))[:len(events())-3], nil))
	for cut := start; cut <= len(raw); cut++ {
		path := filepath.Join(t.TempDir(), "journal.jsonl")
		require.NoError(t, os.WriteFile(path, raw[:cut], 0o600))
		whole := bytes.Count(raw[:cut], []byte("\n"))
		end := bytes.LastIndexByte(raw[:cut], '\n') + 1

		j, state, torn, err := journalfile.Open(disk.Real{}, path, nil, "")
		require.NoError(t, err)
		require.Equal(t, folded(t, raw, whole), textOf(t, state), "cut after byte %d", cut)
		if end == cut {
			require.Nil(t, torn)
		} else {
			require.Equal(t, &appendfile.Torn{Path: path, Line: whole + 1, Bytes: cut - end}, torn)
			require.Contains(t, torn.String(), fmt.Sprintf("line %d", whole+1))
		}
		seq, head := j.Last()
		require.Equal(t, whole, seq)
		lines := bytes.Split(raw[:end-1], []byte("\n"))
		require.Equal(t, journal.Hash(lines[whole-1]), head)

		require.NoError(t, j.Append(when, &journal.AgentSuspended{AgentID: "P01", Reason: "again"}))
		require.NoError(t, j.Close())
		again, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, string(raw[:end]), string(again[:end]), "complete lines stay")
		state, torn, err = openAndClose(t, path)
		require.NoError(t, err)
		require.Nil(t, torn)
		require.Equal(t, whole+1, state.Events)
	}
}

func openAndClose(t *testing.T, path string) (*journal.State, *appendfile.Torn, error) {
	t.Helper()
	j, state, torn, err := journalfile.Open(disk.Real{}, path, nil, "")
	if err == nil {
		require.NoError(t, j.Close())
	}
	return state, torn, err
}

// A flipped bit is damage of its line, in the last line too: a crash leaves no line feed.
func TestDamagedLineIsReportedAndFileStays(t *testing.T) {
	raw := written(t)
	lines := bytes.SplitAfter(raw, []byte("\n"))
	start := 0
	for number, line := range lines {
		for at := 0; at < len(line)-1; at += 5 {
			damaged := bytes.Clone(raw)
			damaged[start+at] ^= 1
			path := filepath.Join(t.TempDir(), "journal.jsonl")
			require.NoError(t, os.WriteFile(path, damaged, 0o600))
			_, _, err := openAndClose(t, path)
			var damage *journalfile.DamageError
			require.ErrorAs(t, err, &damage, "byte %d of line %d", at, number+1)
			require.Equal(t, path, damage.Path)
			require.Equal(t, number+1, damage.Line)
			require.NotEmpty(t, damage.Reason)
			after, err := os.ReadFile(path)
			require.NoError(t, err)
			require.True(t, bytes.Equal(damaged, after), "a damaged journal stays as it is")
		}
		start += len(line)
	}
}

// A journal without checksums is refused with one sentence.
func TestJournalOfAnEarlierVersionIsRefused(t *testing.T) {
	first, _, _ := bytes.Cut(written(t), []byte(`,"crc32c"`))
	_, _, _, _, err := journalfile.Replay("file", bytes.NewReader(append(first, "}\n"...)), nil)
	require.EqualError(t, err, "file line 1: an earlier version of evenodd wrote this folder, and this one does not read it: "+
		"begin a new league with --new-league, or use another folder")
}

func TestMissingOrMovedLineIsReported(t *testing.T) {
	raw := written(t)
	lines := bytes.SplitAfter(raw, []byte("\n"))
	without := bytes.Join(append(append([][]byte{}, lines[:4]...), lines[5:]...), nil)
	swapped := append([][]byte{}, lines...)
	swapped[4], swapped[5] = swapped[5], swapped[4]
	long := bytes.Join([][]byte{lines[0], bytes.Repeat([]byte("x"), appendfile.MaxLine+1<<17), []byte("\n")}, nil)
	last := len(lines) - 1 // behind the last line is an empty one
	changed := func(change func(e *journal.Event)) []byte {
		e, err := journalfile.ReadLine(last, bytes.TrimSpace(lines[last-1]))
		require.NoError(t, err)
		change(e)
		text, err := journal.Encode(e)
		require.NoError(t, err)
		return slices.Concat(bytes.Join(lines[:last-1], nil), appendfile.Seal(text), []byte("\n"))
	}
	unsealed, _, _ := bytes.Cut(raw, lines[last-1][bytes.LastIndex(lines[last-1], []byte(`,"crc32c"`)):])
	for name, tt := range map[string]struct {
		raw  []byte
		line int
	}{
		"a line without checksum":           {slices.Concat(unsealed, []byte("}\n")), last},
		"a line with the number of another": {changed(func(e *journal.Event) { e.Seq-- }), last},
		"a line after another one":          {changed(func(e *journal.Event) { e.Prev = journal.Origin }), last},
		"a line is missing":                 {without, 5},
		"two lines are swapped":             {bytes.Join(swapped, nil), 5},
		"the first is missing":              {bytes.Join(lines[1:], nil), 1},
		"a line is far too long":            {long, 2},
		"an empty line":                     {append(bytes.Clone(lines[0]), '\n'), 2},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, _, _, err := journalfile.Replay("file", bytes.NewReader(tt.raw), nil)
			var damage *journalfile.DamageError
			require.ErrorAs(t, err, &damage)
			assert.Equal(t, "file", damage.Path)
			assert.Equal(t, tt.line, damage.Line)
		})
	}
}

func TestSyncReturnsAfterTheEventIsInTheFile(t *testing.T) {
	j, path := begun(t)
	require.NoError(t, j.Append(when, events()[2]))
	const reporters, each = 64, 10
	var order sync.Mutex
	var reporting sync.WaitGroup
	for r := range reporters {
		reporting.Go(func() {
			for k := range each {
				reason := fmt.Sprintf("reporter %d event %d.", r, k)
				order.Lock()
				err := j.Append(when, &journal.AgentSuspended{AgentID: "P01", Reason: reason})
				seq, _ := j.Last()
				order.Unlock()
				if !assert.NoError(t, err) || !assert.NoError(t, j.Sync(seq)) {
					return
				}
				raw, err := os.ReadFile(path)
				assert.NoError(t, err)
				assert.Contains(t, string(raw), reason)
			}
		})
	}
	reporting.Wait()
	require.NoError(t, j.Close())
	state, torn, err := openAndClose(t, path)
	require.NoError(t, err)
	assert.Nil(t, torn)
	assert.Equal(t, 2+reporters*each, state.Events)
}

func TestCloseWritesQueuedEvents(t *testing.T) {
	j, path := begun(t)
	require.NoError(t, j.Close())
	require.NoError(t, j.Sync(1))
	require.NoError(t, j.Failed(), "a closed journal has not failed")
	require.ErrorContains(t, j.Append(when, events()[2]), "closed")
	require.ErrorContains(t, j.Sync(2), "closed", "the event was never queued")
	state, _, err := openAndClose(t, path)
	require.NoError(t, err)
	assert.Equal(t, 1, state.Events)
}

func TestCloseWakesCallersOfSync(t *testing.T) {
	j, _ := begun(t)
	var waiting sync.WaitGroup
	for range 8 {
		waiting.Go(func() { assert.ErrorContains(t, j.Sync(99), "closed") })
	}
	require.NoError(t, j.Close())
	waiting.Wait()
}

func TestPathThatIsNoJournalIsRejected(t *testing.T) {
	dir := t.TempDir()
	_, _, err := openAndClose(t, dir)
	require.Error(t, err)
	blocked := filepath.Join(dir, "file", "journal.jsonl")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	_, _, err = openAndClose(t, blocked)
	require.Error(t, err)
	deep := filepath.Join(dir, "a", "b", "c", "journal.jsonl")
	_, _, err = openAndClose(t, deep)
	require.NoError(t, err, "missing folders are created")
	if _, missing := os.Stat("/dev/full"); errors.Is(missing, fs.ErrNotExist) {
		return
	}
	_, _, err = openAndClose(t, "/dev/full") // endless zeros
	require.ErrorContains(t, err, "/dev/full: it is not a regular file")
}

// chained gives the lines of a text that are objects the hashes and checksums of a journal,
// which a fuzzer does not find.
func chained(raw []byte) (text []byte) {
	prev := journal.Origin
	for line := range bytes.Lines(raw) {
		whole, complete := bytes.CutSuffix(line, []byte("\n"))
		event := protocol.ParseObject(whole)
		if !complete || !event.Has("prev") {
			text = append(text, line...)
			continue
		}
		event.Drop("crc32c")
		event.Set("prev", protocol.Quote(prev))
		sealed := appendfile.Seal(event.Append(nil))
		prev, text = journal.Hash(sealed), append(append(text, sealed...), '\n')
	}
	return text
}

// FuzzReplay checks that no file makes Replay panic, and that the accepted lines give
// the same state again.
func FuzzReplay(f *testing.F) {
	raw := written(f)
	f.Add(raw)
	f.Add(raw[:len(raw)/2])
	f.Add([]byte("{}\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		raw = chained(raw)
		state, head, end, torn, err := journalfile.Replay("x", bytes.NewReader(raw), nil)
		if err != nil {
			var damage *journalfile.DamageError
			require.ErrorAs(t, err, &damage)
			require.Equal(t, bytes.Count(raw[:end], []byte("\n"))+1, damage.Line)
			return
		}
		require.Equal(t, len(raw), int(end)+torn)
		require.Equal(t, state.Events, bytes.Count(raw[:end], []byte("\n")))
		again, sameHead, _, _, err := journalfile.Replay("x", bytes.NewReader(raw[:end]), nil)
		require.NoError(t, err)
		require.Equal(t, head, sameHead)
		if state.TotalMatches() < 1000 { // larger states take too long to print
			require.Equal(t, textOf(t, state), textOf(t, again))
		}
	})
}

// BenchmarkAppendSync measures Append and Sync of an event. The floor is a write and a
// sync of the same bytes, by as many goroutines.
func BenchmarkAppendSync(b *testing.B) {
	event := reported()
	size := 0
	for line := range bytes.Lines(written(b)) {
		if bytes.Contains(line, []byte("match_reported")) {
			size = len(line)
		}
	}
	rate := func(b *testing.B) { b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s") }
	for _, reporters := range []int{1, 64} {
		b.Run(fmt.Sprintf("floor/%d", reporters), func(b *testing.B) {
			file, err := os.Create(filepath.Join(b.TempDir(), "floor"))
			require.NoError(b, err)
			defer file.Close()
			line := append(bytes.Repeat([]byte("x"), size-1), '\n')
			var mu sync.Mutex
			share(b, reporters, func() error {
				mu.Lock()
				defer mu.Unlock()
				_, err := file.Write(line)
				return errors.Join(err, file.Sync())
			})
			rate(b)
		})
		b.Run(fmt.Sprintf("journal/%d", reporters), func(b *testing.B) {
			j, _, _, err := journalfile.Open(disk.Real{}, filepath.Join(b.TempDir(), "journal.jsonl"), nil, "")
			require.NoError(b, err)
			var order sync.Mutex
			share(b, reporters, func() error {
				order.Lock()
				err := j.Append(when, event)
				seq, _ := j.Last()
				order.Unlock()
				return errors.Join(err, j.Sync(seq))
			})
			rate(b)
			require.NoError(b, j.Close())
		})
	}
}

// share does the work b.N times with a number of workers.
func share(b *testing.B, workers int, work func() error) {
	b.Helper()
	var left atomic.Int64
	left.Store(int64(b.N))
	b.ResetTimer()
	var working sync.WaitGroup
	for range workers {
		working.Go(func() {
			for left.Add(-1) >= 0 {
				if err := work(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	working.Wait()
	b.StopTimer()
}

// Reopened or not, a journal returns its lines from any number on.
func TestEventsAreLinesOfTheFile(t *testing.T) {
	raw := written(t)
	want := bytes.Split(bytes.TrimSuffix(raw, []byte("\n")), []byte("\n"))
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	const before = 5
	j, _, _, err := journalfile.Open(disk.Real{}, path, nil, "")
	require.NoError(t, err)
	for i, e := range events() {
		if i == before {
			require.NoError(t, j.Close())
			j, _, _, err = journalfile.Open(disk.Real{}, path, nil, "")
			require.NoError(t, err)
		}
		require.NoError(t, j.Append(when, e))
	}
	last, _ := j.Last()
	require.NoError(t, j.Sync(last))
	for from := 1; from <= last; from++ {
		for _, limit := range []int{1, 3, 100} {
			lines, newest, _, err := j.Read(from, limit)
			require.NoError(t, err)
			assert.Equal(t, last, newest)
			assert.Equal(t, want[from-1:min(last, from-1+limit)], lines, "%d from %d", limit, from)
		}
	}
	lines, _, more, err := j.Read(last+1, 1)
	require.NoError(t, err)
	assert.Empty(t, lines)
	require.NoError(t, j.Append(when, &journal.TailLost{Head: "h"}))
	<-more
	lines, _, _, err = j.Read(last+1, 1)
	require.NoError(t, err)
	assert.Len(t, lines, 1)
	_, _, more, err = j.Read(last+2, 1)
	require.NoError(t, err)
	require.NoError(t, j.Close())
	<-more
	_, _, _, err = j.Read(last+2, 1)
	require.ErrorContains(t, err, "closed")
}

func TestEventsAreLimitedInBytes(t *testing.T) {
	j, _ := begun(t)
	for range 3 {
		require.NoError(t, j.Append(when, &journal.TailLost{Head: string(bytes.Repeat([]byte("h"), 200<<10))}))
	}
	require.NoError(t, j.Sync(4))
	for from, want := range []int{1: 2, 2: 1, 3: 1, 4: 1} {
		if from > 0 {
			lines, _, _, err := j.Read(from, 100)
			require.NoError(t, err)
			assert.Len(t, lines, want, from)
		}
	}
	require.NoError(t, j.Close())
}
