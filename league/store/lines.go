package store

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"

	"evenodd/league/store/appendfile"
)

// A LineError is an error in a line of a file.
type LineError struct {
	Line int
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

func (e *LineError) Unwrap() error { return e.Err }

// A stamped is a document with a Header.
type stamped interface{ Stamp() Header }

// readLines reads a file of sealed lines. Its first line is a header, in which any error is that of
// the file; add takes each other one. Damage are the lines that cannot be used, and torn is the
// number of bytes of an incomplete last one.
func readLines(path string, header stamped, add appendfile.Visit) (damage []*LineError, torn int, err error) {
	file, err := Open(path)
	if err != nil {
		return nil, 0, err
	}
	_, torn, err = appendfile.Lines(file, func(number int, text []byte) error {
		if number == 1 {
			return readHeader(text, header)
		}
		err := appendfile.CheckSeal(number, text)
		if err == nil {
			err = add(number, text)
		}
		if err != nil {
			damage = append(damage, &LineError{number, err})
		}
		return nil
	})
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return damage, torn, errors.Join(err, file.Close())
}

// readHeader reads the first line of a file.
func readHeader(text []byte, header stamped) error {
	err := appendfile.CheckSeal(1, text)
	if err == nil {
		err = json.Unmarshal(text, header)
	}
	if err == nil {
		err = CheckSchema(header.Stamp().SchemaVersion)
	}
	if err != nil {
		return &LineError{1, err}
	}
	return nil
}
