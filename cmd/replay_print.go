package cmd

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"evenodd/league/protocol"
	"evenodd/league/store"
)

// oneLine replaces characters that break a line or control a terminal: the text is
// that of other agents.
func oneLine(s string) string { return strings.Map(harmless, s) }

// harmless returns U+FFFD for a control character, else the character.
func harmless(r rune) rune {
	if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' {
		return '\uFFFD'
	}
	return r
}

// print writes the match as a conversation.
func (r *replay) print(w io.Writer) error {
	conducted := fmt.Sprintf("attempt %d, conducted by %s", r.Attempt, r.RefereeID)
	if r.RefereeID == "" {
		conducted = "forfeited before it began"
	}
	lines := []string{
		fmt.Sprintf("%s of league %s: round %d, %s (%s)", r.MatchID, r.LeagueID, r.RoundID, conducted, r.State),
		fmt.Sprintf("%s (%s) against %s (%s)", r.PlayerA.PlayerID, r.PlayerA.DisplayName, r.PlayerB.PlayerID, r.PlayerB.DisplayName),
		"",
	}
	lines = append(lines, r.conversation()...)
	lines = append(lines, r.drawLines()...)
	lines = append(lines, r.resultLine())
	for _, l := range lines {
		if _, err := fmt.Fprintln(w, oneLine(l)); err != nil {
			return err
		}
	}
	return nil
}

func (r *replay) conversation() (lines []string) {
	if len(r.Conversation) == 0 && r.RefereeID == "" {
		return []string{"There was no conversation: the match was forfeited without a referee.", ""}
	}
	if len(r.Conversation) == 0 {
		return []string{"The file has no transcript: the manager wrote it from the report.", ""}
	}
	for i := range r.Conversation {
		u := &r.Conversation[i]
		waited := ""
		if u.Waited != nil {
			waited = fmt.Sprintf("%+.3fs", *u.Waited)
		}
		again := ""
		if u.Try > 1 {
			again = fmt.Sprintf(" [try %d]", u.Try)
		}
		lines = append(lines, fmt.Sprintf("%s %10s  %s → %s  %s%s", timeOfDay(u.At), waited, u.From, u.To, u.Says, again))
		if e := u.Error; e != nil {
			lines = append(lines, fmt.Sprintf("%s %10s    %s %s: %s", strings.Repeat(" ", len(timeOfDay(u.At))), "", e.ErrorCode, e.ErrorName, e.Detail))
		}
	}
	if r.Omitted > 0 {
		lines = append(lines, fmt.Sprintf("(%d more exchanges are not in the file)", r.Omitted))
	}
	return append(lines, "")
}

// timeOfDay returns a timestamp without its date.
func timeOfDay(at string) string {
	if _, clock, ok := strings.Cut(at, "T"); ok {
		return strings.TrimSuffix(clock, "Z")
	}
	return at
}

func (r *replay) drawLines() []string {
	d := r.Draw
	if d == nil {
		return nil
	}
	holds := "which does not match the commitment"
	if d.CommitmentHolds {
		holds = "which matches the commitment"
	}
	lines := []string{"Draw: the referee reveals nonce " + d.Nonce + ",", "      " + holds + " " + d.Commitment + "."}
	for _, e := range d.Entropies {
		lines = append(lines, "      "+e.Name+" gave entropy "+e.Value+".")
	}
	switch {
	case d.Number == nil:
		lines = append(lines, "      No number was drawn.")
	case r.Result.DrawnNumber != nil && *r.Result.DrawnNumber == *d.Number:
		lines = append(lines, fmt.Sprintf("      Together they make the number %d, as the result says.", *d.Number))
	default:
		lines = append(lines, fmt.Sprintf("      Together they make the number %d; the result says another.", *d.Number))
	}
	return lines
}

func (r *replay) resultLine() string {
	if r.Result == nil {
		return "Result: none; the attempt was given up."
	}
	return "Result: " + resultOf(r.Result)
}

func resultOf(m *store.MatchResult) string {
	text := m.Status
	switch {
	case m.WinnerPlayerID != nil:
		text += ", " + *m.WinnerPlayerID + " wins"
	case m.Status == protocol.StatusTechnicalLoss:
		text += " of both"
	}
	var points []string
	for _, s := range m.Score {
		points = append(points, fmt.Sprintf("%s %d", s.Name, s.Value))
	}
	return text + ". " + m.Reason + ". Points: " + strings.Join(points, ", ") + "."
}
