package leaguetest

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league/journal"
	"evenodd/league/journal/journalfile"
	"evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/store/appendfile"
	"evenodd/league/store/disk"
)

// A ManagerRun is one process life of a manager. With a data folder the manager can crash
// at any event, as in a power cut: it stops sending and handling calls, callers lose their
// connection, and its disk has the state of that moment.
type ManagerRun struct {
	World      *World
	Folder     store.Folder
	Files      *manager.Files
	Manager    *manager.Manager
	Agent      *Agent
	Cancel     context.CancelFunc
	CloseFiles func() error  // closes the files, once
	Done       chan struct{} // closed when Run has returned
	Final      *protocol.LeagueCompleted
	Err        error

	CrashPoint CrashPoint
	events     atomic.Int64 // number of recorded events, those of earlier runs included
	clock      *protocol.Clock
	Dead       atomic.Bool
	Died       chan struct{} // closed at the crash
	disk       string        // copy of the disk at the crash
}

// A CrashPoint is the event at which a manager crashes.
type CrashPoint struct {
	Event int // number of the event in the journal; 0 for no crash
	When  Moment
}

// What has happened since the event when the manager crashes.
type Moment int

const (
	BeforeTelling Moment = iota // the event is on disk; nothing followed
	AfterTelling                // all messages were sent that follow from the event
	PowerCut                    // the same, but the disk has only what was synced
)

func (x Moment) String() string { return [...]string{"untold", "followed", "power cut"}[x] }

// StartManagerIn opens the league in a folder and runs it, like StartManager.
func (w *World) StartManagerIn(folder store.Folder, players, referees int,
	change ...func(*manager.Options)) *ManagerRun {
	w.T.Helper()
	return w.StartMortalManager(CrashPoint{}, folder, players, referees, change...)
}

// StartMortalManager is StartManagerIn with a crash.
func (w *World) StartMortalManager(end CrashPoint, folder store.Folder, players, referees int,
	change ...func(*manager.Options)) *ManagerRun {
	w.T.Helper()
	x, o := w.OpenManager(end, folder, players, referees, change...)
	require.NoError(w.T, x.Start(o))
	return x
}

// OpenManager opens the league in a folder and returns the options of its manager.
func (w *World) OpenManager(end CrashPoint, folder store.Folder, players, referees int,
	change ...func(*manager.Options)) (*ManagerRun, manager.Options) {
	w.T.Helper()
	files, _, err := w.openFiles(folder)
	require.NoError(w.T, err)
	x := &ManagerRun{
		World: w, Agent: NewAgent(ManagerHost, w.ManagerTraits), Folder: folder, Files: files,
		CloseFiles: sync.OnceValue(files.Close),
		CrashPoint: end,
		Done:       make(chan struct{}), Died: make(chan struct{}), disk: filepath.Join(w.T.TempDir(), "data"),
	}
	x.Agent.Script["it breaks connections"] = Normally
	w.T.Cleanup(func() { _ = x.CloseFiles() })
	x.events.Store(int64(files.State.Events))
	mortal := func(o *manager.Options) {
		x.clock = o.Clock
		o.Files, o.Clock = files, protocol.NewClock(x.now, x.clock.Sleep)
		o.Caller = w.Pausing(x.Agent, &mortalCaller{x, w.Caller(ManagerHost, 64<<10)})
	}
	return x, w.managerOptions(x.Agent, players, referees, append([]func(*manager.Options){mortal}, change...))
}

func (w *World) openFiles(folder store.Folder) (files *manager.Files, archived string, err error) {
	if w.Shared == nil {
		return manager.OpenFiles(folder, LeagueID, false, nil)
	}
	return manager.OpenFiles(folder, LeagueID, false, w.Shared())
}

// Start creates the manager and runs it.
func (x *ManagerRun) Start(o manager.Options) (err error) {
	w := x.World
	ctx, cancel := context.WithCancel(w.Context)
	x.Cancel = cancel
	if x.Manager, err = manager.New(o); err != nil {
		cancel()
		return err
	}
	w.mount(x.Agent, func(mux protocol.Mux) { x.Manager.Mount(mortalMux{mux, x}) })
	w.Manager = x.Manager
	w.Background.Go(func() {
		defer close(x.Done)
		x.Final, x.Err = x.Manager.Run(ctx)
		w.Final = x.Final
	})
	return nil
}

// Kill ends a manager at once, at any point.
func (x *ManagerRun) Kill() {
	x.World.T.Helper()
	x.Dead.Store(true)
	x.Cancel()
	x.Agent.Stop()
	<-x.Done
	require.NoError(x.World.T, x.CloseFiles())
}

// Finish waits until the league is over and all agents are idle.
func (x *ManagerRun) Finish() *protocol.LeagueCompleted {
	x.World.T.Helper()
	<-x.Done
	require.NoError(x.World.T, x.Err)
	synctest.Wait()
	return x.Final
}

// now is the clock of a manager. A question for the time that comes from the recording of
// an event counts that event.
func (x *ManagerRun) now() time.Time {
	if !x.Dead.Load() && recording() {
		n := int(x.events.Add(1))
		if x.CrashPoint.When != BeforeTelling {
			n--
		}
		if n == x.CrashPoint.Event && n > 0 {
			x.die()
		}
	}
	return x.clock.Now()
}

// recording reports whether the caller of the clock records an event.
func recording() bool {
	var stack [8]uintptr
	frames := runtime.CallersFrames(stack[:runtime.Callers(3, stack[:])])
	asked, _ := frames.Next()
	asker, _ := frames.Next()
	return strings.HasSuffix(asked.Function, "(*Clock).Now") && strings.HasSuffix(asker.Function, "(*Manager).record")
}

// die crashes the manager.
func (x *ManagerRun) die() {
	if x.Dead.Swap(true) {
		return
	}
	assert.NoError(x.World.T, copyLive(x.disk, x.DataFolder()))
	x.Cancel()
	close(x.Died)
}

// copyLive copies a folder while files in it are written. It omits files that disappear
// meanwhile: a document is written to a temporary file, which is then renamed.
func copyLive(to, from string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		name, relative := filepath.Rel(from, path)
		if err = errors.Join(err, relative); err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, name), 0o755)
		}
		content, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return errors.Join(err, os.WriteFile(filepath.Join(to, name), content, 0o600))
	})
}

func (x *ManagerRun) DataFolder() string { return filepath.Join(x.Folder.Path, "data") }

// RestoreDisk removes a crashed manager from the network and restores its disk to the
// state of the crash.
func (x *ManagerRun) RestoreDisk() {
	t := x.World.T
	x.Agent.Stop()
	<-x.Done
	require.NoError(t, x.CloseFiles())
	lines := bytes.SplitAfter(ReadJournal(x.World, x.Folder), []byte("\n"))
	x.removeFiles(x.DataFolder(), x.writtenByOthers)
	x.removeFiles(x.disk, func(path string) bool {
		name, err := filepath.Rel(x.disk, path)
		require.NoError(t, err)
		_, there := os.Stat(filepath.Join(x.DataFolder(), name))
		return there != nil
	})
	require.NoError(t, os.CopyFS(x.DataFolder(), os.DirFS(x.disk)))
	if x.CrashPoint.When != PowerCut {
		require.Greater(t, len(lines), x.CrashPoint.Event)
		kept := bytes.Join(lines[:x.CrashPoint.Event], nil)
		require.NoError(t, os.WriteFile(x.Folder.Journal(LeagueID), kept, 0o644))
		return
	}
	paths := []string{x.Folder.Agents(LeagueID), x.Folder.Standings(LeagueID), x.Folder.Rounds(LeagueID)}
	for _, log := range matchLogs(t, x.Folder) {
		for _, m := range log.Matches { // no checkpoint has made their files durable
			paths = append(paths, x.Folder.Match(LeagueID, m.MatchID))
		}
	}
	for i, path := range paths {
		x.loseUnsynced(path, x.CrashPoint.Event/(1+3*i)%4)
	}
}

// loseUnsynced leaves of a derived file what a power cut may leave: all, a part, an empty
// file or none.
func (x *ManagerRun) loseUnsynced(path string, part int) {
	t := x.World.T
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	require.NoError(t, err)
	switch part {
	case 1:
		require.NoError(t, os.Truncate(path, info.Size()/2))
	case 2:
		require.NoError(t, os.Truncate(path, 0))
	case 3:
		require.NoError(t, os.Remove(path))
	}
}

// writtenByOthers tells whether a file is that of an agent that has not crashed.
func (x *ManagerRun) writtenByOthers(path string) bool {
	if store.IsMatchLog(path) {
		return true
	}
	if filepath.Dir(path) != x.Folder.Matches(LeagueID) && filepath.Base(filepath.Dir(path)) != LeagueID {
		return false
	}
	doc, err := store.Read[store.Match](disk.Real{}, path)
	return err == nil && doc.WrittenBy == store.WrittenByReferee
}

// removeFiles removes the files of a folder, except for some.
func (x *ManagerRun) removeFiles(folder string, except func(path string) bool) {
	require.NoError(x.World.T, filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || except(path) {
			return err
		}
		return os.Remove(path)
	}))
}

// A mortalMux is the mux of a manager that can crash.
type mortalMux struct {
	protocol.Mux
	x *ManagerRun
}

func (m mortalMux) Handle(method string, decode func([]byte) (any, error),
	handle func(context.Context, string, any) (any, error)) {
	m.Mux.Handle(method, decode, func(ctx context.Context, bearer string, params any) (any, error) {
		if m.x.Dead.Load() {
			return nil, ErrHangUp
		}
		answer, err := handle(ctx, bearer, params)
		if m.x.Dead.Load() {
			return nil, ErrHangUp
		}
		return answer, err
	})
}

// A mortalCaller is the caller of a manager that can crash.
type mortalCaller struct {
	x    *ManagerRun
	next protocol.Caller
}

func (c *mortalCaller) Call(ctx context.Context, r protocol.CallRequest) (any, *protocol.Timing, error) {
	ctx, cancel := context.WithTimeout(ctx, r.Limit)
	defer cancel()
	if !c.x.Dead.Load() {
		answer, timing, err := c.next.Call(ctx, r)
		if !c.x.Dead.Load() {
			return answer, timing, err
		}
	}
	<-ctx.Done()
	return nil, nil, ctx.Err()
}

// InBackground runs a function beside the scenario. If it fails the test, the scenario
// ends.
func (w *World) InBackground(do func()) (done <-chan struct{}) {
	over := make(chan struct{})
	w.Background.Go(func() {
		defer close(over)
		defer func() {
			if w.T.Failed() {
				w.Cancel()
			}
		}()
		do()
	})
	return over
}

// CountCalls returns the number of calls of a method, to the given hosts or to all.
func (w *World) CountCalls(method string, to ...string) int { return len(w.Calls(method, to...)) }

func ReadJournal(w *World, folder store.Folder) []byte {
	w.T.Helper()
	text, err := os.ReadFile(folder.Journal(LeagueID))
	require.NoError(w.T, err)
	return text
}

// Resealed gives all lines of a file that are objects the checksum of their bytes, as a forger
// does.
func Resealed(text []byte) []byte {
	var sealed []byte
	for line := range bytes.Lines(text) {
		if whole, ok := bytes.CutSuffix(line, []byte("}\n")); ok && len(whole) > 2 {
			line = append(appendfile.Seal(bytes.Clone(line[:len(line)-1])), '\n')
		}
		sealed = append(sealed, line...)
	}
	return sealed
}

// FoldJournal returns the state of the journal in a folder, and the hashes of its lines.
func (w *World) FoldJournal(folder store.Folder) (*journal.State, map[string]bool) {
	w.T.Helper()
	text := ReadJournal(w, folder)
	state, hashes, head := journal.NewState(), map[string]bool{}, journal.Origin
	_, torn, err := appendfile.Lines(bytes.NewReader(text), func(number int, line []byte) error {
		e, err := journalfile.ReadLine(number, line)
		if err == nil {
			err = errors.Join(e.Follows(number, head), state.Apply(e))
		}
		head = journal.Hash(line)
		hashes[head] = true
		return err
	})
	require.NoError(w.T, err)
	require.Zero(w.T, torn)
	return state, hashes
}

// EventTypes returns the types of the events in a journal, in order.
func (w *World) EventTypes(folder store.Folder) []string {
	w.T.Helper()
	var list []string
	for line := range bytes.Lines(ReadJournal(w, folder)) {
		list = append(list, Decode[struct {
			Type string `json:"type"`
		}](line).Type)
	}
	return list
}

// CheckFiles compares the files of a finished league, and what messages say about the
// journal, with the journal.
func (w *World) CheckFiles(folder store.Folder) *journal.State {
	w.T.Helper()
	state, hashes := w.FoldJournal(folder)
	require.NotNil(w.T, state.Completed)
	assert.Equal(w.T, state.TotalMatches(), state.Recorded)
	standings, err := store.Read[store.Standings](folder.Disk, folder.Standings(LeagueID))
	require.NoError(w.T, err)
	assert.JSONEq(w.T, string(Encode(state.Standings())), string(Encode(standings.Standings)))
	assert.Equal(w.T, []int{state.TotalRounds(), state.TotalMatches()},
		[]int{standings.RoundsCompleted, standings.Version})
	assert.Contains(w.T, hashes, standings.JournalHead)
	rounds, err := store.Read[store.Rounds](folder.Disk, folder.Rounds(LeagueID))
	require.NoError(w.T, err)
	assert.Equal(w.T, state.RoundRecords(), rounds.Rounds)
	assert.Equal(w.T, state.TotalRounds(), rounds.TotalRounds)
	agents, err := store.Read[store.Agents](folder.Disk, folder.Agents(LeagueID))
	require.NoError(w.T, err)
	referees, players := state.AgentRecords()
	assert.Equal(w.T, [][]store.Agent{referees, players}, [][]store.Agent{agents.Referees, agents.Players})
	for _, m := range state.Matches() {
		assert.FileExists(w.T, folder.Match(LeagueID, m.Report.MatchID.String()))
	}
	for _, e := range append(w.Calls(protocol.NotifyRoundCompleted.Name),
		w.Calls(protocol.NotifyLeagueCompleted.Name)...) {
		assert.Contains(w.T, hashes, Decode[protocol.RoundCompleted](e.Message).JournalHead, "%s to %s at %s", e.Method, e.To,
			e.At)
	}
	return state
}
