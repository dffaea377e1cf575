package journalfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"evenodd/league/journal"
)

// MaxLine is the longest line that is read, in bytes: a start of 100,000
// players fits.
const MaxLine = 4 << 20

var errTooLong = fmt.Errorf("it is longer than %d bytes", MaxLine)

// A DamageError is a line of a journal that cannot be what was written.
type DamageError struct {
	Path   string
	Line   int // from 1
	Reason string
}

// Error names file, line and reason.
func (e *DamageError) Error() string {
	return fmt.Sprintf("%s line %d: %s", e.Path, e.Line, e.Reason)
}

// Lines reads the whole lines of a journal, in order, until visit returns an
// error. What follows the last line feed is a torn line: its length is
// returned, and where it begins.
func Lines(r io.Reader, visit func(number int, text []byte) error) (end int64, torn int, err error) {
	reader := bufio.NewReaderSize(r, 64<<10)
	var text []byte
	for number := 1; ; {
		part, err := reader.ReadSlice('\n')
		text = append(text, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			if len(text) > MaxLine {
				return end, 0, errTooLong
			}
			continue
		case errors.Is(err, io.EOF):
			return end, len(text), nil
		case err != nil:
			return end, 0, err
		}
		if err := visit(number, text[:len(text)-1]); err != nil {
			return end, 0, err
		}
		end += int64(len(text))
		text, number = text[:0], number+1
	}
}

// A Visit is told of every line of a journal that is read: its number, from 1,
// its event, and its hash. It may be nil.
type Visit func(number int, e *journal.Event, hash string)

// Replay reads a journal from its beginning and folds it, checking that every
// event follows the one before. What is wrong is a *DamageError. It returns
// where the last whole line ends, how many bytes of a torn one follow, and the
// hash of the last event.
func Replay(path string, r io.Reader, visit Visit) (state *journal.State, head string, end int64, torn int, err error) {
	state, head = journal.NewState(), journal.Origin
	last := 0
	end, torn, err = Lines(r, func(number int, text []byte) error {
		last = number
		e, err := journal.Decode(text)
		switch {
		case err != nil:
		case e.Seq != number:
			err = fmt.Errorf("event %d stands where event %d belongs: a line was removed, added or moved", e.Seq, number)
		case e.Prev != head:
			err = fmt.Errorf("it does not follow the line before: prev is %.12s…, the hash of that line is %.12s…", e.Prev, head)
		default:
			err = state.Apply(e)
		}
		if err != nil {
			return &DamageError{path, number, err.Error()}
		}
		head = journal.Hash(text)
		if visit != nil {
			visit(number, e, head)
		}
		return nil
	})
	if errors.Is(err, errTooLong) {
		err = &DamageError{path, last + 1, err.Error()}
	}
	return state, head, end, torn, err
}

// A File is the file to which a manager appends what happens. Safe for
// concurrent use; but who folds events must append them in the order in which
// they are folded, and so under a lock of its own. A nil File keeps nothing
// and never fails.
//
// Append only queues; an event may be acknowledged to others after Sync. One
// goroutine writes: all that is queued while the disk is busy goes to it with
// the next write, and is made durable by one sync.
type File struct {
	file *os.File

	mu      sync.Mutex
	changed *sync.Cond // durable, failure, queued or closing has changed
	queued  []byte
	seq     int // of the last event queued
	durable int // of the last event on disk
	head    string
	failure error
	closing bool
	writer  sync.WaitGroup
}

// A Torn says that the last line of a journal was cut off, because it is not
// whole: the writer died in it, and nobody was told of that event.
type Torn struct {
	Path  string
	Line  int
	Bytes int
}

// String says it for people.
func (t *Torn) String() string {
	return fmt.Sprintf("%s line %d: the last line was not finished (%d bytes); it is cut off. Nobody had been told of it.", t.Path, t.Line, t.Bytes)
}

// Open reads the journal at path, or begins one, and goes on with it. Torn is
// nil unless something was cut off. Damage further up is a *DamageError, and
// the file stays as it is. Whoever opens a journal holds the league's lock.
func Open(path string, visit Visit) (f *File, state *journal.State, torn *Torn, err error) {
	file, err := open(path)
	if err != nil {
		return nil, nil, nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, file.Close())
		}
	}()
	state, head, end, rest, err := Replay(path, file, visit)
	if err != nil {
		return nil, nil, nil, err
	}
	// What a manager that was killed had written, but not synced, was read from
	// memory: it counts from here on.
	err = file.Sync()
	if err != nil {
		return nil, nil, nil, err
	}
	if rest > 0 {
		torn = &Torn{path, state.Events + 1, rest}
		err = errors.Join(file.Truncate(end), file.Sync())
		if err != nil {
			return nil, nil, nil, err
		}
	}
	if _, err = file.Seek(end, io.SeekStart); err != nil {
		return nil, nil, nil, err
	}
	f = &File{file: file, seq: state.Events, durable: state.Events, head: head}
	f.changed = sync.NewCond(&f.mu)
	f.writer.Go(f.write)
	return f, state, torn, nil
}

// open opens the file, and makes it and its folders where they are missing, so
// that their names outlast a crash.
func open(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if !errors.Is(err, fs.ErrNotExist) {
		return file, err
	}
	dir := filepath.Dir(path)
	there := dir // the innermost folder that is there already
	for missing(there) && there != filepath.Dir(there) {
		there = filepath.Dir(there)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644); err != nil {
		return nil, err
	}
	for { // each folder holds the name of the one within
		if err := syncFolder(dir); err != nil {
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

func syncFolder(dir string) error {
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// Append queues an event, which was folded, with its time. After a failure
// nothing more is taken.
func (f *File) Append(at string, data journal.Data) error {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.failure != nil:
		return f.failure
	case f.closing: // what is queued now could miss the last write
		return errClosed
	}
	e := journal.Event{Seq: f.seq + 1, At: at, Prev: f.head, Data: data}
	text, err := journal.Encode(&e)
	if err != nil { // it was folded already: what follows could not be trusted
		f.failure = fmt.Errorf("cannot encode an event: %w", err)
		f.changed.Broadcast()
		return f.failure
	}
	f.seq, f.head = e.Seq, journal.Hash(text)
	f.queued = append(append(f.queued, text...), '\n')
	f.changed.Broadcast()
	return nil
}

// Last is the number of the last event, and its hash; Sync(Last) waits for it.
func (f *File) Last() (seq int, head string) {
	if f == nil {
		return 0, ""
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.seq, f.head
}

// Err is why nothing more is taken; nil while events are.
func (f *File) Err() error {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.failure
}

// Sync returns when the event of that number is on disk, or the error that it
// never will be. Whoever queued it must not act on it before.
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

// Failed returns when the journal cannot be written any more, with the reason,
// or when it is closed, with nil.
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

// write brings what is queued to the disk until the journal is closed.
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
			f.failure = fmt.Errorf("cannot write the journal: %w. Nothing that was acknowledged is lost: mend it and start again", err)
		} else {
			f.durable = seq
		}
		f.changed.Broadcast()
	}
}

// Close writes what is queued, and closes the file.
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
	f.changed.Broadcast() // nobody waits for an event that was never queued
	return errors.Join(failure, f.file.Close())
}

// FormatTime is how events say when.
func FormatTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
