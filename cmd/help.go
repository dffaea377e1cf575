package cmd

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A helpGroup has the names of commands or flags that help lists together.
type helpGroup struct{ title, names string }

// commandGroups are the groups of all commands; help and completion, which cobra makes, are in the last.
var commandGroups = [...]helpGroup{
	{"Run a league:", "play simulate up manager referee player league health"},
	{"Write an agent:", "new check mcp"},
	{"Look back:", "report ratings serve replay audit"},
	{"About this program:", "config init schema man version"},
}

// flagGroups are the groups of the flags that few need. All others come first.
var flagGroups = [...]helpGroup{
	{"Network:", "allowed-host base-path endpoint mcp-admin members page tls-ca tls-cert tls-key trusted-proxy " +
		"verify-referee"},
	{"Models and programs:", "bot-timeout exec-cpu exec-env exec-memory exec-sandbox fallback llm-model llm-prompt " +
		"llm-url mcp-command mcp-tool mcp-url"},
	{"Files:", "new-league resume roster seeding"},
	{"NATS:", "journal nats nats-ca nats-creds nats-journal-creds nats-monitor no-http secret-file standby"},
	{"Debugging:", "concurrency debug-addr log-level patience sign"},
}

// The number of columns of a help text is that of the terminal, but at most mostHelpWidth: longer lines are hard
// to read. On any other output it is helpWidth.
const (
	helpWidth     = 80
	mostHelpWidth = 120
)

// helpOf gives the commands their groups and the form of their help on an output.
func helpOf(root *cobra.Command, out io.Writer) {
	for _, group := range commandGroups {
		root.AddGroup(&cobra.Group{ID: group.title, Title: group.title})
		for _, c := range root.Commands() {
			if slices.Contains(strings.Fields(group.names), c.Name()) {
				c.GroupID = group.title
			}
		}
	}
	last := commandGroups[len(commandGroups)-1].title
	root.SetHelpCommandGroupID(last)
	root.SetCompletionCommandGroupID(last)
	help, usual, width := root.HelpFunc(), root.UsageTemplate(), helpWidth
	if screen := columnsOf(out); screen > 0 {
		width = min(screen, mostHelpWidth)
	}
	const (
		local  = "Flags:\n{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}"
		global = ".InheritedFlags.FlagUsages" // those of the groups of commands have their place among the others
	)
	root.SetHelpFunc(func(c *cobra.Command, args []string) {
		c.Long = reflow(c.Long, width) // here, because it takes longer than all of newRoot
		ofRoot := fmt.Sprintf(".Root.PersistentFlags.FlagUsagesWrapped %d", width)
		c.SetUsageTemplate(strings.NewReplacer(local, flagUsages(c, width), global, ofRoot).Replace(usual))
		help(c, args)
	})
}

// flagUsages are the flags of a command by groups, without those of all commands.
func flagUsages(c *cobra.Command, width int) string {
	flags := new(pflag.FlagSet)
	flags.AddFlagSet(c.LocalFlags())
	c.InheritedFlags().VisitAll(func(f *pflag.Flag) {
		if c.Root().PersistentFlags().Lookup(f.Name) == nil {
			flags.AddFlag(f)
		}
	})
	var text strings.Builder
	for _, group := range flagsByGroup(flags) {
		if group.flags.HasAvailableFlags() {
			text.WriteString(group.title + "\n" + group.flags.FlagUsagesWrapped(width) + "\n")
		}
	}
	return strings.TrimRight(text.String(), "\n")
}

// A flagGroup has flags of a command.
type flagGroup struct {
	title string
	flags *pflag.FlagSet
}

// flagsByGroup are flags by groups: first those that nearly all need, then those of flagGroups.
func flagsByGroup(flags *pflag.FlagSet) []flagGroup {
	all := []flagGroup{{"Flags:", new(pflag.FlagSet)}}
	for _, group := range flagGroups {
		all = append(all, flagGroup{group.title, new(pflag.FlagSet)})
	}
	flags.VisitAll(func(f *pflag.Flag) {
		i := slices.IndexFunc(flagGroups[:], func(g helpGroup) bool {
			return slices.Contains(strings.Fields(g.names), f.Name)
		})
		all[i+1].flags.AddFlag(f) // the first for a flag of no group
	})
	return all
}

// reflow wraps the paragraphs of a text at a width. Lines that are indented or begin a list stay lines.
func reflow(text string, width int) string {
	joined := regexp.MustCompile(`(\S)\n([^\s-])`).ReplaceAllString(text, "$1 $2")
	const unbreakable = "\u2011" // a hyphen at which no line ends, because flags have some
	return strings.ReplaceAll(lipgloss.Wrap(strings.ReplaceAll(joined, "-", unbreakable), width, ""), unbreakable, "-")
}

// examples formats pairs of a comment and a command line.
func examples(pairs ...string) string {
	var all []string
	for pair := range slices.Chunk(pairs, 2) {
		all = append(all, "  # "+pair[0]+"\n  "+pair[1])
	}
	return strings.Join(all, "\n\n")
}
