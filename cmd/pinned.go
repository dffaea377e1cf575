package cmd

import (
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/term"
)

// A pinned is a terminal with a block of rows below the lines that are printed, which is redrawn in place. Each write
// has whole lines. It is safe for concurrent use.
type pinned struct {
	file *os.File

	mu            sync.Mutex
	block         []string // rows of the block, each narrower than the terminal; nil for none
	entered       int      // rows that the terminal added below the block, because the user pressed Enter
	width, height int      // of the terminal when the block was drawn
	recent        []string // the last lines, which come again when the terminal has another size
}

// pin returns a terminal without a block; nil for a terminal that cannot move its cursor.
func pin(w any) *pinned {
	if f, ok := w.(*os.File); ok && isTerminal(f) && os.Getenv("TERM") != "dumb" {
		return &pinned{file: f}
	}
	return nil
}

// recentLines is the number of lines that a pinned keeps.
const recentLines = 40

// Write implements io.Writer. It prints lines above the block.
func (p *pinned) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.recent = append(p.recent, strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")...)
	p.recent = p.recent[max(len(p.recent)-recentLines, 0):]
	if p.block == nil {
		return p.file.Write(text)
	}
	_, err := p.file.WriteString(p.above() + clearBelow + string(text) + drawn(p.block))
	return len(text), err
}

// Fd is the file descriptor of the terminal. By it, Read and Close, package lipgloss knows a terminal, and its colours.
func (p *pinned) Fd() uintptr { return p.file.Fd() }

// Read reads from the terminal.
func (p *pinned) Read(text []byte) (int, error) { return p.file.Read(text) }

// Close closes the terminal.
func (p *pinned) Close() error { return p.file.Close() }

// Control sequences of terminals.
const (
	clearBelow  = "\x1b[J"
	clearRest   = "\x1b[K" // of the row
	clearScreen = "\x1b[H\x1b[2J"
)

// above moves the cursor to the first row of the block. The lock is held.
func (p *pinned) above() string {
	up := len(p.block) - 1 + p.entered
	p.entered = 0
	if up <= 0 {
		return "\r"
	}
	return "\r\x1b[" + strconv.Itoa(up) + "A"
}

// drawn is the text of a block. The cursor stays in its last row, where the user types.
func drawn(block []string) string { return strings.Join(block, clearRest+"\n") + clearRest }

// draw puts a block in place of the last one, in one write, if they differ. It has fewer rows than the terminal.
func (p *pinned) draw(block []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	columns, rows := p.size()
	resized := p.block != nil && (columns != p.width || rows != p.height)
	text, same := drawn(block), drawn(p.block)
	if text == same && !resized && p.entered == 0 {
		return
	}
	switch {
	case resized: // terminals break and join rows in ways of their own
		text = clearScreen + p.last(rows-len(block)-1) + text
	case p.block != nil:
		text = p.above() + text + clearBelow
	}
	p.block, p.width, p.height, p.entered = block, columns, rows, 0
	draw(p.file, text)
}

// last are the last lines, of so many at most. The lock is held.
func (p *pinned) last(most int) string {
	var text strings.Builder
	for _, line := range p.recent[max(len(p.recent)-max(most, 0), 0):] {
		text.WriteString(line + "\n")
	}
	return text.String()
}

// remove ends the block: lines follow in its place.
func (p *pinned) remove() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.block != nil {
		draw(p.file, p.above()+clearBelow)
		p.block = nil
	}
}

// enteredLine notes that the user pressed Enter, which the terminal has shown.
func (p *pinned) enteredLine() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.block != nil {
		p.entered++
	}
}

// size is the number of columns and rows of the terminal now; 0 if they are unknown.
func (p *pinned) size() (columns, rows int) {
	columns, rows, err := term.GetSize(int(p.file.Fd()))
	if err != nil {
		return 0, 0
	}
	return columns, rows
}

// columns is the width of the terminal, for tables.
func (p *pinned) columns() int {
	columns, _ := p.size()
	return columns
}
