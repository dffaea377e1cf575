// Package cmd is the command line: one file for each command, with its flags, its
// wiring and its output. Results go to standard output, everything else to standard
// error. The package holds no rules of leagues or matches; only main may import it.
package cmd

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"evenodd/cmd/supervise"
	"evenodd/league/program"
	"evenodd/league/protocol"
	"evenodd/transport"
)

// streams are the outputs of a command.
type streams struct {
	out, err io.Writer

	longWork time.Duration // after which err shows the progress of a work; 0 for never
	quiet    bool          // agents log to their files alone
	child    bool          // the process is the child of evenodd up
	args     []string      // the command line

	clock func(agent string) *protocol.Clock // of each agent, and of the command for ""; tests replace it
}

// time is the clock of the command.
func (s streams) time() *protocol.Clock {
	if s.clock == nil {
		return protocol.SystemClock()
	}
	return s.clock("")
}

// logs is where agents log, besides their files.
func (s streams) logs() io.Writer {
	if s.quiet {
		return io.Discard
	}
	return s.err
}

// Execute runs a command line and returns its exit code. ctx ends with the first signal
// to stop. err must be safe for concurrent use, because agents log to it. A process that
// starts programs of strategies runs this program again as their supervisor, and evenodd up
// runs it again for the agents of its league.
func Execute(ctx context.Context, version string, args []string, out, err io.Writer) int {
	return execute(ctx, version, args, streams{out: out, err: err, longWork: time.Second,
		clock: func(string) *protocol.Clock { return protocol.SystemClock() }})
}

func execute(ctx context.Context, version string, args []string, s streams) int {
	if code, asked := program.Supervise(args, os.Environ()); asked {
		return code
	}
	out, err := s.out, s.err
	if s.args, s.child = supervise.Child(args); s.child { // the parent has given the notes about settings
		s.err = io.Discard
	}
	root := newRoot(version, s, s.args...)
	root.SetArgs(s.args)
	var begun atomic.Pointer[cobra.Command] // whose command line is parsed
	interruption := make(chan struct{})
	root.PersistentPreRunE = func(c *cobra.Command, _ []string) error {
		begun.Store(c)
		return refuseEmpty(c)
	}
	refuseUnknownTopics(root)
	uninterrupted := context.AfterFunc(ctx, func() {
		if isTerminal(err) {
			draw(err, "\n") // ends the line with ^C
		}
		close(interruption)
	})
	printed := &keptError{w: out}
	root.SetOut(printed)
	var called *cobra.Command
	var problem error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		transport.GrowStack() // a tenth of the time of evenodd --version
		called, problem = root.ExecuteContextC(ctx)
	}()
	if !endsInTime(ctx, ended, &begun) {
		printError(err, interrupted("Run the same command again."))
		return exitInterrupted
	}
	if !uninterrupted() {
		<-interruption
	}
	problem = cmp.Or(problem, printed.err)
	if problem == nil {
		return exitDone
	}
	printError(err, problem)
	code := exitCode(problem)
	if begun.Load() == nil && printed.err == nil {
		code = exitUsage // cobra's errors of the command line have no code
	}
	if code == exitUsage {
		_ = printLine(err, "Try '%s --help'.", called.CommandPath())
	}
	return code
}

// endsInTime waits for the end of a command. It returns false if the command does not end after the first signal: the
// process then ends without it. A command that runs agents has the time to stop them. Any other has nothing to put in
// order, and can be in the middle of a file that takes minutes, or of a write to a pipe whose reader does not read.
func endsInTime(ctx context.Context, ended <-chan struct{}, begun *atomic.Pointer[cobra.Command]) bool {
	select {
	case <-ended:
		return true
	case <-ctx.Done():
	}
	patience, withAgents := time.Second, strings.Fields("manager referee player simulate up play mcp serve check")
	if c := begun.Load(); c != nil && slices.Contains(withAgents, c.Name()) {
		patience = 2 * upPatience
	}
	select {
	case <-ended:
		return true
	case <-time.After(patience):
		return false
	}
}

// A keptError is where cobra writes, which ignores errors. It keeps the first one.
type keptError struct {
	w   io.Writer
	err error
}

func (k *keptError) Write(text []byte) (int, error) {
	if k.err == nil {
		if _, err := k.w.Write(text); err != nil {
			k.err = fmt.Errorf("cannot print: %w", err)
		}
	}
	return len(text), nil
}

// newRoot makes the command line. Of the commands it has all, or that alone which args call: the flags of the others
// take longer than all else before a command runs.
func newRoot(version string, s streams, args ...string) *cobra.Command {
	var file string
	root := &cobra.Command{
		Use:   "evenodd",
		Short: "Leagues of autonomous agents over the protocol league.v2",
		Long: `Evenodd runs leagues of autonomous agents. A league manager registers agents and computes the table, referees
conduct matches, and players make choices. Agents call each other with JSON-RPC 2.0 at POST /mcp (protocol league.v2).

The flags of the commands that run or query a league are also environment variables, such as EVENODD_PORT, and keys of
a settings file (--config). 'evenodd config' shows all settings with their sources (docs/settings.md).`,
		Example: examples(
			"Play a league in this process", "evenodd simulate --players 4",
			"Run a league over HTTP, and show it", "evenodd up --entrants class.yaml",
			"Test your agent", "evenodd check player http://localhost:8101/mcp",
		),
		Version:       version,
		SilenceErrors: true,
		SilenceUsage:  true,

		DisableAutoGenTag:     true, // no date in the manual pages
		DisableFlagsInUseLine: true,
	}
	root.SetOut(s.out)
	root.SetErr(s.err)
	root.SetFlagErrorFunc(flagError)
	root.PersistentFlags().StringVar(&file, "config", "", "settings `file` in YAML or JSON (default: $EVENODD_CONFIG)")

	root.AddCommand(newCommands(s, &file).called(args)...)
	finish(root)
	helpOf(root, s.out)
	return root
}

// refuseUnknownTopics makes cobra's commands help and completion fail for a command or shell that
// does not exist.
func refuseUnknownTopics(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Args = func(_ *cobra.Command, topic []string) error {
				command, rest, _ := root.Find(topic)
				return onlyCommands(command, rest)
			}
		case "completion":
			finish(c)
		}
	}
}

// finish completes a command and those below it: a command that only has others below it shows its help, any other
// takes no arguments unless it says which, and shells complete the words of flags that take one of some.
func finish(c *cobra.Command) {
	if c.HasSubCommands() && c.RunE == nil {
		c.Args, c.RunE = onlyCommands, func(c *cobra.Command, _ []string) error { return c.Help() }
	} else if c.Args == nil {
		c.Args = cobra.NoArgs
	}
	if c.RunE != nil {
		c.Args = unquoted(c.Args)
	}
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if value, ok := f.Value.(*choice); ok { // it fails only for an unknown flag
			words := cobra.FixedCompletions(value.words, cobra.ShellCompDirectiveNoFileComp)
			_ = c.RegisterFlagCompletionFunc(f.Name, words)
		}
	})
	for _, below := range c.Commands() {
		finish(below)
	}
}

// unknownSetting warns of a misspelt setting. It is no error: other programs may set variables
// with this program's prefix, and newer versions may write members into files.
const unknownSetting = "Unknown setting without effect: %s"

// secretVariables are the environment variables that are no flags, because other users of the
// machine can read command lines.
func secretVariables() []string { return []string{tokenVariable, adminTokenVariable, llmKeyVariable} }
