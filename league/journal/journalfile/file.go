package journalfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"evenodd/league/journal"
	"evenodd/league/store/atomicfile"
)

// A File is a journal to which a manager appends events. It is safe for concurrent
// use. The caller must append events in the order in which it folds them, and so
// under a lock of its own. A nil File stores nothing and never fails.
//
// Append only queues an event. The caller may tell other agents of it after Sync. One
// goroutine writes: a write takes all events that were queued during the write before,
// and one sync makes them durable.
type File struct {
	file *os.File

	mu      sync.Mutex
	changed *sync.Cond // signals a change of durable, failure, queued or closing
	queued  []byte
	seq     int           // of the last event queued
	durable int           // of the last event on disk
	ends    []int64       // ends[n] is the offset behind the line of event n; ends[0] is 0
	more    chan struct{} // closed when durable or failure changes; nil if no reader waits
	head    string
	failure error
	closing bool
	writer  sync.WaitGroup
}

// A Torn describes an incomplete last line that was removed. The manager ended while
// it wrote the line, and told no agent of the event.
type Torn struct {
	Path  string
	Line  int
	Bytes int
}

// String is a sentence for people.
func (t *Torn) String() string {
	return fmt.Sprintf("%s line %d: the last line is incomplete (%d bytes) and was removed. No agent was told of its event.", t.Path, t.Line, t.Bytes)
}

// Open reads the journal at path, or creates it, and prepares it for appending. Torn
// is nil unless an incomplete line was removed. Damage in any other line is a
// *DamageError, and leaves the file unchanged. The caller must hold the league's lock.
func Open(path string, visit Visit) (f *File, state *journal.State, torn *Torn, err error) {
	file, err := open(path)
	if err != nil {
		return nil, nil, nil, err
	}
	ends := []int64{0}
	state, head, end, rest, err := Replay(path, file, func(number int, e *journal.Event, hash string, behind int64) {
		ends = append(ends, behind)
		if visit != nil {
			visit(number, e, hash, behind)
		}
	})
	if err == nil && rest > 0 {
		torn = &Torn{path, state.Events + 1, rest}
		err = file.Truncate(end)
	}
	// A killed manager may have written events without a sync. The state contains
	// them, so they must be durable.
	if err == nil {
		err = file.Sync()
	}
	if err == nil {
		_, err = file.Seek(end, io.SeekStart)
	}
	if err != nil {
		return nil, nil, nil, errors.Join(err, file.Close())
	}
	f = &File{file: file, seq: state.Events, durable: state.Events, ends: ends, head: head}
	f.changed = sync.NewCond(&f.mu)
	f.writer.Go(f.write)
	return f, state, torn, nil
}

// open opens the file. It creates the file and missing folders durably.
func open(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if !errors.Is(err, fs.ErrNotExist) {
		return file, err
	}
	dir := filepath.Dir(path)
	there := dir // the innermost folder that exists
	for missing(there) && there != filepath.Dir(there) {
		there = filepath.Dir(there)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644); err != nil {
		return nil, err
	}
	for { // each folder holds the name of the folder in it
		if err := atomicfile.SyncFolder(dir); err != nil {
			return nil, errors.Join(err, file.Close())
		}
		if dir == there {
			return file, nil
		}
		dir = filepath.Dir(dir)
	}
}

func missing(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// Append queues an event that the caller has folded, with its time. After a failure
// it returns that failure.
func (f *File) Append(at string, data journal.Data) error {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.failure != nil:
		return f.failure
	case f.closing: // the last write may be over
		return errClosed
	}
	e := journal.Event{Seq: f.seq + 1, At: at, Prev: f.head, Data: data}
	text, err := journal.Encode(&e)
	if err != nil { // the event is folded already: later events would not fit the file
		f.failure = fmt.Errorf("cannot encode an event: %w", err)
		f.changed.Broadcast()
		f.wakeReaders()
		return f.failure
	}
	f.seq, f.head = e.Seq, journal.Hash(text)
	f.ends = append(f.ends, f.ends[len(f.ends)-1]+int64(len(text))+1)
	f.queued = append(append(f.queued, text...), '\n')
	f.changed.Broadcast()
	return nil
}

// Last is the number of the last queued event, and its hash.
func (f *File) Last() (seq int, head string) {
	if f == nil {
		return 0, ""
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.seq, f.head
}

// Sync waits until the event with that number is on disk. An error means that it
// never will be. The caller must not act on the event before.
func (f *File) Sync(seq int) error {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.durable < seq && f.failure == nil {
		f.changed.Wait()
	}
	if f.durable >= seq {
		return nil
	}
	return f.failure
}

// Failed waits until the journal cannot be written any more, and returns the reason,
// or until it is closed, and returns nil.
func (f *File) Failed() error {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.failure == nil && !f.closing {
		f.changed.Wait()
	}
	if errors.Is(f.failure, errClosed) {
		return nil
	}
	return f.failure
}

var errClosed = errors.New("the journal is closed")

// write writes queued events to the disk until the file is closed.
func (f *File) write() {
	var batch []byte
	f.mu.Lock()
	defer f.mu.Unlock()
	for {
		for len(f.queued) == 0 && !f.closing {
			f.changed.Wait()
		}
		if len(f.queued) == 0 || f.failure != nil {
			break
		}
		batch, f.queued = f.queued, batch[:0]
		seq := f.seq
		f.mu.Unlock()
		_, err := f.file.Write(batch)
		if err == nil {
			err = f.file.Sync()
		}
		f.mu.Lock()
		if err != nil {
			f.failure = fmt.Errorf("cannot write the journal: %w. Nothing that was acknowledged is lost: repair the disk and start again", err)
		} else {
			f.durable = seq
		}
		f.changed.Broadcast()
		f.wakeReaders()
	}
}

// Close writes the queued events and closes the file.
func (f *File) Close() error {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	f.closing = true
	f.changed.Broadcast()
	f.mu.Unlock()
	f.writer.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	failure := f.failure
	if f.failure == nil {
		f.failure = errClosed
	}
	f.changed.Broadcast() // wakes callers that wait for an event that was never queued
	f.wakeReaders()
	return errors.Join(failure, f.file.Close())
}

// FormatTime is the form of Event.At.
func FormatTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
