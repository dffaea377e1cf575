package cmd

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"charm.land/lipgloss/v2"
	"rsc.io/qr"

	"evenodd/league/journal"
	"evenodd/league/lists"
	"evenodd/league/protocol"
	"evenodd/league/view/page"
	"evenodd/league/view/record"
	"evenodd/league/words"
)

// A lobby is what a terminal shows of a league before its start.
type lobby struct {
	title   string
	joining page.Joining // without a manager the zero value
	players []string     // that have answered
	silent  []string     // a sentence about each agent that has not
	missing []string     // of the roster
	count   string       // how many are there
	ends    string       // what comes next
	colours bool
}

// The smallest terminal that shows a lobby.
const (
	lobbyColumns = 40
	lobbyRows    = 14
)

// draw returns the rows of a lobby, which has fewer rows than the terminal, and narrower ones.
func (l *lobby) draw(columns, rows int) (block []string) {
	width, left := columns-1, rows-3 // without the last row, which says what comes next
	var code []string
	if l.joining.Page != "" && !l.joining.Local {
		code = codeRows(l.joining.Page, l.colours)
	}
	const gap = 2
	beside := 0 // width of the text beside the code
	if len(code) > 0 {
		beside = width - lipgloss.Width(code[0]) - gap
	}
	if len(code) > left || beside < 30 {
		code, beside = nil, width
	}
	text := l.head(beside)
	text = append(text, l.lists(beside, max(left, len(code))-len(text))...)
	for i := range max(len(code), len(text)) {
		row := ""
		if len(code) > 0 {
			row = strings.Repeat(" ", lipgloss.Width(code[0]))
			if i < len(code) {
				row = code[i]
			}
			row += strings.Repeat(" ", gap)
		}
		if i < len(text) {
			row += text[i]
		}
		block = append(block, lipgloss.NewStyle().MaxWidth(width).Render(strings.TrimRight(row, " ")))
	}
	return append(block, lipgloss.NewStyle().MaxWidth(width).Render(bold(l.ends)+" "))
}

func bold(text string) string { return lipgloss.NewStyle().Bold(true).Render(text) }

// head are the rows that say which league it is, and how to join it.
func (l *lobby) head(width int) []string {
	text := []string{bold(words.Escape(l.title))}
	if l.joining.Page != "" {
		text = append(text, "Watch: "+l.joining.Page, "Join, on a computer of this network:")
		for i, part := range []string{"evenodd player --name NAME", "--manager " + l.joining.Typed()} {
			if i > 0 && lipgloss.Width(text[len(text)-1]+" "+part) <= width {
				text[len(text)-1] += " " + part
				continue
			}
			text = append(text, "  "+part)
		}
	}
	return append(text, "", bold(l.count))
}

// lists are the rows that name agents, of so many at most: each list that has elements has one row at least.
func (l *lobby) lists(width, room int) (text []string) {
	others := min(len(l.players), 1) + min(len(l.missing), 1)
	var silent []string
	for i, one := range l.silent {
		rows := wrapped(words.Escape(one), width)
		if len(silent)+len(rows) >= room-others {
			silent = append(silent, words.Counted(len(l.silent)-i, "agent")+" not reached.")
			break
		}
		silent = append(silent, rows...)
	}
	room -= len(silent)
	var missing []string
	if len(l.missing) > 0 {
		missing = fitted("Not here yet: ", l.missing, width, max((room+1)/2, 1))
		room -= len(missing)
	}
	return slices.Concat(fitted("", l.players, width, max(room, 1)), silent, missing)
}

// wrapped are the rows of a text.
func wrapped(text string, width int) []string {
	return strings.Split(lipgloss.Wrap(text, width, ""), "\n")
}

// fitted are the rows of a list, as many as may be, and the last one says how many elements do not fit.
func fitted(front string, list []string, width, rows int) []string {
	list = lists.Map(list, words.Escape)
	for n := len(list); n > 0; n-- {
		text := front + strings.Join(list[:n], ", ")
		if n < len(list) {
			text += fmt.Sprintf(" and %d more", len(list)-n)
		}
		if all := wrapped(text, width); len(all) <= rows || n == 1 {
			return all[:min(len(all), rows)]
		}
	}
	return nil
}

// codeRows are the rows of a URL as a QR code; nil for a URL that is too long for one. With colours it is dark on light
// also on a dark terminal, else it is light on a dark one.
func codeRows(url string, colours bool) (rows []string) {
	code, err := qr.Encode(url, qr.L)
	if err != nil {
		return nil
	}
	const margin = 4                           // as the standard says
	type halfBlock struct{ upper, lower bool } // two modules in one character
	halves := map[halfBlock]string{{true, true}: "█", {true, false}: "▀", {false, true}: "▄", {}: " "}
	paper := lipgloss.NewStyle().Foreground(lipgloss.Black).Background(lipgloss.BrightWhite)
	for y := -margin; y < code.Size+margin; y += 2 {
		var row strings.Builder
		for x := -margin; x < code.Size+margin; x++ {
			half := halfBlock{code.Black(x, y), code.Black(x, y+1)}
			if !colours {
				half = halfBlock{!half.upper, !half.lower}
			}
			row.WriteString(halves[half])
		}
		if text := row.String(); colours {
			rows = append(rows, paper.Render(text))
		} else {
			rows = append(rows, text)
		}
	}
	return rows
}

// colours tells whether the user lets programs print colours.
func colours() bool { return os.Getenv("NO_COLOR") == "" }

// lobby is the league before its start.
func (v *upView) lobby(now time.Time) *lobby {
	r := v.record
	l := &lobby{title: cmp.Or(r.Created.DisplayName, r.Created.LeagueID), joining: v.joining, missing: r.missingNames(),
		colours: colours(), ends: v.next(now)}
	players := 0
	for _, a := range r.SortedAgents() {
		if a.Player {
			players++
		}
		switch {
		case !a.Answered:
			l.silent = append(l.silent, r.silence(a))
		case a.Player && !a.Out():
			l.players = append(l.players, a.DisplayName)
		}
	}
	status := r.status()
	l.count = words.Counted(players, "player")
	if wanted := status.Expected.Players; wanted > 0 {
		l.count = fmt.Sprintf("%d of %s", players, words.Counted(wanted, "player"))
	}
	l.count += ", " + words.Counted(status.Referees, "referee")
	return l
}

// silence says why an agent is not reached, and what helps.
func (r *leagueRecord) silence(a *journal.Agent) string {
	cause, _, _ := strings.Cut(r.obstacles[a.AgentID], " at ")
	if cause == "" {
		return r.named(a.AgentID) + " has not answered yet."
	}
	return fmt.Sprintf("%s is not reached: %s. %s", r.named(a.AgentID), cause, record.CureOf(cause))
}

// next says how and when the league starts.
func (v *upView) next(now time.Time) string {
	r := v.record
	text := v.question()
	until, what := r.Configuration.RegistrationUntil, "Registration ends in "
	if planned := r.PlannedStart(); until == "" && planned != nil {
		until, what = planned.StartAt, "The league starts in "
	}
	at, err := protocol.ParseTimestamp(until)
	switch left := at.Sub(now).Round(time.Second); {
	case err == nil && left > 0:
		return strings.TrimSpace(what + left.String() + ". " + text)
	case text == "" && v.enter != nil:
		return "Enter starts the league when 2 players and a referee are here."
	case text == "":
		return "The league starts when all are here."
	}
	return text
}

// look asks the manager why agents are not reached, from time to time.
func (v *upView) look(ctx context.Context, now time.Time) {
	const pause, limit = 2 * time.Second, time.Second
	if !slices.ContainsFunc(v.record.SortedAgents(), func(a *journal.Agent) bool { return !a.Answered }) ||
		now.Sub(v.looked) < pause {
		return
	}
	v.looked = now
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	v.askObstacles(ctx, v.record)
}
