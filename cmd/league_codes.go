package cmd

import (
	"bufio"
	"bytes"
	crand "crypto/rand"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/text/unicode/norm"

	"evenodd/config/userfile"
	"evenodd/league/protocol"
)

// newLeagueCodes makes 'evenodd league codes'.
func newLeagueCodes(s streams) *cobra.Command {
	role := ""
	c := &cobra.Command{
		Use:   "codes FILE",
		Short: "Make a roster: a registration code for each name",
		Long: `Make a roster for 'evenodd manager --roster': print each name of a file with a random
registration code, as CSV. The file has one name on each line; - is standard input.

Tell each participant its own code, over a channel that others cannot read. An agent
sends it by --registration-code.`,
		Example: examples(
			"Make a roster from a file of names", "evenodd league codes names.txt > roster.csv",
			"Make one of referees from standard input", "printf 'Whistle\\nFlag\\n' | evenodd league codes - --role referee",
		),
		Args: takes(1, nil, "codes takes one file with a name on each line, or - for standard input"),
		RunE: func(c *cobra.Command, args []string) error {
			if role != "" {
				if err := oneOf("role", role, protocol.RolePlayer, protocol.RoleReferee); err != nil {
					return err
				}
			}
			in, path := c.InOrStdin(), "standard input"
			if args[0] != "-" {
				path = args[0]
				text, err := userfile.Read(c.Context(), path, maxNamesFile)
				if err != nil {
					return fmt.Errorf("%s: %w", path, err)
				}
				in = bytes.NewReader(text)
			}
			names, err := readNames(in, path)
			if err != nil {
				return err
			}
			return printCodes(s.out, names, role)
		},
	}
	c.Flags().StringVar(&role, "role", "", "print a column with the role of the agents: player or referee")
	return c
}

// maxNames is the number of names in a file: that of the players of a league.
const maxNames = 10_000

// readNames reads a name from each line; empty lines count for nothing.
func readNames(in io.Reader, path string) (names []string, err error) {
	seen := map[string]int{}
	lines := bufio.NewScanner(in)
	for n := 1; lines.Scan(); n++ {
		name := norm.NFC.String(strings.TrimSpace(strings.TrimPrefix(lines.Text(), "\ufeff")))
		switch before := seen[protocol.NameKey(name)]; {
		case name == "":
			continue
		case !protocol.ValidName(name):
			return nil, fmt.Errorf("%s line %d: %.60q is no name: 1 to 50 characters without control characters", path, n, name)
		case before > 0:
			return nil, fmt.Errorf("%s line %d: %.60q equals the name of line %d", path, n, name, before)
		case len(names) == maxNames:
			return nil, fmt.Errorf("%s line %d: more than %d names", path, n, maxNames)
		}
		seen[protocol.NameKey(name)] = n
		names = append(names, name)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s has no names", path)
	}
	return names, nil
}

// printCodes prints a roster.
func printCodes(w io.Writer, names []string, role string) error {
	write := func(yield func([]string) bool) {
		row := []string{"name", "code"}
		if role != "" {
			row = append(row, "role")
		}
		more := yield(row)
		for i := 0; more && i < len(names); i++ {
			row := []string{names[i], crand.Text()}
			if role != "" {
				row = append(row, role)
			}
			more = yield(row)
		}
	}
	return writeCSV(w, write, protocol.Escape) // the manager compares the names
}
