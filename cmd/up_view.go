package cmd

import (
	"bufio"
	"context"
	"io"
	"os"
	"strings"
	"time"

	"charm.land/lipgloss/v2"
	"rsc.io/qr"

	"evenodd/league/decide"
	"evenodd/league/journal"
	"evenodd/league/lists"
	"evenodd/league/protocol"
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
	enter   <-chan struct{} // starts the league; nil for no question
}

// view reads the league so far, and keeps what has happened since the parent began. Without a terminal the view never
// has changes.
func (p *upParent) view(ctx context.Context, began time.Time) (v *upView) {
	v = &upView{stays: p.stays(), leagueCommand: leagueCommand{streams: p.streams, data: p.data, leagueID: p.LeagueID,
		ca: p.ca, format: formatText}}
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
	return v
}

// The most lines of changes and rows of a table that the view prints at once.
const (
	mostChanges = 20
	mostRows    = 10
)

// update shows what has changed. It names an error once, and tries again. After the final table it shows nothing more.
func (v *upView) update(ctx context.Context) {
	if v.changes == nil {
		return
	}
	err := v.show(ctx)
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
	default:
		if line := r.told(e); line != "" {
			v.lines = append(v.lines, line)
		}
	}
}

func (v *upView) show(ctx context.Context) error {
	r, completed := v.record, v.record.CompletedRounds()
	err := r.Update(ctx, v.from, func(e *journal.Event, _ string) { v.tell(r, e) })
	for _, line := range v.lines[max(len(v.lines)-mostChanges, 0):] {
		v.note("%s", line)
	}
	v.lines = nil
	switch {
	case err != nil:
		return err
	case r.Completed != nil:
		v.over = true
		err := printStandings(v.streams, r.Standings(), decide.Evidence(r.State), r.Champion())
		if v.stays {
			v.note("The page stays until Ctrl-C.")
		}
		return err
	case r.CompletedRounds() > completed && r.CompletedRounds() < r.TotalRounds():
		rows := r.Standings()
		return printTableOf(v.err, rows[:min(len(rows), mostRows)], nil)
	}
	v.ask()
	return nil
}

// ask asks whether to start the league with the agents that have answered, if it has enough.
func (v *upView) ask() {
	if v.enter == nil || v.record.Started != nil {
		return
	}
	players := lists.Filter(v.record.SortedAgents(), func(a *journal.Agent) bool {
		return a.Player && a.Answered && !a.Out()
	})
	if len(players) < 2 || !v.record.HasReferee("") {
		return
	}
	question := "Start with " + words.Counted(len(players), "player") + "? Press Enter."
	if missing := v.record.missing(); len(missing) > 0 {
		names := lists.Map(missing[:min(len(missing), mostRows)], func(a missingAgent) string { return a.DisplayName })
		question += " Not here yet: " + strings.Join(names, ", ") + "."
	}
	if question != v.asked {
		v.asked = question
		v.note("%s", question)
	}
}

// start starts the league.
func (v *upView) start(ctx context.Context) {
	if v.asked == "" || v.record.Started != nil {
		return
	}
	inform := v.leagueCommand
	inform.out = v.err // the final table alone is a result
	if err := inform.decide(ctx, &protocol.OrganiseRequest{Command: protocol.CommandStart, By: loginName()}); err != nil {
		printError(v.err, err)
	}
}

// enters returns a channel that gets each empty line of standard input.
func enters(ctx context.Context) <-chan struct{} {
	pressed := make(chan struct{})
	go func() { // ends with the process, at the latest
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			if lines.Text() != "" {
				continue
			}
			select {
			case pressed <- struct{}{}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return pressed
}

// printCode prints a URL as a QR code, dark on light also on a dark terminal. It prints nothing for a URL that
// is too long for one.
func printCode(w io.Writer, url string) {
	code, err := qr.Encode(url, qr.L)
	if err != nil {
		return
	}
	const margin = 4                           // as the standard says
	type halfBlock struct{ upper, lower bool } // two modules in one character
	halves := map[halfBlock]string{{true, true}: "█", {true, false}: "▀", {false, true}: "▄", {}: " "}
	paper := lipgloss.NewStyle().Foreground(lipgloss.Black).Background(lipgloss.BrightWhite)
	var text strings.Builder
	for y := -margin; y < code.Size+margin; y += 2 {
		var line strings.Builder
		for x := -margin; x < code.Size+margin; x++ {
			line.WriteString(halves[halfBlock{code.Black(x, y), code.Black(x, y+1)}])
		}
		text.WriteString(paper.Render(line.String()) + "\n")
	}
	draw(w, text.String())
}
