package cmd

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"evenodd/league/words"
)

// A choice is the value of a flag that takes one of some words, in any case. A shell completes the words.
type choice struct {
	value *string
	words []string
	open  string // the prefix of further values; "" for none
	none  string // what the error says of the case without the flag
}

var _ pflag.Value = (*choice)(nil)

// choiceFlag defines a flag that takes one of allowed. Its text is about, with them.
func choiceFlag(f *pflag.FlagSet, value *string, name, usual, about string, allowed ...string) {
	*value = usual
	f.Var(&choice{value: value, words: allowed}, name, strings.TrimPrefix(about+": "+words.Or(allowed), ": "))
}

// unquoted adds to the errors of check that a program in a flag must be quoted, if the shell has split its command
// line.
func unquoted(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		err := check(c, args)
		if err == nil || len(args) == 0 {
			return err
		}
		quoted := ""
		c.Flags().Visit(func(f *pflag.Flag) {
			value, ok := f.Value.(*choice)
			if !ok || value.open == "" || !strings.HasPrefix(*value.value, value.open) || strings.Contains(*value.value, " ") {
				return
			}
			rest := "ARGUMENTS" // some of args are other arguments
			if check(c, nil) == nil {
				rest = strings.Join(args, " ")
			}
			quoted = fmt.Sprintf("--%s '%s %s'", f.Name, *value.value, rest)
		})
		if quoted == "" {
			return err
		}
		return usage("%w; quote a program with its arguments: %s", err, quoted)
	}
}

// formatFlag defines the flag of the commands that print text or JSON.
func formatFlag(f *pflag.FlagSet, format *string) {
	choiceFlag(f, format, "format", formatText, "", formatText, formatJSON)
}

// leagueFlag defines the flag of the commands that choose a league of a data folder.
func leagueFlag(f *pflag.FlagSet, leagueID *string, about, further string) {
	f.StringVar(leagueID, "league-id", "", about+" (default: the running one, else that with the newest entry)"+further)
}

// Set implements pflag.Value.
func (c *choice) Set(given string) error {
	if c.open != "" && strings.HasPrefix(given, c.open) {
		*c.value = given
		return nil
	}
	i := slices.IndexFunc(c.words, func(word string) bool { return strings.EqualFold(word, given) })
	if i < 0 {
		allowed := c.words
		if c.open != "" {
			allowed = append(slices.Clone(allowed), c.open+"PROGRAM")
		}
		if c.open != "" && strings.ContainsAny(given, " ./") {
			return fmt.Errorf("must be %s (did you mean %s?)", words.Or(allowed), c.open+given)
		}
		return errors.New(mustBe(given, allowed) + c.none)
	}
	*c.value = c.words[i]
	return nil
}

// String implements pflag.Value.
func (c *choice) String() string { return *c.value }

// Type implements pflag.Value.
func (c *choice) Type() string { return "string" }

// mustBe says which words a value may be, and which is the closest.
func mustBe(value string, allowed []string) string {
	return "must be " + words.Or(allowed) + words.DidYouMean(value, allowed)
}

// A limit is a flag with a number that has a unit; 0 for none.
type limit struct {
	value  *int64
	parse  func(string) (int64, error)
	format func(int64) string
	form   string // of its value, for the help
}

// Set implements pflag.Value.
func (l *limit) Set(given string) (err error) {
	value, err := l.parse(given)
	if err == nil {
		*l.value = value
	}
	return err
}

// String implements pflag.Value.
func (l *limit) String() string {
	if l.value == nil || *l.value == 0 {
		return ""
	}
	return l.format(*l.value)
}

// Type implements pflag.Value.
func (l *limit) Type() string { return l.form }
