package cmd

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/league/store"
	"evenodd/league/view/record"
)

// printConversation writes the match as a conversation.
func printConversation(w io.Writer, r *record.Conversation) error {
	conducted := fmt.Sprintf("attempt %d, conducted by %s", r.Attempt, r.RefereeID)
	if r.RefereeID == "" {
		conducted = "forfeited before it began"
	}
	var text printout
	text.line("%s of league %s: round %d, %s (%s)", r.MatchID, r.LeagueID, r.RoundID, conducted, r.State)
	text.line("%s (%s) against %s (%s)", r.PlayerA.PlayerID, r.PlayerA.DisplayName, r.PlayerB.PlayerID,
		r.PlayerB.DisplayName)
	text.line("")
	addLines(&text, r)
	text.line("")
	addDraw(&text, r)
	if r.Result == nil {
		text.line("Result: none; the attempt was given up.")
	} else {
		text.line("Result: %s", resultOf(r.Result))
	}
	return text.print(w)
}

// printBoards writes the positions of the match, each after a pause. The last moves stand in brackets.
func printBoards(ctx context.Context, w io.Writer, r *record.Conversation, pace time.Duration) error {
	if len(r.Steps) == 0 {
		return printLine(w, "No move of %s is recorded.", r.MatchID)
	}
	for i := range r.Steps {
		step := &r.Steps[i]
		if i > 0 && protocol.SystemClock().Sleep(ctx, pace) != nil {
			return interrupted("Run the same command again to see the match.")
		}
		var text printout
		took := ""
		if sec := step.Took(); sec != nil {
			took = fmt.Sprintf("  %.3f s", *sec)
		}
		text.line("%d. %s%s", step.Number, step.Words(), took)
		for _, m := range step.Mistakes() {
			text.line("   %s %s", m.PlayerID, m.Mistake())
		}
		for _, row := range step.Cells {
			text.line("%s", boardLine(row))
		}
		if err := text.print(w); err != nil {
			return err
		}
	}
	if r.Result == nil {
		return nil
	}
	return printLine(w, "Result: %s", resultOf(r.Result))
}

// boardLine is a row of a board, with the cells in columns of equal width.
func boardLine(row []record.Cell) string {
	var line strings.Builder
	for _, c := range row {
		left, right := " ", " "
		if c.Changed {
			left, right = "[", "]"
		}
		text := cmp.Or(c.Text, "·")
		line.WriteString(left + text + right + strings.Repeat(" ", max(0, 3-utf8.RuneCountInString(text))))
	}
	return strings.TrimRight("   "+line.String(), " ")
}

func addLines(text *printout, r *record.Conversation) {
	switch {
	case len(r.Lines) == 0 && r.RefereeID == "":
		text.line("There was no conversation: the match was forfeited without a referee.")
	case len(r.Lines) == 0:
		text.line("The referee kept or delivered no transcript: the manager wrote this file from its report.")
	}
	explained := map[string]bool{}
	for i := range r.Lines {
		u := &r.Lines[i]
		waited, try := "", ""
		if u.Waited != nil {
			waited = fmt.Sprintf("%+.3fs", *u.Waited)
		}
		if u.Tries > 1 {
			try = fmt.Sprintf(" [try %d of %d]", u.Try, u.Tries)
		}
		text.line("%s %10s  %s → %s  %s%s", u.Clock(), waited, u.From, u.To, u.Says, try)
		below := strings.Repeat(" ", len(u.Clock())+15)
		if e := u.Error; e != nil {
			text.line("%s%s %s: %s", below, e.ErrorCode, e.ErrorName, e.Detail)
			if words := record.ErrorInWords(e.ErrorCode); words != "" && !explained[e.ErrorCode] && u.Void == "" {
				text.line("%s%s", below, words)
				explained[e.ErrorCode] = true
			}
		}
		if u.Mark != "" {
			text.line("%s? This move %s.", below, u.Mark)
		}
		if u.Void != "" {
			text.line("%sThis try does not count: %s.", below, u.Void)
		}
	}
	if r.Omitted > 0 && len(r.Lines) > 0 {
		text.line("(%d more exchanges are not in the file)", r.Omitted)
	}
}

func addDraw(text *printout, r *record.Conversation) {
	d := r.Draw
	if d == nil {
		return
	}
	holds := "does not match"
	if d.CommitmentHolds {
		holds = "matches"
	}
	text.line("Draw: the referee reveals nonce %s,", d.Nonce)
	text.line("      which %s the commitment %s.", holds, d.Commitment)
	for _, e := range d.Entropies {
		text.line("      %s gave entropy %s.", e.Name, e.Value)
	}
	switch {
	case d.Number == nil:
		text.line("      No number was drawn.")
	case r.Result.DrawnNumber != nil && *r.Result.DrawnNumber == *d.Number:
		text.line("      Together they make the number %d, as the result says.", *d.Number)
	default:
		text.line("      Together they make the number %d; the result says another.", *d.Number)
	}
}

func resultOf(m *store.MatchResult) string {
	text := m.Status
	switch {
	case m.WinnerPlayerID != nil:
		text += ", " + *m.WinnerPlayerID + " wins"
	case m.Status == league.StatusTechnicalLoss:
		text += " of both"
	}
	points := protocol.Each(m.Score, func(s league.Member[int]) string {
		return fmt.Sprintf("%s %d", s.Name, s.Value)
	})
	if m.Reason != "" {
		text += ". " + m.Reason
	}
	return text + ". Points: " + strings.Join(points, ", ") + "."
}
