package cmd

import (
	crand "crypto/rand"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"evenodd/config"
	"evenodd/league/protocol"
)

// newLeagueCodes makes 'evenodd league codes'.
func newLeagueCodes(s streams) *cobra.Command {
	role := ""
	c := &cobra.Command{
		Use:   "codes FILE",
		Short: "Make a roster: a registration code for each name",
		Long: `Make a roster for 'evenodd manager --roster': print each name of a file with a random registration code, as
CSV. The file has one name on each line; - is standard input.

Tell each participant its own code, over a channel that others cannot read. An agent sends it by --registration-code.`,
		Example: examples(
			"Make a roster from a file of names", "evenodd league codes names.txt > roster.csv",
			"Make one of referees from standard input", "printf 'Whistle\\nFlag\\n' | evenodd league codes - --role referee",
		),
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			names, err := readNames(c, args[0])
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

func readNames(c *cobra.Command, path string) ([]string, error) {
	if path != "-" {
		return config.ReadNames(path)
	}
	text, err := io.ReadAll(c.InOrStdin())
	if err != nil {
		return nil, err
	}
	return config.ParseNames(text, "standard input")
}
