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
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
)

const (
	maxWaiting   = 1000 // lines
	maxEventType = 60   // characters

	orchestrator = "orchestrator" // who runs a simulation
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

// A record is a line of a log file: table 12 of spec 003, and what §9.5.1 and
// §10.6.2 add.
type record struct {
	timestamp, level, agentID, component, eventType jsontext.Value
	message, messageType, conversationID            jsontext.Value

	rest string   // quoted: the member that holds everything else
	data []member // everything else, in the order it came
}

// The member that holds everything else: in the league's log that of §9.5.1, in the
// others that of table 12.
const (
	restOfLeague = `"details"`
	restOfOthers = `"data"`
)

// A member is a member of a JSON object, its name quoted as it came.
type member struct{ name, value jsontext.Value }

// arranged makes a line for the file of a line of the logger. Values stay as
// they are written, to the last digit of a number.
func arranged(line []byte, component string) []byte {
	if !utf8.Valid(line) {
		line = bytes.ToValidUTF8(line, []byte("\uFFFD"))
	}
	r := record{rest: restOfOthers}
	if component == protocol.ManagerSender {
		r.rest = restOfLeague
	}
	members, ok := membersOf(line)
	if !ok {
		r.timestamp, r.message = quoted(time.Now().UTC().Format(logTime)), quoted(strings.TrimSpace(string(line)))
		return r.line()
	}
	for _, m := range members {
		r.place(m)
	}
	if component == "" {
		component = componentOf(unquoted(r.agentID))
		if r.agentID == nil {
			r.agentID = quoted(component)
		}
	}
	if r.component == nil {
		r.component = quoted(component)
	}
	if event := eventOf(unquoted(r.message)); r.eventType == nil && event != "" {
		r.eventType = quoted(event)
	}
	return r.line()
}

// membersOf are the members of a JSON object, in order; false if the text is
// something else. They share the memory of the text.
func membersOf(text []byte) (members []member, ok bool) {
	members = make([]member, 0, 16)
	d := jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true)) // the logger does not look for them
	next := func() (jsontext.Value, error) {
		v, err := d.ReadValue()
		end := int(d.InputOffset())
		return text[end-len(v) : end : end], err
	}
	if token, err := d.ReadToken(); err != nil || token.Kind() != '{' {
		return nil, false
	}
	for d.PeekKind() != '}' {
		name, err := next()
		if err != nil {
			return nil, false
		}
		value, err := next()
		if err != nil {
			return nil, false
		}
		members = append(members, member{name, value})
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, false
	}
	_, err := d.ReadToken()
	return members, errors.Is(err, io.EOF)
}

// place puts a member where it belongs. Of two with the same name the later
// counts, as it does for most readers of JSON.
func (r *record) place(m member) {
	for _, p := range r.places() {
		if string(m.name) == p.name {
			*p.value = m.value
			return
		}
	}
	if string(m.name) == r.rest {
		if inner, ok := membersOf(m.value); ok {
			for _, m := range inner {
				r.add(m)
			}
			return
		}
	}
	r.add(m)
}

func (r *record) add(m member) {
	for i := range r.data {
		if bytes.Equal(r.data[i].name, m.name) {
			r.data[i].value = m.value
			return
		}
	}
	r.data = append(r.data, m)
}

type place struct {
	name  string // quoted
	value *jsontext.Value
}

// places are the members of a line that have a place in it, in order.
func (r *record) places() [8]place {
	return [...]place{
		{`"timestamp"`, &r.timestamp}, {`"level"`, &r.level}, {`"agent_id"`, &r.agentID},
		{`"component"`, &r.component}, {`"event_type"`, &r.eventType}, {`"message"`, &r.message},
		{`"message_type"`, &r.messageType}, {`"conversation_id"`, &r.conversationID},
	}
}

// line is the record as JSON, with the newline.
func (r *record) line() []byte {
	line := append(make([]byte, 0, 512), '{')
	for _, p := range r.places() {
		if *p.value != nil {
			line = withMember(line, p.name, *p.value)
		}
	}
	if len(r.data) > 0 {
		data := []byte{'{'}
		for _, m := range r.data {
			data = withMember(data, string(m.name), m.value)
		}
		line = withMember(line, r.rest, append(data, '}'))
	}
	return append(line, "}\n"...)
}

// withMember adds a member to an object that is being written. A value that
// came on several lines is put on one.
func withMember(object []byte, name string, value jsontext.Value) []byte {
	if object[len(object)-1] != '{' {
		object = append(object, ',')
	}
	object = append(append(object, name...), ':')
	if bytes.ContainsAny(value, "\r\n") {
		object, _ = jsontext.AppendFormat(object, value, jsontext.AllowDuplicateNames(true), jsontext.PreserveRawStrings(true)) // it was read before
		return object
	}
	return append(object, value...)
}

// componentOf is the kind of an agent; the simulation itself is none.
func componentOf(agentID string) string {
	switch kind, _, _ := strings.Cut(agentID, ":"); kind {
	case protocol.ManagerSender, "referee", "player":
		return kind
	}
	return orchestrator
}

// eventOf names an event after its message: ROUND_COMPLETED for "round completed".
// Messages of the transport, and those that the specification names, have names of
// their own.
func eventOf(message string) string {
	switch message {
	case "round announced":
		return "ROUND_ANNOUNCEMENT_SENT" // spec 003 §9.5.1
	case "sent":
		return "MESSAGE_SENT" // spec 003 §10.6.3
	case "received":
		return "MESSAGE_RECEIVED"
	case "answered":
		return "ANSWER_SENT"
	case "received the answer":
		return "ANSWER_RECEIVED"
	case "failed":
		return "CALL_FAILED"
	}
	words := strings.FieldsFunc(strings.ReplaceAll(message, "'", ""), func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsDigit(c) && c != '_'
	})
	name := []rune(strings.ToUpper(strings.Join(words, "_")))
	return strings.TrimRight(string(name[:min(len(name), maxEventType)]), "_")
}

// quoted is text as JSON.
func quoted(text string) jsontext.Value {
	v, _ := jsontext.AppendQuote(nil, text) // what is no UTF-8 is replaced
	return v
}

// unquoted is the text of a JSON string, "" of anything else.
func unquoted(v jsontext.Value) string {
	if v.Kind() != '"' {
		return ""
	}
	text, _ := jsontext.AppendUnquote(nil, v) // it was read before
	return string(text)
}
