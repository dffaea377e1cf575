package store

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"evenodd/league/protocol"
	"evenodd/league/store/appendfile"
	"evenodd/league/store/atomicfile"
	"evenodd/league/store/disk"
)

// The write-ahead log of a referee has the attempts that it has played since the last checkpoint.
// An attempt is durable there before any other agent hears of its result. The files of attempts
// are written without syncs; a checkpoint makes them durable and shortens the log.

const logEnd = ".wal.jsonl"

// MatchLog is the path of the write-ahead log of a referee.
func (f Folder) MatchLog(leagueID, refereeID string) string {
	return filepath.Join(f.Matches(leagueID), refereeID+logEnd)
}

// IsMatchLog tells whether a name is that of a write-ahead log.
func IsMatchLog(name string) bool { return strings.HasSuffix(name, logEnd) }

// A LogHeader is the first line of a log.
type LogHeader struct {
	Header
	LeagueID  string `json:"league_id"`
	RefereeID string `json:"referee_id"`
}

// A logLine is any other line: an attempt, without the exchanges that its earlier lines have.
type logLine struct {
	After int `json:"after,omitzero"` // exchanges in the earlier lines
	*Match
}

// A LoggedMatch is an attempt in a log.
type LoggedMatch struct {
	*Match
	Line int // of its first line
}

// LoggedMatches are the attempts in a log.
type LoggedMatches struct {
	Header  LogHeader // zero if the log is empty
	Matches []*LoggedMatch
	Damage  []*LineError // lines that have no attempt, or another result of one
	Unknown []*LineError // lines with members that this program does not know
	Torn    int          // bytes of an incomplete last line
	index   map[string]*LoggedMatch
}

// Find returns an attempt; nil for none.
func (l *LoggedMatches) Find(matchID string, attempt int) *LoggedMatch {
	return l.index[logKey(matchID, attempt)]
}

func logKey(matchID string, attempt int) string { return fmt.Sprintf("%s-a%d", matchID, attempt) }

// ReadMatchLog reads a log. A damaged line is no error: see Damage. A log whose first line is
// damaged is an error.
func ReadMatchLog(d disk.Disk, path string) (*LoggedMatches, error) {
	l := &LoggedMatches{index: map[string]*LoggedMatch{}}
	var err error
	var unknown []*LineError
	unknown, l.Damage, l.Torn, err = readLines(d, path, &l.Header, l.add)
	l.Unknown = append(unknown, l.Unknown...)
	return l, err
}

// ErrContradiction is the error of a whole line that contradicts an earlier one.
var ErrContradiction = errors.New("another result or nonce here than")

// add adds the line of an attempt. A referee that was stopped may play an attempt again that had
// no result: the last one counts.
func (l *LoggedMatches) add(number int, text []byte) error {
	next := logLine{Match: new(Match)}
	unknown, err := readLine(text, &next)
	if err != nil {
		return err
	}
	if unknown != nil {
		l.Unknown = append(l.Unknown, &LineError{number, unknown})
	}
	key := logKey(next.MatchID, next.Attempt)
	known := l.index[key]
	switch {
	case known == nil && next.After > 0 || known != nil && next.After > len(known.Transcript):
		return errors.New("an attempt continues, but does not begin")
	case known == nil:
		known = &LoggedMatch{next.Match, number}
		l.Matches, l.index[key] = append(l.Matches, known), known
		return nil
	}
	if known.Contradicts(next.Match) {
		err = fmt.Errorf("attempt %d at %s has %w in line %d", next.Attempt, next.MatchID, ErrContradiction, known.Line)
	}
	next.Transcript = append(known.Transcript[:next.After:next.After], next.Transcript...)
	known.Match = next.Match
	return err
}

// maxLog is the size in bytes above which a log needs a checkpoint.
const maxLog = 16 << 20

// A MatchLog is the write-ahead log of a referee, with the files of its attempts. It is safe for
// concurrent use.
type MatchLog struct {
	folder Folder
	path   string
	header LogHeader
	syncer syncer

	mu       sync.Mutex
	file     *appendfile.File // nil after a failure, until the next line
	size     int64
	open     map[string]int  // exchanges in the log, of attempts whose file is not written
	written  map[string]bool // attempts whose file is written since the last checkpoint
	failed   bool            // the last checkpoint failed: their files are written again
	checking bool
}

// OpenMatchLog opens the log of a referee, or creates it. It writes the files again that a crash
// has left missing or damaged, and returns what the log has: the attempts in it that are not
// acknowledged wait for the manager.
func OpenMatchLog(folder Folder, leagueID, refereeID string) (*MatchLog, *LoggedMatches, *appendfile.Torn, error) {
	l := &MatchLog{
		folder: folder, path: folder.MatchLog(leagueID, refereeID), open: map[string]int{}, written: map[string]bool{},
		header: LogHeader{Header: NewHeader(""), LeagueID: leagueID, RefereeID: refereeID},
	}
	read, err := ReadMatchLog(l.folder.Disk, l.path)
	if errors.Is(err, fs.ErrNotExist) {
		read, err = &LoggedMatches{}, nil
	}
	if err != nil {
		return nil, nil, nil, err
	}
	empty := read.Header == LogHeader{}
	if h := read.Header; !empty && (h.LeagueID != leagueID || h.RefereeID != refereeID) {
		return nil, nil, nil, fmt.Errorf("%s: it is the log of referee %.64q in league %.64q", l.path, h.RefereeID,
			h.LeagueID)
	}
	torn, err := l.reopen(empty)
	if err != nil {
		return nil, nil, torn, err
	}
	l.syncer = openSyncer(folder.Disk, filepath.Dir(l.path)) // before any file is written
	for _, m := range read.Matches {
		key := logKey(m.MatchID, m.Attempt)
		if closed(m.Match) {
			l.written[key] = true
		} else {
			l.open[key] = 0 // its next line has all exchanges: a referee may play it again that could not read the log before
		}
		if m.Lifecycle.State == protocol.StateFinished { // it gets its file when the manager has replied
			continue
		}
		err = errors.Join(err, folder.restore(m.Match, false))
	}
	l.failed = err != nil // the checkpoint writes them
	return l, read, torn, nil
}

// closed tells whether the manager needs nothing more of an attempt.
func closed(m *Match) bool {
	return m.Lifecycle.State == protocol.StateAcknowledged || m.Lifecycle.State == protocol.StateAbandoned
}

// reopen opens the file for appending. L.mu is held, except while the log is made.
func (l *MatchLog) reopen(empty bool) (torn *appendfile.Torn, err error) {
	l.size = 0
	file, torn, err := appendfile.Open(l.folder.Disk, l.path, filepath.Base(l.path), func(_ int, text []byte) error {
		l.size += int64(len(text)) + 1
		return nil
	})
	if err != nil {
		return nil, err
	}
	if empty {
		var text []byte
		if text, err = json.Marshal(&l.header); err == nil {
			_, err = file.Append(appendfile.Seal(text), true)
			err = errors.Join(err, file.Sync(1))
		}
	}
	if err != nil {
		return torn, errors.Join(err, file.Close())
	}
	l.file = file
	return torn, nil
}

// Append adds the present state of an attempt to the log. If it must be durable, Append returns
// when it is on disk; else it may be lost in a power cut.
func (l *MatchLog) Append(m *Match, durable bool) error {
	l.mu.Lock()
	key, short := logKey(m.MatchID, m.Attempt), *m
	line := logLine{After: l.open[key], Match: &short}
	short.Transcript = nil
	text, err := m.Transcript[line.After:].marshal(&line)
	if err == nil && l.file == nil {
		_, err = l.reopen(false)
	}
	var file *appendfile.File
	number := 0
	if err == nil {
		file = l.file
		text = appendfile.Seal(protocol.HideTokens(text))
		number, err = file.Append(text, durable)
		l.size += int64(len(text)) + 1
		l.open[key] = len(m.Transcript)
	}
	l.mu.Unlock()
	if err == nil && durable {
		err = file.Sync(number)
	}
	if err != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.open[key] = 0 // the next line has the whole attempt
		if l.file != nil && l.file == file {
			l.close()
		}
	}
	return err
}

// Write adds an attempt to the log and writes its file, without syncs.
func (l *MatchLog) Write(m *Match) error {
	logged := l.Append(m, false)
	if err := l.folder.WriteAttempt(m); err != nil {
		return errors.Join(logged, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if key := logKey(m.MatchID, m.Attempt); closed(m) {
		delete(l.open, key)
		l.written[key] = true
	}
	return logged
}

// IsLong tells whether the log needs a checkpoint.
func (l *MatchLog) IsLong() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.size > maxLog
}

// Checkpoint makes the files of attempts durable, and then replaces the log by one without these
// attempts. After any failure the log stays, and the next checkpoint writes the files again:
// after a failed sync their pages count as clean.
func (l *MatchLog) Checkpoint() error {
	l.mu.Lock()
	done, again := l.written, l.failed
	if l.checking || len(done) == 0 {
		l.mu.Unlock()
		return nil
	}
	l.checking, l.written = true, map[string]bool{}
	l.close() // the file on disk has all lines then
	l.mu.Unlock()
	var err error
	if again {
		err = l.writeAgain(done)
	}
	if err == nil {
		err = l.syncer.sync(l.filesOf(done))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.checking = false
	maps.DeleteFunc(done, func(key string, _ bool) bool { // it was given up and is played again
		_, again := l.open[key]
		return again || l.written[key]
	})
	if err == nil {
		err = l.shorten(done)
	}
	if l.failed = err != nil; l.failed {
		for key := range done {
			l.written[key] = true
		}
	}
	return err
}

// writeAgain writes the files of attempts from the log. An attempt whose last line is lost is not done any more: the
// log keeps it, and a referee that starts again reports it again.
func (l *MatchLog) writeAgain(done map[string]bool) error {
	read, err := ReadMatchLog(l.folder.Disk, l.path)
	if err != nil {
		return err
	}
	for _, m := range read.Matches {
		switch key := logKey(m.MatchID, m.Attempt); {
		case !done[key]:
		case closed(m.Match):
			err = errors.Join(err, l.folder.restore(m.Match, true))
		default:
			delete(done, key)
		}
	}
	return err
}

// filesOf are the files that can have attempts: the manager may rename them meanwhile.
func (l *MatchLog) filesOf(done map[string]bool) (paths []string) {
	for key := range done {
		matchID, _, _ := ParseMatchFile(key + ".json")
		paths = append(paths, l.folder.Match(l.header.LeagueID, matchID), filepath.Join(filepath.Dir(l.path), key+".json"))
	}
	return paths
}

// shorten replaces the log by one without some attempts. L.mu is held.
func (l *MatchLog) shorten(done map[string]bool) error {
	l.close()
	text, err := disk.Read(l.folder.Disk, l.path, maxDerived)
	if err != nil {
		return err
	}
	var kept []byte
	for line := range bytes.Lines(text) {
		if !done[keyOf(line)] { // a damaged line stays
			kept = append(kept, line...)
		}
	}
	if err := atomicfile.WriteFile(l.folder.Disk, l.path, kept, 0o644); err != nil {
		return err
	}
	_, err = l.reopen(false)
	return err
}

// keyOf is the key of the attempt in a line, which has its id and number before the transcript; "" for any other line.
func keyOf(line []byte) string {
	line, _, _ = bytes.Cut(line, []byte(`,"transcript":`))
	var about struct {
		MatchID string `json:"match_id"`
		Attempt int    `json:"attempt"`
	}
	if json.Unmarshal(slices.Concat(line, []byte{'}'}), &about) != nil {
		return ""
	}
	return logKey(about.MatchID, about.Attempt)
}

// close closes the file. A failure was returned to those that wait for their line. L.mu is held.
func (l *MatchLog) close() {
	if l.file != nil && l.file.Close() != nil { // lines for which nothing waited are lost, too
		for key := range l.open {
			l.open[key] = 0
		}
	}
	l.file = nil
}

// Close makes a checkpoint and closes the log. After an error the log has what its files may
// lack.
func (l *MatchLog) Close() error {
	err := l.Checkpoint()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.close()
	return errors.Join(err, l.syncer.close())
}

// A syncer makes files durable.
type syncer struct {
	disk   disk.Disk
	folder disk.File // of the files, opened before they were written; nil where each is synced
	all    func(folder disk.File) error
	one    func(d disk.Disk, path string) error
	slow   bool // all took longer than slowest, or is unsupported
}

// slowest is how long a sync of a whole file system may take. It waits for the writes of other
// programs too.
const slowest = time.Second

func openSyncer(d disk.Disk, dir string) syncer {
	folder, err := disk.Open(d, dir)
	if err != nil {
		folder = nil // each file is synced
	}
	return syncer{disk: d, folder: folder, all: d.SyncAll, one: SyncFile}
}

// sync makes files durable, as far as they exist, with their names.
func (s *syncer) sync(paths []string) error {
	if s.folder != nil && !s.slow {
		began := time.Now()
		err := s.all(s.folder)
		s.slow = time.Since(began) > slowest
		if !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
		s.slow = true
	}
	for _, path := range paths {
		if err := s.one(s.disk, path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return atomicfile.SyncFolder(s.disk, filepath.Dir(paths[0]))
}

func (s *syncer) close() error {
	if s.folder == nil {
		return nil
	}
	return s.folder.Close()
}

// SyncFile makes a file durable, which must exist.
func SyncFile(d disk.Disk, path string) error {
	f, err := d.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
