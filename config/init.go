package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"evenodd/league/store/atomicfile"
)

// A Written is what Init did about one file.
type Written struct {
	Path    string
	Created bool // false: it was there, and stays as it is
}

// Init writes the files of the configuration layer that are not there yet,
// with the built-in values. The league is the system file's default. It returns
// what it did until an error.
func Init(dir string, known Known, now time.Time) ([]Written, error) {
	l := NewLoader(dir, known)
	system, err := l.System()
	if err != nil {
		return nil, err // which league would it be?
	}
	plain := NewLoader("", known)
	files := []func() (File, error){
		func() (File, error) { return plain.System() },
		func() (File, error) { return plain.Agents() },
		func() (File, error) { return plain.League(system.DefaultLeagueID) },
		func() (File, error) { return plain.Games() },
		func() (File, error) { return plain.RefereeDefaults() },
		func() (File, error) { return plain.PlayerDefaults() },
	}
	var done []Written
	for _, file := range files {
		f, err := file()
		if err != nil {
			return done, err
		}
		where := l.Path(f)
		text, err := encode(f, now)
		if err != nil {
			return done, err
		}
		if err := os.MkdirAll(filepath.Dir(where), 0o755); err != nil {
			return done, unwritable(where, err)
		}
		err = atomicfile.CreateFile(where, text, 0o644)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return done, unwritable(where, err)
		}
		done = append(done, Written{where, err == nil})
	}
	return done, nil
}
