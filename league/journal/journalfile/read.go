package journalfile

import (
	"errors"
	"fmt"

	"evenodd/league/journal"
	"evenodd/league/store/appendfile"
)

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

// damage returns a line that is too long as a *DamageError, and any other error as it is.
func (r *replay) damage(err error) error {
	if errors.Is(err, appendfile.ErrTooLong) {
		return &DamageError{r.path, r.last + 1, err.Error()}
	}
	return err
}
