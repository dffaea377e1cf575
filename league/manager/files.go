package manager

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"evenodd/league/journal"
	"evenodd/league/journal/journalfile"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/store/appendfile"
	"evenodd/league/store/disk"
)

// Files are the data folder of one league with its journal open. The league is locked,
// so that no other manager runs it.
type Files struct {
	Folder store.Folder
	State  *journal.State   // the fold of the journal
	Torn   *appendfile.Torn // the incomplete end that was cut off the journal; usually nil

	journal *journalfile.File
	secret  [32]byte
	unlock  func() error
	started string // the hash of the event that started the league; "" before
	ended   string // the hash of the event that completed the last round; "" before
	at      string // when the last event was recorded
	lost    string // the head that standings.json names and the journal does not have; usually ""
	nonce   string // from which the secret follows; "" if the folder has it
}

// Shared is what the managers of a league have in common, each with a folder of its own.
type Shared struct {
	Stream journalfile.Stream    // the journal, of which the folder has a copy
	Master protocol.MasterSecret // the secret of the league follows from it
}

// OpenFiles opens a league in a folder, or begins one there. Fresh first moves an
// existing league into the archive; archived is its new path. The errors name the file
// and what to do: the league is locked (*store.LockedError), the journal is damaged
// (*journalfile.DamageError), a file cannot be read or written.
//
// With shared, the journal of the league is in a stream. A journal in the folder that is not the beginning of that in
// the stream goes to the archive with the league.
func OpenFiles(folder store.Folder, leagueID string, fresh bool, shared *Shared) (f *Files, archived string,
	err error) {
	f, archived, err = openFiles(folder, leagueID, fresh, shared)
	if errors.Is(err, journalfile.ErrDiverged) && !fresh {
		f, archived, err = openFiles(folder, leagueID, true, shared)
	}
	return f, archived, err
}

func openFiles(folder store.Folder, leagueID string, fresh bool, shared *Shared) (f *Files, archived string,
	err error) {
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
		if archived, err = archive(folder, leagueID); err != nil {
			return nil, archived, fmt.Errorf("cannot move the old league to the archive: %w", err)
		}
	}
	known, err := store.Read[store.Standings](folder.Disk, folder.Standings(leagueID))
	if err != nil || known.LeagueID != leagueID {
		known = &store.Standings{} // the manager writes it again
	}
	f = &Files{Folder: folder, unlock: unlock, lost: known.JournalHead}
	if shared == nil {
		f.journal, f.State, f.Torn, err = journalfile.Open(folder.Disk, folder.Journal(leagueID), f.visit, f.lost)
	} else {
		f.journal, f.State, f.Torn, err = journalfile.OpenCopy(folder.Disk, folder.Journal(leagueID), shared.Stream, f.visit)
	}
	if errors.Is(err, disk.ErrInUse) {
		err = &store.LockedError{Path: folder.Journal(leagueID)}
	}
	if damage, is := errors.AsType[*journalfile.DamageError](err); is && damage.Reason != appendfile.ErrEarlier.Error() {
		err = fmt.Errorf("%w. Restore a copy of the file, or begin again with --new-league", err)
	}
	if err != nil {
		return nil, archived, err
	}
	if shared != nil {
		err = f.deriveSecret(leagueID, &shared.Master)
	} else if created := f.State.Created; created != nil && created.SecretNonce != "" {
		err = errors.New("the journal of this league is in NATS: continue it with --journal nats, or begin with --new-league")
	} else if err = f.checkTraces(leagueID); err == nil {
		f.secret, err = folder.Secret(leagueID, f.State.Created != nil)
	}
	if err != nil {
		return nil, archived, errors.Join(err, f.journal.Close())
	}
	return f, archived, nil
}

// visit notes what New needs of an event.
func (f *Files) visit(e *journal.Event, hash string) {
	f.at = e.At
	switch e.Data.(type) {
	case *journal.Started:
		f.started = hash
	case *journal.RoundCompleted:
		f.ended = hash
	}
	if hash == f.lost {
		f.lost = ""
	}
}

// deriveSecret derives the secret of the league, with a new nonce for a new league.
func (f *Files) deriveSecret(leagueID string, master *protocol.MasterSecret) (err error) {
	if f.State.Created != nil {
		f.nonce = f.State.Created.SecretNonce
	} else {
		f.nonce = master.NewNonce(leagueID)
	}
	f.secret, err = master.Secret(leagueID, f.nonce)
	return err
}

// CatchUp adds the events to the copy of a stream and its fold that another manager has appended since, and returns
// their number. It is for a manager that waits: after New it is an error.
func (f *Files) CatchUp() (added int, err error) { return f.journal.CatchUp() }

// Archive moves a league of a folder to the archive, and returns its new path. The error is *store.LockedError if
// another process runs the league.
func Archive(folder store.Folder, leagueID string) (archived string, err error) {
	unlock, err := folder.Lock(leagueID)
	if err != nil {
		return "", err
	}
	archived, err = archive(folder, leagueID)
	return archived, errors.Join(err, unlock())
}

// archive moves a league into the archive, unless another manager has its journal open: one
// whose lock file was removed.
func archive(folder store.Folder, leagueID string) (archived string, err error) {
	running, err := appendfile.InUse(folder.Disk, folder.Journal(leagueID))
	if running {
		err = &store.LockedError{Path: folder.Journal(leagueID)}
	}
	if err != nil && !errors.Is(err, errors.ErrUnsupported) { // the lock file protects the league
		return "", err
	}
	return folder.Archive(leagueID, journalfile.FormatTime(protocol.SystemClock().Now()))
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

// Fail ends the manager with an error: it may not lead its league any more.
func (f *Files) Fail(err error) { f.journal.Fail(err) }

// Close writes the queued events and unlocks the league. An error means that events may be
// missing in the file, or that the league stays locked.
func (f *Files) Close() error { return errors.Join(f.journal.Close(), f.unlock()) }

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
	m        *Manager
	failures sync.Map // the error of each file that could not be written, by path

	stale chan struct{} // tells that the files are out of date
	mu    sync.Mutex    // held while writing, so that an older state never replaces a newer one
}

// The pause between two writes of the derived files is at least writePause, and
// pauseFactor times what the last write took: writing takes at most a twentieth of the
// time, however large the league is.
const (
	writePause  = 200 * time.Millisecond
	pauseFactor = 20
)

// changed has the derived files written soon, if an event changes them.
func (w *fileWriter) changed(d journal.Data) {
	if journal.StaleBy(d)&(journal.StaleAgents|journal.StaleStandings|journal.StaleRounds) != 0 {
		w.refresh()
	}
}

// refresh has the derived files written soon.
func (w *fileWriter) refresh() {
	if w != nil {
		signal(w.stale)
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
			// an error is the end of ctx, which the loop sees
			_ = protocol.SystemClock().Sleep(ctx, max(writePause, pauseFactor*time.Since(began)))
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
	select {
	case <-w.stale:
		w.write()
	default:
		if w.State.Created.Signs() {
			w.write()
		}
	}
}

// write writes the derived files.
func (w *fileWriter) write() {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	m := w.m
	m.mu.Lock()
	at, _ := protocol.ParseTimestamp(cmp.Or(m.recordedAt, w.at)) // so that a manager which records nothing changes nothing
	s, id, head, now := m.state, m.options.LeagueID, m.head(), protocol.FormatTimestamp(at)
	header := store.DerivedHeader{Header: store.NewHeader(now), LeagueID: id, JournalHead: head}
	agents := &store.Agents{DerivedHeader: header}
	agents.Referees, agents.Players = s.AgentRecords()
	completed, revised := s.CompletedRounds(), s.Revised
	rounds := &store.Rounds{DerivedHeader: header, TotalRounds: s.TotalRounds()}
	var standings *store.Standings
	if s.Started != nil {
		standings = &store.Standings{
			DerivedHeader: header, Version: s.Recorded, RoundsCompleted: completed, Standings: s.Standings(),
			JournalHeadSignature: m.options.signHead(head),
		}
	}
	m.mu.Unlock()
	if m.durable() != nil {
		return // files never run ahead of the journal
	}
	path := w.Folder.Agents(id)
	w.written(path, store.WriteDerived(w.Folder.Disk, path, agents))
	path = w.Folder.Rounds(id)
	err := store.WriteRounds(w.Folder.Disk, path, rounds, completed, func(number int) (*store.Round, error) {
		m.mu.Lock() // for one at a time
		defer m.mu.Unlock()
		if s.Revised != revised {
			return nil, errRevised
		}
		return s.RoundRecord(number), nil
	})
	if !errors.Is(err, errRevised) {
		w.written(path, err)
	}
	if standings != nil {
		path = w.Folder.Standings(id)
		w.written(path, store.WriteDerived(w.Folder.Disk, path, standings))
	}
}

// errRevised ends the writing of rounds.json: a result has changed after the event that the file names.
// The file is written again because of the event that changed it.
var errRevised = errors.New("a result of an earlier round has changed")

// written remembers the error of a write, nil for none, until the file is written, and logs it.
func (w *fileWriter) written(path string, err error) {
	if err == nil {
		w.failures.Delete(path)
		return
	}
	w.failures.Store(path, err)
	w.m.log.Error().Err(err).Str("file", path).Str("event_type", "FILE_NOT_WRITTEN").Msg(
		"a file could not be written; the journal has what belongs in it, and the next start or result writes it again")
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
	return fmt.Errorf(
		"cannot write %s: %w. The journal has all that belongs in them: repair the disk and run the same command again",
		strings.Join(paths, ", "), reasons[paths[0]])
}

// FinishFiles writes the files again that could not be written so far, at the end of Run. It
// returns why files are still missing or older than the journal.
func (m *Manager) FinishFiles() error {
	w := m.files
	if w == nil || w.failure() == nil {
		return nil
	}
	m.writeMatches(1, locked(m, func() int { return m.state.Round }), false)
	w.write()
	return w.failure()
}
