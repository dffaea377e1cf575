package journalfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"evenodd/league/journal"
)

// MaxLine is the length in bytes of the longest line that is read. The start of a
// league with 100,000 players fits.
const MaxLine = 4 << 20

var errTooLong = fmt.Errorf("it is longer than %d bytes", MaxLine)

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

// Lines reads the complete lines of a journal, in order, until visit returns an
// error. It returns the offset behind the last complete line, and the number of
// bytes that follow it: a torn line.
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

// A Visit is called for every line that is read, with its number from 1, its event, its
// hash and the offset of the next line. It may be nil.
type Visit func(number int, e *journal.Event, hash string, end int64)

// Replay reads a journal from its beginning, checks that every event follows the
// event before, and folds it. It returns the hash of the last event, and end and torn
// as Lines does. A line that is wrong is a *DamageError.
func Replay(path string, r io.Reader, visit Visit) (state *journal.State, head string, end int64, torn int, err error) {
	state, head = journal.NewState(), journal.Origin
	last, behind := 0, int64(0)
	end, torn, err = Lines(r, func(number int, text []byte) error {
		last, behind = number, behind+int64(len(text))+1
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
			visit(number, e, head, behind)
		}
		return nil
	})
	if errors.Is(err, errTooLong) {
		err = &DamageError{path, last + 1, err.Error()}
	}
	return state, head, end, torn, err
}
