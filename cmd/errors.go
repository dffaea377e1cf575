package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"evenodd/config"
	"evenodd/league/lists"
	"evenodd/league/words"
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

// asUsage marks an error as one of the command line or a setting; nil stays nil.
func asUsage(err error) error {
	if err == nil {
		return nil
	}
	return exit(exitUsage, "%w", err)
}

// interrupted makes the error for a command that was told to stop. The text says how
// to resume.
func interrupted(format string, args ...any) error {
	return exit(exitInterrupted, "interrupted. "+format, args...)
}

// refuseEmpty returns an error for a flag of the command line that names a file or something to compare
// with, and has no value: without the flag, the command checks less. Other flags have a default for "".
func refuseEmpty(c *cobra.Command) error {
	for _, name := range strings.Fields("config entrants head histories keys llm-prompt output roster seeding tls-ca " +
		"tls-cert tls-key") {
		if f := c.Flag(name); f != nil && f.Changed && f.Value.String() == "" {
			return usage("--%s has an empty value: give it one, or leave the flag out; if the value is a variable of a "+
				"script, check that it is set", name)
		}
	}
	return nil
}

// onlyCommands refuses the arguments of a command that only has commands below it.
func onlyCommands(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	for _, other := range c.Commands() {
		if slices.Contains(other.SuggestFor, args[0]) {
			return fmt.Errorf("unknown command %q for %q (did you mean %s?)", args[0], c.CommandPath(), other.Name())
		}
	}
	names := lists.Map(c.Commands(), (*cobra.Command).Name)
	return fmt.Errorf("unknown command %q for %q%s", args[0], c.CommandPath(), words.DidYouMean(args[0], names))
}

// flagError explains an error of the flags on a command line.
func flagError(c *cobra.Command, err error) error {
	if wrong, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return fmt.Errorf("--%s %w", wrong.GetFlag().Name, config.WrongValue(wrong))
	}
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		var names []string
		c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
		name := unknown.GetSpecifiedName()
		hint := words.DidYouMean("--"+name, names)
		if name == "listen" && c.Flag("port") != nil { // the address in one value, as many programs have it
			hint = " (did you mean --host and --port?)"
		}
		return fmt.Errorf("%w%s", err, hint)
	}
	return err
}
