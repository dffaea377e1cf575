package cmd

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"evenodd/league/protocol"
	"evenodd/league/store/atomicfile"
)

// newMan makes 'evenodd man', which writes the manual pages of all commands.
func newMan(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write the manual pages of all commands",
		Long: `Write a manual page for each command into a folder: evenodd.1, evenodd-simulate.1 and so
on. The same program writes the same bytes each time. It makes the folder if it is missing.`,
		Example: `  # Write the pages and read one
  evenodd man ./man && man -l ./man/evenodd-simulate.1

  # Install them for all users
  sudo evenodd man /usr/local/share/man/man1`,
		ValidArgsFunction: completeOneFolder,
		Args:              takes(1, nil, "man takes one folder, such as ./man"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return fmt.Errorf("cannot write the manual pages: %w", err)
			}
			n, err := writeManual(c.Root(), args[0])
			if err != nil {
				return fmt.Errorf("cannot write the manual pages: %w", err)
			}
			return printLine(s.err, "%s: %s", args[0], protocol.Counted(n, "manual page"))
		},
	}
}

// writeManual writes the pages of a command and of all below it, and returns their number.
func writeManual(c *cobra.Command, dir string) (pages int, err error) {
	name := manualName(c)
	if err := atomicfile.WriteFile(filepath.Join(dir, name+".1"), []byte(manualPage(c)), 0o644); err != nil {
		return 0, err
	}
	pages = 1
	for _, g := range groupsOf(c) {
		for _, below := range g.commands {
			n, err := writeManual(below, dir)
			if pages += n; err != nil {
				return pages, err
			}
		}
	}
	return pages, nil
}

// manualName returns the name of a command's page, such as evenodd-league-status.
func manualName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// manualPage returns the page of a command in the language of man(7).
func manualPage(c *cobra.Command) string {
	c.InitDefaultHelpFlag()
	c.InitDefaultVersionFlag()
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s 1 \"\" evenodd \"User Commands\"\n.nh\n", roff(strings.ToUpper(manualName(c))))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(manualName(c)), roff(c.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", roff(usageForm(c)))
	b.WriteString(".SH DESCRIPTION\n")
	manualText(&b, c.Long)
	for i, g := range groupsOf(c) {
		if i == 0 {
			b.WriteString(".SH COMMANDS\n")
		}
		fmt.Fprintf(&b, ".SS %s\n", roff(g.title))
		for _, below := range g.commands {
			fmt.Fprintf(&b, ".TP\n.B %s(1)\n%s\n", roff(manualName(below)), roff(below.Short))
		}
	}
	b.WriteString(".SH OPTIONS\n")
	for _, g := range allFlags(c) {
		fmt.Fprintf(&b, ".SS %s\n", roff(g.title))
		for _, f := range g.flags {
			name, usage := describeFlag(f)
			fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(strings.TrimSpace(name)), roff(usage))
		}
	}
	if c.HasExample() {
		b.WriteString(".SH EXAMPLES\n")
		manualText(&b, c.Example)
	}
	if c.HasParent() {
		fmt.Fprintf(&b, ".SH SEE ALSO\n.BR %s (1)\n", roff(manualName(c.Parent())))
	}
	return b.String()
}

// manualText writes paragraphs. Lines that begin with a space stay as they are.
func manualText(b *strings.Builder, text string) {
	verbatim := false
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		if indented := strings.HasPrefix(line, " "); line != "" && indented != verbatim {
			verbatim = indented
			b.WriteString(map[bool]string{true: ".EX\n", false: ".EE\n"}[verbatim])
		}
		switch {
		case line != "":
			b.WriteString(roff(line) + "\n")
		case verbatim:
			b.WriteString("\n")
		default:
			b.WriteString(".PP\n")
		}
	}
	if verbatim {
		b.WriteString(".EE\n")
	}
}

// roff escapes text for man(7).
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}
