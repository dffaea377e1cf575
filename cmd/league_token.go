package cmd

import (
	"io"

	"github.com/spf13/cobra"
)

// newLeagueToken makes 'evenodd league token'.
func newLeagueToken(o *leagueCommand) *cobra.Command {
	return &cobra.Command{
		Use:   "token",
		Short: "Print the admin token of the league",
		Long: `Print the admin token of a league, from the data folder of its manager. With the token in EVENODD_ADMIN_TOKEN
the commands of 'evenodd league' work on another machine. The token allows all of them: keep it to yourself.`,
		Example: examples(
			"Print the token", "evenodd league token",
			"Give it to the commands that follow", "export EVENODD_ADMIN_TOKEN=$(evenodd league token)",
		),
		RunE: func(*cobra.Command, []string) error {
			folder, err := o.chosen()
			if err != nil {
				return err
			}
			token, err := o.tokenOf(folder, o.leagueID)
			if err != nil {
				return err
			}
			return show(o.out, o.format, struct {
				head

				Token string `json:"admin_token"`
			}{headOf(o.leagueID), token}, func(w io.Writer) error { return printLine(w, "%s", token) })
		},
	}
}
