package store

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"

	"evenodd/league/store/appendfile"
	"evenodd/league/store/disk"
)

// A LineError is an error in a line of a file.
type LineError struct {
	Line int
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

func (e *LineError) Unwrap() error { return e.Err }

// A Document is a file with a Header, or a part of it.
type Document interface{ Stamp() Header }

// readLines reads a file of sealed lines. Its first line is a header, in which any error is that of
// the file; add takes each other one. Unknown has the first line if it has a member that this program does not know.
// Damage are the lines that cannot be used, and torn is the number of bytes of an incomplete last one.
func readLines(d disk.Disk, path string, header Document, add appendfile.Visit) (
	unknown, damage []*LineError, torn int, err error,
) {
	file, err := disk.Open(d, path)
	if err != nil {
		return nil, nil, 0, err
	}
	last := 0
	_, torn, err = appendfile.Lines(file, func(number int, text []byte) error {
		last = number
		if number == 1 {
			u, err := readHeader(text, header)
			if u != nil {
				unknown = append(unknown, &LineError{1, u})
			}
			return err
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
	if errors.Is(err, appendfile.ErrTooLong) || errors.Is(err, appendfile.ErrUnended) {
		err = &LineError{last + 1, err}
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return unknown, damage, torn, errors.Join(err, file.Close())
}

// readHeader reads the first line of a file. Unknown names a member that this program does not know; nil for none.
func readHeader(text []byte, header Document) (unknown, err error) {
	err = appendfile.CheckSeal(1, text)
	if err == nil {
		unknown, err = readLine(text, header)
	}
	if err == nil {
		err = CheckSchema(header.Stamp().SchemaVersion)
	}
	if err != nil {
		return nil, &LineError{1, err}
	}
	return unknown, nil
}

// readLine reads a sealed line. Unknown names a member that this program does not know; nil for none.
func readLine(text []byte, value any) (unknown, err error) {
	text = appendfile.Unsealed(text)
	if err = json.Unmarshal(text, value, json.RejectUnknownMembers(true)); errors.Is(err, json.ErrUnknownName) {
		return err, json.Unmarshal(text, value) // the same members again, and the others
	}
	return nil, err
}
