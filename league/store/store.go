// Package store reads and writes the files of a league (spec 003 §9.4, §10.5):
// standings, rounds, matches and histories as JSON in one folder, and the private
// files of agents. Documents are replaced as a whole. Files that are damaged or made by a newer
// program are not read.
//
// The manager writes agents.json, standings.json and rounds.json, the referee its results
// and the file of a match, and a player its history (spec 003 table 23). The package must
// not decide what a file contains.
package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/protocol"
	"evenodd/league/store/appendfile"
	"evenodd/league/store/atomicfile"
	"evenodd/league/store/disk"
)

// SchemaVersion is the version of the files that this program writes.
const SchemaVersion = "1.0.0"

// A Folder is the folder of the data of leagues: the DIR of --data. The zero value is no folder.
type Folder struct {
	Disk disk.Disk
	Path string
}

// In is a folder of the machine.
func In(path string) Folder { return Folder{disk.Real{}, path} }

// String is the path.
func (f Folder) String() string { return f.Path }

// IsZero tells whether this is no folder.
func (f Folder) IsZero() bool { return f.Path == "" }

// path is a path in the folder.
func (f Folder) path(names ...string) string {
	return filepath.Join(f.Path, filepath.Join(names...))
}

// Standings is the path of a league's standings.json.
func (f Folder) Standings(leagueID string) string { return f.league(leagueID, "standings.json") }

// Rounds is the path of a league's rounds.json.
func (f Folder) Rounds(leagueID string) string { return f.league(leagueID, "rounds.json") }

// Agents is the path of a league's agents.json.
func (f Folder) Agents(leagueID string) string { return f.league(leagueID, "agents.json") }

// Journal is the path of a league's journal.
func (f Folder) Journal(leagueID string) string { return f.league(leagueID, "journal.jsonl") }

func (f Folder) league(leagueID, name string) string {
	return f.path("data", "leagues", leagueID, name)
}

// Leagues are the ids of the leagues in the folder, in alphabetical order; none if it cannot be read.
func (f Folder) Leagues() (ids []string) {
	entries, _ := f.Disk.ReadDir(f.path("data", "leagues"))
	for _, e := range entries {
		if e.IsDir() && protocol.ValidLeagueID(e.Name()) {
			ids = append(ids, e.Name())
		}
	}
	return ids
}

// Players is the folder of the players' files.
func (f Folder) Players() string { return f.path("data", "players") }

// History is the path of a player's history.json; HistoryLines names the file that it
// derives from.
func (f Folder) History(playerID string) string {
	return f.path("data", "players", playerID, "history.json")
}

// private is a path in the folder of secret files. Its mode is 0700, and audits do
// not read it.
func (f Folder) private(name string) string { return f.path("private", name) }

// Read reads a file of the data layer into a T. A missing file is fs.ErrNotExist. Every
// other error names the file and what is wrong.
func Read[T any](d disk.Disk, path string) (*T, error) {
	raw, err := ReadFile[T](d, path)
	if err != nil {
		return nil, err // it names the file
	}
	var h Header
	if err := json.Unmarshal(raw, &h); err != nil {
		return nil, fmt.Errorf("%s: not a whole JSON document: %w", path, err)
	}
	if err := CheckSchema(h.SchemaVersion); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	doc := new(T)
	if err := json.Unmarshal(raw, doc); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return doc, nil
}

// CheckSchema returns an error for the schema_version of a newer program.
func CheckSchema(version string) error {
	major, _, _ := strings.Cut(version, ".")
	n, err := strconv.Atoi(major)
	switch {
	case err != nil || n < 1:
		return fmt.Errorf("schema_version: must be a version such as %s, got %.40q", SchemaVersion, version)
	case n > 1:
		return fmt.Errorf("schema_version %.40s: made by a newer evenodd; this one reads 1.x", version)
	}
	return nil
}

// WriteDerived replaces a file by a document, without syncs. The file can be made again from other
// files: after a power cut it may be older, incomplete or empty. WriteDerived creates missing folders.
func WriteDerived(d disk.Disk, path string, document any) error {
	text, err := json.Marshal(document, jsontext.WithIndent("  "))
	if err == nil {
		err = writeUnsynced(d, path, append(text, '\n'))
	}
	return err
}

// writeUnsynced replaces a file without syncs. It creates missing folders.
func writeUnsynced(d disk.Disk, path string, text []byte) error {
	return inFolder(d, filepath.Dir(path), makeFolder, func() error {
		return atomicfile.WriteUnsynced(d, path, 0o644, func(w io.Writer) error {
			_, err := w.Write(text)
			return err
		})
	})
}

// inFolder calls write, and again after create has made the folder if that is missing.
func inFolder(d disk.Disk, dir string, create func(disk.Disk, string) error, write func() error) error {
	err := write()
	if missing(err) {
		if err = create(d, dir); err == nil {
			err = write()
		}
	}
	return err
}

// makeFolder creates a folder that all can read, durably.
func makeFolder(d disk.Disk, dir string) error { return atomicfile.MakeFolder(d, dir, 0o755) }

// CheckShape returns an error for a league that an earlier version wrote: its journal begins
// with a line that has no checksum. It tells nothing else about the journal.
func (f Folder) CheckShape(leagueID string) error {
	file, err := disk.Open(f.Disk, f.Journal(leagueID))
	if err != nil {
		return nil // the reader of the journal tells
	}
	defer func() { _ = file.Close() }() // only read
	_, _, err = appendfile.Lines(file, func(number int, text []byte) error {
		if err := appendfile.CheckSeal(number, text); errors.Is(err, appendfile.ErrEarlier) {
			return err
		}
		return io.EOF
	})
	if errors.Is(err, appendfile.ErrEarlier) {
		return fmt.Errorf("%s: %w", file.Name(), err)
	}
	return nil
}

// missing tells whether an error is that of a missing file.
func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// The largest sizes of files in bytes. The largest file of a league of 1,000 players, rounds.json, has 100 MB; the longest
// transcript has 400 messages of 64 KB.
const (
	maxDerived = 1 << 30
	maxMatch   = 64 << 20
	maxPrivate = 1 << 20
)

// ReadFile reads a document of a data folder: a regular file whose size and texts are bounded. A document that is
// larger or has a longer text is an error, and so is all else that disk.Read refuses.
func ReadFile[T any](d disk.Disk, path string) ([]byte, error) {
	limit := int64(maxDerived)
	switch any(new(T)).(type) {
	case *Match:
		limit = maxMatch
	case *Identity, *Application, *Person:
		limit = maxPrivate
	}
	raw, err := disk.Read(d, path, limit)
	if err == nil {
		if err = appendfile.CheckTexts(raw); err != nil {
			err = &fs.PathError{Op: "read", Path: path, Err: err}
		}
	}
	if err == nil && limit == maxPrivate {
		const number = 2 // any but the first: an earlier version wrote no checksum
		if damage := appendfile.CheckSeal(number, bytes.TrimSuffix(raw, []byte("\n"))); errors.Is(damage,
			appendfile.ErrChecksum) {
			err = fmt.Errorf("%s: %w", path, &LineError{1, damage})
		}
	}
	return raw, err
}
