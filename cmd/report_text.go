package cmd

import (
	"fmt"
	"io"
	"strings"

	"evenodd/league/protocol"
	"evenodd/league/view/record"
	"evenodd/league/view/report"
)

// printLeagueReport prints a report for a terminal.
func printLeagueReport(w io.Writer, r *report.Report, dir string) error {
	err := printLine(w, "%s (%s, %s)", r.Title(), r.League.GameType, r.League.Format())
	if err == nil && len(r.Standings) > 0 {
		err = printTableOf(w, rowsOf(r.Standings), r.Evidence)
	}
	var text page
	if r.League.ChampionLine != "" {
		text.line("%s", r.League.ChampionLine)
	}
	if r.Statistics != nil {
		text.line("%s", r.Statistics.Sentence)
	}
	if len(r.Faults) > 0 || len(r.Evidence) == 0 { // else an agent may have failed without a word
		addFaults(&text, r.Faults, r.Names(), false)
	}
	addDecisions(&text, r)
	if n := len(r.Transcripts); n > 0 {
		text.line("")
		text.line("%s with faults, disputes or decisions: evenodd replay %s --data %s", protocol.Counted(n, "conversation"), r.Transcripts[0].MatchID, dir)
	}
	text.line("")
	text.line("%s", r.Seal.Words())
	text.line("Each match, the cross table and the points after each round: --format html, json or csv. One agent: --agent ID")
	if err == nil {
		err = text.print(w)
	}
	return err
}

// addFaults adds the faults by agent, with their remedies, and with each try if the reader wants
// them.
func addFaults(text *page, groups []report.FaultGroup, names map[string]string, tries bool) {
	text.line("")
	if len(groups) == 0 {
		text.line("Faults: none.")
		return
	}
	text.line("Faults by agent:")
	agent := ""
	for i := range groups {
		g := &groups[i]
		if g.AgentID != agent {
			agent = g.AgentID
			text.line("%s (%s)", agent, names[agent])
		}
		text.line("  %s", g.Sentence())
		text.line("    %s", g.Problem)
		if g.Remedy != "" {
			text.line("    To mend it (%s, %s): %s", g.Requirement, g.Page, g.Remedy)
		}
		if tries {
			addTries(text, g.Occurrences)
		} else {
			text.line("    In %s", shortened(g.MatchIDs()))
		}
	}
}

// addTries adds the tries of a fault: what was wrong, and what the agent answered.
func addTries(text *page, tries []report.Occurrence) {
	const most = 12
	for i := range tries[:min(len(tries), most)] {
		t := &tries[i]
		where, answer := t.MatchID, ""
		if t.Try > 0 {
			where += fmt.Sprintf(", try %d", t.Try)
		}
		if t.Answer != "" {
			answer = "; it answered " + t.Answer
		}
		text.line("    %s, %s: %s%s", where, t.At, t.Problem, answer)
	}
	if n := len(tries) - most; n > 0 {
		text.line("    and %d more: --format html, json or csv", n)
	}
}

// shortened lists the first ids.
func shortened(ids []string) string {
	const most = 8
	if n := len(ids); n > most {
		return fmt.Sprintf("%s and %d more", strings.Join(ids[:most], ", "), n-most)
	}
	return strings.Join(ids, ", ")
}

func addDecisions(text *page, r *report.Report) {
	if len(r.Decisions) == 0 {
		return
	}
	text.line("")
	text.line("Decisions of organisers:")
	for _, d := range r.Decisions {
		text.line("  %s  %s", d.At, d.About)
	}
}

// printSheet prints the sheet of an agent for a terminal.
func printSheet(w io.Writer, s *report.Sheet) error {
	var text page
	text.line("%s (%s), %s of %s: %s", s.Agent.AgentID, s.Agent.DisplayName, s.Agent.Role, s.League.LeagueID, s.League.Words())
	text.line("State: %s%s", s.Agent.State, dash(s.Agent.Reason))
	if s.Standing != nil {
		text.line("%s. %s", s.StandingLine(), s.RatingWords())
	} else {
		text.line("Matches conducted: %d, declined: %d", s.Agent.Matches, s.Agent.Declined)
	}
	for _, w := range s.Agent.Warnings {
		text.line("Accepted, but not spec-compliant: %s, %s", w.Problem, protocol.Times(w.Count))
	}
	addFaults(&text, s.Faults, s.Names(), true)
	text.line("")
	if err := text.print(w); err != nil {
		return err
	}
	if err := printSheetTables(w, s); err != nil {
		return err
	}
	var end page
	end.line("History:")
	for _, h := range s.History {
		end.line("  %s  %s", h.At, h.What)
	}
	for _, d := range s.Decisions {
		end.line("  %s  %s", d.At, d.About)
	}
	return end.print(w)
}

// dash is a text behind a dash, unless it is empty.
func dash(text string) string {
	if text == "" {
		return ""
	}
	return " - " + text
}

// printSheetTables prints the matches, the opponents and the latency of an agent.
func printSheetTables(w io.Writer, s *report.Sheet) error {
	matches := protocol.Each(s.Matches, func(m report.Match) []any {
		return []any{m.MatchID, m.PlayerAID, m.PlayerBID, s.Outcome(&m), m.Reason, matchRemark(&m.Match)}
	})
	names := s.Names()
	opponents := protocol.Each(s.Opponents, func(h report.HeadToHead) []any {
		return []any{h.OpponentID, names[h.OpponentID], h.Wins, h.Draws, h.Losses, h.Points}
	})
	latency := protocol.Each(s.Agent.Latency, func(l record.Latency) []any {
		return []any{l.Method, l.Answers, l.P50, l.P90, l.P99, l.Longest, figure(exactly(l.Deadline) + " s")}
	})
	for _, t := range []struct {
		header []string
		rows   [][]any
	}{
		{[]string{"Match", "Player A", "Player B", "Result", "Reason", "Remark"}, matches},
		{[]string{"Opponent", "Name", "W", "D", "L", "Points"}, opponents},
		{[]string{"Answer to", "Answers", "p50 ms", "p90 ms", "p99 ms", "Longest ms", "Limit"}, latency},
	} {
		if len(t.rows) == 0 {
			continue
		}
		if err := printTable(w, t.header, t.rows); err != nil {
			return err
		}
	}
	return nil
}
