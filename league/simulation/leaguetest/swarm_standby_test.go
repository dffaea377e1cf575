package leaguetest_test

import (
	"bytes"
	"strings"
	"sync"

	"evenodd/league/journal/journalfile"
	"evenodd/league/manager"
	"evenodd/league/protocol"
	"evenodd/league/store/appendfile"
)

// A sharedStream has the journal of a league whose managers run on several machines. It loses nothing.
type sharedStream struct {
	mu    sync.Mutex
	lines [][]byte
}

// shared is what a process of the manager shares with those before and after it; nil for nothing. The process is nil
// for one that cannot crash.
func (l *timedLeague) shared(p *process) *manager.Shared {
	if l.stream == nil {
		return nil
	}
	return &manager.Shared{Stream: &streamEnd{l.stream, p, 0}, Master: protocol.MasterSecret(strings.Repeat("secret", 8))}
}

// A streamEnd is the part of one process in a stream.
type streamEnd struct {
	*sharedStream
	process *process
	known   int // the last line that the process knows
}

// Read implements journalfile.Stream.
func (e *streamEnd) Read(from int, visit appendfile.Visit) error {
	e.mu.Lock()
	lines := e.lines
	e.mu.Unlock()
	for e.known = len(lines); from <= len(lines); from++ {
		if err := visit(from, lines[from-1]); err != nil {
			return err
		}
	}
	return nil
}

// Append implements journalfile.Stream. Nothing of a process that has crashed arrives any more.
func (e *streamEnd) Append(_ int, lines []byte) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.known != len(e.lines) || e.process != nil && e.process.dead.Load() {
		return journalfile.ErrLost
	}
	for line := range bytes.Lines(lines) {
		e.lines = append(e.lines, bytes.Clone(bytes.TrimSpace(line)))
	}
	e.known = len(e.lines)
	return nil
}

// Limits implements journalfile.Stream.
func (e *streamEnd) Limits() (line, lines int) { return 1 << 20, 1 << 20 }
