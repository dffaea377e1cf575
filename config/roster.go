package config

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"evenodd/config/userfile"
	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/league/words"
)

// A RosterEntry is a line of a roster: an agent that may register in a league.
type RosterEntry struct {
	Role string // protocol.RolePlayer or protocol.RoleReferee
	Name string // display name, in the form NFC of Unicode
	Code string // secret; see protocol.CheckRegistrationCode
}

// The bounds of a roster file.
const (
	maxRosterBytes   = 4 << 20
	maxRosterEntries = 11_000 // the most players and referees of a league
)

// ReadRoster reads a roster file. The error lists what is wrong in which lines, but shows no code.
func ReadRoster(path string) ([]RosterEntry, error) {
	text, err := userfile.ReadText(path, maxRosterBytes)
	var entries []RosterEntry
	if err == nil {
		entries, err = ParseRoster(text)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return entries, nil
}

// ParseRoster reads a roster: CSV with a header of the columns name, code and,
// optionally, role (player or referee; an empty one means player), in any order. In each
// role a name is there once, and so is a name that looks like another; each code is there once.
func ParseRoster(text []byte) ([]RosterEntry, error) {
	// some editors begin a file with this mark
	lines := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(text, []byte("\ufeff"))))
	lines.FieldsPerRecord, lines.TrimLeadingSpace, lines.ReuseRecord = -1, true, true
	header, err := lines.Read()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	r := roster{names: nameLines{}, codes: map[string]int{}}
	if err := r.readHeader(header); err != nil {
		return nil, err
	}
	for {
		fields, err := lines.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			r.problems = append(r.problems, fmt.Errorf("not CSV: %w", err))
			break
		}
		line, _ := lines.FieldPos(0)
		if err := r.add(fields, line); err != nil {
			r.problems = append(r.problems, fmt.Errorf("line %d: %w", line, err))
		}
		if len(r.entries) > maxRosterEntries {
			return nil, fmt.Errorf("line %d: a roster lists at most %d agents", line, maxRosterEntries)
		}
	}
	if len(r.entries) == 0 && len(r.problems) == 0 {
		r.problems = append(r.problems, errors.New("the roster lists no agent: add a line with a name and a code for each"))
	}
	return r.entries, errors.Join(r.problems...)
}

// A roster is a roster that is being read.
type roster struct {
	columns  []string
	entries  []RosterEntry
	names    nameLines
	codes    map[string]int // lines
	problems []error
}

// readHeader reads the first line.
func (r *roster) readHeader(fields []string) error {
	for _, f := range fields {
		name := strings.ToLower(strings.TrimSpace(f))
		if slices.Contains(r.columns, name) || !slices.Contains([]string{"name", "code", "role"}, name) {
			return fmt.Errorf("line 1: unknown or repeated column %s: the first line names the columns name, code and role "+
				"(optional), separated by commas", quoted(name))
		}
		r.columns = append(r.columns, name)
	}
	if !slices.Contains(r.columns, "name") || !slices.Contains(r.columns, "code") {
		return errors.New("line 1: the first line names the columns: name,code or name,code,role")
	}
	return nil
}

// add reads a line.
func (r *roster) add(fields []string, line int) error {
	if len(fields) != len(r.columns) {
		return fmt.Errorf("the line has %d columns, the header has %d", len(fields), len(r.columns))
	}
	e := RosterEntry{Role: protocol.RolePlayer}
	for i, column := range r.columns {
		switch value := strings.TrimSpace(fields[i]); {
		case column == "name":
			e.Name = norm.NFC.String(value)
		case column == "code":
			e.Code = strings.Clone(value)
		case value != "":
			e.Role = strings.ToLower(value)
		}
	}
	switch {
	case e.Role != protocol.RolePlayer && e.Role != protocol.RoleReferee:
		return fmt.Errorf("role %s: must be player or referee", quoted(e.Role))
	case r.codes[e.Code] > 0:
		return fmt.Errorf("the code is in line %d already: each agent needs its own", r.codes[e.Code])
	}
	if err := protocol.CheckRegistrationCode(e.Code); err != nil {
		return fmt.Errorf("code: %w", err)
	}
	if err := r.names.add(e.Role, e.Name, line); err != nil {
		return err
	}
	r.codes[e.Code] = line
	r.entries = append(r.entries, e)
	return nil
}

// nameLines are the lines of a file by their display names.
type nameLines map[string]int

// add adds a name. It refuses one that a reader may take for another name of the role.
func (l nameLines) add(role, name string, line int) error {
	key := role + " " + words.NameKey(name)
	unseen := protocol.AsError(protocol.CheckDisplayName(name))
	shown := words.Clip(name, 60)
	switch before := l[key]; {
	case !protocol.ValidName(name):
		return fmt.Errorf("name %q: must have 1 to 50 characters without control characters", shown)
	case unseen != nil:
		return fmt.Errorf("name %q: %s", shown, unseen.Detail)
	case before > 0:
		return fmt.Errorf("name %q: line %d has this name already, or one that looks like it", shown, before)
	}
	l[key] = line
	return nil
}

// maxNamesFile is the largest size of a file of names in bytes.
const maxNamesFile = 4 << 20

// ReadNames reads a file with a display name on each line.
func ReadNames(path string) ([]string, error) {
	text, err := userfile.ReadText(path, maxNamesFile)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return ParseNames(text, path)
}

// ReadSeeding reads a file with a display name or the id of a player on each line. An id has the form of league.SeedID.
func ReadSeeding(path string) ([]string, error) {
	text, err := userfile.ReadText(path, maxNamesFile)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return parseNames(text, path, league.SeedID)
}

// ParseNames reads a display name from each line; empty lines count for nothing.
func ParseNames(text []byte, path string) ([]string, error) {
	return parseNames(text, path, func(string) string { return "" })
}

// parseNames is ParseNames; idOf returns another form of an id, which counts as it is, and "" for a name.
func parseNames(text []byte, path string, idOf func(string) string) (names []string, err error) {
	lines, ids := nameLines{}, map[string]bool{}
	for i, line := range strings.Split(strings.TrimPrefix(string(text), "\ufeff"), "\n") {
		name := strings.TrimSpace(line)
		if name == "" {
			continue
		}
		id := idOf(name)
		switch err := lines.add("", name, i+1); {
		case err != nil && id == "":
			return nil, fmt.Errorf("%s line %d: %w", path, i+1, err)
		case ids[id]:
			return nil, fmt.Errorf("%s line %d: %s is there already", path, i+1, id)
		}
		ids[id] = id != ""
		names = append(names, cmp.Or(id, name))
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s has no names", path)
	}
	return names, nil
}
