package cmd

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"evenodd/config"
	"evenodd/league/protocol"
)

// onlyCommands refuses the arguments of a command that only has commands below it, and suggests
// one of these.
func onlyCommands(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	of := ""
	if c.HasParent() {
		of = " of " + c.Name()
	}
	suggestion := suggestCommand(c, args[0])
	if names := commandNames(c); suggestion == "" && len(names) <= 3 {
		suggestion = ": must be one of " + strings.Join(names, ", ")
	}
	return usage("unknown command %q%s%s", args[0], of, suggestion)
}

// commandNames lists the commands below c.
func commandNames(c *cobra.Command) []string {
	return protocol.Each(protocol.Select(c.Commands(), (*cobra.Command).IsAvailableCommand), (*cobra.Command).Name)
}

// suggestCommand suggests a command below c for an unknown word. A word that is a command of
// another level is found too: evenodd status.
func suggestCommand(c *cobra.Command, word string) string {
	var deeper []string
	for _, below := range c.Commands() {
		for _, last := range below.Commands() {
			if last.Name() == word && last.IsAvailableCommand() {
				deeper = append(deeper, below.Name()+" "+word)
			}
		}
	}
	if len(deeper) > 0 {
		return " (did you mean " + deeper[0] + "?)"
	}
	return protocol.DidYouMean(word, commandNames(c))
}

// flagError explains an error of the flags on a command line.
func flagError(c *cobra.Command, err error) error {
	if wrong, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return usage("--%s %v", wrong.GetFlag().Name, config.WrongValue(wrong))
	}
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return asUsage(err)
	}
	if words := c.Flags().Args(); len(words) > 0 && c.HasAvailableSubCommands() {
		return onlyCommands(c, words) // an unknown command has no flags
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, "--"+f.Name)
		}
	})
	if letters := unknown.GetSpecifiedShortnames(); len(letters) > 1 && slices.Contains(names, "--"+letters) {
		return usage("unknown flag: -%s (did you mean --%[1]s?)", letters)
	}
	return usage("%w%s", err, protocol.DidYouMean("--"+unknown.GetSpecifiedName(), names))
}
