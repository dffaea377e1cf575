package journalfile

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"evenodd/league/journal"
	"evenodd/league/store/appendfile"
	"evenodd/league/store/disk"
)

// A File is a journal to which a manager appends events. It is safe for concurrent
// use. The caller must append events in the order in which it folds them, and so
// under a lock of its own.
//
// Append only queues an event. The caller may tell other agents of it after Sync.
type File struct {
	*appendfile.File // the lines

	stream Stream // of which the file is a copy; nil for none
	replay *replay

	mu         sync.Mutex
	seq        int // of the last event queued
	head       string
	checked    bool // that the copy is the beginning of the stream
	publishing bool
}

// Open reads the journal at path, or creates it, and prepares it for appending. Torn is nil unless an incomplete end
// was removed. Damage in any other line is a *DamageError, and leaves the file unchanged. Zeros are damage, too, if
// they come before a line that was on disk, whose hash is known; "" for none. A journal that another process has open
// is disk.ErrInUse. The caller must hold the league's lock.
func Open(d disk.Disk, path string, visit Visit, known string) (f *File, state *journal.State, torn *appendfile.Torn,
	err error,
) {
	found := known == ""
	find := func(e *journal.Event, hash string) {
		found = found || hash == known
		if visit != nil {
			visit(e, hash)
		}
	}
	return open(d, path, find, func(d disk.Disk, path, name string, line appendfile.Visit) (
		*appendfile.File, *appendfile.Torn, error,
	) {
		return appendfile.OpenLocked(d, path, name, line, func(t *appendfile.Torn) error {
			if t.Zeros && !found {
				return &DamageError{path, t.Line, errZeros}
			}
			return nil
		})
	})
}

// errZeros is the reason of the damage of a line that was on disk before.
const errZeros = "the line is damaged: it has zeros, and standings.json names an event that was on disk and is not " +
	"before it"

func open(d disk.Disk, path string, visit Visit, openLines func(d disk.Disk, path, name string, v appendfile.Visit) (
	*appendfile.File, *appendfile.Torn, error)) (f *File, state *journal.State, torn *appendfile.Torn, err error) {
	r := newReplay(path, visit)
	lines, torn, err := openLines(d, path, "the journal", r.line)
	if err != nil {
		return nil, nil, nil, r.damage(err)
	}
	return &File{File: lines, replay: r, seq: r.state.Events, head: r.head}, r.state, torn, nil
}

// Append queues an event that the caller has folded, with its time. After a failure
// it returns that failure.
func (f *File) Append(at string, data journal.Data) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	e := journal.Event{Seq: f.seq + 1, At: at, Prev: f.head, Data: data}
	text, err := journal.Encode(&e)
	if err != nil { // the event is folded already: later events would not fit the file
		err = fmt.Errorf("cannot encode an event: %w", err)
		f.Fail(err)
		return err
	}
	f.publish()
	text = appendfile.Seal(text)
	if _, err := f.File.Append(text, true); err != nil {
		return err
	}
	f.seq, f.head = e.Seq, journal.Hash(text)
	return nil
}

// Last is the number of the last queued event, and its hash.
func (f *File) Last() (seq int, head string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.seq, f.head
}

// FormatTime is the form of Event.At.
func FormatTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// A DamageError is a line that the manager cannot have written.
type DamageError struct {
	Path   string
	Line   int // from 1
	Reason string
}

// Error names the file, the line and the reason.
func (e *DamageError) Error() string {
	return fmt.Sprintf("%s line %d: %s", e.Path, e.Line, e.Reason)
}

// A Visit is called for every event that is read, with the hash of its line. It may be nil.
type Visit func(e *journal.Event, hash string)

// A replay folds the lines of a journal.
type replay struct {
	path  string
	visit Visit
	state *journal.State
	head  string
	last  int // number of the last line
}

func newReplay(path string, visit Visit) *replay {
	return &replay{path: path, visit: visit, state: journal.NewState(), head: journal.Origin}
}

// line folds the next line.
func (r *replay) line(number int, text []byte) error {
	r.last = number
	e, err := ReadLine(number, text)
	if err == nil {
		err = e.Follows(number, r.head)
	}
	if err == nil {
		err = r.state.Apply(e)
	}
	if err != nil {
		return &DamageError{r.path, number, err.Error()}
	}
	r.head = journal.Hash(text)
	if r.visit != nil {
		r.visit(e, r.head)
	}
	return nil
}

// ReadLine reads the event of a line in a file.
func ReadLine(number int, text []byte) (*journal.Event, error) {
	if err := appendfile.CheckSeal(number, text); err != nil {
		return nil, err
	}
	return journal.Decode(text)
}

// damage returns a line that is too long or has no end as a *DamageError, and any other error as it is.
func (r *replay) damage(err error) error {
	if errors.Is(err, appendfile.ErrTooLong) || errors.Is(err, appendfile.ErrUnended) {
		return &DamageError{r.path, r.last + 1, err.Error()}
	}
	return err
}
