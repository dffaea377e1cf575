package cmd

import (
	crand "crypto/rand"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"evenodd/config/userfile"
	"evenodd/league/protocol"
)

// newLeagueCodes makes 'evenodd league codes'.
func newLeagueCodes(s streams) *cobra.Command {
	role := ""
	c := &cobra.Command{
		Use:   "codes FILE",
		Short: "Make a roster: a registration code for each name",
		Long: `Make a roster for 'evenodd manager --roster': print each name of a file with a
random registration code, as CSV. The file has one name on each line; - is
standard input.

Tell each participant its own code, over a channel that others cannot read. An
agent sends it by --registration-code.`,
		Example: examples(
			"Make a roster from a file of names", "evenodd league codes names.txt > roster.csv",
			"Make one of referees from standard input", "printf 'Whistle\\nFlag\\n' | evenodd league codes - --role referee",
		),
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			var text []byte
			var err error
			path := "standard input"
			if args[0] == "-" {
				text, err = io.ReadAll(c.InOrStdin())
			} else {
				path = args[0]
				text, err = userfile.ReadText(path, maxNamesFile)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			names, err := readNames(text, path)
			if err != nil {
				return err
			}
			columns := "name code"
			if role != "" {
				columns += " role"
			}
			rows := csvRows(columns, names, func(name string) []any {
				return []any{name, crand.Text(), role}[:len(strings.Fields(columns))]
			})
			return writeCSV(s.out, rows, protocol.Escape) // the manager compares the names
		},
	}
	choiceFlag(c.Flags(), &role, "role", "", "print a column with the role of the agents", protocol.RolePlayer,
		protocol.RoleReferee)
	return c
}

// maxNamesFile is the largest size of a file of names in bytes.
const maxNamesFile = 4 << 20

// readNames reads a display name from each line; empty lines count for nothing.
func readNames(text []byte, path string) (names []string, err error) {
	lines := map[string]int{}
	for i, line := range strings.Split(strings.TrimPrefix(string(text), "\ufeff"), "\n") {
		name := strings.TrimSpace(line)
		key := protocol.NameKey(name)
		switch before := lines[key]; {
		case name == "":
			continue
		case !protocol.ValidName(name):
			return nil, fmt.Errorf("%s line %d: %.60q is no name: 1 to 50 characters without control characters", path,
				i+1, name)
		case before > 0:
			return nil, fmt.Errorf("%s line %d: %.60q equals the name of line %d", path, i+1, name, before)
		}
		lines[key] = i + 1
		names = append(names, name)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s has no names", path)
	}
	return names, nil
}
