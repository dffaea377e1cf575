package record

import (
	"fmt"
	"strings"

	"evenodd/league/lists"
	"evenodd/league/protocol"
)

// markAgain marks the lines of each try at a question that failed for the same cause as the try before it, with the
// notices about them.
func markAgain(lines []Line, refereeID string) {
	type try struct {
		player           string
		question, number int // the notices of a try have its number, too
	}
	asked, causes := map[string]int{}, map[try]string{}
	of := make([]try, len(lines))
	for i := range lines {
		u := &lines[i]
		player, asks := u.From, !u.isNotice()
		if u.From == refereeID {
			player = u.To
			if asks && u.Try == 1 {
				asked[player]++
			}
		}
		of[i] = try{player, asked[player], u.Try}
		if player != u.From || !asks || u.Error == nil {
			continue
		}
		if causes[of[i]] = u.Void; u.Void == "" {
			causes[of[i]] = u.Cause().Words
		}
	}
	for i := range lines {
		before := of[i]
		before.number--
		if cause := causes[of[i]]; cause != "" && lines[i].Method != protocol.NotifyMatchResult.Name {
			lines[i].Again = cause == causes[before]
		}
	}
}

// Repeated is the number of lines from one on that are of repeated failures, so that a reader can skip them.
func (c *Conversation) Repeated(from int) (lines int) {
	for from+lines < len(c.Lines) && c.Lines[from+lines].Again {
		lines++
	}
	return lines
}

// Repeats say what such lines tell: "3 more tries of P04: was not running (connection refused)".
func (c *Conversation) Repeats(from, lines int) string {
	type failure struct{ player, cause string }
	var order []failure
	count := map[failure]int{}
	for i := range c.Lines[from : from+lines] {
		u := &c.Lines[from+i]
		failed := failure{u.From, u.Cause().Words}
		if u.Void != "" {
			failed.cause = "void, " + u.Void
		}
		if failed.cause == "" || u.From == c.RefereeID || u.isNotice() {
			continue
		}
		if count[failed] == 0 {
			order = append(order, failed)
		}
		count[failed]++
	}
	return strings.Join(lists.Map(order, func(f failure) string {
		tries := "1 more try"
		if count[f] > 1 {
			tries = fmt.Sprintf("%d more tries", count[f])
		}
		return tries + " of " + f.player + ": " + f.cause
	}), "; ")
}

// isNotice tells whether the line belongs to a notice, not to a question.
func (u *Line) isNotice() bool {
	return u.Method != protocol.Invite.Name && !protocol.AsksForMove(u.Method)
}
