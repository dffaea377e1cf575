// Package store is the data layer of a league on disk (spec 003 §9.4, §10.5):
// standings, rounds, matches and histories as JSON files in one folder, beside
// what an agent keeps for itself. Files are replaced as a whole, so that a
// reader never sees half of one; and none is read that is damaged or made by a
// newer program.
//
// Who writes what (spec 003 table 23): the manager agents.json, standings.json and
// rounds.json, the referee a match's file, a player its history.
package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"evenodd/league/store/atomicfile"
)

// SchemaVersion is that of every file written here.
const SchemaVersion = "1.0.0"

// A Folder is where the data of leagues is: the DIR of --data.
type Folder string

// Standings is the path of a league's standings.json.
func (f Folder) Standings(leagueID string) string { return f.league(leagueID, "standings.json") }

// Rounds is the path of a league's rounds.json.
func (f Folder) Rounds(leagueID string) string { return f.league(leagueID, "rounds.json") }

// Agents is the path of a league's agents.json.
func (f Folder) Agents(leagueID string) string { return f.league(leagueID, "agents.json") }

// Journal is the path of a league's journal.
func (f Folder) Journal(leagueID string) string { return f.league(leagueID, "journal.jsonl") }

func (f Folder) league(leagueID, name string) string {
	return filepath.Join(string(f), "data", "leagues", leagueID, name)
}

// Matches is the folder of a league's match files.
func (f Folder) Matches(leagueID string) string {
	return filepath.Join(string(f), "data", "matches", leagueID)
}

// Match is the path of the file of a match whose result the manager has.
func (f Folder) Match(leagueID, matchID string) string {
	return filepath.Join(f.Matches(leagueID), matchID+".json")
}

// Attempts is the folder of what referees write about matches before the
// manager has acknowledged their report. What stays there was given up.
func (f Folder) Attempts(leagueID string) string {
	return filepath.Join(f.Matches(leagueID), "attempts")
}

// Attempt is the path of one attempt at a match by one referee.
func (f Folder) Attempt(leagueID, matchID string, attempt int, refereeID string) string {
	return filepath.Join(f.Attempts(leagueID), fmt.Sprintf("%s.a%d.%s.json", matchID, attempt, refereeID))
}

// Players is the folder of the players' files.
func (f Folder) Players() string { return filepath.Join(string(f), "data", "players") }

// History is the path of a player's history.json.
func (f Folder) History(playerID string) string {
	return filepath.Join(f.Players(), playerID, "history.json")
}

// private is where secrets are: mode 0700, no part of an audit.
func (f Folder) private(name string) string { return filepath.Join(string(f), "private", name) }

// A header is what every file begins with.
type header struct {
	SchemaVersion string `json:"schema_version"`
	LastUpdated   string `json:"last_updated"`
}

// Read reads a file of the data layer into a T. A file that is not there is
// fs.ErrNotExist; any other error names the file, what is wrong and where.
func Read[T any](path string) (*T, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err // names the file itself
	}
	return parse[T](path, raw)
}

func parse[T any](path string, raw []byte) (*T, error) {
	var h header
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

// CheckSchema refuses the schema_version of a file that this program cannot
// know.
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

// Write replaces a file by a document, durably. Folders are made.
func Write(path string, document any) error {
	raw, err := encode(document)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o755)
	}
	if err == nil {
		err = atomicfile.WriteFile(path, raw, 0o644)
	}
	return err
}

// Add is Write for a file that must not be there; if it is, nothing happens
// and the error is fs.ErrExist.
func Add(path string, document any) error {
	if _, err := os.Lstat(path); err == nil {
		return fs.ErrExist
	}
	raw, err := encode(document)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o755)
	}
	if err == nil {
		err = atomicfile.CreateFile(path, raw, 0o644)
	}
	return err
}

func encode(document any) ([]byte, error) {
	raw, err := json.Marshal(document, jsontext.WithIndent("  "))
	return append(raw, '\n'), err
}

// missing tells whether an error is that of a file that is not there.
func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
