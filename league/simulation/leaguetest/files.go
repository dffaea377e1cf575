package leaguetest

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/inspect/audit"
	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/store/disk"
	"evenodd/referee"
	"evenodd/rules"
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

func TempFolder(t *testing.T) store.Folder { return store.In(t.TempDir()) }

// UseMemory has the tests of this process use memory, but no benchmark: garbage is collected less often, and temporary
// files are in memory if the system has a file system with 1 GB of free space for them. Tests write thousands of
// files, and are about leagues, not about the disk. Setenv is os.Setenv.
func UseMemory(setenv func(name, value string) error) {
	if flag.Parse(); flag.Lookup("test.bench").Value.String() != "" {
		return
	}
	debug.SetGCPercent(400)   // a third less processor time
	_ = setenv("GOGC", "400") // for processes that the tests start
	const memory = "/dev/shm"
	mounts, _ := os.ReadFile("/proc/mounts")
	mounted := regexp.MustCompile(`(?m)^\S+ ` + memory + ` \S+ (\S+)`).FindSubmatch(mounts)
	if mounted == nil || bytes.Contains(mounted[1], []byte("noexec")) {
		return // tests also write programs
	}
	if free, err := disk.FreeSpace(memory); err == nil && free >= 1<<30 { // containers often have 64 MB
		_ = setenv("TMPDIR", memory)
	}
}

// MatchFiles returns the paths of the match files in a folder, relative to data/matches, with
// those that unacknowledged results will have, which only a log has.
func MatchFiles(t *testing.T, folder store.Folder) []string {
	t.Helper()
	names := []string{}
	err := fs.WalkDir(os.DirFS(folder.Path), "data/matches", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil //nolint:nilerr // no folder, no files
		}
		if !store.IsMatchLog(path) {
			names = append(names, strings.TrimPrefix(path, "data/matches/"))
			return nil
		}
		log, err := store.ReadMatchLog(folder.Disk, filepath.Join(folder.Path, path))
		require.NoError(t, err)
		require.Empty(t, log.Damage)
		for _, m := range log.Matches {
			if m.Lifecycle.State == protocol.StateFinished {
				names = append(names, fmt.Sprintf(LeagueID+"/%s-a%d.json", m.MatchID, m.Attempt))
			}
		}
		return nil
	})
	require.NoError(t, err)
	slices.Sort(names)
	return slices.Compact(names)
}

// LogUntilResult writes the log that the referee of a match had when it sent GAME_OVER.
func LogUntilResult(t *testing.T, folder store.Folder, doc *store.Match) {
	t.Helper()
	writeLog(t, folder, doc.RefereeID, []*store.Match{doc}, false)
}

// LogWhole writes the log that a referee had before the checkpoint that followed its matches.
func LogWhole(t *testing.T, folder store.Folder, refereeID string, docs []*store.Match) {
	t.Helper()
	writeLog(t, folder, refereeID, docs, true)
}

func writeLog(t *testing.T, folder store.Folder, refereeID string, docs []*store.Match, whole bool) {
	t.Helper()
	if len(docs) == 0 {
		return
	}
	log, _, _, err := store.OpenMatchLog(folder, docs[0].LeagueID, refereeID)
	require.NoError(t, err)
	for _, doc := range docs {
		finished := *doc
		finished.Transcript, finished.Lifecycle.State = doc.Transcript[:doc.Digested], protocol.StateFinished
		end := slices.IndexFunc(doc.Lifecycle.States, func(s store.StateEntry) bool { return s.State == protocol.StateFinished })
		finished.Lifecycle.States = doc.Lifecycle.States[:end+1]
		require.NoError(t, log.Append(&finished, true))
		if whole {
			require.NoError(t, log.Append(doc, true))
		}
	}
	require.NoError(t, log.Close())
}

// FirstMatchFile is the file of R1M1 as MatchFiles names it.
const FirstMatchFile = LeagueID + "/R1M1.json"

// AttemptFile is the name by which MatchFiles lists an attempt at R1M1 whose result does not count.
func AttemptFile(n int) string { return fmt.Sprintf(LeagueID+"/R1M1-a%d.json", n) }

// ReadMatchFile reads a match or an attempt that MatchFiles names.
func ReadMatchFile(t *testing.T, folder store.Folder, name string) *store.Match {
	t.Helper()
	doc, err := store.Read[store.Match](folder.Disk, filepath.Join(filepath.Dir(folder.Matches(LeagueID)), name))
	if err == nil {
		return doc
	}
	matchID, attempt, ok := store.ParseMatchFile(filepath.Base(name))
	require.True(t, ok, name)
	for _, log := range matchLogs(t, folder) {
		if m := log.Find(matchID, attempt); m != nil {
			return m.Match
		}
	}
	require.NoError(t, err)
	return nil
}

// matchLogs reads the logs of the referees.
func matchLogs(t *testing.T, folder store.Folder) (logs []*store.LoggedMatches) {
	t.Helper()
	paths, err := filepath.Glob(folder.MatchLog(LeagueID, "*"))
	require.NoError(t, err)
	for _, path := range paths {
		log, err := store.ReadMatchLog(folder.Disk, path)
		require.NoError(t, err)
		logs = append(logs, log)
	}
	return logs
}

var UpdateFlag = flag.Bool("update", false, "replace the golden files by what the tests get now")

// CloseAudited closes the files of the league and audits them.
func (x *ManagerRun) CloseAudited() *journal.State {
	x.World.T.Helper()
	require.NoError(x.World.T, x.CloseFiles())
	return x.World.CheckAudited(x.Folder)
}

// CheckAudited is CheckFiles, and the audit must have no findings.
func (w *World) CheckAudited(folder store.Folder) *journal.State {
	w.T.Helper()
	state := w.CheckFiles(folder)
	report, err := audit.Run(folder, audit.Options{Games: rules.NewRegistry(w.Game)})
	require.NoError(w.T, err)
	assert.Empty(w.T, report.Leagues[0].Findings)
	return state
}
