package journal

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// Origin is the Prev of the first event.
const Origin = "0000000000000000000000000000000000000000000000000000000000000000"

// MaxLine is the longest line that is read, in bytes: a start of 100,000
// players fits.
const MaxLine = 4 << 20

// Hash is what the next event calls this line, which is given without its line
// feed: hex SHA-256.
func Hash(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

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
type Visit func(number int, e *Event, hash string)

// Replay reads a journal from its beginning and folds it, checking that every
// event follows the one before. What is wrong is a *DamageError. It returns
// where the last whole line ends, how many bytes of a torn one follow, and the
// hash of the last event.
func Replay(path string, r io.Reader, visit Visit) (state *State, head string, end int64, torn int, err error) {
	state, head = NewState(), Origin
	last := 0
	end, torn, err = Lines(r, func(number int, text []byte) error {
		last = number
		e, err := Decode(text)
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
		head = Hash(text)
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

// A Journal is the file to which a manager appends what happens. Safe for
// concurrent use; but who folds events must append them in the order in which
// they are folded, and so under a lock of its own. A nil Journal keeps nothing
// and never fails.
//
// Append only queues; an event may be acknowledged to others after Sync. One
// goroutine writes: all that is queued while the disk is busy goes to it with
// the next write, and is made durable by one sync.
type Journal struct {
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
func Open(path string, visit Visit) (j *Journal, state *State, torn *Torn, err error) {
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
	j = &Journal{file: file, seq: state.Events, durable: state.Events, head: head}
	j.changed = sync.NewCond(&j.mu)
	j.writer.Go(j.write)
	return j, state, torn, nil
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
func (j *Journal) Append(at string, data Data) error {
	if j == nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.failure != nil:
		return j.failure
	case j.closing: // what is queued now could miss the last write
		return errClosed
	}
	e := Event{Seq: j.seq + 1, At: at, Prev: j.head, Data: data}
	text, err := encode(&e)
	if err != nil { // it was folded already: what follows could not be trusted
		j.failure = fmt.Errorf("cannot encode an event: %w", err)
		j.changed.Broadcast()
		return j.failure
	}
	j.seq, j.head = e.Seq, Hash(text)
	j.queued = append(append(j.queued, text...), '\n')
	j.changed.Broadcast()
	return nil
}

// Last is the number of the last event, and its hash; Sync(Last) waits for it.
func (j *Journal) Last() (seq int, head string) {
	if j == nil {
		return 0, ""
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.seq, j.head
}

// Err is why nothing more is taken; nil while events are.
func (j *Journal) Err() error {
	if j == nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.failure
}

// Sync returns when the event of that number is on disk, or the error that it
// never will be. Whoever queued it must not act on it before.
func (j *Journal) Sync(seq int) error {
	if j == nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	for j.durable < seq && j.failure == nil {
		j.changed.Wait()
	}
	if j.durable >= seq {
		return nil
	}
	return j.failure
}

// Failed returns when the journal cannot be written any more, with the reason,
// or when it is closed, with nil.
func (j *Journal) Failed() error {
	if j == nil {
		return nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	for j.failure == nil && !j.closing {
		j.changed.Wait()
	}
	if errors.Is(j.failure, errClosed) {
		return nil
	}
	return j.failure
}

var errClosed = errors.New("the journal is closed")

// write brings what is queued to the disk until the journal is closed.
func (j *Journal) write() {
	var batch []byte
	j.mu.Lock()
	defer j.mu.Unlock()
	for {
		for len(j.queued) == 0 && !j.closing {
			j.changed.Wait()
		}
		if len(j.queued) == 0 || j.failure != nil {
			break
		}
		batch, j.queued = j.queued, batch[:0]
		seq := j.seq
		j.mu.Unlock()
		_, err := j.file.Write(batch)
		if err == nil {
			err = j.file.Sync()
		}
		j.mu.Lock()
		if err != nil {
			j.failure = fmt.Errorf("cannot write the journal: %w. Nothing that was acknowledged is lost: mend it and start again", err)
		} else {
			j.durable = seq
		}
		j.changed.Broadcast()
	}
}

// Close writes what is queued, and closes the file.
func (j *Journal) Close() error {
	if j == nil {
		return nil
	}
	j.mu.Lock()
	j.closing = true
	j.changed.Broadcast()
	j.mu.Unlock()
	j.writer.Wait()
	j.mu.Lock()
	defer j.mu.Unlock()
	failure := j.failure
	if j.failure == nil {
		j.failure = errClosed
	}
	j.changed.Broadcast() // nobody waits for an event that was never queued
	return errors.Join(failure, j.file.Close())
}
