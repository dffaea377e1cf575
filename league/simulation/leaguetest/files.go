package leaguetest

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/referee"
)

// NewRefereeWithFiles is NewReferee for a referee that writes match files to a folder.
func (w *World) NewRefereeWithFiles(id string, folder store.Folder, traits ...Option) *Agent {
	w.T.Helper()
	return w.RefereeWith(id, traits, func(o *referee.Options) { o.Folder = folder })
}

// RefereeWithFiles calls NewRefereeWithFiles and registers the referee.
func (w *World) RefereeWithFiles(id string, folder store.Folder, traits ...Option) *Agent {
	w.T.Helper()
	a := w.NewRefereeWithFiles(id, folder, traits...)
	require.NoError(w.T, a.Referee.Register(w.Context))
	return a
}

// StopReferee stops a referee like a process that receives SIGTERM.
func (a *Agent) StopReferee() {
	a.Referee.Close()
	a.Stop()
}

// HandOver assigns a match to a referee, which must accept it.
func (w *World) HandOver(manager, r *Agent, matchID string, attempt int) *protocol.MatchAssignmentAck {
	w.T.Helper()
	ack, err := w.Assign(manager, r, w.Assignment(matchID, attempt, r.ID))
	require.NoError(w.T, err)
	require.Equal(w.T, protocol.StatusAccepted, ack.Status, ack.Reason)
	return ack
}

// CaptureLog returns a buffer that receives all log lines from now on.
func (w *World) CaptureLog() *LogBuffer {
	buffer := &LogBuffer{}
	w.log = zerolog.New(buffer)
	return buffer
}

// Text returns the content of the buffer.
func (l *LogBuffer) Text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.String()
}

func TempFolder(t *testing.T) store.Folder { return store.Folder(t.TempDir()) }

// MemoryFolder is TempFolder in memory, if the system has such a file system with 1 GB of free
// space, for tests that write hundreds of folders: they are about the league, not the disk.
func MemoryFolder(t *testing.T) store.Folder {
	t.Helper()
	const memory = "/dev/shm"
	if free, err := store.FreeSpace(memory); err != nil || free < 1<<30 { // containers often have 64 MB
		return TempFolder(t)
	}
	folder, err := os.MkdirTemp(memory, "evenodd-test-") //nolint:usetesting // not in TMPDIR
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	return store.Folder(filepath.Clean(folder))
}

// MatchFiles returns the paths of the match files in a folder, relative to data/matches,
// and AttemptFile names of the attempts in results files that were not acknowledged.
func MatchFiles(t *testing.T, folder store.Folder) []string {
	t.Helper()
	names := []string{}
	err := fs.WalkDir(os.DirFS(string(folder)), "data/matches", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil //nolint:nilerr // no folder, no files
		}
		if !store.IsResults(path) {
			names = append(names, strings.TrimPrefix(path, "data/matches/"))
			return nil
		}
		x := openResults(t, filepath.Join(string(folder), path))
		for _, a := range x.Attempts {
			if a.State != store.StateAcknowledged {
				names = append(names, fmt.Sprintf(LeagueID+"/attempts/%s.a%d.%s.json", a.MatchID, a.Attempt, x.Header.RefereeID))
			}
		}
		return nil
	})
	require.NoError(t, err)
	slices.Sort(names)
	return names
}

// openResults opens a results file, which must be whole.
func openResults(t *testing.T, path string) *store.ResultsIndex {
	t.Helper()
	x, err := store.IndexResults(path)
	require.NoError(t, err)
	require.Empty(t, x.Damage)
	t.Cleanup(func() { _ = x.Close() })
	return x
}

// FirstMatchFile is the file of R1M1 as MatchFiles names it.
const FirstMatchFile = LeagueID + "/R1M1.json"

// AttemptFile is the name by which MatchFiles lists an unacknowledged attempt of REF01 at
// R1M1.
func AttemptFile(n int) string { return fmt.Sprintf(LeagueID+"/attempts/R1M1.a%d.REF01.json", n) }

// ReadMatchFile reads a match or an attempt that MatchFiles names, with its transcript.
func ReadMatchFile(t *testing.T, folder store.Folder, name string) *store.Match {
	t.Helper()
	attempt, isAttempt := strings.CutPrefix(name, LeagueID+"/attempts/")
	if !isAttempt {
		id := strings.TrimSuffix(filepath.Base(name), ".json")
		doc, err := folder.LoadMatch(LeagueID, id)
		require.NoError(t, err)
		doc.TranscriptFile = ""
		return doc
	}
	parts := strings.Split(attempt, ".")
	n, err := strconv.Atoi(parts[1][1:])
	require.NoError(t, err)
	doc, err := store.LoadAttempt(folder.Results(LeagueID, parts[2]), parts[0], n)
	require.NoError(t, err)
	return doc
}

var UpdateFlag = flag.Bool("update", false, "replace the golden files by what the tests get now")
