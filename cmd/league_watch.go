package cmd

import (
	"bytes"
	"context"
	"time"

	"github.com/spf13/cobra"

	"evenodd/config"
	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/view/record"
)

// newLeagueStatus makes 'evenodd league status'.
func newLeagueStatus(o organiser) *cobra.Command {
	watch, roster := false, ""
	c := &cobra.Command{
		Use:   "status",
		Short: "Show how far the league is, and what needs attention",
		Long: `Show how far the league is: its phase, the round, the running matches with the time of
their start, agents that are awaited, suspended or failing, and the last decisions.

With --watch the command goes on until the league is over. On a terminal it draws the
status again after each change; otherwise it prints a line for each change. With
--format json it prints one document after each change.`,
		Example: examples(
			"Show the league once", "evenodd league status",
			"Also show who has not registered", "evenodd league status --roster class.csv",
			"Show each change until the league is over", "evenodd league status --watch",
		),
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			var listed []config.RosterEntry
			if roster != "" {
				var err error
				if listed, err = config.ReadRoster(c.Context(), roster); err != nil {
					return usage("--roster: %w", err)
				}
			}
			r, from, err := o.readLeague(c.Context())
			if err != nil {
				return err
			}
			defer from.Close()
			r.roster = listed
			if watch {
				return o.watch(c.Context(), r, from)
			}
			s := r.status()
			return show(o.out, o.format, s, s.print)
		},
	}
	c.Flags().StringVar(&roster, "roster", "", "the manager's roster `file`: show the agents in it that have not registered")
	c.Flags().BoolVar(&watch, "watch", false, "go on until the league is over, and show each change")
	return c
}

// watchPause is the pause between two looks at a league.
const watchPause = time.Second

// watch shows the league after each change, until it is over.
func (o *organiser) watch(ctx context.Context, r *leagueRecord, from record.Source) error {
	redraw := isTerminal(o.out)
	changed := true
	for {
		if changed {
			if err := o.draw(r, redraw); err != nil {
				return err
			}
		}
		if r.Completed != nil {
			return nil
		}
		if protocol.SystemClock().Sleep(ctx, watchPause) != nil {
			return interrupted("The league goes on.")
		}
		before := r.Events
		var lines page
		if err := r.Update(ctx, from, func(e *journal.Event, _ string) { r.tell(&lines, e) }); err != nil {
			return err
		}
		changed = r.Events > before && (redraw || o.format == formatJSON)
		if !redraw && o.format == formatText {
			if err := lines.print(o.out); err != nil {
				return err
			}
		}
	}
}

// clearScreen moves the cursor of a terminal to its corner and clears the screen.
const clearScreen = "\x1b[H\x1b[2J"

// draw prints the status, on a terminal in place of the last one.
func (o *organiser) draw(r *leagueRecord, redraw bool) error {
	s := r.status()
	if o.format == formatJSON || !redraw {
		return show(o.out, o.format, s, s.print)
	}
	var drawn bytes.Buffer
	if err := s.print(&drawn); err != nil {
		return err
	}
	_, err := o.out.Write(append([]byte(clearScreen), drawn.Bytes()...))
	return err
}

// tell adds a line about an event, if it matters to an organiser. The event is folded.
func (r *leagueRecord) tell(text *page, e *journal.Event) {
	line := func(format string, args ...any) { text.line("%s "+format, append([]any{shortTime(e.At)}, args...)...) }
	switch d := e.Data.(type) {
	case journal.DecisionEvent:
		line("%s", d.About())
	case *journal.AgentRegistered:
		line("%s (%s) registered as a %s", d.AgentID, d.DisplayName, d.Role)
	case *journal.RegistrationDropped:
		line("the registration of %s ended: %s", d.AgentID, d.Reason)
	case *journal.AgentSuspended:
		line("%s suspended: it %s", d.AgentID, d.Reason)
	case *journal.AgentReturned:
		line("%s returned", d.AgentID)
	case *journal.AgentShutdown:
		line("%s shut down: it %s", d.AgentID, d.Reason)
	case *journal.Started:
		line("the league began with %s and %s", protocol.Counted(len(d.Players), "player"), protocol.Counted(len(d.Referees), "referee"))
	case *journal.RoundAnnounced:
		line("round %d began", d.RoundID)
	case *journal.MatchAssigned:
		line("%s attempt %d: %s", d.MatchID, d.Number, d.RefereeID)
	case *journal.MatchReported:
		line("%s: %s", d.MatchID, outcome(&d.GameResult))
	case *journal.MatchForfeited:
		line("%s forfeited: %s", d.MatchID, outcome(&d.GameResult))
	case *journal.RoundCompleted:
		line("round %d ended", d.RoundID)
	case *journal.LeagueCompleted:
		line("the league is over. %s", r.championLine())
	}
}

// outcome describes a result in a few words.
func outcome(r *protocol.GameResult) string {
	switch {
	case r.WinnerPlayerID != nil:
		return *r.WinnerPlayerID + " won" + record.ReasonAfter(r.Reason)
	case r.Status == protocol.StatusDraw:
		return "draw" + record.ReasonAfter(r.Reason)
	}
	return "both players lost" + record.ReasonAfter(r.Reason)
}
