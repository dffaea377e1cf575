package store

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
	"evenodd/league/store/appendfile"
)

// ResultsFiles finds attempts in the results files of a league, to which records may be
// appended meanwhile. It remembers the positions of the records, and reads each part of a file
// once. It is safe for concurrent use.
type ResultsFiles struct {
	folder string // of the files

	mu    sync.Mutex
	files map[string]*followedResults // by path
}

// A followedResults is a results file as far as it was read.
type followedResults struct {
	*resultsReader

	info  os.FileInfo
	lines int // that were read
	index *ResultsIndex
}

// NewResultsFiles returns the results files of a league.
func (f Folder) NewResultsFiles(leagueID string) *ResultsFiles {
	return &ResultsFiles{folder: f.Matches(leagueID), files: map[string]*followedResults{}}
}

// Records returns the lines of the records of an attempt at a match, from the first results
// file that can be read and has any, those of referees first. Without any the error is fs.ErrNotExist.
func (f *ResultsFiles) Records(matchID string, attempt int) ([]jsontext.Value, error) {
	entries, _ := os.ReadDir(f.folder) // no folder, no files
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, end := range []string{resultsEnd, deliveredEnd} {
		for _, e := range entries {
			if !strings.HasSuffix(e.Name(), end) {
				continue
			}
			records, err := f.recordsIn(filepath.Join(f.folder, e.Name()), matchID, attempt)
			if err == nil && len(records) > 0 { // another file may have what this one lacks
				return records, nil
			}
		}
	}
	return nil, fmt.Errorf("there is no record of attempt %d at %s: %w", attempt, matchID, fs.ErrNotExist)
}

// recordsIn returns the lines of an attempt in one file; none if it has none.
func (f *ResultsFiles) recordsIn(path, matchID string, attempt int) (records []jsontext.Value, err error) {
	file, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // only read
	followed, err := f.follow(file, path)
	if err != nil {
		return nil, err
	}
	found := followed.index.Find(matchID, attempt)
	if found == nil {
		return nil, nil
	}
	for _, p := range found.Records {
		text := make([]byte, p.Length)
		if _, err := file.ReadAt(text, p.Offset); err != nil {
			return nil, err
		}
		records = append(records, jsontext.Value(protocol.HideTokens(text)))
	}
	return records, nil
}

// follow reads what a file has gained. It begins again if the file is another one or has become
// shorter.
func (f *ResultsFiles) follow(file *os.File, path string) (*followedResults, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	r := f.files[path]
	if r == nil || !os.SameFile(info, r.info) || info.Size() < r.offset {
		index := &ResultsIndex{Path: path, index: map[attemptKey]int{}}
		r = &followedResults{resultsReader: &resultsReader{path: path, visit: index.add}, info: info, index: index}
	}
	if _, err := file.Seek(r.offset, io.SeekStart); err != nil {
		return nil, err
	}
	before := r.lines
	_, _, err = appendfile.Lines(file, func(number int, text []byte) error {
		r.lines++
		return r.line(before+number, text)
	})
	if err != nil {
		delete(f.files, path)
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	f.files[path] = r
	return r, nil
}
