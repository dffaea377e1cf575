package config

import (
	"bytes"
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
	"evenodd/league/store/atomicfile"
)

// The schema of the files that this program writes. It reads every minor and
// patch version of this major one.
const (
	schemaVersion = "1.0.0"
	schemaMajor   = 1
)

// builtin holds the values that serve where no file says otherwise.
//
//go:embed builtin
var builtin embed.FS

// ErrNoPreset is an agent that agents_config.json does not list.
var ErrNoPreset = errors.New("no such agent")

// A Loader reads the configuration layer below a data folder (spec 003 §9.3,
// §10.4): each file when it is first asked for, and then no more. Where there is
// no file, and for each member that a file leaves out, the built-in values
// serve. Safe for concurrent use; what it returns is shared, and not to be
// changed except to Save it.
type Loader struct {
	dir   string
	known Known

	mu    sync.Mutex
	files map[string]loaded // by name
}

// loaded is what came of reading a file.
type loaded struct {
	file File
	err  error
}

// NewLoader makes a loader of the files in dir/config; dir "" is a folder
// without any.
func NewLoader(dir string, known Known) *Loader {
	return &Loader{dir: dir, known: known, files: map[string]loaded{}}
}

// System is the system file.
func (l *Loader) System() (*System, error) { return load(l, &System{}, "system.json") }

// Agents is the file of presets.
func (l *Loader) Agents() (*Agents, error) { return load(l, &Agents{}, "agents_config.json") }

// Games is the games registry.
func (l *Loader) Games() (*Games, error) { return load(l, &Games{}, "games_registry.json") }

// RefereeDefaults is what referees are by default.
func (l *Loader) RefereeDefaults() (*RefereeDefaults, error) {
	return load(l, &RefereeDefaults{}, "referee.json")
}

// PlayerDefaults is what players are by default.
func (l *Loader) PlayerDefaults() (*PlayerDefaults, error) {
	return load(l, &PlayerDefaults{}, "player.json")
}

// League is the file of one league.
func (l *Loader) League(id string) (*League, error) {
	if !protocol.ValidLeagueID(id) { // it would name a file anywhere
		return nil, fmt.Errorf("league id %q: 1 to 64 letters, digits, dots, dashes and underscores", id)
	}
	return load(l, &League{LeagueID: id}, "league.json")
}

// Referee is the preset of a referee; ErrNoPreset when there is none.
func (l *Loader) Referee(id string) (*Referee, error) {
	agents, err := l.Agents()
	if err != nil {
		return nil, err
	}
	for i := range agents.Referees {
		if agents.Referees[i].RefereeID == id {
			return &agents.Referees[i], nil
		}
	}
	return nil, fmt.Errorf("referee %q: %w", id, ErrNoPreset)
}

// Player is the preset of a player; ErrNoPreset when there is none.
func (l *Loader) Player(id string) (*Player, error) {
	agents, err := l.Agents()
	if err != nil {
		return nil, err
	}
	for i := range agents.Players {
		if agents.Players[i].PlayerID == id {
			return &agents.Players[i], nil
		}
	}
	return nil, fmt.Errorf("player %q: %w", id, ErrNoPreset)
}

// Rules are what holds in a league, from all files that have a say in it. It
// plays the game of its file, unless another is given.
func (l *Loader) Rules(leagueID string, gameType ...string) (*Rules, error) {
	league, err := l.League(leagueID)
	if err != nil {
		return nil, err
	}
	if game := cmp.Or(gameType...); game != "" && game != league.GameType {
		one := *league // the file's own is for all that ask for it
		one.GameType, one.DisplayName = game, cmp.Or(l.known.Games[game].DisplayName, game)+" League"
		league = &one
	}
	system, systemErr := l.System()
	games, gamesErr := l.Games()
	if err := errors.Join(systemErr, gamesErr); err != nil {
		return nil, err
	}
	r := &Rules{League: league, System: system, Timeouts: system.Timeouts, Retry: system.RetryPolicy}
	for i := range games.Games {
		if games.Games[i].GameType == league.GameType {
			r.Game = &games.Games[i]
		}
	}
	if r.Game == nil {
		return nil, fmt.Errorf("%s: games: must list %s, the game of league %s", l.Path(games), league.GameType, leagueID)
	}
	if league.Timeouts != nil {
		err = json.Unmarshal(league.Timeouts, &r.Timeouts)
	}
	if league.RetryPolicy != nil {
		err = errors.Join(err, json.Unmarshal(league.RetryPolicy, &r.Retry))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l.Path(league), err)
	}
	return r, nil
}

// Path is where a file is, or would be.
func (l *Loader) Path(f File) string {
	return filepath.Join(l.dir, "config", filepath.FromSlash(f.name()))
}

// load reads a file into f, once; values is the name of its built-in values.
func load[F File](l *Loader, f F, values string) (F, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	name := f.name()
	one, there := l.files[name]
	if !there {
		one = loaded{f, l.read(f, values)}
		l.files[name] = one
	}
	if one.err != nil {
		var none F
		return none, one.err
	}
	return one.file.(F), nil
}

func (l *Loader) read(f File, values string) error {
	text, err := builtin.ReadFile(path.Join("builtin", values))
	if err == nil {
		err = json.Unmarshal(text, f)
	}
	if err != nil {
		return fmt.Errorf("built-in values of %s: %w", values, err)
	}
	if a, ok := f.(assuming); ok {
		a.assume(l.known)
	}
	if l.dir == "" {
		return nil
	}
	where := l.Path(f)
	text, err = os.ReadFile(where)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		var failed *fs.PathError
		if errors.As(err, &failed) {
			err = failed.Err // the path is named once
		}
		return fmt.Errorf("%s: cannot be read: %w; make it a file that you may read, or take it away to use the built-in values", where, err)
	}
	f.head().path = where
	return l.parse(f, where, text)
}

// parse reads the text of a file over the values that f has.
func (l *Loader) parse(f File, where string, text []byte) error {
	text = bytes.TrimPrefix(text, []byte("\ufeff")) // some editors begin a file with this mark
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return unreadable(where, text, err)
	}
	r := &report{path: where}
	tree, _ := value.(map[string]any)
	if written, newer := newerSchema(tree); newer {
		return fmt.Errorf("%s: schema_version: it is written for version %s, and this program reads %d.x: use a newer evenodd, or take the file away and run 'evenodd init %s'",
			where, written, schemaMajor, l.dir)
	}
	f.rules(l.known)(r, "", value)
	if len(r.problems) == 0 {
		f.head().given = tree
		if err := json.Unmarshal(text, f); err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
		f.complete(r, l.known)
	}
	return errors.Join(r.problems...)
}

// newerSchema tells whether a file is of a major version that this program
// cannot know: then its other members may mean anything.
func newerSchema(tree map[string]any) (written string, newer bool) {
	written, _ = tree["schema_version"].(string)
	major, _, _ := strings.Cut(written, ".")
	n, err := strconv.Atoi(major)
	return written, err == nil && n > schemaMajor
}

// unreadable says where a text stops being JSON, and what to do.
func unreadable(where string, text []byte, err error) error {
	const remedy = "; mend it, or take it away to use the built-in values"
	if len(bytes.TrimSpace(text)) == 0 {
		return fmt.Errorf("%s: the file is empty%s", where, remedy)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%s: line %d: the file ends before its JSON does%s", where, lineOf(text, len(bytes.TrimSpace(text))), remedy)
	}
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) {
		reason := strings.TrimPrefix(syntax.Err.Error(), "jsontext: ")
		if at := syntax.JSONPointer; at != "" {
			reason += fmt.Sprintf(" (at %s)", at)
		}
		return fmt.Errorf("%s: line %d: no JSON: %s%s", where, lineOf(text, int(syntax.ByteOffset)), reason, remedy)
	}
	return fmt.Errorf("%s: %w%s", where, err, remedy)
}

// lineOf is the line, from 1, of a position in a text.
func lineOf(text []byte, offset int) int {
	return 1 + bytes.Count(text[:min(offset, len(text))], []byte("\n"))
}

// Save writes a file, whole or not at all, with all members it was read with,
// and the time. What breaks a rule is not written. The next reading sees it.
func (l *Loader) Save(f File, now time.Time) error {
	text, err := encode(f, now)
	if err != nil {
		return err
	}
	where := l.Path(f)
	r := &report{path: where}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	if f.rules(l.known)(r, "", value); len(r.problems) == 0 {
		f.head().given, _ = value.(map[string]any)
		f.complete(r, l.known)
	}
	if len(r.problems) > 0 {
		return errors.Join(r.problems...)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := os.MkdirAll(filepath.Dir(where), 0o755); err != nil {
		return unwritable(where, err)
	}
	if err := atomicfile.WriteFile(where, text, 0o644); err != nil {
		return unwritable(where, err)
	}
	delete(l.files, f.name())
	return nil
}

// encode is the text of a file as of now.
func encode(f File, now time.Time) ([]byte, error) {
	head := f.head()
	head.LastUpdated = protocol.FormatTimestamp(now)
	if head.SchemaVersion == "" {
		head.SchemaVersion = schemaVersion
	}
	text, err := json.Marshal(f, jsontext.WithIndent("  "), json.Deterministic(true))
	return append(text, '\n'), err
}

func unwritable(where string, err error) error {
	var failed *fs.PathError
	if errors.As(err, &failed) {
		err = failed.Err // the path is named once
	}
	return fmt.Errorf("%s: cannot be written: %w; choose a folder that you may write to", where, err)
}
