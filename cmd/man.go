package cmd

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// newMan makes 'evenodd man', which writes the manual pages of all commands.
func newMan(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write the manual pages of all commands",
		Long: `Write a manual page for each command into a folder: evenodd.1, evenodd-simulate.1 and so on. The same program
writes the same bytes each time. It makes the folder if it is missing.`,
		Example: examples(
			"Write the pages and read one", "evenodd man ./man && man -l ./man/evenodd-simulate.1",
			"Install them for all users", "sudo evenodd man /usr/local/share/man/man1",
		),
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			err := os.MkdirAll(args[0], 0o755)
			if err == nil {
				err = writeManual(c.Root(), args[0])
			}
			if err != nil {
				return fmt.Errorf("cannot write the manual pages: %w", err)
			}
			return printLine(s.err, "%s: the manual pages of all commands", args[0])
		},
	}
}

// writeManual writes the page of a command, and those of the commands below it.
func writeManual(c *cobra.Command, dir string) error {
	page := filepath.Join(dir, strings.ReplaceAll(c.CommandPath(), " ", "-")+".1")
	if err := os.WriteFile(page, []byte(manualPage(c)), 0o644); err != nil { //nolint:gosec // for everybody to read
		return err
	}
	for _, below := range withPages(c) {
		if err := writeManual(below, dir); err != nil {
			return err
		}
	}
	return nil
}

// withPages returns the commands below a command that have a page, by name.
func withPages(c *cobra.Command) []*cobra.Command {
	with := slices.DeleteFunc(slices.Clone(c.Commands()), func(c *cobra.Command) bool {
		return !c.IsAvailableCommand() || c.IsAdditionalHelpTopicCommand()
	})
	slices.SortFunc(with, func(a, b *cobra.Command) int { return strings.Compare(a.Name(), b.Name()) })
	return with
}

// manualPage is the page of a command in the language of man(7), as package doc of cobra writes it. That package is not
// in the program: it makes Markdown of a command, and has a parser of Markdown that costs each command time at its
// start.
func manualPage(c *cobra.Command) string {
	c.InitDefaultHelpCmd()
	c.InitDefaultHelpFlag()
	name := strings.ReplaceAll(c.CommandPath(), " ", "-")
	var page strings.Builder
	page.WriteString(".nh\n.TH \"" + strings.ToUpper(name) + "\" \"1\" \"" + manualDate().Format("Jan 2006") +
		"\" \"evenodd\" \"User Commands\"")
	section := func(title string, paragraphs ...string) {
		if len(paragraphs) > 0 {
			page.WriteString("\n\n.SH " + title + "\n" + strings.Join(paragraphs, "\n\n.PP\n") + "\n")
		}
	}
	section("NAME", name+" - "+roff(c.Short))
	section("SYNOPSIS", `\fB`+roff(c.UseLine())+`\fP`)
	section("DESCRIPTION", description(cmp.Or(c.Long, c.Short)))
	section("OPTIONS", options(c.NonInheritedFlags())...)
	section("OPTIONS INHERITED FROM PARENT COMMANDS", options(c.InheritedFlags())...)
	if c.Example != "" {
		section("EXAMPLE", ".EX\n"+roff(c.Example)+"\n.EE")
	}
	var others []string
	if c.HasParent() {
		others = append(others, `\fB`+strings.ReplaceAll(c.Parent().CommandPath(), " ", "-")+`(1)\fP`)
	}
	for _, below := range withPages(c) {
		others = append(others, `\fB`+name+"-"+below.Name()+`(1)\fP`)
	}
	if len(others) > 0 {
		section("SEE ALSO", strings.Join(others, ", "))
	}
	return page.String()
}

// description makes paragraphs of a text: lines that four spaces indent are shown as they are, and a line with #### is
// a heading of cobra's commands.
func description(text string) string {
	var made strings.Builder
	for block := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		title, heading := strings.CutPrefix(block, "#### ")
		switch code, indented := unindented(block); {
		case heading:
			made.WriteString("\n.SS " + title)
		case indented:
			made.WriteString("\n.EX\n" + roff(code) + "\n.EE\n")
		case made.Len() == 0:
			made.WriteString(roff(block) + "\n")
		default:
			made.WriteString("\n.PP\n" + roff(block) + "\n")
		}
	}
	return strings.TrimSuffix(made.String(), "\n")
}

// unindented removes the indentation of lines if all have it.
func unindented(block string) (text string, indented bool) {
	lines := strings.Split(strings.Trim(block, "\n"), "\n")
	for i, line := range lines {
		rest, tab := strings.CutPrefix(line, "\t")
		if !tab {
			if rest, indented = strings.CutPrefix(line, "    "); !indented {
				return "", false
			}
		}
		lines[i] = rest
	}
	return strings.Join(lines, "\n"), true
}

// options returns a paragraph for each flag that a user may see.
func options(flags *pflag.FlagSet) (paragraphs []string) {
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Deprecated != "" {
			return
		}
		text := `\fB--` + f.Name + `\fP`
		if f.Shorthand != "" {
			text = `\fB-` + f.Shorthand + `\fP, ` + text
		}
		value := "=" + roff(f.DefValue)
		if f.Value.Type() == "string" {
			value = fmt.Sprintf("=%q", f.DefValue)
		}
		if f.NoOptDefVal != "" {
			value = "[" + value + "]"
		}
		usage := regexp.MustCompile("`([^`]*)`").ReplaceAllString(roff(f.Usage), `\fB$1\fR`)
		paragraphs = append(paragraphs, text+value+"\n\t"+usage)
	})
	return paragraphs
}

// roff escapes a text for man(7).
func roff(text string) string {
	lines := strings.Split(strings.ReplaceAll(text, `\`, `\\`), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}

// manualDate is the date of all pages: that of the commit, so that the same program writes the same bytes.
func manualDate() time.Time {
	info, _ := debug.ReadBuildInfo()
	date, err := time.Parse(time.RFC3339, buildOf("", info).Date)
	if err != nil { // the build knows no commit
		date = time.Unix(0, 0).UTC()
	}
	return date
}
