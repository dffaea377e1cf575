package cmd

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"charm.land/lipgloss/v2"

	"evenodd/league/inspect/check"
	"evenodd/league/lists"
	"evenodd/league/words"
)

// column returns the word for a verdict, as wide as the longest one and in the style
// that a terminal shows.
func column(v check.Verdict) string {
	style := lipgloss.NewStyle()
	switch v {
	case check.Pass:
		return style.Foreground(lipgloss.Green).Render("pass   ")
	case check.Fail:
		return style.Foreground(lipgloss.Red).Bold(true).Render("FAIL   ")
	case check.Warn:
		return style.Foreground(lipgloss.Yellow).Render("warning")
	case check.Skipped:
	}
	return style.Faint(true).Render("skipped")
}

// printReport writes a report for people: a line for each requirement that is met or
// skipped, then the broken requirements by cause, failures last, and a list of causes.
func printReport(w io.Writer, r *check.Report) error {
	p := reportPrinter{findings: map[string]*check.Finding{}}
	for i := range r.Findings {
		f := &r.Findings[i]
		p.findings[f.ID], p.wide = f, max(p.wide, len(f.ID))
	}
	p.text.line("%s at %s", r.Role, r.URL)
	group := ""
	for i := range r.Findings {
		f := &r.Findings[i]
		if f.Cause != "" {
			continue
		}
		if g := groupOf(f.ID); g != group {
			group = g
			p.text.line("")
		}
		p.finding(f)
	}
	for _, c := range slices.Backward(r.Causes) {
		p.text.line("")
		p.cause(&c)
	}
	p.closing(r)
	_, err := lipgloss.Fprint(w, wrapLines(p.text.String(), columnsOf(w))) // the styles only on a terminal
	return err
}

// A reportPrinter writes the lines of a report.
type reportPrinter struct {
	text     printout
	findings map[string]*check.Finding // by ID
	wide     int                       // bytes of the longest ID
}

// finding writes the verdict on a requirement, and the reason.
func (p *reportPrinter) finding(f *check.Finding) {
	_ = styled(&p.text, column(f.Verdict), " %-*s  %-6s  %s", p.wide, f.ID, f.Level, f.Text) // never fails
	if f.Detail != "" {
		p.text.line("        %s", f.Detail)
	}
}

// cause writes a broken requirement with its evidence, and the others with the same
// cause.
func (p *reportPrinter) cause(c *check.Cause) {
	f := p.findings[c.ID]
	p.finding(f)
	for j := range f.Exchanges {
		for _, l := range exchangeLines(&f.Exchanges[j]) {
			p.text.line("          %s", l)
		}
	}
	if f.Hint != "" {
		p.text.line("        %s", f.Hint)
	}
	if see := f.See(); see != "" {
		p.text.line("        see %s", see)
	}
	if len(c.Requirements) == 1 {
		return
	}
	p.text.line("        %s Same cause:", c.Text)
	for _, id := range c.Requirements {
		if other := p.findings[id]; other != f {
			p.text.line("          %-*s  %-6s  %s", p.wide, id, other.Level, other.Text)
		}
	}
}

// maxClosing is the largest number of causes in the closing list.
const maxClosing = 12

// closing lists the causes, the most important first, and the numbers of verdicts.
func (p *reportPrinter) closing(r *check.Report) {
	if len(r.Causes) > 0 {
		p.text.line("")
		p.text.line("Correct these, the most important first:")
	}
	for _, c := range r.Causes[:min(len(r.Causes), maxClosing)] {
		verdict, more := p.findings[c.ID].Verdict, ""
		if n := len(c.Requirements) - 1; n > 0 {
			more = fmt.Sprintf(" (and %d more)", n)
		}
		_ = styled(&p.text, column(verdict), " %-*s  %s%s", p.wide, c.ID, brief(c.Text, shownInList), more)
	}
	if n := len(r.Causes) - maxClosing; n > 0 {
		p.text.line("        … and %d more", n)
	}
	p.text.line("")
	p.text.line("%s", summary(r))
}

// shownInList is the number of bytes of a cause in the closing list.
const shownInList = 120

// summary counts verdicts, and causes of broken requirements.
func summary(r *check.Report) string {
	causes := map[check.Level]int{}
	for _, c := range r.Causes {
		causes[c.Level]++
	}
	of := func(level check.Level) string {
		if causes[level] == 0 {
			return ""
		}
		return " for " + words.Counted(causes[level], "cause")
	}
	return fmt.Sprintf("%d passed, %d failed%s, %s%s, %d skipped, took %s",
		r.Count(check.Pass), r.Count(check.Fail), of(check.Must), words.Counted(r.Count(check.Warn), "warning"),
		of(check.Should), r.Count(check.Skipped), (time.Duration(r.TookMS) * time.Millisecond).Round(100*time.Millisecond))
}

// shownInText is the number of bytes of a body in a text report; JSON has more.
const shownInText = 400

// exchangeLines returns a call with its result.
func exchangeLines(x *check.Exchange) []string {
	came := fmt.Sprintf("HTTP %d after %d ms", x.Status, x.TookMS)
	if x.Status == 0 {
		came = fmt.Sprintf("no answer after %d ms", x.TookMS)
	}
	lines := []string{"POST " + x.To + ": " + came}
	for _, body := range []struct{ mark, text string }{{"> ", x.Request}, {"< ", x.Response}, {"! ", x.Error}} {
		if body.text != "" {
			lines = append(lines, body.mark+brief(body.text, shownInText))
		}
	}
	return lines
}

// brief returns a body on one line, cut to most bytes.
func brief(text string, most int) string {
	return words.Clip(strings.Join(strings.Fields(text), " "), most)
}

// printList lists requirements.
func (o *checkOptions) printList(w io.Writer) error {
	if err := o.selection(); err != nil {
		return err
	}
	type section struct {
		Role         string              `json:"role"`
		Requirements []check.Requirement `json:"requirements"`
	}
	list := struct {
		SchemaVersion int       `json:"schema_version"`
		Roles         []section `json:"roles"`
	}{SchemaVersion: check.SchemaVersion, Roles: []section{}}
	for _, role := range o.asked() {
		list.Roles = append(list.Roles, section{role, lists.Filter(o.catalogue(role), o.Selection.Wants)})
	}
	return show(w, o.format, list, func(w io.Writer) error {
		var text printout
		for i, in := range list.Roles {
			if i > 0 {
				text.line("")
			}
			wide := 0
			for _, q := range in.Requirements {
				wide = max(wide, len(q.ID))
			}
			text.line("%s: %d requirements", in.Role, len(in.Requirements))
			for _, q := range in.Requirements {
				text.line("  %-*s  %-6s  %s (%s)", wide, q.ID, q.Level, q.Text, q.See())
			}
		}
		return text.print(w)
	})
}
