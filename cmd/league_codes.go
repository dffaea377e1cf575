package cmd

import (
	"cmp"
	crand "crypto/rand"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"evenodd/config"
	"evenodd/league/protocol"
	"evenodd/league/words"
)

// newLeagueCodes makes 'evenodd league codes'.
func newLeagueCodes(o *leagueCommand) *cobra.Command {
	role, folder := "", ""
	c := &cobra.Command{
		Use:   "codes FILE",
		Short: "Make a roster: a registration code for each name",
		Long: `Make a roster for 'evenodd manager --roster': print each name of a file with a random registration code, as
CSV. The file has one name on each line; - is standard input.

Tell each participant its own code, over a channel that others cannot read. An agent sends it by --registration-code.

With --nats, FILE is a roster. The command writes a folder with the users of its agents for NATS servers: the file
users.conf for the configuration of the servers, and a secret key for each user. Give each participant the file with
its name, for --nats-creds; the manager uses manager.nk and journal.nk. Keys that are there stay
(docs/operators.md).`,
		Example: examples(
			"Make a roster from a file of names", "evenodd league codes names.txt > roster.csv",
			"Make one of referees from standard input", "printf 'Whistle\\nFlag\\n' | evenodd league codes - --role referee",
			"Make the users of a roster for NATS servers", "evenodd league codes roster.csv --nats nats-users",
		),
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if folder != "" {
				roster, err := config.ReadRoster(args[0])
				if err != nil {
					return asUsage(err)
				}
				return writeServerUsers(folder, cmp.Or(o.leagueID, defaultLeague), roster)
			}
			names, err := readNames(c, args[0])
			if err != nil {
				return err
			}
			columns := "name code"
			if role != "" {
				columns += " role"
			}
			rows := csvRows(columns, slices.Values(names), func(name string) []any {
				return []any{name, crand.Text(), role}[:len(strings.Fields(columns))]
			})
			return writeCSV(o.out, rows, words.Escape) // the manager compares the names
		},
	}
	choiceFlag(c.Flags(), &role, "role", "", "print a column with the role of the agents", protocol.RolePlayer,
		protocol.RoleReferee)
	c.Flags().StringVar(&folder, "nats", "", "`folder` for the users of a roster on NATS servers; they are users of the "+
		"league of --league-id (default: "+defaultLeague+")")
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
