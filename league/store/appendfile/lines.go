package appendfile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// MaxLine is the length in bytes of the longest line that is read. The longest transcript of
// a match fits, and the start of a league with 100,000 players.
const MaxLine = 16 << 20

// ErrTooLong is the error of a line that is longer than MaxLine.
var ErrTooLong = fmt.Errorf("it is longer than %d bytes", MaxLine)

// A Visit is called for a line with its number from 1. The text is valid until it returns.
type Visit func(number int, text []byte) error

// ErrUnended is the error of a last line that is whole, but whose line feed is another byte. It may have been durable:
// a line that a crash has torn ends before its line feed.
var ErrUnended = errors.New("the line is damaged: it does not end with a line feed")

// Lines reads the complete lines of a file, in order, until visit returns an error. It
// returns the offset behind the last complete line, and the number of bytes that follow
// it: torn lines.
//
// A power cut can leave zeros for bytes that were not synced, and later bytes of the same write behind them. So zeros
// tear the line that they are in and all that follow. Text has none, and damage of a bit makes one at most, which does
// not begin a line. Zeros in lines that were on disk before look the same: who knows of such a line has to look for it.
func Lines(r io.Reader, visit Visit) (end int64, torn int, err error) {
	end, torn, _, err = readLines(r, visit)
	return end, torn, err
}

// readLines is Lines, and tells whether zeros tear the lines.
func readLines(r io.Reader, visit Visit) (end int64, torn int, zeros bool, err error) {
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
				return end, 0, false, ErrTooLong
			}
			continue
		case errors.Is(err, io.EOF) && isUnended(text):
			return end, 0, false, ErrUnended
		case errors.Is(err, io.EOF):
			return end, len(text), false, nil
		case err != nil:
			return end, 0, false, err
		case hasZeros(line):
			rest, err := reader.WriteTo(io.Discard)
			return end, len(line) + int(rest), true, err
		}
		if err := visit(number, line[:len(line)-1]); err != nil {
			return end, 0, false, err
		}
		end += int64(len(line))
		text, number = text[:0], number+1
	}
}

// hasZeros tells whether a line begins with a zero byte, or has two in a row.
func hasZeros(line []byte) bool {
	at := bytes.IndexByte(line, 0)
	return at == 0 || at > 0 && bytes.Contains(line[at:], []byte{0, 0})
}

// isUnended tells whether the bytes behind the last line feed begin with a sealed line that a byte other than zero
// follows.
func isUnended(text []byte) bool {
	for from := 0; ; {
		at := bytes.Index(text[from:], []byte(sealName))
		if at < 0 {
			return false
		}
		from += at + 1
		end := from - 1 + sealSize
		if end < len(text) && text[end] != 0 && CheckSeal(end, text[:end]) == nil {
			return true
		}
	}
}

// MaxText is the length in bytes of the longest text in a line or a document: no message that an agent accepts has a longer
// one.
const MaxText = 64 << 10

// CheckTexts returns an error for JSON with a text of more than MaxText bytes. Each reader of it would print or compare
// the text.
func CheckTexts(text []byte) error {
	if len(text) <= MaxText {
		return nil
	}
	begun := -1 // of the text around the position
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\':
			i++
		case text[i] == '"' && begun < 0:
			begun = i
		case text[i] == '"' && i-begun-1 > MaxText:
			return fmt.Errorf("it has a text of %d bytes, and none may have more than %d", i-begun-1, MaxText)
		case text[i] == '"':
			begun = -1
		}
	}
	return nil
}

// A sealed line is a JSON object whose last member is the checksum of the bytes before it. A
// crash leaves a line without its end; only damage leaves a whole line with a wrong checksum.
const (
	sealName = `,"crc32c":"`
	sealEnd  = `"}`
	sealSize = len(sealName) + 8 + len(sealEnd)
)

// SealSize is how many bytes Seal adds to a line.
const SealSize = sealSize - len("}")

// The errors of CheckSeal.
var (
	ErrUnsealed = errors.New("the line is damaged: it has no checksum")
	ErrChecksum = errors.New("the line is damaged: its checksum is wrong")
	ErrEarlier  = errors.New("an earlier version of evenodd wrote this folder, and this one does not read it: " +
		"begin a new league with --new-league, or use another folder")
)

// Seal adds the checksum to a line, which must be a JSON object with a member, or replaces the
// one that it has. It may change the line.
func Seal(line []byte) []byte {
	if at := len(line) - sealSize; at > 0 && bytes.HasPrefix(line[at:], []byte(sealName)) {
		line = line[:at+1]
	}
	line = line[:len(line)-1] // without the brace
	return fmt.Appendf(line, "%s%08x%s", sealName, Checksum(line), sealEnd)
}

// CheckSeal returns an error for the line of a file, with its number from 1, that has no
// checksum, or a wrong one, or a text that is too long. A whole file without checksums is that of an earlier version.
func CheckSeal(number int, line []byte) error {
	at := len(line) - sealSize
	switch {
	case at >= 0 && bytes.HasPrefix(line[at:], []byte(sealName)) && bytes.HasSuffix(line, []byte(sealEnd)):
	case number == 1 && bytes.HasPrefix(line, []byte("{")) && bytes.HasSuffix(line, []byte("}")):
		return ErrEarlier
	default:
		return ErrUnsealed
	}
	if want := fmt.Sprintf("%08x", Checksum(line[:at])); want != string(line[at+len(sealName):len(line)-len(sealEnd)]) {
		return ErrChecksum
	}
	return CheckTexts(line)
}

// Unsealed is a line, which CheckSeal has accepted, without its checksum.
func Unsealed(line []byte) []byte {
	return append(bytes.Clone(line[:len(line)-sealSize]), '}')
}

// Checksum is the CRC-32C, which processors compute.
func Checksum(text []byte) uint32 { return crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli)) }
