package record

import (
	"cmp"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"

	"evenodd/league"
	"evenodd/league/store"
)

// Attempts visits all attempts at matches that have a file with their transcript, in order of
// matches and attempts; the attempt of the file of the match itself is the last one. It returns
// the number of files that cannot be read. An error of visit ends it.
func (f *Folder) Attempts(visit func(doc *store.Match) error) (unreadable int, err error) {
	folder := f.folder.Matches(f.leagueID)
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // it does not exist before the first match
		return 0, err
	}
	type file struct {
		league.Attempt
		name string
	}
	var files []file
	for _, e := range entries {
		name, attempt, ok := store.ParseMatchFile(e.Name())
		if id, known := league.ParseMatchID(name); ok && known {
			files = append(files, file{league.Attempt{MatchID: id, Number: cmp.Or(attempt, math.MaxInt)}, e.Name()})
		}
	}
	slices.SortFunc(files, func(a, b file) int {
		return cmp.Or(a.MatchID.Compare(b.MatchID), cmp.Compare(a.Number, b.Number))
	})
	for _, one := range files {
		doc, err := store.Read[store.Match](filepath.Join(folder, one.name))
		switch {
		case err != nil:
			unreadable++
		case doc.WrittenBy == store.WrittenByReferee:
			if err := visit(doc); err != nil {
				return unreadable, err
			}
		}
	}
	return unreadable, nil
}
