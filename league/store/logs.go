package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"evenodd/league/protocol"
	"evenodd/league/store/disk"
)

// LogEnd is the end of the names of log files.
const LogEnd = ".log.jsonl"

// AgentLogs is the folder of the logs of referees and players.
func (f Folder) AgentLogs() string { return f.path("logs", "agents") }

// LeagueLogs is the folder of the log of a league's manager.
func (f Folder) LeagueLogs(leagueID string) string { return f.path("logs", "league", leagueID) }

// A logPart is a log file, of which only some lines count.
type logPart struct {
	path  string
	size  int64
	about string // an id: only lines with it as a value count; "" for all lines
}

// logParts are the files of a log, the oldest first.
func (f Folder) logParts(path, about string) (parts []logPart) {
	for n := 0; ; n++ {
		name := path
		if n > 0 {
			name = fmt.Sprintf("%s.%d", path, n)
		}
		info, err := f.Disk.Stat(name)
		if err != nil && n > 0 {
			return parts
		}
		if err == nil && info.Mode().IsRegular() {
			parts = append([]logPart{{name, info.Size(), about}}, parts...)
		}
	}
}

// maxLogRead is how many bytes of log files one call of AgentLog reads.
const maxLogRead = 256 << 10

// AgentLog returns a part of the log of an agent that has its log in this folder, followed by
// the lines of the manager's log about it. The first part has the offset 0; next is the
// offset of the following part, 0 behind the last. A log that is rotated meanwhile may lack
// lines or repeat some. A missing log has no lines; an error is that of the file system.
func (f Folder) AgentLog(leagueID, agentID string, offset int64) (lines []string, next int64, err error) {
	parts := append(f.logParts(filepath.Join(f.AgentLogs(), agentID+LogEnd), ""),
		f.logParts(filepath.Join(f.LeagueLogs(leagueID), "league"+LogEnd), agentID)...)
	start := int64(0)
	for _, p := range parts {
		if offset >= start+p.size {
			start += p.size
			continue
		}
		lines, read, err := p.lines(f.Disk, offset-start)
		if err != nil {
			return nil, 0, err
		}
		if next = offset + read; p == parts[len(parts)-1] && next == start+p.size {
			next = 0
		}
		return lines, next, nil
	}
	return []string{}, 0, nil
}

// lines returns whole lines from an offset on without tokens, and how many bytes were read.
func (p *logPart) lines(d disk.Disk, offset int64) (lines []string, read int64, err error) {
	file, err := disk.Open(d, p.path)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = file.Close() }() // only read
	text := make([]byte, min(maxLogRead, p.size-offset))
	n, err := file.ReadAt(text, offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, 0, err
	}
	text = text[:n]
	read = min(int64(len(text)), p.size-offset)
	if end := bytes.LastIndexByte(text, '\n'); end >= 0 {
		text = text[:end+1]
		if offset+maxLogRead < p.size {
			read = int64(len(text))
		}
	} else {
		text = nil // no whole line: damaged
	}
	lines = []string{}
	for line := range bytes.Lines(text) {
		line = bytes.TrimSuffix(line, []byte{'\n'})
		if p.about == "" || mentions(line, p.about) {
			lines = append(lines, string(protocol.HideTokens(line)))
		}
	}
	return lines, max(read, 1), nil
}

// mentions tells whether a line of JSON has an id as a value: "P01" or "player:P01".
func mentions(line []byte, id string) bool {
	for _, before := range []string{`"`, ":"} {
		if bytes.Contains(line, []byte(before+id+`"`)) {
			return true
		}
	}
	return false
}
