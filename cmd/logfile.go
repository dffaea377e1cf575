package cmd

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/gofrs/flock"

	"evenodd/config"
	"evenodd/config/userfile"
	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/store/disk"
)

const (
	maxWaiting   = 1000           // lines that wait for the agent's id
	megabyte     = 1 << 20        // bytes
	orchestrator = "orchestrator" // component of a simulation
)

// A logFile appends the lines of a logger to a log file in a data folder. It creates the file with the first line. It
// writes each line with one call, so
// that the lines of several processes do not mix. Before the file grows above a size, the
// log renames it (path.1, path.2 and so on, the oldest last) and begins another. The size
// is that of the settings, and at most an eighth of the space that was free when the file
// was opened: logs alone cannot fill a disk, however many agents share it. If it cannot write, it reports that
// once on the screen and drops all later lines. It is safe for concurrent use. A nil
// logFile has no file; all its methods except Write do nothing.
type logFile struct {
	folder    string
	component string // "" to derive it from the agent_id of each line
	slug      string // file name for an agent without an id
	screen    io.Writer
	limits    config.Logs

	mu      sync.Mutex
	path    string    // "" before the agent has an id
	waiting [][]byte  // lines, until path is known
	file    disk.File // nil before the first line
	most    int64     // bytes of file
	ended   bool      // closed, or failed
}

var _ io.WriteCloser = (*logFile)(nil)

// newLogFile makes a log of the file name in a folder, or of an agent whose lines wait for its id if name is
// "". It returns nil without a data folder.
func newLogFile(dir, folder, name, component string, limits config.Logs, screen io.Writer) *logFile {
	if dir == "" {
		return nil
	}
	f := &logFile{folder: folder, component: component, screen: screen, limits: limits}
	if name != "" {
		f.path = f.pathOf(name)
	}
	return f
}

// openAgentLog opens the log of a referee or a player. Lines wait
// until the agent has an id; Close writes them to a file named slug if it got none.
func openAgentLog(dir, component, slug string, limits config.Logs, screen io.Writer) *logFile {
	f := newLogFile(dir, store.In(dir).AgentLogs(), "", component, limits, screen)
	if f != nil {
		f.slug = fileName(slug, component)
	}
	return f
}

// openSystemLog opens the log of a simulation, which all its agents share.
func openSystemLog(dir string, limits config.Logs, screen io.Writer) *logFile {
	return newLogFile(dir, filepath.Join(dir, "logs", "system"), orchestrator, "", limits, screen)
}

// fileName returns an id if it is safe as a file name, else otherwise: managers and
// users choose ids.
func fileName(id, otherwise string) string {
	if protocol.ValidLeagueID(id) {
		return id
	}
	return otherwise
}

// setAgent sets the id that the league gave the agent. An id that is unsafe as a file
// name counts as none. With a new id the log continues in another file.
func (f *logFile) setAgent(id string) {
	if f == nil || id == "" || f.slug == "" {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.setName(fileName(id, f.slug))
}

// pathOf returns the path of the log of an agent.
func (f *logFile) pathOf(name string) string { return filepath.Join(f.folder, name+store.LogEnd) }

// setName sets the path, unless the log has ended, and writes the waiting lines.
func (f *logFile) setName(name string) {
	if path := f.pathOf(name); !f.ended && path != f.path {
		_ = f.closeFile() // nothing is buffered
		f.path = path
	}
	for _, line := range f.waiting {
		f.append(line)
	}
	f.waiting = nil
}

// Write writes one line of the logger. It never returns an error.
func (f *logFile) Write(line []byte) (int, error) {
	converted := arranged(line, f.component)
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.path != "":
		f.append(converted)
	case !f.ended:
		if len(f.waiting) == maxWaiting {
			f.waiting = f.waiting[1:]
		}
		f.waiting = append(f.waiting, converted)
	}
	return len(line), nil
}

// append writes a line, unless the log has ended.
func (f *logFile) append(line []byte) {
	if f.ended {
		return
	}
	var err error
	if f.file == nil {
		err = f.open(true)
	}
	if err == nil {
		err = f.rotate(int64(len(line)))
	}
	if err == nil {
		_, err = f.file.Write(line)
	}
	if err != nil {
		f.fail(err)
	}
}

// fail ends a log that cannot be written.
func (f *logFile) fail(err error) {
	f.ended = true
	_ = f.closeFile() // the log has failed already
	_ = printLine(f.screen, "evenodd: cannot write the log %s: %v; continuing without it", f.path, userfile.Reason(err))
}

// Close writes the waiting lines. It drops later ones.
func (f *logFile) Close() error {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.waiting) > 0 {
		f.setName(f.slug)
	}
	f.ended = true
	return f.closeFile()
}

// openLog opens a log for appending. With mend it ends a line that a crash has torn: a process that opens the file
// only because another one has begun it could take a line that is being written for torn.
func openLog(path string, mend bool) (disk.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	f, err := disk.Real{}.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	last := []byte{'\n'}
	about, err := f.Stat()
	if err == nil && mend && about.Size() > 0 {
		_, err = f.ReadAt(last, about.Size()-1)
	}
	if err == nil && last[0] != '\n' {
		_, err = f.Write([]byte("\n"))
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// arranged converts a line of the logger, whose members are all at one level, to a line of a
// log file. One member holds those that have no place of their own: details in the log of a
// league, data in other logs. Values keep their spelling, to the last digit of a number. Text
// that is no JSON object becomes the message of a line.
func arranged(line []byte, component string) []byte {
	// The logger writes repeated names and bytes that are not UTF-8.
	asWritten := json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.PreserveRawStrings(true))
	line = bytes.ToValidUTF8(line, []byte("\uFFFD"))
	var from, rest, to protocol.Object
	if json.Unmarshal(line, &from, asWritten) != nil || from == nil {
		from.Set("timestamp", protocol.Quote(time.Now().UTC().Format(logTime)))
		from.Set("message", protocol.Quote(strings.TrimSpace(string(line))))
		return append(from.Append(nil), '\n')
	}
	restName := "data"
	switch component {
	case protocol.ManagerSender:
		restName = "details"
	case "":
		component = componentOf(from.Raw("agent_id"))
		from.Add("agent_id", protocol.Quote(component))
	}
	from.Add("component", protocol.Quote(component))
	placed := []string{"timestamp", "level", "agent_id", "component", "event_type", "message", "message_type",
		"conversation_id"}
	for _, name := range placed {
		to = append(to, league.Member[jsontext.Value]{Name: name})
	}
	for _, m := range from {
		if i := slices.Index(placed, m.Name); i >= 0 {
			to[i].Value = m.Value // the last one of repeated members
		} else {
			rest = append(rest, m)
		}
	}
	if len(rest) > 0 {
		all, _ := json.Marshal(rest, asWritten) // each value is valid JSON
		to.Set(restName, all)
	}
	to = slices.DeleteFunc(to, func(m league.Member[jsontext.Value]) bool { return m.Value == nil })
	text, _ := json.Marshal(to, asWritten)
	return append(text, '\n')
}

// componentOf returns the role of an agent, from its quoted id. The simulation
// itself has no role.
func componentOf(agentID jsontext.Value) string {
	switch role, _, _ := strings.Cut(protocol.Unquote(agentID), ":"); role {
	case protocol.ManagerSender, "referee", "player":
		return role
	}
	return orchestrator
}

// rotate begins another file if a line of so many bytes would make this one too large. Other
// processes may append to the same file and rotate it too: the size is that on disk.
func (f *logFile) rotate(line int64) error {
	about, err := f.file.Stat()
	if err != nil || about.Size() == 0 || about.Size()+line <= f.most {
		return err
	}
	if err := f.shiftOnce(about); err != nil {
		return err
	}
	if err := f.closeFile(); err != nil {
		return err
	}
	return f.open(false)
}

// closeFile closes the file, if one is open.
func (f *logFile) closeFile() error {
	file := f.file
	f.file = nil
	if file == nil {
		return nil
	}
	return file.Close()
}

// open opens the file at the path, and decides how large it may become.
func (f *logFile) open(mend bool) (err error) {
	if f.file, err = openLog(f.path, mend); err != nil {
		return err
	}
	f.most = int64(f.limits.MaxFileMB) * megabyte
	if free, err := disk.FreeSpace(f.folder); err == nil { // else writing fails when the disk is full
		f.most = min(f.most, int64(min(free/8, math.MaxInt64)))
	}
	return nil
}

// shiftOnce is shift, unless another process has renamed this file. It locks the file, because
// two processes that rename at the same time would replace each other's files.
func (f *logFile) shiftOnce(own os.FileInfo) (err error) {
	lock := flock.New(f.path, flock.SetFlag(os.O_RDONLY|syscall.O_NONBLOCK)) // without it: another process is renaming
	switch err := lock.Lock(); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if current, err := os.Stat(f.path); err != nil || !os.SameFile(own, current) {
		return nil // another process has renamed it
	}
	return f.shift()
}

// shift renames the files of the log, and removes those above the limit.
func (f *logFile) shift() error {
	for n := f.limits.MaxFiles; ; n++ { // more than one if the limit was higher before
		if err := os.Remove(f.backup(n)); err != nil {
			break
		}
	}
	for n := f.limits.MaxFiles - 1; n > 0; n-- {
		if err := os.Rename(f.backup(n-1), f.backup(n)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if f.limits.MaxFiles == 1 {
		return os.Remove(f.path)
	}
	return nil
}

// backup returns the path of an older file of the log: 1 is the newest of them, 0 the current file.
func (f *logFile) backup(n int) string {
	if n == 0 {
		return f.path
	}
	return fmt.Sprintf("%s.%d", f.path, n)
}
