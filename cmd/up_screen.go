package cmd

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/term"

	"evenodd/league/protocol"
)

// redrawEvery is the time between two tables on a terminal.
const redrawEvery = time.Second

// An upScreen shows the processes of a league: on a terminal as a table that is drawn again
// below the messages, otherwise as lines. Safe for concurrent use.
type upScreen struct {
	w        io.Writer
	group    *upGroup
	terminal *os.File // nil for lines only

	mu    sync.Mutex
	table string // on the screen now
}

func newUpScreen(w io.Writer, g *upGroup) *upScreen {
	s := &upScreen{w: w, group: g}
	if isTerminal(w) {
		s.terminal, _ = w.(*os.File)
	}
	return s
}

// note prints a message.
func (s *upScreen) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	table := s.table
	s.erase()
	_ = printLine(s.w, format, args...)
	s.draw(table)
}

// plain prints a message that the table on a terminal shows, too.
func (s *upScreen) plain(format string, args ...any) {
	if s.terminal == nil {
		s.note(format, args...)
	}
}

// line prints a line of a process. On a terminal it leaves out the lines of the log, which are
// in the data folder.
func (s *upScreen) line(name, line string) {
	if s.terminal == nil || !strings.HasPrefix(line, "{") {
		s.note("%s | %s", name, line)
	}
}

// erase removes the table from the screen. The caller holds the lock.
func (s *upScreen) erase() {
	if n := strings.Count(s.table, "\n"); n > 0 {
		s.write("\x1b[" + strconv.Itoa(n) + "A\r\x1b[J")
	}
	s.table = ""
}

// write writes text of picture, which is escaped, and control sequences of this program.
func (s *upScreen) write(text string) {
	var all page
	_, _ = all.WriteString(text) // never fails
	_ = all.print(s.w)           // nobody is left to tell
}

// draw puts a table on the screen. The caller holds the lock.
func (s *upScreen) draw(table string) {
	s.write(table)
	s.table = table
}

// redraw draws the table again and again until ctx ends.
func (s *upScreen) redraw(ctx context.Context) {
	if s.terminal == nil {
		return
	}
	for ctx.Err() == nil {
		status, err := s.group.health(ctx)
		s.group.mu.Lock()
		if err == nil {
			s.group.status = status
		}
		s.update()
		s.group.mu.Unlock()
		select {
		case <-time.After(redrawEvery):
		case <-ctx.Done():
		}
	}
}

// close draws the table for the last time, and leaves it on the screen.
func (s *upScreen) close() {
	if s.terminal != nil {
		s.group.mu.Lock()
		defer s.group.mu.Unlock()
		s.update()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.table = ""
}

// update draws the present table. The caller holds the group's lock.
func (s *upScreen) update() {
	width, height, err := term.GetSize(int(s.terminal.Fd()))
	if err != nil {
		width, height = 80, 24
	}
	text := s.group.picture(width, height-1)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	s.draw(text)
}

// picture returns the table of the processes, with at most so many columns and lines of
// text. The caller holds the lock.
func (g *upGroup) picture(width, height int) string {
	rows := [][]string{{"NAME", "ROLE", "PROCESS", "PORT", "STATE", "RESTARTS", "LAST"}}
	for _, m := range append([]*upMember{g.manager}, g.agents...) {
		rows = append(rows, m.cells())
	}
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], lipgloss.Width(cell))
		}
	}
	widths[0] = min(widths[0], nameWidth(width, widths))
	left := ""
	if most := height - 1; len(rows) > most && most > 1 {
		left = fmt.Sprintf("and %d more", len(rows)-most+1)
		rows = rows[:most-1]
	}
	var text strings.Builder
	fit := lipgloss.NewStyle().Inline(true).MaxWidth(max(width-1, 1))
	line := func(s string) { text.WriteString(fit.Render(strings.TrimRight(s, " ")) + "\n") }
	line(g.headline())
	for _, row := range rows {
		var cells strings.Builder
		for i, cell := range row {
			if lipgloss.Width(cell) > widths[i] { // a long name
				cell = lipgloss.NewStyle().Inline(true).MaxWidth(widths[i]-1).Render(cell) + "…"
			}
			cells.WriteString(cell + strings.Repeat(" ", widths[i]-lipgloss.Width(cell)+2))
		}
		line(cells.String())
	}
	if left != "" {
		line(left)
	}
	return text.String()
}

// nameWidth returns the largest width of a name at which the terminal shows all columns but
// the last. On a very narrow terminal, the names stay readable instead.
func nameWidth(terminal int, widths []int) int {
	const gap, least = 2, 10
	most := terminal - 1
	for _, w := range widths[1 : len(widths)-1] {
		most -= gap + w
	}
	return max(most, least)
}

// headline describes the league.
func (g *upGroup) headline() string {
	switch st := g.status; {
	case g.url == "":
		return "The manager starts."
	case g.manager.succeeded(g.manager.state):
		return protocol.Escape(fmt.Sprintf("League %s is over.", g.leagueID))
	case st.Matches > 0:
		return protocol.Escape(fmt.Sprintf("League %s at %s: round %d of %d, %d of %d matches", g.leagueID, g.url, st.Round, st.Rounds, st.Recorded, st.Matches))
	default:
		return protocol.Escape(fmt.Sprintf("League %s at %s: %d players and %d referees have registered%s", g.leagueID, g.url, st.Players, st.Referees, waitingFor(st.Awaited)))
	}
}

// cells returns the row of a member.
func (m *upMember) cells() []string {
	if m.elsewhere != "" {
		return []string{protocol.Escape(m.name), m.role, "-", "-", "elsewhere", "-", protocol.Escape(m.elsewhere)}
	}
	process, port := "-", "-"
	if m.state.PID != 0 {
		process, port = strconv.Itoa(m.state.PID), cmp.Or(m.port, "-")
	}
	return []string{protocol.Escape(m.name), m.role, process, port, cmp.Or(string(m.state.Phase), "waiting"), strconv.Itoa(m.state.Restarts), protocol.Escape(message(m.last))}
}

// message returns what a line of a log says; other lines as they are.
func message(line string) string {
	var logged struct {
		Message string `json:"message"`
		MatchID string `json:"match_id"`
	}
	if !strings.HasPrefix(line, "{") || json.Unmarshal([]byte(line), &logged, jsontext.AllowDuplicateNames(true)) != nil {
		return line
	}
	return strings.TrimSpace(logged.MatchID + " " + logged.Message)
}
