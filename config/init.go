package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/config/userfile"
	"evenodd/league/protocol"
	"evenodd/league/store/atomicfile"
)

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
	text, err := json.Marshal(f, jsontext.WithIndent("  "), json.Deterministic(true))
	if err != nil {
		return false, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return false, err
	}
	err = atomicfile.CreateFile(path, append(text, '\n'), 0o644)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	return err == nil, err
}
