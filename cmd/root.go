// Package cmd is the command line: one file for each command, with its flags, its
// wiring and its output. Results go to standard output, everything else to standard
// error. The package holds no rules of leagues or matches; only main may import it.
package cmd

import (
	"context"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"evenodd/cmd/supervise"
	"evenodd/config"
	"evenodd/player/strategy/external"
)

// streams are the outputs of a command.
type streams struct{ out, err io.Writer }

// Execute runs a command line and returns its exit code. ctx ends with the first signal
// to stop. err must be safe for concurrent use, because agents log to it. A process that
// starts programs of strategies runs this program again as their supervisor, and evenodd up
// runs it again for each agent.
func Execute(ctx context.Context, version string, args []string, out, err io.Writer) int {
	if code, asked := external.Supervise(args, os.Environ()); asked {
		return code
	}
	args, supervised := supervise.Child(args)
	if supervised {
		ctx = superviseSelf(ctx)
	}
	root := newRoot(version, streams{out, err})
	root.SetArgs(args)
	problem := root.ExecuteContext(ctx)
	if problem == nil {
		return exitDone
	}
	printError(err, problem)
	code := exitCode(problem)
	if code == exitUsage {
		_ = printLine(err, "Try '%s --help'.", calledCommand(root, args))
	}
	return code
}

// calledCommand returns the name of the command that args call.
func calledCommand(root *cobra.Command, args []string) string {
	if c, _, err := root.Find(args); err == nil {
		return c.CommandPath()
	}
	return root.Name()
}

func newRoot(version string, s streams) *cobra.Command {
	var file string
	root := &cobra.Command{
		Use:   "evenodd",
		Short: "Leagues of autonomous agents over the protocol league.v2",
		Long: `Evenodd runs leagues of autonomous agents. A league manager registers agents and
computes the table, referees conduct matches, and players make choices. Agents call
each other with JSON-RPC 2.0 at POST /mcp (protocol league.v2).

The flags of the commands that run or query a league are also environment variables, such
as EVENODD_PORT, and keys of a settings file (--config). 'evenodd config' shows all settings
with their sources (docs/settings.md).`,
		Example: examples(
			"Play a league in this process", "evenodd simulate --players 4",
			"Run a league as processes, and show it", "evenodd up --entrants class.yaml",
			"Test your agent", "evenodd check player http://localhost:8101/mcp",
		),
		Version:       version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          onlyCommands,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },

		PersistentPreRunE: func(c *cobra.Command, _ []string) error { return refuseEmpty(c) },
	}
	root.SetOut(s.out)
	root.SetErr(s.err)
	root.SetFlagErrorFunc(flagError)
	root.PersistentFlags().StringVar(&file, "config", "", "settings `file` in YAML, TOML or JSON (default: $EVENODD_CONFIG)")

	data, flags := &dataFolder{}, map[string]*pflag.FlagSet{}
	load := func(ctx context.Context) (*config.Settings, error) {
		for _, name := range config.UnknownVariables(os.Environ(), flags, secretVariables()...) {
			_ = printLine(s.err, unknownSetting, name)
		}
		return config.Load(ctx, file, flags)
	}
	configurable := []*cobra.Command{newManager(s, data), newReferee(s, data), newPlayer(s, data), newSimulate(s, data), newQuery(s, data), newMCP(s, data), newUp(s, data)}
	for _, c := range configurable {
		flags[c.Name()] = c.Flags()
		c.PreRunE = func(c *cobra.Command, _ []string) error {
			settings, err := load(c.Context())
			if err == nil {
				_, err = data.resolve(settings, c.Name(), c.Flags())
			}
			if err != nil {
				return asUsage(err)
			}
			for _, member := range data.loader.Unknown() {
				_ = printLine(s.err, unknownSetting, member)
			}
			return nil
		}
		root.AddCommand(c)
	}
	organise := newLeague(s, data, load)
	flags[organise.Name()] = organise.PersistentFlags()
	root.AddCommand(organise)
	root.AddCommand(newConfig(s, &file, flags), newInit(s), newAudit(s), newReplay(s), newReport(s), newServe(s), newCheck(s), newSchema(s), newVersion(s), newMan(s), newNew(s), newHealth(s))
	completeBuiltins(root)
	completeFlags(root)
	root.SetHelpFunc(printHelp)
	root.SetUsageFunc(printUsage)
	return root
}

// unknownSetting warns of a misspelt setting. It is no error: other programs may set variables
// with this program's prefix, and newer versions may write members into files.
const unknownSetting = "Unknown setting without effect: %s"

// secretVariables are the environment variables that are no flags, because other users of the
// machine can read command lines.
func secretVariables() []string { return []string{tokenVariable, adminTokenVariable, llmKeyVariable} }

// completeBuiltins gives the commands that cobra adds examples and checks of their
// arguments, like those of this program's commands.
func completeBuiltins(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Example = examples("Describe a command", "evenodd help simulate", "Describe a command of the group league", "evenodd help league status")
			c.Args = func(_ *cobra.Command, args []string) error {
				if _, unknown, err := root.Find(args); err != nil || len(unknown) > 0 {
					return usage("unknown command %q%s", strings.Join(args, " "), suggestCommand(root, strings.Join(args, " ")))
				}
				return nil
			}
		case "completion":
			c.Example = examples("Complete commands in this shell", "source <(evenodd completion bash)")
			c.Args = func(c *cobra.Command, args []string) error {
				if len(args) > 0 {
					return usage("unknown shell %q: must be bash, fish, powershell or zsh%s", args[0], suggestCommand(c, args[0]))
				}
				return nil
			}
			c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
			for _, shell := range c.Commands() {
				shell.Example = examples("Write the script", "evenodd completion "+shell.Name()+" > evenodd."+shell.Name())
				shell.Args = noArguments
			}
		}
	}
}
