package appendfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// MaxLine is the length in bytes of the longest line that is read. The longest transcript of
// a match fits, and the start of a league with 100,000 players.
const MaxLine = 16 << 20

// ErrTooLong is the error of a line that is longer than MaxLine.
var ErrTooLong = fmt.Errorf("it is longer than %d bytes", MaxLine)

// A Visit is called for a line with its number from 1. The text is valid until it returns.
type Visit func(number int, text []byte) error

// Lines reads the complete lines of a file, in order, until visit returns an error. It
// returns the offset behind the last complete line, and the number of bytes that follow
// it: a torn line.
func Lines(r io.Reader, visit Visit) (end int64, torn int, err error) {
	reader := bufio.NewReaderSize(r, 64<<10)
	var text []byte // the beginning of a line that is longer than the buffer
	for number := 1; ; {
		line, err := reader.ReadSlice('\n')
		if len(text) > 0 || err != nil {
			text = append(text, line...)
			line = text
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			if len(text) > MaxLine {
				return end, 0, ErrTooLong
			}
			continue
		case errors.Is(err, io.EOF):
			return end, len(text), nil
		case err != nil:
			return end, 0, err
		}
		if err := visit(number, line[:len(line)-1]); err != nil {
			return end, 0, err
		}
		end += int64(len(line))
		text, number = text[:0], number+1
	}
}
