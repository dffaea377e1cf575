package config

import (
	"bytes"
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/config/userfile"
	"evenodd/league"
	"evenodd/league/lists"
	"evenodd/league/protocol"
	"evenodd/league/store/atomicfile"
	"evenodd/league/store/disk"
)

// The schema version of the files that this program writes. It reads all versions
// with the same major number.
const schemaVersion = "1.0.0"

// maxFile is the largest size of a file in bytes.
const maxFile = 4 << 20

// builtin holds the built-in values.
//
//go:embed builtin
var builtin embed.FS

// A Loader reads the configuration layer below a data folder.
// It reads each file once, when it is first needed. Built-in values replace missing
// files and members. It is safe for concurrent use; callers must not change what it
// returns.
type Loader struct {
	dir   string
	known Known
	extra []Game // of programs of the user

	mu        sync.Mutex
	files     map[string]loadedFile // by name
	onUnknown func(member string)   // nil for none
}

// loadedFile is a file, or the error of reading it.
type loadedFile struct {
	file File
	err  error
}

// NewLoader makes a loader of the files in dir/config; with dir "" all values are
// built in.
func NewLoader(dir string, known Known) *Loader {
	return &Loader{dir: dir, known: known, files: map[string]loadedFile{}}
}

// System returns the system file.
func (l *Loader) System() (*System, error) { return load(l, &System{}) }

// Agents returns the file of presets.
func (l *Loader) Agents() (*Agents, error) { return load(l, &Agents{}) }

// Games returns the games registry.
func (l *Loader) Games() (*Games, error) { return load(l, &Games{}) }

// RefereeDefaults returns the defaults of referees.
func (l *Loader) RefereeDefaults() (*RefereeDefaults, error) { return load(l, &RefereeDefaults{}) }

// PlayerDefaults returns the defaults of players.
func (l *Loader) PlayerDefaults() (*PlayerDefaults, error) { return load(l, &PlayerDefaults{}) }

// League returns the file of a league. A league whose id has a date and no file has the file of the default league:
// each such league is a new one under the rules of the folder.
func (l *Loader) League(id string) (*League, error) {
	if !protocol.ValidLeagueID(id) { // it could name a file outside the folder
		return nil, fmt.Errorf("league id %q: must be 1 to 64 letters, digits, dots, dashes and underscores", id)
	}
	if league.HasDate(id) && !l.has(&League{LeagueID: id}) {
		system, err := l.System()
		if err != nil {
			return nil, err
		}
		id = system.DefaultLeagueID
	}
	return load(l, &League{LeagueID: id})
}

// has tells whether the folder has a file.
func (l *Loader) has(f File) bool {
	_, err := os.Lstat(l.Path(f))
	return l.dir != "" && err == nil
}

// Referee returns the preset of a referee, an empty one if there is none.
func (a *Agents) Referee(id string) *Referee {
	return preset(a.Referees, func(r Referee) bool { return r.RefereeID == id })
}

// Player returns the preset of a player, an empty one if there is none.
func (a *Agents) Player(id string) *Player {
	return preset(a.Players, func(p Player) bool { return p.PlayerID == id })
}

func preset[T any](presets []T, wanted func(T) bool) *T {
	if i := slices.IndexFunc(presets, wanted); i >= 0 {
		return &presets[i]
	}
	return new(T)
}

// Rules returns the rules of a league, from all files that define them. The league
// plays the game of its file, unless gameType is given.
func (l *Loader) Rules(leagueID string, gameType ...string) (*Rules, error) {
	file, err := l.League(leagueID)
	if err != nil {
		return nil, err
	}
	if game := cmp.Or(gameType...); game != "" && game != file.GameType {
		one := *file // all callers share the file's
		one.GameType, one.DisplayName = game, cmp.Or(l.nameOf(game), game)+" League"
		file = &one
	}
	system, systemErr := l.System()
	games, gamesErr := l.Games()
	if err := errors.Join(systemErr, gamesErr); err != nil {
		return nil, err
	}
	playable := append(slices.Clone(l.extra), games.Games...)
	i := slices.IndexFunc(playable, func(g Game) bool { return g.GameType == file.GameType })
	if i < 0 {
		return nil, fmt.Errorf("%s: games: must list %s, the game of league %s", l.Path(games), file.GameType, leagueID)
	}
	r := &Rules{League: file, System: system, Game: &playable[i], Timeouts: system.Timeouts,
		Retry: system.RetryPolicy, Games: lists.Map(playable, func(g Game) string { return g.GameType })}
	if file.Timeouts != nil {
		err = json.Unmarshal(file.Timeouts, &r.Timeouts)
	}
	if file.RetryPolicy != nil {
		err = errors.Join(err, json.Unmarshal(file.RetryPolicy, &r.Retry))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l.Path(file), err)
	}
	return r, nil
}

// nameOf is the display name of a game; "" for an unknown one.
func (l *Loader) nameOf(gameType string) string {
	for _, game := range l.extra {
		if game.GameType == gameType {
			return game.DisplayName
		}
	}
	return l.known.Games[gameType].DisplayName
}

// Play lets leagues play a game that the files do not name, because it is that of a program of the user. No other
// method may be running.
func (l *Loader) Play(game Game) { l.extra = append(l.extra, game) }

// Path returns the path of a file, whether it exists or not.
func (l *Loader) Path(f File) string {
	return filepath.Join(l.dir, "config", filepath.FromSlash(f.name()))
}

// Dir is the data folder; "" if all values are built in.
func (l *Loader) Dir() string { return l.dir }

// OnUnknown has f called with each member without effect of the files that were read, and of those that will be: with
// its file and the closest name. A misspelt member must not stay unnoticed.
func (l *Loader) OnUnknown(f func(member string)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.onUnknown = f
	for _, name := range slices.Sorted(maps.Keys(l.files)) {
		l.reportUnknown(l.files[name])
	}
}

// reportUnknown calls onUnknown for a file. L.mu is held.
func (l *Loader) reportUnknown(one loadedFile) {
	if one.err != nil || l.onUnknown == nil {
		return
	}
	for _, member := range one.file.head().unknown {
		l.onUnknown(one.file.head().path + ": " + member)
	}
}

// load reads a file into f, once.
func load[F File](l *Loader, f F) (none F, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	name := f.name()
	one, present := l.files[name]
	if !present {
		one = loadedFile{f, l.read(f)}
		l.files[name] = one
		l.reportUnknown(one)
	}
	if one.err != nil {
		return none, one.err
	}
	return one.file.(F), nil
}

// read reads the built-in values of f, and over them its file.
func (l *Loader) read(f File) error {
	values := path.Base(f.name())
	if _, isLeague := f.(*League); isLeague {
		values = "league.json"
	}
	text, err := builtin.ReadFile(path.Join("builtin", values))
	if err == nil {
		err = json.Unmarshal(text, f)
	}
	if err != nil {
		return fmt.Errorf("built-in values of %s: %w", values, err)
	}
	f.assume(l.known)
	if l.dir == "" {
		return nil
	}
	where := l.Path(f)
	text, err = disk.Read(disk.Real{}, where, maxFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("%s: cannot be read: %w; make it a readable file, or remove it to use the built-in values",
			where, userfile.Reason(err))
	}
	f.head().path = where
	return l.parse(f, where, text)
}

// parse reads the text of a file over the built-in values of f.
func (l *Loader) parse(f File, where string, text []byte) error {
	text = bytes.TrimPrefix(text, []byte("\ufeff")) // some editors begin a file with this mark
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return unreadable(where, text, err)
	}
	tree, _ := value.(map[string]any)
	leagueID := strings.TrimSuffix(path.Base(f.name()), ".json") // of no use to other files
	r := &report{path: where, rules: rules(l.known, leagueID)}
	r.object(r.compile(reflect.TypeOf(f).Elem()), "", value)
	if len(r.problems) == 0 {
		f.head().given, f.head().unknown = tree, r.unknown
		if err := json.Unmarshal(text, f); err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
		f.complete(r, l.known)
	}
	return errors.Join(r.problems...)
}

// unreadable describes a text that is not JSON, with its line.
func unreadable(where string, text []byte, err error) error {
	line := 1 + bytes.Count(bytes.TrimSpace(text), []byte("\n"))
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok && !errors.Is(err, io.ErrUnexpectedEOF) {
		line = 1 + bytes.Count(text[:min(int(syntax.ByteOffset), len(text))], []byte("\n"))
	}
	return fmt.Errorf("%s: line %d: not JSON: %w; correct it, or remove the file to use the built-in values", where, line,
		err)
}

// A Written says what Init did about one file.
type Written struct {
	Path    string
	Created bool // false: the file existed, and is unchanged
}

// Init writes the missing files of the configuration layer with the built-in
// values. The league is the default of the system file. It returns what it did
// before an error.
func Init(dir string, known Known, now time.Time) ([]Written, error) {
	l := NewLoader(dir, known)
	system, err := l.System()
	if err != nil {
		return nil, err // the league's id is unknown
	}
	plain := NewLoader("", known)
	var done []Written
	for _, f := range []File{&System{}, &Agents{}, &League{LeagueID: system.DefaultLeagueID}, &Games{},
		&RefereeDefaults{}, &PlayerDefaults{}} {
		if err := plain.read(f); err != nil {
			return done, err
		}
		created, err := create(l.Path(f), f, now)
		if err != nil {
			return done, fmt.Errorf("%s: cannot be written: %w; choose a folder in which you may write", l.Path(f),
				userfile.Reason(err))
		}
		done = append(done, Written{l.Path(f), created})
	}
	return done, nil
}

// create writes a file with a time stamp, unless it exists.
func create(path string, f File, now time.Time) (created bool, err error) {
	head := f.head()
	head.SchemaVersion, head.LastUpdated = schemaVersion, protocol.FormatTimestamp(now)
	text, _ := json.Marshal(f, jsontext.WithIndent("  "), json.Deterministic(true)) // always encodes
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return false, err
	}
	err = atomicfile.CreateFile(disk.Real{}, path, append(text, '\n'), 0o644)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	return err == nil, err
}
