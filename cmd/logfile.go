package cmd

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
)

const (
	maxWaiting   = 1000           // lines
	orchestrator = "orchestrator" // component of a simulation
)

// A logFile takes the lines of a logger and appends them to a log in a data
// folder (spec 003 §9.5). It makes the file with the first line, writes each
// line at once and whole, so that those of several processes do not mix, and
// never fails its agent: when it cannot write it says so on the screen, once,
// and takes no more. Safe for concurrent use; all methods but Write do nothing
// on nil, which stands for no file.
type logFile struct {
	folder    string
	component string // "" to tell it from each line's agent_id
	slug      string // names the file of an agent that gets no id
	screen    io.Writer

	mu      sync.Mutex
	path    string   // "" while the agent has no id
	waiting [][]byte // for the path
	dropped int      // lines that waited in vain
	file    *os.File // nil before the first line
	ended   bool     // closed, or given up
}

var _ io.WriteCloser = (*logFile)(nil)

// openLeagueLog is the log of a league's manager (spec 003 §9.5.1). As those
// below it is nil, which takes nothing, where there is no data folder.
func openLeagueLog(dir, leagueID string, screen io.Writer) *logFile {
	if dir == "" {
		return nil
	}
	folder := filepath.Join(dir, "logs", "league", fileName(leagueID, protocol.ManagerSender))
	return &logFile{
		folder: folder, path: filepath.Join(folder, "league.log.jsonl"),
		component: protocol.ManagerSender, screen: screen,
	}
}

// openAgentLog is the log of a referee or a player (spec 003 §9.5.2). Its lines
// wait until the agent has an id; without one they go to a file called slug.
func openAgentLog(dir, component, slug string, screen io.Writer) *logFile {
	if dir == "" {
		return nil
	}
	return &logFile{
		folder: filepath.Join(dir, "logs", "agents"), slug: fileName(slug, component),
		component: component, screen: screen,
	}
}

// openSystemLog is the log of all agents of a simulation.
func openSystemLog(dir string, screen io.Writer) *logFile {
	if dir == "" {
		return nil
	}
	folder := filepath.Join(dir, "logs", "system")
	return &logFile{folder: folder, path: filepath.Join(folder, orchestrator+".log.jsonl"), screen: screen}
}

// fileName is an id that came from elsewhere, if it can name a file.
func fileName(id, otherwise string) string {
	if protocol.ValidLeagueID(id) {
		return id
	}
	return otherwise
}

// agent tells the id that the league gave the agent. An id that cannot name a file
// counts as none. An agent that gets another id goes on in another file.
func (f *logFile) agent(id string) {
	if f == nil || id == "" || f.slug == "" {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	name := fileName(id, f.slug)
	switch {
	case f.ended:
	case f.path == "":
		f.settle(name)
	case f.path != f.named(name):
		if f.file != nil {
			_ = f.file.Close() // each line was written at once
		}
		f.file, f.path = nil, f.named(name)
	}
}

// named is the path of the log of an agent.
func (f *logFile) named(name string) string { return filepath.Join(f.folder, name+".log.jsonl") }

// settle names the file, and writes what waited for that.
func (f *logFile) settle(name string) {
	f.path = f.named(name)
	if f.dropped > 0 {
		f.append(arranged(fmt.Appendf(nil,
			`{"timestamp":%q,"level":"WARN","agent_id":%q,"event_type":"LINES_DROPPED","message":"the oldest lines are missing: the agent was too long without an id","dropped":%d}`,
			time.Now().UTC().Format(logTime), f.component+":"+name, f.dropped), f.component))
	}
	for _, line := range f.waiting {
		f.append(line)
	}
	f.waiting = nil
}

// Write takes one line of the logger. It never fails.
func (f *logFile) Write(line []byte) (int, error) {
	ours := arranged(line, f.component)
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.path != "":
		f.append(ours)
	case !f.ended:
		if len(f.waiting) == maxWaiting {
			f.waiting = f.waiting[1:]
			f.dropped++
		}
		f.waiting = append(f.waiting, ours)
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
		f.file, err = openLog(f.path)
	}
	if err == nil {
		_, err = f.file.Write(line)
	}
	if err != nil {
		f.giveUp(err)
	}
}

// giveUp ends a log that cannot be written.
func (f *logFile) giveUp(err error) {
	f.ended = true
	if f.file != nil {
		_ = f.file.Close() // lost already
	}
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err // the path is said
	}
	_, _ = fmt.Fprintf(f.screen, "evenodd: cannot write the log %s: %v; going on without it\n", f.path, err)
}

// Close writes what is still waiting. Later lines are lost.
func (f *logFile) Close() error {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.path == "" && len(f.waiting) > 0 {
		f.settle(f.slug)
	}
	if f.ended {
		return nil
	}
	f.ended = true
	if f.file == nil {
		return nil
	}
	return f.file.Close()
}

// openLog opens a log to append to it. A line that a killed process has left
// unfinished gets its end, so that it spoils no other.
func openLog(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	torn, err := endsTorn(f)
	if err == nil && torn {
		_, err = f.WriteString("\n")
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func endsTorn(f *os.File) (bool, error) {
	about, err := f.Stat()
	if err != nil || about.Size() == 0 {
		return false, err
	}
	var last [1]byte
	_, err = f.ReadAt(last[:], about.Size()-1)
	return last[0] != '\n', err
}

// The members of a line in a log file: table 12 of spec 003.
type lineMembers struct {
	Timestamp      jsontext.Value `json:"timestamp,omitzero"`
	Level          jsontext.Value `json:"level,omitzero"`
	AgentID        jsontext.Value `json:"agent_id,omitzero"`
	Component      jsontext.Value `json:"component,omitzero"`
	EventType      jsontext.Value `json:"event_type,omitzero"`
	Message        jsontext.Value `json:"message,omitzero"`
	MessageType    jsontext.Value `json:"message_type,omitzero"`
	ConversationID jsontext.Value `json:"conversation_id,omitzero"`
}

// A loggerLine is a line as the logger writes it: all members are at one level.
type loggerLine struct {
	lineMembers
	Rest jsontext.Value `json:",embed"`
}

// A fileLine is a line of a log file. One member holds the rest: details in the
// log of a league (spec 003 §9.5.1), data in other logs (table 12).
type fileLine struct {
	lineMembers
	Details jsontext.Value `json:"details,omitzero"`
	Data    jsontext.Value `json:"data,omitzero"`
}

// arranged converts a line of the logger to a line of a log file. Values keep
// their spelling, to the last digit of a number. Text that is no JSON object
// becomes the message of a line.
func arranged(line []byte, component string) []byte {
	// The logger writes repeated names and bytes that are not UTF-8.
	asWritten := json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.PreserveRawStrings(true))
	line = bytes.ToValidUTF8(line, []byte("\uFFFD"))
	var from loggerLine
	var to fileLine
	if err := json.Unmarshal(line, &from, asWritten); err != nil || !bytes.HasPrefix(line, []byte{'{'}) {
		to.Timestamp, to.Message = quoted(time.Now().UTC().Format(logTime)), quoted(strings.TrimSpace(string(line)))
	} else {
		to.lineMembers, to.Data = from.lineMembers, from.Rest
		switch component {
		case protocol.ManagerSender:
			to.Data, to.Details = nil, from.Rest
		case "":
			component = componentOf(to.AgentID)
			if to.AgentID == nil {
				to.AgentID = quoted(component)
			}
		}
		if to.Component == nil {
			to.Component = quoted(component)
		}
	}
	text, _ := json.Marshal(&to, asWritten) // each value is valid JSON
	return append(text, '\n')
}

// componentOf returns the role of an agent, from its quoted id. The simulation
// itself has no role.
func componentOf(agentID jsontext.Value) string {
	id, _ := jsontext.AppendUnquote(nil, agentID) // "" for other values
	switch role, _, _ := strings.Cut(string(id), ":"); role {
	case protocol.ManagerSender, "referee", "player":
		return role
	}
	return orchestrator
}

// quoted is text as JSON.
func quoted(text string) jsontext.Value {
	v, _ := jsontext.AppendQuote(nil, text) // replaces bytes that are not UTF-8
	return v
}
