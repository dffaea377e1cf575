package record

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"evenodd/league/protocol"
	"evenodd/league/store"
)

// An indexedAttempt is an attempt at a match in one of the results files of a league.
type indexedAttempt struct {
	id   protocol.MatchID
	file *store.ResultsIndex
	at   *store.IndexedAttempt
}

// Attempts visits all attempts at matches whose transcripts the referees recorded, in order of matches
// and attempts. It returns the number of records that cannot be read. An error of visit ends it.
func (f *Folder) Attempts(visit func(doc *store.Match) error) (unreadable int, err error) {
	entries, err := os.ReadDir(f.folder.Matches(f.leagueID))
	switch {
	case errors.Is(err, fs.ErrNotExist): // a league before its first match
		return 0, nil
	case err != nil:
		return 0, err
	}
	files, unreadable := f.indexes(entries)
	defer func() {
		for _, x := range files {
			_ = x.Close() // only read
		}
	}()
	for _, load := range attemptsIn(files) {
		doc, err := load()
		if err != nil {
			unreadable++
			continue
		}
		if err := visit(doc); err != nil {
			return unreadable, err
		}
	}
	return unreadable, nil
}

// indexes opens the results files of the league.
func (f *Folder) indexes(entries []os.DirEntry) (files []*store.ResultsIndex, unreadable int) {
	for _, e := range entries {
		if !store.IsResults(e.Name()) {
			continue
		}
		x, err := store.IndexResults(filepath.Join(f.folder.Matches(f.leagueID), e.Name()))
		if err != nil {
			unreadable++
			continue
		}
		files = append(files, x)
		unreadable += len(x.Damage)
	}
	return files, unreadable
}

// attemptsIn load the attempts in results files in order, each once: the referee's own file has
// precedence over what it delivered.
func attemptsIn(files []*store.ResultsIndex) []func() (*store.Match, error) {
	var all []indexedAttempt
	for _, x := range files {
		for i := range x.Attempts {
			if id, ok := protocol.ParseMatchID(x.Attempts[i].MatchID); ok {
				all = append(all, indexedAttempt{id, x, &x.Attempts[i]})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b indexedAttempt) int {
		return cmp.Or(a.id.Compare(b.id), a.at.Attempt-b.at.Attempt, -strings.Compare(a.file.Path, b.file.Path))
	})
	all = slices.CompactFunc(all, func(a, b indexedAttempt) bool { return a.id == b.id && a.at.Attempt == b.at.Attempt })
	return protocol.Each(all, func(a indexedAttempt) func() (*store.Match, error) {
		return func() (*store.Match, error) { return a.file.Load(a.at) }
	})
}
