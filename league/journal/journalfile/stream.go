package journalfile

import (
	"errors"
	"fmt"
	"math"
	"time"

	"evenodd/league/journal"
	"evenodd/league/store/appendfile"
	"evenodd/league/store/disk"
)

// A Stream is a journal that several managers share. Each has a copy of it in its own folder, and one of them appends.
// Only one goroutine at a time uses it.
type Stream interface {
	// Read calls visit for each line from a number on, up to the last one, until visit returns an error. A stream
	// without that line has none.
	Read(from int, visit appendfile.Visit) error

	// Append makes lines durable behind the last line that was read or appended. Each ends with a line feed; first is
	// the number of the first one. If another manager has appended a line since, the error is ErrLost.
	Append(first int, lines []byte) error

	// Limits are the most bytes of a line, and of the lines that one Append takes unless it takes a single line.
	Limits() (line, lines int)
}

// ErrLost is the error of a manager that can no longer write its journal, because another one continues the league.
var ErrLost = errors.New("another manager continues this league")

// ErrDiverged is the error of OpenCopy for a file that is no copy of the beginning of the stream.
var ErrDiverged = errors.New("the journal in the folder is not the beginning of that in the stream")

// A TooLongError is a line that its stream cannot take.
type TooLongError struct{ Bytes, Most int }

// Error has both sizes.
func (e *TooLongError) Error() string {
	return fmt.Sprintf("the event takes %d bytes, and the NATS server allows a line of %d: raise its max_payload", e.Bytes,
		e.Most)
}

// Check returns a *TooLongError for an event that the stream of the journal cannot take. The caller has not folded it.
func (f *File) Check(data journal.Data) error {
	if f.stream == nil {
		return nil
	}
	longest := journal.Event{Seq: math.MaxInt, At: FormatTime(time.Time{}), Prev: journal.Origin, Data: data}
	text, err := journal.Encode(&longest)
	if err != nil {
		return fmt.Errorf("cannot encode an event: %w", err)
	}
	if most, _ := f.stream.Limits(); len(text)+appendfile.SealSize > most {
		return &TooLongError{len(text) + appendfile.SealSize, most}
	}
	return nil
}

// publish has the next lines appended to the stream first. F.mu is held.
func (f *File) publish() {
	if f.stream != nil && !f.publishing {
		f.publishing = true
		_, most := f.stream.Limits()
		f.PublishBy(f.stream.Append, most)
	}
}

// OpenCopy opens the copy of a stream as Open does, adds the lines that it lacks, and returns the fold of all. Events
// are appended to the stream first, and then to the copy. An error is ErrDiverged if the file must be replaced.
func OpenCopy(d disk.Disk, path string, stream Stream, visit Visit) (
	f *File, state *journal.State, torn *appendfile.Torn, err error,
) {
	f, state, torn, err = open(d, path, visit, appendfile.OpenCopy)
	var damage *DamageError
	switch {
	case errors.As(err, &damage):
		return nil, nil, nil, fmt.Errorf("%w: %w", ErrDiverged, err)
	case err != nil:
		return nil, nil, nil, err
	}
	f.stream, f.replay.path = stream, "the journal in the stream"
	if _, err = f.CatchUp(); err != nil {
		return nil, nil, nil, errors.Join(err, f.Close())
	}
	return f, state, torn, nil
}

// CatchUp adds the lines to a copy that the stream has and the copy lacks, folds them into the state that OpenCopy
// returned, and returns their number. It is an error after the first Append.
func (f *File) CatchUp() (added int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.publishing {
		return 0, errors.New("the manager that appends to a stream has all of its lines")
	}
	known, from := f.seq, f.seq+1
	same := f.checked || known == 0
	if !same {
		from = known // the hash of this line covers all lines before
	}
	err = f.stream.Read(from, func(number int, text []byte) error {
		if number <= known {
			same = journal.Hash(text) == f.head
			if !same {
				return ErrDiverged
			}
			return nil
		}
		if err := f.replay.line(number, text); err != nil {
			return err
		}
		f.seq, f.head = number, f.replay.head
		_, err := f.File.Append(text, false)
		return err
	})
	switch {
	case err != nil:
	case !same:
		err = ErrDiverged // the stream has fewer lines
	default:
		f.checked = true
		err = f.Sync(f.seq)
	}
	return f.seq - known, err
}
