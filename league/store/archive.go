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
	changed map[string]time.Time // by the clock of the disk, which may differ from that of the agent
}

// OldMatches describes the match files that are there now.
func (f Folder) OldMatches() *OldMatches {
	old := &OldMatches{folder: f, changed: map[string]time.Time{}}
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

// changes is the modification time of a league's match folder.
func (f Folder) changes(leagueID string) (at time.Time, ok bool) {
	info, err := os.Stat(f.Matches(leagueID))
	if err != nil || !info.IsDir() {
		return at, false
	}
	return info.ModTime(), true
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
