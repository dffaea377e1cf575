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
		return printTableOf(w, rows, append(decide.EvidenceInWords(r.State), r.causes(ctx, from, rows)...))
	})
}

// causes says of each player with technical losses what went wrong: "P03 Maybe: 2 technical losses, failed with an
// internal error (bot.py: file not found)". A program's own words are those of its last loss with a transcript.
func (r *leagueRecord) causes(ctx context.Context, from record.Source, rows []league.Standing) (lines []string) {
	lost := r.CausesOfLosses()
	const most = 20 // transcripts, which may come from the manager
	more := 0
	for _, row := range rows {
		losses := lost[row.PlayerID]
		switch {
		case losses == nil:
			continue
		case len(lines) == most:
			more++
			continue
		}
		line := fmt.Sprintf("%s: %s, %s", row.Ref(), words.Counted(row.TechnicalLosses, "technical loss"),
			record.CountedInWords(losses.Causes))
		if doc, err := from.Transcript(ctx, losses.Last); err == nil {
			if said := record.OwnWords(doc, row.PlayerID); said != "" {
				line += " (" + words.Clip(said, 200) + ")"
			}
		}
		lines = append(lines, line)
	}
	if more > 0 {
		lines = append(lines, fmt.Sprintf("and %s with technical losses", words.Counted(more, "more player")))
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
	return r.Ref(id).String()
}
