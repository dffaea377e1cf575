package config

import (
	"fmt"
	"strings"

	"evenodd/config/userfile"
	"evenodd/league/protocol"
)

// nameLines are the lines of a file by their display names.
type nameLines map[string]int

// add adds a name. It refuses one that a reader may take for another name of the role.
func (l nameLines) add(role, name string, line int) error {
	key := role + " " + protocol.NameKey(name)
	unseen := protocol.AsError(protocol.CheckDisplayName(name))
	shown := protocol.Clip(name, 60)
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

// ParseNames reads a display name from each line; empty lines count for nothing.
func ParseNames(text []byte, path string) (names []string, err error) {
	lines := nameLines{}
	for i, line := range strings.Split(strings.TrimPrefix(string(text), "\ufeff"), "\n") {
		name := strings.TrimSpace(line)
		if name == "" {
			continue
		}
		if err := lines.add("", name, i+1); err != nil {
			return nil, fmt.Errorf("%s line %d: %w", path, i+1, err)
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s has no names", path)
	}
	return names, nil
}
