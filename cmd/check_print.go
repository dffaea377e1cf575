package cmd

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"charm.land/lipgloss/v2"

	"evenodd/league/conformance"
	"evenodd/league/protocol"
)

// secretMember finds members of messages that hold tokens, also in JSON within
// JSON, and in what was cut off in the middle.
var secretMember = regexp.MustCompile(`(\\*"(?:(?:auth|access|admin)_)?token\\*"\s*:\s*\\*")([^"\\]*)`)

// discreet takes out of a report what nobody else may use: a token that the
// agent, the kit or the operator has, and what makes no text, or does something
// to a terminal although JSON does not escape it.
func discreet(r *conformance.Report, admin string) {
	clean := func(text *string) {
		t := strings.Map(func(c rune) rune {
			if c < ' ' {
				return c // JSON escapes it, and text is put on one line
			}
			return harmless(c)
		}, strings.ToValidUTF8(*text, "\uFFFD"))
		if len(admin) > 3 {
			t = strings.ReplaceAll(t, admin, "***")
		}
		t = secretMember.ReplaceAllStringFunc(t, func(found string) string {
			part := secretMember.FindStringSubmatch(found)
			if value := part[2]; value == "" || value == protocol.NoToken {
				return found // which says that there is none
			}
			return part[1] + "***"
		})
		*text = string(protocol.HideTokens([]byte(t)))
	}
	clean(&r.URL)
	for i := range r.Findings {
		f := &r.Findings[i]
		clean(&f.Detail)
		for j := range f.Exchanges {
			x := &f.Exchanges[j]
			clean(&x.To)
			clean(&x.Request)
			clean(&x.Response)
			clean(&x.Error)
		}
	}
}

// word is how a verdict is told.
func word(v conformance.Verdict) string {
	switch v {
	case conformance.Pass:
		return "pass"
	case conformance.Fail:
		return "FAIL"
	case conformance.Warn:
		return "warning"
	}
	return "skipped"
}

// style is that of a verdict on a terminal; elsewhere there is none.
func style(v conformance.Verdict) lipgloss.Style {
	plain := lipgloss.NewStyle()
	switch v {
	case conformance.Pass:
		return plain.Foreground(lipgloss.Green)
	case conformance.Fail:
		return plain.Foreground(lipgloss.Red).Bold(true)
	case conformance.Warn:
		return plain.Foreground(lipgloss.Yellow)
	}
	return plain.Faint(true)
}

// printReport writes a report for people: a line for each requirement, and what
// shows it where one does not hold.
func printReport(w io.Writer, r *conformance.Report) error {
	var text strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&text, format+"\n", args...) }
	line("%s at %s", r.Role, oneLine(r.URL))
	group, wide := "", 0
	for i := range r.Findings {
		wide = max(wide, len(r.Findings[i].ID))
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		if g := groupOf(f.ID); g != group {
			group = g
			line("")
		}
		line("%s %-*s  %-6s  %s", style(f.Verdict).Render(fmt.Sprintf("%-7s", word(f.Verdict))), wide, f.ID, f.Level, f.Text)
		if f.Detail != "" {
			line("        %s", oneLine(f.Detail))
		}
		if f.Verdict == conformance.Pass || f.Verdict == conformance.Skipped {
			continue
		}
		for j := range f.Exchanges {
			for _, l := range exchangeLines(&f.Exchanges[j], shownInText) {
				line("          %s", oneLine(l))
			}
		}
		if f.Hint != "" {
			line("        %s", f.Hint)
		}
		if f.Spec != "" {
			line("        see %s", f.Spec)
		}
	}
	line("\n%s", summary(r))
	_, err := lipgloss.Fprint(w, text.String())
	return err
}

// summary counts the verdicts.
func summary(r *conformance.Report) string {
	warnings := "warnings"
	if r.Count(conformance.Warn) == 1 {
		warnings = "warning"
	}
	return fmt.Sprintf("%d passed, %d failed, %d %s, %d skipped, took %s",
		r.Count(conformance.Pass), r.Count(conformance.Fail), r.Count(conformance.Warn), warnings, r.Count(conformance.Skipped),
		(time.Duration(r.TookMS) * time.Millisecond).Round(100*time.Millisecond))
}

// shownInText is how many bytes of a body people are shown; JSON has more.
const shownInText = 400

// exchangeLines are a call and what came of it.
func exchangeLines(x *conformance.Exchange, most int) []string {
	came := fmt.Sprintf("HTTP %d after %d ms", x.Status, x.TookMS)
	if x.Status == 0 {
		came = fmt.Sprintf("no answer after %d ms", x.TookMS)
	}
	lines := []string{"POST " + x.To + ": " + came}
	for _, body := range []struct{ mark, text string }{{"> ", x.Request}, {"< ", x.Response}, {"! ", x.Error}} {
		if body.text != "" {
			lines = append(lines, body.mark+brief(body.text, most))
		}
	}
	return lines
}

// brief is a body on one line, not longer than most bytes.
func brief(text string, most int) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// printList writes what there is to be required.
func (o *checkOptions) printList(w io.Writer) error {
	chosen, err := o.selection()
	if err != nil {
		return err
	}
	type section struct {
		Role         string                    `json:"role"`
		Requirements []conformance.Requirement `json:"requirements"`
	}
	list := struct {
		SchemaVersion int       `json:"schema_version"`
		Roles         []section `json:"roles"`
	}{SchemaVersion: conformance.SchemaVersion, Roles: []section{}}
	for _, role := range roles() {
		if o.role != "" && o.role != role {
			continue
		}
		in := section{role, []conformance.Requirement{}}
		for _, q := range o.catalogue(role) {
			if chosen.Wants(q) {
				in.Requirements = append(in.Requirements, q)
			}
		}
		list.Roles = append(list.Roles, in)
	}
	switch o.format {
	case formatJSON:
		return printJSON(w, list)
	case formatText:
	default:
		return usage("--list is text or json, not %s", o.format)
	}
	var text strings.Builder
	for i, in := range list.Roles {
		if i > 0 {
			text.WriteString("\n")
		}
		wide := 0
		for _, q := range in.Requirements {
			wide = max(wide, len(q.ID))
		}
		fmt.Fprintf(&text, "%s: %d requirements\n", in.Role, len(in.Requirements))
		for _, q := range in.Requirements {
			fmt.Fprintf(&text, "  %-*s  %-6s  %s (%s)\n", wide, q.ID, q.Level, q.Text, q.Spec)
		}
	}
	_, err = io.WriteString(w, text.String())
	return err
}
