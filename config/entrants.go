package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"evenodd/config/userfile"
	"evenodd/league/protocol"
	"evenodd/league/words"
)

// An Entrant is one player of an entrants file.
type Entrant struct {
	Name  string // display name; no other entrant has it
	Kind  string // one of the kinds below
	Value string // of KindStrategy the name, of KindExec the command line, of KindURL the URL as written
	LLM   EntrantLLM
	MCP   EntrantMCP

	Where  string // path and line of the entry, for errors: "class.yaml: line 3"
	Folder string // absolute path of the file's folder, in which the entrant's programs start
}

// The kinds of entrants are the members of an entry that select them.
const (
	KindStrategy = "strategy" // a strategy of this program
	KindExec     = "exec"     // a program that answers questions
	KindLLM      = "llm"      // a language model
	KindMCP      = "mcp"      // a tool of an MCP server
	KindURL      = "url"      // an external agent
)

// An EntrantLLM is the language model of an entrant.
type EntrantLLM struct {
	URL, Model string
	PromptFile string // absolute path; "" for none
	Prompt     string // text of the prompt file
	KeyEnv     string // environment variable with the key, which is set; "" for a model without key
}

// Key returns the key of the model; "" for none.
func (l *EntrantLLM) Key() string { return strings.TrimSpace(os.Getenv(l.KeyEnv)) }

// An EntrantMCP is the MCP server of an entrant. It has a command or a URL.
type EntrantMCP struct {
	Command, URL string
	Tool         string // "" for the server's only tool, or for the one called choose
}

// Strategy returns the entrant's strategy as the flag --strategy takes it, such as
// contrarian, exec:./bot.py or llm; "" for KindURL.
func (e *Entrant) Strategy() string {
	switch e.Kind {
	case KindURL:
		return ""
	case KindExec:
		return "exec:" + e.Value
	case KindLLM, KindMCP:
		return e.Kind
	}
	return e.Value
}

// The limits of an entrants file.
const (
	maxEntrantsFile = 1 << 20  // bytes
	maxPromptFile   = 64 << 10 // bytes
	maxEntrants     = 10_000
)

// LoadEntrants reads an entrants file, which is YAML. The entrants are in the order of the
// file, those of an entry with a count as Name-1, Name-2 and so on. The error lists all
// problems of the file, each with its line. check is called once for each entry whose other
// members are right: it checks the name of the strategy, the command line or the URL of the agent.
func LoadEntrants(path string, check func(*Entrant) error) ([]Entrant, error) {
	text, err := userfile.ReadText(path, maxEntrantsFile)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	folder, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	f := &entrantsFile{path: path, folder: folder, check: check, lines: nameLines{}}
	var document, more yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(&document); err != nil {
		return nil, fmt.Errorf("%s: the file must be YAML with a list of entrants: %w", path, err)
	}
	if err := decoder.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: the file must be one YAML document: remove what follows the line ---", path)
	}
	f.read(document.Content[0])
	return f.entrants, errors.Join(f.problems...)
}

// ReadPrompt reads a file with the instructions for a language model.
func ReadPrompt(path string) (string, error) {
	text, err := userfile.ReadText(path, maxPromptFile)
	prompt := strings.TrimSpace(string(text))
	if err == nil && prompt == "" {
		err = errors.New("the file is empty")
	}
	return prompt, err
}

// An entrantsFile collects the entrants and the problems of a file.
type entrantsFile struct {
	path, folder string
	check        func(*Entrant) error
	entrants     []Entrant
	lines        nameLines
	problems     []error
}

func (f *entrantsFile) refuse(n *yaml.Node, format string, args ...any) {
	f.problems = append(f.problems, fmt.Errorf("%s: line %d: %s", f.path, n.Line, fmt.Sprintf(format, args...)))
}

func (f *entrantsFile) read(document *yaml.Node) {
	list := f.members(document, "the file", "entrants")["entrants"]
	if list == nil || list.Kind != yaml.SequenceNode || len(list.Content) == 0 {
		f.refuse(document, "entrants must be a list of at least one entrant")
		return
	}
	for _, entry := range list.Content {
		f.entry(entry)
	}
	if len(f.entrants) > maxEntrants {
		f.refuse(list, "%d entrants: a file has at most %d", len(f.entrants), maxEntrants)
	}
}

// entry adds the entrants of an entry.
func (f *entrantsFile) entry(n *yaml.Node) {
	kinds := []string{KindStrategy, KindExec, KindLLM, KindMCP, KindURL}
	m := f.members(n, "an entrant", append([]string{"name", "count"}, kinds...)...)
	if m == nil {
		return
	}
	e := Entrant{Where: fmt.Sprintf("%s: line %d", f.path, n.Line), Folder: f.folder}
	problems := len(f.problems)
	given := slices.DeleteFunc(kinds, func(kind string) bool { return m[kind] == nil })
	if len(given) != 1 {
		f.refuse(n, "an entrant has exactly one of strategy, exec, llm, mcp and url; this one has %s",
			cmp.Or(strings.Join(given, ", "), "none"))
	} else {
		e.Kind = given[0]
		f.kind(&e, m[e.Kind])
	}
	if len(f.problems) == problems {
		if err := f.check(&e); err != nil {
			f.problems = append(f.problems, fmt.Errorf("%s: %w", e.Where, err))
		}
	}
	if e.Name = f.text(m["name"], "name"); e.Name != "" {
		f.add(m, e)
	} else if m["name"] == nil {
		f.refuse(n, "an entrant needs a name")
	}
}

// kind reads the member that selects the kind of an entrant.
func (f *entrantsFile) kind(e *Entrant, n *yaml.Node) {
	switch e.Kind {
	case KindLLM:
		f.llm(&e.LLM, n)
	case KindMCP:
		m := f.members(n, "mcp", "command", "url", "tool")
		e.MCP = EntrantMCP{Command: f.text(m["command"], "command"), URL: f.text(m["url"], "url"),
			Tool: f.text(m["tool"], "tool")}
		if m != nil && (m["command"] == nil) == (m["url"] == nil) {
			f.refuse(n, "mcp needs either a command or a url")
		}
		f.httpURL(m["url"], e.MCP.URL, "http://localhost:3000/mcp")
	default:
		e.Value = f.text(n, e.Kind)
		kind, _, _ := strings.Cut(e.Value, ":")
		if e.Kind == KindStrategy && slices.Contains([]string{KindLLM, KindMCP, KindExec}, kind) {
			f.refuse(n, "strategy: %s: use the member %s", e.Value, kind)
		}
	}
}

func (f *entrantsFile) llm(l *EntrantLLM, n *yaml.Node) {
	m := f.members(n, "llm", "url", "model", "prompt_file", "key_env")
	l.URL, l.Model, l.KeyEnv = f.text(m["url"], "url"), f.text(m["model"], "model"), f.text(m["key_env"], "key_env")
	if m != nil && (m["url"] == nil || m["model"] == nil) {
		f.refuse(n, "llm needs a url and a model, for example http://localhost:11434/v1 and llama3.2")
	}
	f.httpURL(m["url"], l.URL, "http://localhost:11434/v1")
	if path := f.text(m["prompt_file"], "prompt_file"); path != "" {
		if l.PromptFile = path; !filepath.IsAbs(path) {
			l.PromptFile = filepath.Join(f.folder, path)
		}
		var err error
		if l.Prompt, err = ReadPrompt(l.PromptFile); err != nil {
			f.refuse(m["prompt_file"], "prompt_file %s: %v", path, err)
		}
	}
	if l.KeyEnv != "" && l.Key() == "" { // the error does not show the value: it may be a key
		f.refuse(m["key_env"], "key_env must be the name of an environment variable that holds the key of this model; "+
			"keys never stand in this file")
	}
}

// httpURL checks the URL of a model or an MCP server.
func (f *entrantsFile) httpURL(n *yaml.Node, text, example string) {
	if text == "" {
		return
	}
	switch u, _ := url.Parse(text); {
	case !protocol.ValidHTTP(text):
		f.refuse(n, "url: must be a URL such as %s", example)
	case u.User != nil:
		f.refuse(n, "url: must not contain a user or a password")
	}
}

// add adds the entrant, or as many as its count says.
func (f *entrantsFile) add(m map[string]*yaml.Node, e Entrant) {
	count, first := m["count"], e.Name
	if count == nil {
		f.name(m["name"], e)
		return
	}
	n, err := strconv.Atoi(f.text(count, "count"))
	switch {
	case err != nil || n < 1 || n > maxEntrants:
		f.refuse(count, "count must be a whole number from 1 to %d", maxEntrants)
		return
	case e.Kind == KindURL:
		f.refuse(count, "count: one URL is one player: name each with an entry of its own")
		return
	}
	problems := len(f.problems)
	for i := 1; i <= n && len(f.problems) == problems; i++ { // one problem is enough
		e.Name = fmt.Sprintf("%s-%d", first, i)
		f.name(m["name"], e)
	}
}

// name adds an entrant if its name is valid and new.
func (f *entrantsFile) name(n *yaml.Node, e Entrant) {
	if err := f.lines.add("", e.Name, n.Line); err != nil {
		f.refuse(n, "%s", err)
		return
	}
	f.entrants = append(f.entrants, e)
}

// members returns the values of a mapping by name; nil for another value.
func (f *entrantsFile) members(n *yaml.Node, what string, known ...string) map[string]*yaml.Node {
	if n.Kind != yaml.MappingNode {
		f.refuse(n, "%s must have members: %s", what, strings.Join(known, ", "))
		return nil
	}
	m := map[string]*yaml.Node{}
	for i := 0; i < len(n.Content); i += 2 {
		name := n.Content[i]
		switch {
		case !slices.Contains(known, name.Value):
			f.refuse(name, "unknown member %q%s: %s has only %s", words.Clip(name.Value, 60),
				words.DidYouMean(name.Value, known), what, strings.Join(known, ", "))
		case m[name.Value] != nil:
			f.refuse(name, "%s is given twice", name.Value)
		default:
			m[name.Value] = n.Content[i+1]
		}
	}
	return m
}

// text returns a value as it is written, so that a name may be a number; "" for a missing
// member. It refuses all values that are no text.
func (f *entrantsFile) text(n *yaml.Node, member string) string {
	switch {
	case n == nil:
		return ""
	case n.Kind != yaml.ScalarNode || n.Tag == "!!null" || strings.Contains(n.Value, "\x00"):
		f.refuse(n, "%s must be a text", member)
	case strings.TrimSpace(n.Value) == "":
		f.refuse(n, "%s is empty", member)
	default:
		return strings.TrimSpace(n.Value)
	}
	return ""
}
