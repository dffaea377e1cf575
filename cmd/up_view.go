package cmd

import (
	"bufio"
	"context"
	"io"
	"os"
	"strings"
	"time"

	"evenodd/league/decide"
	"evenodd/league/journal"
	"evenodd/league/lists"
	"evenodd/league/protocol"
	"evenodd/league/view/page"
	"evenodd/league/view/record"
	"evenodd/league/words"
)

// An upView shows a league on a terminal: a line for each change, and the table after a round. It reads the
// journal, like 'evenodd league status --watch'.
type upView struct {
	leagueCommand
	record  *leagueRecord
	from    record.Source
	lines   []string // changes that it has not shown
	asked   string   // the last question
	problem string   // the last error
	over    bool     // it has shown the final table
	stays   bool     // the page remains then
	changes <-chan time.Time
	enter   <-chan string // lines that the user has typed, of which an empty one starts the league; nil for no question
	screen  *pinned       // shows the lobby; nil for a terminal that cannot
	joining page.Joining
	looked  time.Time // when the view asked the manager last
}

// view reads the league so far, and keeps what has happened since the parent began. Without a terminal the view never
// has changes.
func (p *upParent) view(ctx context.Context, began time.Time) (v *upView) {
	p.mu.Lock()
	joining := p.joining // the child may begin again, and tells it anew
	p.mu.Unlock()
	v = &upView{stays: p.stays(), screen: p.screen, joining: joining, leagueCommand: leagueCommand{streams: p.streams,
		data: p.data, leagueID: p.LeagueID, ca: p.ca, format: formatText}}
	if !p.shows {
		return v
	}
	var err error
	v.record, v.from, err = v.readLeague(ctx, func(r *leagueRecord, e *journal.Event, _ string) {
		if at, wrong := protocol.ParseTimestamp(e.At); wrong == nil && !at.Before(began.Truncate(time.Second)) {
			v.tell(r, e)
		}
	})
	if err == nil {
		v.record.roster, err = readRoster(p.admission.roster)
	}
	if err != nil {
		printError(v.err, err)
		return v
	}
	v.changes = time.Tick(watchPause / 4)
	if p.asks {
		v.enter = enters(ctx)
	}
	if !v.lobbies(v.record) && v.joining.Page != "" && !v.joining.Local {
		printCode(v.err, v.joining.Page)
	}
	return v
}

// mostChanges is the number of lines of changes that the view prints at once.
const mostChanges = 20

// lobbies tells whether the terminal shows the lobby now.
func (v *upView) lobbies(r *leagueRecord) bool {
	if v.screen == nil || r.Created == nil || r.Started != nil {
		return false
	}
	columns, rows := v.screen.size()
	return columns >= lobbyColumns && rows >= lobbyRows
}

// update shows what has changed. It names an error once, and tries again. After the final table it shows nothing more.
func (v *upView) update(ctx context.Context) {
	if v.changes == nil {
		return
	}
	err := v.show(ctx)
	if v.lobbies(v.record) {
		now := time.Now()
		v.look(ctx, now)
		v.screen.draw(v.lobby(now).draw(v.screen.size()))
	}
	if err != nil && err.Error() != v.problem {
		v.problem = err.Error()
		printError(v.err, err)
	}
	if v.over {
		v.changes = nil
	}
}

// tell keeps the line of an event.
func (v *upView) tell(r *leagueRecord, e *journal.Event) {
	switch e.Data.(type) {
	case *journal.MatchAssigned, *journal.LeagueCompleted: // too much, and what the final table says
	case *journal.AgentRegistered:
		if !v.lobbies(r) { // which has it
			v.lines = append(v.lines, r.told(e))
		}
	default:
		if line := r.told(e); line != "" {
			v.lines = append(v.lines, line)
		}
	}
}

func (v *upView) show(ctx context.Context) error {
	r, completed := v.record, v.record.CompletedRounds()
	err := r.Update(ctx, v.from, func(e *journal.Event, _ string) { v.tell(r, e) })
	if v.screen != nil && !v.lobbies(v.record) {
		v.screen.remove()
	}
	if n := len(v.lines) - mostChanges; n > 0 {
		v.note("%s before these:", words.Counted(n, "more change"))
		v.lines = v.lines[n:]
	}
	for _, line := range v.lines {
		v.note("%s", line)
	}
	v.lines = nil
	switch {
	case err != nil:
		return err
	case r.Completed != nil:
		v.over = true
		err := printStandings(v.streams, r.Standings(), decide.EvidenceInWords(r.State), r.Champion())
		if v.stays {
			v.note("The page stays until Ctrl-C.")
		}
		return err
	case r.CompletedRounds() > completed && r.CompletedRounds() < r.TotalRounds():
		rows, more := fitting(r.Standings(), heightOf(v.err))
		err := printTableOf(v.err, rows, nil)
		if more > 0 {
			v.note("and %s: evenodd league standings shows all.", words.Counted(more, "more player"))
		}
		return err
	}
	v.ask()
	return nil
}

// missingRows is the number of rows for the names of those who are not here, below a terminal that has no lobby.
const missingRows = 3

// fitting are the first rows of a table that fit a terminal, with the frame of the table, the line below it and an
// empty row, and the number of the others.
func fitting[R any](table []R, rows int) (first []R, more int) {
	const frame = 6
	first = table[:min(len(table), max(rows-frame, 1))]
	return first, len(table) - len(first)
}

// ask prints the question whether to start the league, unless the lobby has it.
func (v *upView) ask() {
	if question := v.question(); question != v.asked {
		if v.asked = question; question != "" && !v.lobbies(v.record) {
			if missing := v.record.missingNames(); len(missing) > 0 {
				question += " " + strings.Join(fitted("Not here yet: ", missing, columnsOf(v.err), missingRows), " ") + "."
			}
			v.note("%s", question)
		}
	}
}

// question asks whether to start the league with the agents that have answered; "" if it has not enough, and without a
// terminal to answer at.
func (v *upView) question() string {
	if v.enter == nil || v.record.Started != nil {
		return ""
	}
	players := lists.Filter(v.record.SortedAgents(), func(a *journal.Agent) bool {
		return a.Player && a.Answered && !a.Out()
	})
	if len(players) < 2 || !v.record.HasReferee("") {
		return ""
	}
	return "Start with " + words.Counted(len(players), "player") + "? Press Enter."
}

// typed handles a line of the user: an empty one starts the league.
func (v *upView) typed(ctx context.Context, line string) {
	if v.screen != nil {
		v.screen.enteredLine()
	}
	if line != "" || v.asked == "" || v.record.Started != nil {
		return
	}
	inform := v.leagueCommand
	inform.out = v.err // the final table alone is a result
	if err := inform.decide(ctx, &protocol.OrganiseRequest{Command: protocol.CommandStart, By: loginName()}); err != nil {
		printError(v.err, err)
	}
}

// enters returns a channel that gets each line of standard input.
func enters(ctx context.Context) <-chan string {
	typed := make(chan string)
	go func() { // ends with the process, at the latest
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			select {
			case typed <- lines.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	return typed
}

// printCode prints a URL as a QR code. It prints nothing for a URL that is too long for one.
func printCode(w io.Writer, url string) {
	for _, row := range codeRows(url, colours()) {
		draw(w, row+"\n")
	}
}
