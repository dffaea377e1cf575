package cmd

import (
	"context"
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

// recordedStandings shows the table to the organiser.
func recordedStandings(ctx context.Context, o *leagueCommand, r *leagueRecord, from record.Source) error {
	rows, evidence := r.Standings(), decide.Evidence(r.State)
	return show(o.out, o.format, struct {
		head

		Round     int               `json:"round"`
		Recorded  int               `json:"recorded"`
		Standings []league.Standing `json:"standings"`
		Evidence  []string          `json:"evidence,omitempty"`
	}{headOf(o.leagueID), r.Round, r.Recorded, rows, evidence}, func(w io.Writer) error {
		return printTableOf(w, rows, append(evidence, r.causes(ctx, from, rows)...))
	})
}

// causes says of each player with technical losses what went wrong in the last one: "Maybe: 2 technical losses
// (bot.py: file not found)". A match without a transcript has no cause.
func (r *leagueRecord) causes(ctx context.Context, from record.Source, rows []league.Standing) (lines []string) {
	matches, _ := r.Schedule(0)
	last := map[string]league.Attempt{} // by player
	for i := range matches {
		m := &matches[i]
		for _, f := range m.Faults {
			id, _ := league.ParseMatchID(m.MatchID)
			last[f.Name] = league.Attempt{MatchID: id, Number: m.Attempt}
		}
	}
	const most = 20 // transcripts, which may come from the manager
	for _, row := range rows {
		at, faulty := last[row.PlayerID]
		if !faulty || len(lines) == most {
			continue
		}
		doc, err := from.Transcript(ctx, at)
		if err != nil {
			continue
		}
		if cause := record.Cause(doc, row.PlayerID); cause != "" {
			lines = append(lines, fmt.Sprintf("%s: %s (%s)", row.DisplayName,
				words.Counted(row.TechnicalLosses, "technical loss"), words.Clip(cause, 200)))
		}
	}
	return lines
}

// recordedSchedule shows the matches to the organiser.
func recordedSchedule(_ context.Context, o *leagueCommand, r *leagueRecord, _ record.Source) error {
	round, err := readRound(o.round)
	if err != nil {
		return err
	}
	rows, err := r.Schedule(max(int(round), 0))
	if err != nil {
		return err
	}
	return show(o.out, o.format, struct {
		head

		Rounds      int            `json:"rounds"`
		KnownRounds int            `json:"known_rounds"`
		Matches     []record.Match `json:"matches"`
	}{headOf(o.leagueID), r.TotalRounds(), r.KnownRounds(), rows},
		func(w io.Writer) error { return r.printSchedule(w, rows) })
}

func matchRemark(m *record.Match) string { return strings.Join(m.Remarks(), "; ") }

func (r *leagueRecord) printSchedule(w io.Writer, rows []record.Match) error {
	if r.Started == nil {
		return printLine(w, "The league has not begun: it has no schedule yet.")
	}
	unknown := 0
	if known := r.KnownRounds(); known < r.TotalRounds() {
		unknown = known + 1
	}
	return printMatches(w, lists.Map(rows, func(m record.Match) []any {
		return []any{m.RoundID, m.MatchID, r.named(m.PlayerAID), r.named(m.PlayerBID), r.named(m.RefereeID), m.Status,
			r.named(m.Winner()), matchRemark(&m)}
	}), unknown)
}

// printMatches prints matches, and below them the first round whose matches are not known; 0 for
// none. The last column, of remarks, is left out if it is empty.
func printMatches(w io.Writer, rows [][]any, unknown int) error {
	header := []string{"Round", "Match", "Player A", "Player B", "Referee", "Status", "Winner", "Remark"}
	last := len(header) - 1
	if !slices.ContainsFunc(rows, func(row []any) bool { return row[last] != "" }) {
		header, rows = header[:last], lists.Map(rows, func(row []any) []any { return row[:last] })
	}
	err := printTable(w, header, rows)
	if err == nil && unknown > 0 {
		err = printLine(w, "Round %d and later rounds depend on results: their matches are not known yet.", unknown)
	}
	return err
}

// named is the id of an agent with its name.
func (r *leagueRecord) named(id string) string {
	return strings.TrimSpace(id + " " + r.NameOf(id))
}
