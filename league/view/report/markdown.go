package report

import (
	"fmt"
	"io"
	"strings"

	"evenodd/league/protocol"
	"evenodd/league/view/record"
)

// markup is what means something in Markdown and in HTML, and what makes links and mentions.
var markup = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "|", `\|`,
	"#", `\#`, "~", `\~`, "$", `\$`, "@", "&#64;", "://", ":&#47;&#47;", "www.", "www&#46;", "\n", " ",
)

// md is a text of an agent or of a file as Markdown that shows it as it is.
func md(text string) string { return markup.Replace(protocol.Escape(text)) }

// A markdown is a text in Markdown.
type markdown struct{ strings.Builder }

// line adds a line. Texts among its arguments are escaped.
func (d *markdown) line(format string, args ...any) {
	for i := range args {
		if text, ok := args[i].(string); ok {
			args[i] = md(text)
		}
	}
	_, _ = fmt.Fprintf(d, format+"\n", args...) // a builder never fails
}

// row adds the row of a table.
func (d *markdown) row(cells ...any) { d.line("|"+strings.Repeat(" %v |", len(cells)), cells...) }

// head adds the head of a table. Columns of numbers begin with a colon.
func (d *markdown) head(columns ...string) {
	d.line("")
	var rule strings.Builder
	for i, name := range columns {
		plain, number := strings.CutPrefix(name, ":")
		columns[i] = " " + plain + " |"
		if number {
			_, _ = rule.WriteString(" ---: |")
		} else {
			_, _ = rule.WriteString(" --- |")
		}
	}
	_, _ = d.WriteString("|" + strings.Join(columns, "") + "\n|" + rule.String() + "\n")
}

// Markdown writes the report for the page of a course, or for an issue.
func (r *Report) Markdown(w io.Writer) error {
	var d markdown
	d.line("# %s", r.Title())
	if r.League.ChampionLine != "" {
		d.line("\n**%s.**", r.League.ChampionLine)
	}
	if r.Statistics != nil {
		d.line("\n%s", r.Statistics.Sentence)
	}
	d.line("\n## Standings")
	d.head(":Rank", "Player", "Name", ":Played", ":W", ":D", ":L", ":Technical", ":Points")
	for i := range r.Standings {
		s := &r.Standings[i]
		d.row(s.ShownRank(), s.PlayerID, s.DisplayName, s.Played, s.Wins, s.Draws, s.Losses, s.TechnicalLosses, s.Points)
	}
	if len(r.Evidence) > 0 {
		d.line("\n%s", strings.Join(r.Evidence, " "))
	}
	d.line("\n## Matches")
	d.matches(r.Matches)
	d.line("\n## Faults by agent")
	names := r.Names()
	for _, b := range blame(r.Faults) {
		d.line("\n### %s (%s)\n", names[b.AgentID], b.AgentID)
		d.faults(b.Groups)
	}
	if len(r.Faults)+len(r.Evidence) == 0 {
		d.line("\nNo agent failed in any match.")
	}
	if len(r.Decisions) > 0 {
		d.line("\n## Decisions of organisers\n")
		for _, one := range r.Decisions {
			d.line("- %s: %s", clock(one.At), one.About)
		}
	}
	d.line("\n%s", r.Seal.Words())
	_, err := io.WriteString(w, d.String())
	return err
}

func (d *markdown) matches(matches []Match) {
	d.head("Match", "Player A", "Player B", "Result", "Winner", "Why")
	for i := range matches {
		m := &matches[i]
		winner := ""
		if m.WinnerPlayerID != nil {
			winner = *m.WinnerPlayerID
		}
		d.row(m.MatchID, m.PlayerAID, m.PlayerBID, m.Result(), winner, strings.Join(append([]string{m.Reason}, m.Remarks()...), "; "))
	}
}

func (d *markdown) faults(groups []FaultGroup) {
	for i := range groups {
		g := &groups[i]
		d.line("- **%s**", g.Sentence())
		d.line("  - What was wrong: %s", g.Problem)
		if g.Remedy != "" {
			d.line("  - How to mend it (%s, %s): %s", g.Requirement, g.Page, g.Remedy)
		}
		d.line("  - In %s", strings.Join(g.MatchIDs(), ", "))
	}
}

// Markdown writes the sheet for a message to the author of the agent.
func (s *Sheet) Markdown(w io.Writer) error {
	var d markdown
	d.line("# %s (%s)", s.Agent.DisplayName, s.Agent.AgentID)
	d.line("\nLeague %s: %s. State of the agent: %s%s.", s.League.LeagueID, s.League.Words(), s.Agent.State, after(s.Agent.Reason))
	if s.Standing != nil {
		d.line("\n**%s.** %s", s.StandingLine(), s.RatingWords())
	}
	d.line("\n## What went wrong, and how to mend it\n")
	d.faults(s.Faults)
	if len(s.Faults) == 0 {
		d.line("Nothing: the agent answered every question of every match.")
	}
	if len(s.Agent.Warnings) > 0 {
		d.line("\n## Warnings\n\nThese answers counted, but they deviate from the specification.\n")
		for _, one := range s.Agent.Warnings {
			d.line("- %s: %s", one.Problem, protocol.Times(one.Count))
		}
	}
	d.line("\n## Matches")
	d.matches(s.Matches)
	if len(s.Agent.Latency) > 0 {
		d.line("\n## Times of the answers")
		d.head("Answer to", ":Answers", ":Half within", ":90 % within", ":99 % within", ":Longest", ":Limit")
		for _, l := range s.Agent.Latency {
			d.row(l.Method, l.Answers, record.Milliseconds(l.P50), record.Milliseconds(l.P90), record.Milliseconds(l.P99), record.Milliseconds(l.Longest), fmt.Sprintf("%g s", l.Deadline))
		}
	}
	d.line("\n## History\n")
	for _, h := range s.History {
		d.line("- %s: %s", clock(h.At), h.What)
	}
	for _, one := range s.Decisions {
		d.line("- %s: %s", clock(one.At), one.About)
	}
	_, err := io.WriteString(w, d.String())
	return err
}

// after is a reason in parentheses, unless it is empty.
func after(reason string) string {
	if reason == "" {
		return ""
	}
	return " (" + reason + ")"
}
