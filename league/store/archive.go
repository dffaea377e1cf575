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

// OldMatches are the match files that were in a folder at one moment, by
// league. An agent that gets a new place in a league finds out by them what an
// older league of the same name left behind: all that was there before it asked,
// unless somebody has added to it since.
type OldMatches struct {
	folder  Folder
	changed map[string]changes
}

// changes are when a league's match folder and the folder of its attempts last
// got or lost a file. They are compared with each other alone: the time of a
// disk need not be that of an agent.
type changes [2]time.Time

// OldMatches looks at what is there now.
func (f Folder) OldMatches() *OldMatches {
	old := &OldMatches{folder: f, changed: map[string]changes{}}
	entries, err := os.ReadDir(filepath.Join(string(f), "data", "matches"))
	if err != nil {
		return old // nothing can be told to be old
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

// Archive moves a league's match files out of the way, into a folder below
// archive/ whose name it returns. It is "" when there was nothing, or when the
// folder has changed since: then the new league is being played already, and
// who began it has moved the old files. Many agents may do it at once.
func (o *OldMatches) Archive(leagueID, stamp string) (string, error) {
	if _, err := os.Lstat(o.folder.Journal(leagueID)); err == nil {
		return "", nil // the league is kept here: its manager sees to its files
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
			return "", nil // another agent was faster
		case !errors.Is(err, fs.ErrExist):
			return "", err
		}
		into = filepath.Join(archive, fmt.Sprintf("%s-%d", name, n)) // two leagues within a second
	}
}
