package conversations

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

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/journal/journalfile"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/rules"
	"evenodd/transport"
)

// A tenure is one life of the manager of a league that is kept in a folder. It
// can die at any event, as by a power cut: from then on it hears nothing and
// says nothing, whoever waits for its answer loses the connection, and its disk
// stays as it was.
type tenure struct {
	w       *world
	folder  store.Folder
	keep    *league.Files
	manager *league.Manager
	actor   *actor
	cancel  context.CancelFunc
	close   func() error  // of the keep, once
	over    chan struct{} // closed when Run has returned
	final   *protocol.LeagueCompleted
	failed  error

	fate   fate
	events atomic.Int64 // that it has recorded, with those of the lives before
	dead   atomic.Bool
	died   chan struct{} // closed when its fate is fulfilled
	disk   string        // what was on disk then
}

// A fate is the event at which a manager dies.
type fate struct {
	event int // by its number in the journal; 0 lets it live
	when  when
}

// How much of the world has heard of an event when the manager dies.
type when int

const (
	untold   when = iota // it is on disk, and nothing was said or done after it
	followed             // all that comes of it was said, until the next event
	powerCut             // the same, but the disk has what it has at that moment
)

func (x when) String() string { return [...]string{"untold", "followed", "power cut"}[x] }

// tenure opens the league in a folder and runs it, like startManager.
func (w *world) tenure(folder store.Folder, players, referees int, change ...func(*league.Options)) *tenure {
	w.t.Helper()
	return w.doomed(fate{}, folder, players, referees, change...)
}

// doomed is tenure with an end.
func (w *world) doomed(end fate, folder store.Folder, players, referees int, change ...func(*league.Options)) *tenure {
	w.t.Helper()
	x, o := w.accession(end, folder, players, referees, change...)
	require.NoError(w.t, x.reign(o))
	return x
}

// accession opens the league in a folder for a manager.
func (w *world) accession(end fate, folder store.Folder, players, referees int, change ...func(*league.Options)) (*tenure, league.Options) {
	w.t.Helper()
	keep, _, err := league.OpenFiles(folder, leagueID, false, time.Now)
	require.NoError(w.t, err)
	x := &tenure{
		w: w, folder: folder, keep: keep, close: sync.OnceValue(keep.Close), fate: end,
		over: make(chan struct{}), died: make(chan struct{}), disk: filepath.Join(w.t.TempDir(), "data"),
	}
	w.t.Cleanup(func() { _ = x.close() })
	x.events.Store(int64(keep.State.Events))
	o := league.Options{
		LeagueID: leagueID, GameType: w.game.Info().Type, Games: rules.NewRegistry(w.game),
		Players: players, Referees: referees, Timeouts: protocol.DefaultTimeouts(), Retry: protocol.DefaultRetryPolicy(),
		Secret: &w.secret, Files: keep, Caller: &mortalCaller{x, w.caller(theBoss, 64<<10)}, Log: w.log,
		Clock: protocol.NewClock(x.now, w.clock.Sleep),
	}
	for _, set := range change {
		set(&o)
	}
	return x, o
}

// reign makes the manager and runs it.
func (x *tenure) reign(o league.Options) (err error) {
	w := x.w
	ctx, cancel := context.WithCancel(w.life)
	x.cancel = cancel
	if x.manager, err = league.New(o); err != nil {
		cancel()
		return err
	}
	x.actor = newActor(theBoss, nil)
	x.actor.parts["it breaks connections"] = honestly
	mux := transport.NewMux(w.log)
	x.manager.Mount(mortalMux{mux, x})
	w.open(x.actor, mux)
	w.manager = x.manager
	w.running.Go(func() {
		defer close(x.over)
		x.final, x.failed = x.manager.Run(ctx)
	})
	return nil
}

// kill ends a manager at once, wherever it is.
func (x *tenure) kill() {
	x.w.t.Helper()
	x.dead.Store(true)
	x.cancel()
	x.actor.stop()
	<-x.over
	require.NoError(x.w.t, x.close())
}

// finish waits until the league is over, and what goes on beside it.
func (x *tenure) finish() *protocol.LeagueCompleted {
	x.w.t.Helper()
	<-x.over
	require.NoError(x.w.t, x.failed)
	synctest.Wait()
	return x.final
}

// now is the clock of a manager, which knows that an event is recorded by the
// question when that was.
func (x *tenure) now() time.Time {
	if !x.dead.Load() && recording() {
		n := int(x.events.Add(1))
		if x.fate.when != untold {
			n--
		}
		if n == x.fate.event && n > 0 {
			x.die()
		}
	}
	return x.w.clock.Now()
}

// recording tells whether its caller, a clock, was asked for the time of an
// event.
func recording() bool {
	var stack [8]uintptr
	frames := runtime.CallersFrames(stack[:runtime.Callers(3, stack[:])])
	asked, _ := frames.Next()
	asker, _ := frames.Next()
	return strings.HasSuffix(asked.Function, "(*Clock).Now") && strings.HasSuffix(asker.Function, "(*ledger).record")
}

// die fulfils a fate.
func (x *tenure) die() {
	if x.dead.Swap(true) {
		return
	}
	assert.NoError(x.w.t, copyLive(x.disk, x.data()))
	x.cancel()
	close(x.died)
}

// copyLive copies a folder to which files are being written. It leaves out files that
// disappear meanwhile: a document is written to a temporary file, which is renamed.
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

func (x *tenure) data() string { return filepath.Join(string(x.folder), "data") }

// bury takes a manager that died out of the world, and leaves its disk as it
// was.
func (x *tenure) bury() {
	t := x.w.t
	x.actor.stop()
	<-x.over
	require.NoError(t, x.close())
	lines := bytes.SplitAfter(journalOf(x.w, x.folder), []byte("\n"))
	require.NoError(t, os.RemoveAll(x.data()))
	require.NoError(t, os.CopyFS(x.data(), os.DirFS(x.disk)))
	if x.fate.when != powerCut {
		require.Greater(t, len(lines), x.fate.event)
		kept := bytes.Join(lines[:x.fate.event], nil)
		require.NoError(t, os.WriteFile(x.folder.Journal(leagueID), kept, 0o644))
	}
}

// A mortalMux is the mux of a manager that can die.
type mortalMux struct {
	*transport.Mux
	x *tenure
}

func (m mortalMux) Handle(method string, decode func([]byte) (any, error), handle func(context.Context, string, any) (any, error)) {
	m.Mux.Handle(method, decode, func(ctx context.Context, bearer string, params any) (any, error) {
		if m.x.dead.Load() {
			return nil, errHangUp
		}
		answer, err := handle(ctx, bearer, params)
		if m.x.dead.Load() {
			return nil, errHangUp
		}
		return answer, err
	})
}

// A mortalCaller is the carrier as a manager has it that can die.
type mortalCaller struct {
	x    *tenure
	next protocol.Caller
}

func (c *mortalCaller) Call(ctx context.Context, r protocol.CallRequest) (any, *protocol.CallTiming, error) {
	ctx, cancel := context.WithTimeout(ctx, r.Limit)
	defer cancel()
	if !c.x.dead.Load() {
		answer, timing, err := c.next.Call(ctx, r)
		if !c.x.dead.Load() {
			return answer, timing, err
		}
	}
	<-ctx.Done()
	return nil, nil, ctx.Err()
}

// meanwhile does something beside the story, which ends with it if it fails.
func (w *world) meanwhile(do func()) (done <-chan struct{}) {
	over := make(chan struct{})
	w.running.Go(func() {
		defer close(over)
		defer func() {
			if w.t.Failed() {
				w.end()
			}
		}()
		do()
	})
	return over
}

// often is how many calls of a method were made, to the given hosts or to all.
func (w *world) often(method string, to ...string) int { return len(w.said(method, to...)) }

func journalOf(w *world, folder store.Folder) []byte {
	w.t.Helper()
	text, err := os.ReadFile(folder.Journal(leagueID))
	require.NoError(w.t, err)
	return text
}

// fold is what the journal in a folder says, and the hashes of its lines.
func (w *world) fold(folder store.Folder) (*journal.State, map[string]bool) {
	w.t.Helper()
	text := journalOf(w, folder)
	hashes := map[string]bool{}
	_, torn, err := journalfile.Lines(bytes.NewReader(text), func(_ int, line []byte) error {
		hashes[journal.Hash(line)] = true
		return nil
	})
	require.NoError(w.t, err)
	require.Zero(w.t, torn)
	state, _, _, _, err := journalfile.Replay(folder.Journal(leagueID), bytes.NewReader(text), nil)
	require.NoError(w.t, err)
	return state, hashes
}

// kinds are the types of a journal's events, in order.
func (w *world) kinds(folder store.Folder) []string {
	w.t.Helper()
	var list []string
	for line := range bytes.Lines(journalOf(w, folder)) {
		list = append(list, read[struct {
			Type string `json:"type"`
		}](line).Type)
	}
	return list
}

// checkKept holds the files of a finished league and what was said of the
// journal against the journal.
func (w *world) checkKept(folder store.Folder) *journal.State {
	w.t.Helper()
	state, hashes := w.fold(folder)
	require.NotNil(w.t, state.Completed)
	assert.Equal(w.t, state.TotalMatches(), state.Recorded)
	standings, err := store.Read[store.Standings](folder.Standings(leagueID))
	require.NoError(w.t, err)
	assert.Equal(w.t, state.Standings(), standings.Standings)
	assert.Equal(w.t, []int{state.TotalRounds(), state.TotalMatches()}, []int{standings.RoundsCompleted, standings.Version})
	assert.Contains(w.t, hashes, standings.JournalHead)
	rounds, err := store.Read[store.Rounds](folder.Rounds(leagueID))
	require.NoError(w.t, err)
	assert.Equal(w.t, state.RoundRecords(), rounds.Rounds)
	for m := range state.Matches() {
		assert.FileExists(w.t, folder.Match(leagueID, m.Report.MatchID.String()))
	}
	for _, e := range append(w.said(protocol.NotifyRoundCompleted.Name), w.said(protocol.NotifyLeagueCompleted.Name)...) {
		assert.Contains(w.t, hashes, read[protocol.RoundCompleted](e.message).JournalHead, "%s to %s at %s", e.method, e.to, e.at)
	}
	return state
}
