package cmd

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"evenodd/league/protocol"
)

// Exit codes.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2 // wrong command line or setting
	exitLosses      = 3 // technical losses in a league with --strict
	exitFound       = 4 // findings of an audit, or an agent that does not conform
	exitInterrupted = 130
)

// An exitError ends a command with an exit code. Other errors end it with exitFailed.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// exitCode returns the exit code for an error.
func exitCode(err error) int {
	if errors.Is(err, context.Canceled) { // the first signal has ended the context of the command
		return exitInterrupted
	}
	if exit, ok := errors.AsType[*exitError](err); ok {
		return exit.code
	}
	return exitFailed
}

func exit(code int, format string, args ...any) error {
	return &exitError{code, fmt.Errorf(format, args...)}
}

// usage makes the error for a wrong command line or setting.
func usage(format string, args ...any) error { return exit(exitUsage, format, args...) }

// asUsage marks an error as one of the command line or a setting.
func asUsage(err error) error { return exit(exitUsage, "%w", err) }

// interrupted makes the error for a command that was told to stop. The text says how
// to resume.
func interrupted(format string, args ...any) error {
	return exit(exitInterrupted, "interrupted. "+format, args...)
}

// refuseEmpty returns an error for a flag of the command line that names a file or something to compare
// with, and has no value: without the flag, the command checks less. Other flags have a default for "".
func refuseEmpty(c *cobra.Command) error {
	for _, name := range strings.Fields("against config entrants head histories keys llm-prompt output roster seeding tls-ca tls-cert tls-key") {
		if f := c.Flag(name); f != nil && f.Changed && f.Value.String() == "" {
			return usage("--%s has an empty value: give it one, or leave the flag out; if the value is a variable of a script, check that it is set", name)
		}
	}
	return nil
}

// takes returns a check of a command's arguments: at least so many, at most one, and one
// of names, unless that is nil.
func takes(least int, names []string, message string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		unknown := func(arg string) bool { return names != nil && !slices.Contains(names, arg) }
		if len(args) < least || len(args) > 1 || slices.ContainsFunc(args, unknown) {
			if len(args) == 1 {
				if suggestion := protocol.DidYouMean(args[0], names); suggestion != "" {
					return usage("unknown name %q%s: %s", args[0], suggestion, message)
				}
			}
			return usage("%s", message)
		}
		return nil
	}
}

// noArguments refuses arguments that are not flags.
func noArguments(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		hint := ""
		if c.Flags().Lookup("entrants") != nil && slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(args[0])) {
			hint = " (did you mean --entrants " + args[0] + "?)"
		}
		return usage("%s takes only flags, no arguments such as %q%s", c.Name(), args[0], hint)
	}
	return nil
}
