package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// OldMatches describe the match files in a folder at one moment. An agent that
// registers in a new league recognizes by them the files of an older league with the
// same id: files that were there before it registered, in folders that have not changed
// since.
type OldMatches struct {
	folder  Folder
	changed map[string]changes
}

// changes are the modification times of a league's match folder and of the folder of
// its attempts. They are compared only with each other, because the clock of the disk
// may differ from the clock of the agent.
type changes [2]time.Time

// OldMatches describes the match files that are there now.
func (f Folder) OldMatches() *OldMatches {
	old := &OldMatches{folder: f, changed: map[string]changes{}}
	entries, err := os.ReadDir(filepath.Join(string(f), "data", "matches"))
	if err != nil {
		return old // no file is known to be old
	}
	for _, e := range entries {
		if c, ok := f.changes(e.Name()); ok {
			old.changed[e.Name()] = c
		}
	}
	return old
}

func (f Folder) changes(leagueID string) (c changes, ok bool) {
	for i, path := range []string{f.Matches(leagueID), f.Attempts(leagueID)} {
		info, err := os.Stat(path)
		switch {
		case err == nil && info.IsDir():
			c[i] = info.ModTime()
		case i == 0:
			return c, false
		}
	}
	return c, true
}

// Archive moves a league's old match files into a folder below archive/ and returns
// its name. It returns "" if there are none, or if the folder has changed since: then
// the new league has begun, and another agent has moved the old files. Many agents may
// call Archive at the same time. An error is that of the file system.
func (o *OldMatches) Archive(leagueID, stamp string) (string, error) {
	if _, err := os.Lstat(o.folder.Journal(leagueID)); err == nil {
		return "", nil // the journal is here, so the manager archives the files
	}
	before, known := o.changed[leagueID]
	now, there := o.folder.changes(leagueID)
	if !known || !there || now != before {
		return "", nil
	}
	archive := filepath.Join(string(o.folder), "archive")
	if err := os.MkdirAll(archive, 0o755); err != nil {
		return "", err
	}
	name := fmt.Sprintf("%s-%s-matches", leagueID, strings.ReplaceAll(stamp, ":", ""))
	into := filepath.Join(archive, name)
	for n := 2; ; n++ {
		err := os.Rename(o.folder.Matches(leagueID), into)
		switch {
		case err == nil:
			return into, nil
		case missing(err):
			return "", nil // another agent has moved them
		case !errors.Is(err, fs.ErrExist):
			return "", err
		}
		into = filepath.Join(archive, fmt.Sprintf("%s-%d", name, n)) // two leagues within a second
	}
}
