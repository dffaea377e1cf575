package cmd

import (
	"strings"

	"github.com/spf13/cobra"

	"evenodd/league/protocol"
)

// newSchema makes 'evenodd schema', which prints the JSON Schema of messages.
func newSchema(s streams) *cobra.Command {
	types := protocol.MessageTypes()
	return &cobra.Command{
		Use:   "schema [TYPE]",
		Short: "Print the JSON Schema of one message type or of all",
		Long: "Print the JSON Schema (draft 2020-12) of a message type of league.v2. Without a type,\n" +
			"print one document with all types under $defs. The types:\n\n  " + strings.Join(types, "\n  "),
		Example:   "  evenodd schema GAME_INVITATION",
		ValidArgs: types,
		Args:      takes(0, types, "schema takes one message type: "+strings.Join(types, ", ")),
		RunE: func(_ *cobra.Command, args []string) error {
			var document map[string]any
			if len(args) == 1 {
				document, _ = protocol.Schema(args[0]) // Args has checked the type
			} else {
				all := map[string]any{}
				for _, t := range types {
					all[t], _ = protocol.Schema(t)
				}
				document = map[string]any{"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": all}
			}
			return printJSON(s.out, document)
		},
	}
}
