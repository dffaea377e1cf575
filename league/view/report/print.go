package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"evenodd/league"
	"evenodd/league/decide"
	"evenodd/league/lists"
	"evenodd/league/view/record"
	"evenodd/league/words"
)

// A Writer writes the parts of a report for people: in Markdown, or on a terminal. Texts among the
// arguments can be those of others: a writer escapes them.
type Writer interface {
	Heading(level int, format string, args ...any)
	Line(format string, args ...any)
	Item(depth int, format string, args ...any)
	Table(header []string, rows [][]any) // a column is aligned right unless its cells are strings
}

// Write writes the report, with its matches if they are wanted.
func (r *Report) Write(w Writer, matches bool) {
	w.Heading(1, "%s (%s, %s)", r.Title(), r.League.GameType,
		record.FormatInWords(r.state.Created.Tournament, r.League.Legs))
	if len(r.Standings) > 0 {
		w.Table(league.Cells(league.Columns(r.Standings), r.Standings))
	}
	for _, sentence := range r.Evidence {
		w.Line("%s", sentence)
	}
	if r.League.ChampionLine != "" {
		w.Line("%s", r.League.ChampionLine)
	}
	if r.Statistics != nil {
		w.Line("%s", r.Statistics.Sentence)
	}
	if len(r.Models) > 0 {
		w.Heading(2, "Language models")
	}
	for i := range r.Models {
		w.Item(0, "%s (%s): %s", r.Models[i].DisplayName, r.Models[i].Name, r.Models[i].Words())
	}
	if matches {
		w.Heading(2, "Matches")
		writeMatches(w, r.Matches, r.games)
	}
	if len(r.Faults) > 0 || len(r.Evidence) == 0 { // else an agent may have failed without a word
		w.Heading(2, "Faults by agent")
		writeFaults(w, r.Faults, r.state, false)
	}
	if len(r.Decisions) > 0 {
		w.Heading(2, "Decisions of organisers")
	}
	for _, one := range r.Decisions {
		w.Item(0, "%s  %s", one.At, one.About)
	}
	w.Line("")
	w.Line("%s", r.Seal.Words())
}

// Write writes the sheet.
func (s *Sheet) Write(w Writer) {
	w.Heading(1, "%s (%s), %s of %s: %s", s.Agent.AgentID, s.Agent.DisplayName, s.Agent.Role, s.League.Name(),
		s.League.Words())
	w.Line("State: %s", s.StateWords())
	if s.Standing != nil {
		w.Line("%s. %s", s.StandingLine(), s.RatingWords())
	} else {
		w.Line("Matches conducted: %d, declined: %d", s.Agent.Matches, s.Agent.Declined)
	}
	for _, one := range s.Agent.Warnings {
		w.Line("Accepted, with a warning: %s, %s", one.Problem, words.Times(one.Count))
	}
	w.Heading(2, "Faults by agent")
	writeFaults(w, s.Faults, s.report.state, true)
	w.Heading(2, "Matches")
	writeMatches(w, s.Matches, s.report.games)
	if len(s.Opponents) > 0 {
		w.Heading(2, "Opponents")
		w.Table([]string{"Opponent", "Name", "W", "D", "L", "Points"}, lists.Map(s.Opponents, func(h record.HeadToHead) []any {
			return []any{h.OpponentID, s.report.state.Agents[h.OpponentID].DisplayName, h.Wins, h.Draws, h.Losses, h.Points}
		}))
	}
	if len(s.Agent.Latency) > 0 {
		w.Heading(2, "Times of the answers")
		w.Table([]string{"Answer to", "Answers", "p50 ms", "p90 ms", "p99 ms", "Longest ms", "Late", "Limit"},
			lists.Map(s.Agent.Latency, func(l record.Latency) []any {
				return []any{l.Method, l.Answers, l.Number(l.P50), l.Number(l.P90), l.Number(l.P99), l.Number(l.Longest), l.Late, fmt.Sprintf("%g s", l.Deadline)}
			}))
	}
	w.Heading(2, "History")
	for _, h := range s.History {
		w.Item(0, "%s  %s", h.At, h.What)
	}
	for _, one := range s.Decisions {
		w.Item(0, "%s  %s", one.At, one.About)
	}
}

// writeMatches writes the matches. A remark says which moves gave away a win or a draw.
func writeMatches(w Writer, matches []record.Match, games map[string]*record.Conversation) {
	rows := lists.Map(matches, func(m record.Match) []any {
		remarks := m.Remarks()
		for _, f := range m.Fallbacks {
			remarks = append(remarks, f.Name+": "+words.Counted(f.Value, "fallback"))
		}
		if game := games[m.MatchID]; game != nil {
			remarks = append(remarks, game.Mistakes()...)
		}
		return []any{m.MatchID, m.PlayerAID, m.PlayerBID, m.Word(), m.Winner(), m.Reason, strings.Join(remarks, "; ")}
	})
	w.Table([]string{"Match", "Player A", "Player B", "Result", "Winner", "Reason", "Remark"}, rows)
}

// writeFaults writes faults with their remedies, and each try if they are wanted.
func writeFaults(w Writer, groups []FaultGroup, l *record.League, tries bool) {
	if len(groups) == 0 {
		w.Line("None.")
	}
	for i := range groups {
		g := &groups[i]
		if i == 0 || g.AgentID != groups[i-1].AgentID {
			w.Heading(3, "%s (%s)", g.AgentID, l.Agents[g.AgentID].DisplayName)
		}
		w.Item(0, "%s", g.Sentence())
		w.Item(1, "%s", g.Problem)
		if g.Remedy != "" {
			w.Item(1, "To mend it (%s, %s): %s", g.Requirement, g.Page, g.Remedy)
		}
		if !tries {
			w.Item(1, "In %s", strings.Join(g.MatchIDs(), ", "))
			continue
		}
		for k := range g.Occurrences {
			t := &g.Occurrences[k]
			where, answer := t.MatchID, ""
			if t.Try > 0 {
				where += fmt.Sprintf(", try %d", t.Try)
			}
			if t.Answer != "" {
				answer = "; it answered " + t.Answer
			}
			if t.At != "" {
				where += ", " + t.At
			}
			w.Item(1, "%s: %s%s", where, t.Problem, answer)
		}
	}
}

// Markdown writes the report for the page of a course, or for an issue.
func (r *Report) Markdown(w io.Writer) error {
	return inMarkdown(w, func(d Writer) { r.Write(d, true) })
}

// Markdown writes the sheet for a message to the author of the agent.
func (s *Sheet) Markdown(w io.Writer) error { return inMarkdown(w, s.Write) }

func inMarkdown(w io.Writer, write func(Writer)) error {
	var d markdown
	write(&d)
	_, err := io.WriteString(w, d.String())
	return err
}

// markup is what means something in Markdown and in HTML, and what makes links and mentions.
var markup = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "|", `\|`,
	"#", `\#`, "~", `\~`, "$", `\$`, "@", "&#64;", "://", ":&#47;&#47;", "www.", "www&#46;", "\n", " ",
)

// A markdown is a text in Markdown.
type markdown struct{ strings.Builder }

// write adds a line. Texts among its arguments are shown as they are.
func (d *markdown) write(format string, args ...any) {
	for i := range args {
		switch value := args[i].(type) {
		case string:
			args[i] = markup.Replace(words.Escape(value))
		case float64:
			args[i] = fmt.Sprintf("%.1f", value)
		}
	}
	_, _ = fmt.Fprintf(d, format+"\n", args...) // a builder never fails
}

// Heading implements Writer.
func (d *markdown) Heading(level int, format string, args ...any) {
	if d.Len() > 0 {
		d.write("")
	}
	d.write(strings.Repeat("#", level)+" "+format+"\n", args...)
}

// Line implements Writer.
func (d *markdown) Line(format string, args ...any) { d.write(format+"\n", args...) }

// Item implements Writer.
func (d *markdown) Item(depth int, format string, args ...any) {
	d.write(strings.Repeat("  ", depth)+"- "+format, args...)
}

// Table implements Writer.
func (d *markdown) Table(header []string, rows [][]any) {
	rules := slices.Repeat([]string{" --- |"}, len(header))
	if len(rows) > 0 {
		for i, cell := range rows[0] {
			if _, text := cell.(string); !text {
				rules[i] = " ---: |"
			}
		}
	}
	rule := strings.Join(rules, "")
	d.write("| " + strings.Join(header, " | ") + " |\n|" + rule)
	for _, row := range rows {
		d.write("|"+strings.Repeat(" %v |", len(row)), row...)
	}
	d.write("")
}

// Name is the name of the league for people.
func (l *League) Name() string { return cmp.Or(l.DisplayName, l.LeagueID) }

// NameOf is the display name of an agent; "" for an unknown id.
func (r *Report) NameOf(id string) string { return r.state.NameOf(id) }

// Headline names the league and its champion.
func (r *Report) Headline() string {
	if r.League.ChampionLine == "" {
		return r.Title()
	}
	return r.League.Name() + ". " + r.League.ChampionLine
}

// Title describes the league in one line.
func (r *Report) Title() string {
	l := &r.League
	return fmt.Sprintf("%s: %s, %d of %d matches have a result", l.Name(), l.Words(), l.Recorded, l.Matches)
}

// Words tell the state of the league.
func (l *League) Words() string {
	switch {
	case l.State == decide.StateLeagueCompleted:
		return "completed"
	case l.Paused != nil:
		return fmt.Sprintf("paused by %s after round %d of %d", l.Paused.By, l.CompletedRounds, l.Rounds)
	case l.State == decide.StateRunningLeague:
		return fmt.Sprintf("running, round %d of %d", l.Round, l.Rounds)
	}
	return "waiting for agents"
}

// Ranking are the labels of the tie-breaks.
func (l *League) Ranking() []string { return lists.Map(l.Tiebreakers, league.TiebreakLabel) }

// Sentence tells the fault of a group, how often it happened, and its consequence.
func (g *FaultGroup) Sentence() string {
	text := map[string]string{
		kindAnswer:   "No answer that counts",
		kindNotice:   "A notice was not acknowledged",
		kindRefusal:  "An invitation was refused",
		kindForfeit:  "Forfeits",
		kindLocal:    "Void tries, because of the machine or the network of the referee",
		kindAttempt:  "Failed with a match",
		kindRejected: "The manager rejected a report",
		kindDispute:  "Reported another result of a match",
	}[g.Kind]
	switch {
	case g.Method == "":
	case g.Kind == kindAnswer:
		text += " to " + g.Method
	case g.Kind == kindNotice || g.Kind == kindLocal:
		text += " (" + g.Method + ")"
	}
	if g.Code != "" {
		text += fmt.Sprintf(", %s %s", g.Code, g.Name)
	}
	text += ": " + words.Times(g.Count)
	if g.Lost > 0 {
		text += ", " + words.Counted(g.Lost, "technical loss")
	}
	return text
}

// Words tell whether the journal is signed.
func (s *Seal) Words() string {
	switch s.State {
	case SealUnsigned:
		return "The league is not signed."
	case SealValid, SealEarlier:
		return fmt.Sprintf("Signed: the manager's signature covers %d of %d events.", s.Covered, s.Events)
	}
	return "The manager's signature is " + s.State + ": 'evenodd audit' tells more."
}

// StateWords tell the state of the agent.
func (s *Sheet) StateWords() string {
	return record.Public(s.report.state.StateInWords(s.report.state.Agents[s.Agent.AgentID]))
}

// StandingLine tells the place of the player in the table.
func (s *Sheet) StandingLine() string {
	r := s.Standing
	if r.Played == 0 && s.League.Recorded == 0 {
		return "No match has a result yet"
	}
	text := fmt.Sprintf("Rank %d of %d: %s in %s: %s, %s, %s", r.Rank, s.League.Players,
		words.Counted(r.Points, "point"), words.Counted(r.Played, "match"),
		words.Counted(r.Wins, "win"), words.Counted(r.Draws, "draw"), words.Counted(r.Losses, "loss"))
	if r.TechnicalLosses > 0 {
		text += fmt.Sprintf(" (%d technical)", r.TechnicalLosses)
	}
	if r.Fallbacks > 0 {
		text += fmt.Sprintf("; %s: moves that its model or host did not choose", words.Counted(r.Fallbacks, "fallback"))
	}
	return text
}

// RatingWords tell what the results show about the strength of the player; "" for a referee.
func (s *Sheet) RatingWords() string {
	if s.Rating == nil || s.Rating.Matches == 0 {
		return ""
	}
	return fmt.Sprintf("By strength, the results allow rank %s of %d.", s.Rating.Ranks(), s.League.Players)
}
