package manager

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"evenodd/league/journal"
	"evenodd/league/journal/journalfile"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/store/appendfile"
)

// Files are the data folder of one league with its journal open. The league is locked,
// so that no other manager runs it.
type Files struct {
	Folder store.Folder
	State  *journal.State   // the fold of the journal
	Torn   *appendfile.Torn // the incomplete end that was cut off the journal; usually nil

	journal *journalfile.File
	results *store.ResultsFiles
	secret  [32]byte
	unlock  func() error
	started string // the hash of the event that started the league; "" before
	ended   string // the hash of the event that completed the last round; "" before
	lost    string // the head that standings.json names and the journal does not have; usually ""
}

// OpenFiles opens a league in a folder, or begins one there. Fresh first moves an
// existing league into the archive; archived is its new path. The errors name the file
// and what to do: the league is locked (*store.LockedError), the journal is damaged
// (*journalfile.DamageError), a file cannot be read or written.
func OpenFiles(folder store.Folder, leagueID string, fresh bool, now func() time.Time) (f *Files, archived string, err error) {
	unlock, err := folder.Lock(leagueID)
	if err != nil {
		return nil, "", err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, unlock())
		}
	}()
	if fresh {
		if archived, err = archive(folder, leagueID, now()); err != nil {
			return nil, archived, fmt.Errorf("cannot move the old league to the archive: %w", err)
		}
	}
	known, err := store.Read[store.Standings](folder.Standings(leagueID))
	if err != nil || known.LeagueID != leagueID {
		known = &store.Standings{} // the manager writes it again
	}
	f = &Files{Folder: folder, results: folder.NewResultsFiles(leagueID), unlock: unlock, lost: known.JournalHead}
	f.journal, f.State, f.Torn, err = journalfile.Open(folder.Journal(leagueID), func(_ int, e *journal.Event, hash string, _ int64) {
		switch e.Data.(type) {
		case *journal.Started:
			f.started = hash
		case *journal.RoundCompleted:
			f.ended = hash
		}
		if hash == f.lost {
			f.lost = ""
		}
	})
	if errors.Is(err, appendfile.ErrInUse) {
		err = &store.LockedError{Path: folder.Journal(leagueID)}
	}
	if err != nil {
		return nil, archived, err
	}
	if err = f.checkTraces(leagueID); err == nil {
		f.secret, err = folder.Secret(leagueID, f.State.Created != nil)
	}
	if err != nil {
		return nil, archived, errors.Join(err, f.journal.Close())
	}
	return f, archived, nil
}

// archive moves a league into the archive, unless another manager has its journal open: one
// whose lock file was removed.
func archive(folder store.Folder, leagueID string, now time.Time) (archived string, err error) {
	running, err := appendfile.InUse(folder.Journal(leagueID))
	if running {
		err = &store.LockedError{Path: folder.Journal(leagueID)}
	}
	if err != nil {
		return "", err
	}
	return folder.Archive(leagueID, journalfile.FormatTime(now))
}

// checkTraces returns an error when the journal is missing while other files of its
// league are there: a new journal would hide the loss.
func (f *Files) checkTraces(leagueID string) error {
	traces := f.Folder.LeagueFiles(leagueID)
	if f.State.Events > 0 || len(traces) == 0 {
		return nil
	}
	return fmt.Errorf("%s has no event, but there is %s: restore the journal, or begin again with --new-league",
		f.Folder.Journal(leagueID), strings.Join(traces, " and "))
}

// LostTail tells whether the journal lacks events at its end that standings.json knows
// to have been on disk. A crash does not cause that. The league resumes without them.
func (f *Files) LostTail() bool { return f.lost != "" }

// Failed waits until the journal cannot be written any more, and returns the reason, or
// until it is closed, and returns nil. Without files it returns nil at once.
func (f *Files) Failed() error {
	if f == nil {
		return nil
	}
	return f.journal.Failed()
}

// Close writes the queued events and unlocks the league. An error means that events may be
// missing in the file, or that the league stays locked.
func (f *Files) Close() error { return errors.Join(f.journal.Close(), f.unlock()) }

// documents are the files that derive from a league's state, as of one moment. Rounds has
// no rounds: completed is their number.
type documents struct {
	agents    *store.Agents
	standings *store.Standings // nil before the start
	rounds    *store.Rounds
	completed int
}

// documentsOf makes the documents of a state. Head is the journal's.
func documentsOf(s *journal.State, leagueID, head, now string) (d documents) {
	d.agents = &store.Agents{SchemaVersion: store.SchemaVersion, LastUpdated: now, LeagueID: leagueID}
	d.agents.Referees, d.agents.Players = s.AgentRecords()
	d.rounds = &store.Rounds{SchemaVersion: store.SchemaVersion, LastUpdated: now, LeagueID: leagueID, TotalRounds: s.TotalRounds()}
	d.completed = s.CompletedRounds()
	if s.Started != nil {
		d.standings = &store.Standings{
			SchemaVersion: store.SchemaVersion, LastUpdated: now, LeagueID: leagueID, Version: s.Recorded,
			RoundsCompleted: d.completed, JournalHead: head, Standings: s.Standings(),
		}
	}
	return d
}

// A fileWriter writes the files that derive from the journal for others to read:
// agents.json, standings.json, rounds.json, and the files of matches whose referee
// writes none. After a crash the derived files may be older than the journal, incomplete
// or missing; the next manager writes them again. An error is logged and does not stop
// the league, because the journal has everything. Safe for concurrent use. A nil
// *fileWriter writes nothing.
//
// At the end of the league, Manager.FinishFiles reports the files that are not written.
type fileWriter struct {
	*Files
	leagueID string
	log      zerolog.Logger
	current  func() (documents, error) // returns when the events that the documents show are on disk
	round    func(int) *store.Round    // a completed round
	failures sync.Map                  // the error of each file that could not be written, by path

	stale  chan struct{} // tells that the files are out of date
	mu     sync.Mutex    // held while writing, so that an older state never replaces a newer one
	agents *store.Agents // the content of agents.json; nil if that is not known
	head   string        // in standings.json; "" if it is not known
	rounds [3]int        // the numbers of completed rounds and of all rounds in rounds.json, and of corrections; negative if they are not known

	corrections atomic.Int32 // of results of completed rounds, in this process
}

// The pause between two writes of the derived files is at least writePause, and
// pauseFactor times what the last write took: writing takes at most a twentieth of the
// time, however large the league is.
const (
	writePause  = 200 * time.Millisecond
	pauseFactor = 20
)

// prepare returns the writer w with its inner state. It writes the files of a league that
// resumes soon, because a crash may have damaged them.
func (w *fileWriter) prepare() *fileWriter {
	w.rounds, w.stale = [3]int{-1, -1}, make(chan struct{}, 1)
	if w.State.Events > 0 && w.State.Completed == nil {
		w.stale <- struct{}{}
	}
	return w
}

// changed has the derived files written soon, if an event changes them.
func (w *fileWriter) changed(d journal.Data) {
	if w == nil {
		return
	}
	switch d.(type) {
	case *journal.AgentRegistered, *journal.AgentAnswered, *journal.RegistrationDropped, *journal.AgentReturned,
		*journal.AgentSuspended, *journal.AgentShutdown, *journal.AgentInformed,
		*journal.AgentHeld, *journal.AgentReadmitted, *journal.AgentWithdrawn, *journal.MatchReopened, *journal.MatchRuled,
		*journal.Started, *journal.MatchReported, *journal.MatchForfeited, *journal.RoundCompleted:
	default:
		return
	}
	select {
	case w.stale <- struct{}{}:
	default: // they are written anyway
	}
}

// correct has rounds.json written again, because a result in it has changed.
func (w *fileWriter) correct() {
	if w == nil {
		return
	}
	w.corrections.Add(1)
	select {
	case w.stale <- struct{}{}:
	default: // they are written anyway
	}
}

// run writes the derived files after changes, until ctx ends.
func (w *fileWriter) run(ctx context.Context) {
	if w == nil {
		return
	}
	for ctx.Err() == nil {
		select {
		case <-w.stale:
			began := time.Now()
			w.write()
			wait(ctx, max(writePause, pauseFactor*time.Since(began)))
		case <-ctx.Done():
		}
	}
	w.finish()
}

// finish writes the files if they are out of date. In a league that signs, the signed head
// covers the last event.
func (w *fileWriter) finish() {
	if w == nil {
		return
	}
	var stale bool
	select {
	case <-w.stale:
		stale = true
	default:
		w.mu.Lock()
		d, err := w.current()
		stale = err == nil && d.standings != nil && d.standings.JournalHeadSignature != "" && d.standings.JournalHead != w.head
		w.mu.Unlock()
	}
	if stale {
		w.write()
	}
}

// wait waits, until ctx ends.
func wait(ctx context.Context, d time.Duration) {
	pause := time.NewTimer(d)
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-ctx.Done():
	}
}

// write writes the derived files that differ from those that this manager wrote last.
func (w *fileWriter) write() {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	corrections := int(w.corrections.Load())
	d, err := w.current()
	if err != nil {
		return // files never run ahead of the journal
	}
	if w.agents == nil || !sameAgents(w.agents, d.agents) {
		path := w.Folder.Agents(w.leagueID)
		if w.written(path, store.WriteDerived(path, d.agents)) {
			w.agents = d.agents
		}
	}
	if d.standings != nil {
		path := w.Folder.Standings(w.leagueID)
		if w.written(path, store.WriteDerived(path, d.standings)) {
			w.head = d.standings.JournalHead
		}
	}
	if rounds := [3]int{d.completed, d.rounds.TotalRounds, corrections}; w.rounds != rounds {
		path := w.Folder.Rounds(w.leagueID)
		if w.written(path, store.WriteRounds(path, d.rounds, w.allRounds(d.completed))) {
			w.rounds = rounds
		}
	}
}

// allRounds yields the first rounds. The manager holds its lock for one at a time.
func (w *fileWriter) allRounds(count int) iter.Seq[*store.Round] {
	return func(yield func(*store.Round) bool) {
		for i := 1; i <= count && yield(w.round(i)); i++ {
		}
	}
}

// written remembers and logs the error of a write, and tells whether there is none.
func (w *fileWriter) written(path string, err error) bool {
	w.remember(path, err)
	if err != nil {
		w.log.Error().Err(err).Str("file", path).
			Str("event_type", protocol.EventFileNotWritten).Msg("a file could not be written; the journal has what belongs in it, and the next start or result writes it again")
	}
	return err == nil
}

// remember remembers the error of a write, nil for none, until the file is written.
func (w *fileWriter) remember(path string, err error) {
	if err == nil {
		w.failures.Delete(path)
		return
	}
	w.failures.Store(path, err)
}

// failure returns an error that names the files that are not written, with the first reason.
func (w *fileWriter) failure() error {
	reasons := map[string]error{}
	w.failures.Range(func(path, err any) bool {
		reasons[path.(string)] = err.(error)
		return true
	})
	if len(reasons) == 0 {
		return nil
	}
	paths := slices.Sorted(maps.Keys(reasons))
	return fmt.Errorf("cannot write %s: %w. The journal has all that belongs in them: repair the disk and run the same command again",
		strings.Join(paths, ", "), reasons[paths[0]])
}

// FinishFiles writes the files again that could not be written so far, at the end of Run. It
// returns why files are still missing or older than the journal.
func (m *Manager) FinishFiles() error {
	w := m.files
	if w == nil || w.failure() == nil {
		return nil
	}
	m.mu.Lock()
	announced := m.state.Round
	m.mu.Unlock()
	m.writeMatches(1, announced, false)
	w.write()
	return w.failure()
}

// upToDate tells whether the files on disk are those of the state.
func (w *fileWriter) upToDate() bool {
	if w == nil {
		return true
	}
	agents, errAgents := store.Read[store.Agents](w.Folder.Agents(w.leagueID))
	standings, errStandings := store.Read[store.Standings](w.Folder.Standings(w.leagueID))
	rounds, errRounds := store.Read[store.Rounds](w.Folder.Rounds(w.leagueID))
	d, err := w.current()
	if errors.Join(errAgents, errStandings, errRounds, err) != nil || w.LostTail() ||
		len(rounds.Rounds) != d.completed || rounds.TotalRounds != d.rounds.TotalRounds {
		return false
	}
	for i := range rounds.Rounds {
		if !reflect.DeepEqual(&rounds.Rounds[i], w.round(i+1)) {
			return false
		}
	}
	w.mu.Lock()
	w.head = standings.JournalHead
	w.mu.Unlock()
	return sameAgents(agents, d.agents) && reflect.DeepEqual(standings.Standings, d.standings.Standings) &&
		standings.JournalHead != "" && standings.Version == d.standings.Version && standings.RoundsCompleted == d.completed
}

func sameAgents(a, b *store.Agents) bool {
	return reflect.DeepEqual(a.Players, b.Players) && reflect.DeepEqual(a.Referees, b.Referees)
}
