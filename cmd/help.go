package cmd

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"evenodd/league/protocol"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A helpSection is one of the sections of a help text: a title and the names under it.
type helpSection struct{ title, names string }

// commandSections are the groups of commands in the help of the program.
func commandSections() []helpSection {
	return []helpSection{
		{"Run a league", "simulate up manager referee player league health init"},
		{"Write an agent", "new check schema mcp"},
		{"Look back", "report serve replay audit query"},
		{"More", "config completion version man help"},
	}
}

// flagSections are the groups of flags in the help of a command with many flags.
func flagSections() []helpSection {
	return []helpSection{
		{"Players and referees", "players entrants strategies strategy count name id referees verify-referee roster registration-code registration-until player wait patience max-concurrent"},
		{"Format", "game tournament legs rounds seeding league-id start-at pace"},
		{"Programs and models", "bot-timeout exec-env exec-sandbox fallback llm-url llm-model llm-prompt mcp-command mcp-tool mcp-url"},
		{"Test", "level only timeout"},
		{"Execution", "seed faults transport concurrency sign"},
		{"Storage", "data resume new-league"},
		{"Watching", "serve page mcp-admin exit-when-done"},
		{"Network", "host port endpoint manager listen allowed-host tls-ca tls-cert tls-key"},
		{"Output", "format list quiet strict log-level"},
		{"Other", "help"},
	}
}

// fewFlags is the largest number of flags that a help text lists in one section.
const fewFlags = 10

// groupFlags returns the flags of a command by section. Flags that no section names are in the
// last.
func groupFlags(flags *pflag.FlagSet) []flagGroup {
	var visible []*pflag.Flag
	flags.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			visible = append(visible, f)
		}
	})
	if len(visible) <= fewFlags {
		return []flagGroup{{"Flags", visible}}
	}
	var groups []flagGroup
	sections := flagSections()
	for i, s := range sections {
		g := flagGroup{title: s.title}
		names := strings.Fields(s.names)
		last := i == len(sections)-1
		visible = slices.DeleteFunc(visible, func(f *pflag.Flag) bool {
			here := last || slices.Contains(names, f.Name)
			if here {
				g.flags = append(g.flags, f)
			}
			return here
		})
		slices.SortStableFunc(g.flags, func(a, b *pflag.Flag) int {
			return cmp.Compare(slices.Index(names, a.Name), slices.Index(names, b.Name))
		})
		if len(g.flags) > 0 {
			groups = append(groups, g)
		}
	}
	return groups
}

// A flagGroup is a section of the flags of one command.
type flagGroup struct {
	title string
	flags []*pflag.Flag
}

// helpWidth is the longest line of a help text in columns.
const helpWidth = 80

// examples formats the examples of a command: what each does, and the command line.
func examples(pairs ...string) string {
	var all []string
	for i := 0; i+1 < len(pairs); i += 2 {
		all = append(all, "  # "+pairs[i]+"\n  "+pairs[i+1])
	}
	return strings.Join(all, "\n\n")
}

// printHelp prints the help of a command.
func printHelp(c *cobra.Command, _ []string) {
	text := c.Long
	if text == "" {
		text = c.Short + "."
	}
	_, _ = fmt.Fprintf(c.OutOrStdout(), "%s\n\n%s", reflow(text, helpWidth), c.UsageString())
}

// printUsage prints the part of a command's help that follows from its definition.
func printUsage(c *cobra.Command) error {
	var text strings.Builder
	text.WriteString("Usage:\n")
	text.WriteString("  " + usageForm(c) + "\n")
	if c.HasExample() {
		fmt.Fprintf(&text, "\nExamples:\n%s\n", c.Example)
	}
	listCommands(&text, c)
	for _, g := range allFlags(c) {
		listFlags(&text, g)
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&text, "\n'%s COMMAND --help' describes a command.\n", c.CommandPath())
	}
	_, err := io.WriteString(c.OutOrStderr(), text.String())
	return err
}

// usageForm returns the form of a command line.
func usageForm(c *cobra.Command) string {
	if c.HasAvailableSubCommands() {
		return c.CommandPath() + " COMMAND"
	}
	return c.UseLine()
}

// allFlags returns the flags of a command by section, and those that it shares with others.
func allFlags(c *cobra.Command) []flagGroup {
	groups := groupFlags(c.LocalFlags())
	for _, g := range groupFlags(c.InheritedFlags()) {
		if len(g.flags) > 0 {
			groups = append(groups, flagGroup{"Shared flags", g.flags})
		}
	}
	return groups
}

// listCommands lists the commands below a command by group.
func listCommands(text *strings.Builder, c *cobra.Command) {
	for _, g := range groupsOf(c) {
		fmt.Fprintf(text, "\n%s:\n", g.title)
		for _, below := range g.commands {
			fmt.Fprintf(text, "  %-*s  %s\n", c.NamePadding(), below.Name(), below.Short)
		}
	}
}

// A commandGroup is a section of the commands below one command.
type commandGroup struct {
	title    string
	commands []*cobra.Command
}

// groupsOf returns the commands below a command by section. Those of the program have the order
// of commandSections, all others are in one section in alphabetical order.
func groupsOf(c *cobra.Command) []commandGroup {
	available := protocol.Select(c.Commands(), func(below *cobra.Command) bool {
		return below.IsAvailableCommand() || below.Name() == "help"
	})
	if len(available) == 0 {
		return nil
	}
	if c.HasParent() {
		return []commandGroup{{"Commands", available}}
	}
	var groups []commandGroup
	for _, s := range commandSections() {
		g := commandGroup{title: s.title}
		for name := range strings.FieldsSeq(s.names) {
			if i := slices.IndexFunc(available, func(c *cobra.Command) bool { return c.Name() == name }); i >= 0 {
				g.commands = append(g.commands, available[i])
			}
		}
		groups = append(groups, g)
	}
	return groups
}

// listFlags lists the flags of a section. Texts begin in the same column in all sections.
func listFlags(text *strings.Builder, g flagGroup) {
	const column = 28
	for i, f := range g.flags {
		if i == 0 {
			fmt.Fprintf(text, "\n%s:\n", g.title)
		}
		name, usage := describeFlag(f)
		if len(name) > column-2 {
			text.WriteString(name + "\n")
			name = ""
		}
		for line := range strings.SplitSeq(reflow(usage, helpWidth-column), "\n") {
			fmt.Fprintf(text, "%-*s%s\n", column, name, line)
			name = ""
		}
	}
}

// describeFlag returns the name of a flag with that of its value, and its text with the default.
func describeFlag(f *pflag.Flag) (name, text string) {
	value, text := pflag.UnquoteUsage(f)
	name = "      --" + f.Name
	if f.Shorthand != "" {
		name = "  -" + f.Shorthand + ", --" + f.Name
	}
	if value != "" {
		name += " " + value
	}
	standard := strings.Trim(f.DefValue, "[]")
	if !slices.Contains([]string{"", "0", "0s", "false"}, standard) {
		text += " (default " + standard + ")"
	}
	return name, text
}

// reflow breaks the paragraphs of a text into lines of at most width columns. Lines that begin
// with a space stay as they are.
func reflow(text string, width int) string {
	var b strings.Builder
	used := 0 // columns of the current line; 0 before its first word
	for line := range strings.Lines(strings.TrimSpace(text) + "\n") {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || strings.HasPrefix(line, " ") {
			if used > 0 {
				b.WriteString("\n")
			}
			used = 0
			b.WriteString(line + "\n")
			continue
		}
		for word := range strings.FieldsSeq(line) {
			n := len([]rune(word))
			switch {
			case used == 0:
			case used+1+n <= width:
				b.WriteString(" ")
				used++
			default:
				b.WriteString("\n")
				used = 0
			}
			b.WriteString(word)
			used += n
		}
	}
	return strings.TrimRight(b.String(), "\n")
}
