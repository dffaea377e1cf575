package cmd

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
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
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) > 1:
				return usage("schema takes one message type")
			case len(args) == 1 && !slices.Contains(types, args[0]):
				return usage("unknown message type %q; known: %s", args[0], strings.Join(types, ", "))
			}
			return nil
		},
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
			if err := json.MarshalWrite(s.out, document, jsontext.WithIndent("  "), json.Deterministic(true)); err != nil {
				return err
			}
			_, err := fmt.Fprintln(s.out)
			return err
		},
	}
}
