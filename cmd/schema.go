package cmd

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"evenodd/league/program"
	"evenodd/league/protocol"
	"evenodd/league/words"
	"evenodd/player/strategy/external"
	"evenodd/rules"
)

// schemaOptions are the flags of 'evenodd schema'.
type schemaOptions struct {
	methods, example bool
	format           string
}

// newSchema makes 'evenodd schema', which prints the JSON Schema of messages, examples of them,
// and the table of methods.
func newSchema(s streams) *cobra.Command {
	var o schemaOptions
	types := protocol.MessageTypes()
	c := &cobra.Command{
		Use:   "schema [TYPE]",
		Short: "Print schemas and examples of messages, and all methods",
		Long: `Print the JSON Schema (draft 2020-12) of a message of league.v2, with the meaning of each member and the
method that carries the message. Without a type, print one document with all types under $defs. docs/protocol.md
describes the protocol.`,
		Example: examples(
			"List the methods", "evenodd schema --methods",
			"Print the schema of a message", "evenodd schema GAME_INVITATION",
			"Print an example of a message", "evenodd schema --example GAME_JOIN_ACK",
			"List the methods as JSON", "evenodd schema --methods --format json",
		),
		ValidArgs: types,
		Args:      o.arguments,
		RunE: func(_ *cobra.Command, args []string) error {
			switch {
			case o.methods:
				return printMethods(s.out, o.format)
			case o.example:
				example, _ := protocol.Example(strings.ToUpper(args[0])) // there is one of each type
				return printJSON(s.out, example)
			case len(args) == 1:
				schema, _ := protocol.Schema(strings.ToUpper(args[0])) // Args has checked the type
				return printJSON(s.out, schema)
			}
			all := map[string]any{}
			for _, t := range types {
				all[t], _ = protocol.Schema(t)
			}
			return printJSON(s.out, map[string]any{"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": all})
		},
	}
	c.Flags().BoolVar(&o.methods, "methods", false, "print the table of methods")
	c.Flags().BoolVar(&o.example, "example", false, "print an example message of the type")
	choiceFlag(c.Flags(), &o.format, "format", formatTable, "format of --methods", formatTable, formatJSON)
	c.AddCommand(newSchemaPrompt(s))
	return c
}

// newSchemaPrompt makes 'evenodd schema prompt', which prints the question to a language model.
func newSchemaPrompt(s streams) *cobra.Command {
	var programs program.Programs
	c := &cobra.Command{
		Use:   "prompt GAME",
		Short: "Print an example of the question to a language model",
		Long: `Print an example of the question that the strategy llm asks a language model in a game. A match asks the same
with its own position and history. The text of --llm-prompt, or of prompt_file, precedes it as the message of
the system. GAME is a game of this program, or exec: with the command line of another one.`,
		Example: examples("Print the question of Tic-Tac-Toe", "evenodd schema prompt tic_tac_toe",
			"Print that of a game in Python", "evenodd schema prompt 'exec:python3 nim.py'"),
		ValidArgs: games().Types(),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("schema prompt takes one game: %s or %sPROGRAM", strings.Join(games().Types(), ", "),
					program.GamePrefix)
			}
			if strings.HasPrefix(args[0], program.GamePrefix) {
				return nil
			}
			if _, err := games().Game(args[0]); err != nil {
				return usage("%w%s", err, words.DidYouMean(args[0], games().Types()))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			own, err := openGame(c.Context(), nil, &args[0], &programs, zerolog.Nop())
			if err != nil {
				return err
			}
			defer own.close()
			game, _ := own.games().Game(args[0]) // Args has checked it
			prompt, err := external.ExamplePrompt(game, func(history []rules.Entry) (*rules.State, error) {
				return own.Ask(c.Context(), history)
			})
			if err != nil {
				return err
			}
			var text printout
			for line := range strings.Lines(prompt) {
				text.line("%s", strings.TrimSuffix(line, "\n"))
			}
			return text.print(s.out)
		},
	}
	programFlags(c.Flags(), &programs, "programs")
	return c
}

// arguments checks the type and the flags.
func (o *schemaOptions) arguments(_ *cobra.Command, args []string) error {
	types := protocol.MessageTypes()
	switch {
	case len(args) > 1, o.methods && (len(args) > 0 || o.example):
		return usage("schema takes one message type, or --methods alone")
	case o.example && len(args) == 0:
		return usage("--example needs a message type, such as %s", protocol.TypeGameInvitation)
	case len(args) == 1 && !slices.Contains(types, strings.ToUpper(args[0])):
		return usage("unknown message type %q%s: 'evenodd schema --methods' lists the types", args[0],
			words.DidYouMean(args[0], types))
	}
	return nil
}

// printMethods prints the table of methods.
func printMethods(w io.Writer, format string) error {
	type method struct {
		Method   string   `json:"method"`
		Aliases  []string `json:"aliases"`
		Request  string   `json:"request,omitzero"`
		Result   string   `json:"result"`
		Caller   string   `json:"caller"`
		Receiver string   `json:"receiver"`
		Timeout  float64  `json:"timeout_sec"`
		About    string   `json:"about"`
	}
	document := struct {
		SchemaVersion string   `json:"schema_version"`
		Methods       []method `json:"methods"`
	}{SchemaVersion: outputSchema}
	var rows [][]any
	for _, m := range protocol.Methods() {
		document.Methods = append(document.Methods,
			method{m.Name, m.Aliases, m.Request, m.Result, m.From, m.To, m.Timeout.Seconds(), m.About})
		rows = append(rows, []any{m.Name, m.Request, m.Result, m.From, m.To, fmt.Sprintf("%g s", m.Timeout.Seconds())})
	}
	return show(w, format, document, func(w io.Writer) error {
		return printTable(w, []string{"Method", "Request", "Result", "Caller", "Receiver", "Timeout"}, rows)
	})
}
