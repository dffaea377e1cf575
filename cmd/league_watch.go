package cmd

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"evenodd/league"
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
		Long: `Show how far the league is: its phase, the round, the running matches with the
time of their start, the agents with what needs attention (absent, not reached,
suspended, failing, technical losses), and the last decisions.

With --watch the command goes on until the league is over, and prints a line for
each change; with --format json one document after each change.`,
		Example: examples(
			"Show the league once", "evenodd league status",
			"Also show who has not registered", "evenodd league status --roster class.csv",
			"Show each change until the league is over", "evenodd league status --watch",
		),
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			listed, err := readRoster(roster)
			if err != nil {
				return err
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
			s := o.status(c.Context(), r)
			return show(o.out, o.format, s, s.print)
		},
	}
	c.Flags().StringVar(&roster, "roster", "", "the manager's roster `file`: show the agents in it that have not "+
		"registered")
	c.Flags().BoolVar(&watch, "watch", false, "go on until the league is over, and show each change")
	return c
}

// status describes the league now. Before its start the manager tells what its pings to silent agents met.
func (o *organiser) status(ctx context.Context, r *leagueRecord) *leagueStatus {
	s := r.status()
	if len(s.Awaited) == 0 || r.Stopped {
		return s
	}
	m, err := o.connect(ctx)
	if err != nil {
		return s // the table has no reasons
	}
	defer m.Close()
	var now protocol.StatusData
	_ = m.ask(ctx, protocol.QueryStatus, protocol.QueryParams{}, &now)
	for i := range s.Awaited {
		for _, a := range now.Inactive {
			if a.AgentID == s.Awaited[i].AgentID {
				s.Awaited[i].Reason = a.Reason
			}
		}
	}
	return s
}

// watchPause is the pause between two looks at a league.
const watchPause = time.Second

// watch shows the league after each change, until it is over.
func (o *organiser) watch(ctx context.Context, r *leagueRecord, from record.Source) error {
	for changed := true; ; {
		if changed {
			s := o.status(ctx, r)
			if err := show(o.out, o.format, s, s.print); err != nil {
				return err
			}
		}
		if r.Completed != nil {
			return nil
		}
		if protocol.SystemClock().Sleep(ctx, watchPause) != nil {
			return interrupted("The league goes on.")
		}
		before, stopped := r.Events, o.stopped()
		var lines printout
		if err := r.Update(ctx, from, func(e *journal.Event, _ string) { r.tell(&lines, e) }); err != nil {
			return err
		}
		if r.halt(&lines, stopped) {
			before = -1
		}
		changed = r.Events > before && o.format == formatJSON
		if o.format == formatText {
			if err := lines.print(o.out); err != nil {
				return err
			}
		}
	}
}

// halt adds a line if the manager of a league that is not over has gone, or is back.
func (r *leagueRecord) halt(text *printout, stopped bool) (changed bool) {
	if stopped == r.Stopped || r.Completed != nil {
		return false
	}
	if r.Stopped = stopped; stopped {
		text.line("%s", notRunning(r.At))
	} else {
		text.line("the manager runs again")
	}
	return true
}

// tell adds a line about an event, if it matters to an organiser. The event is folded.
func (r *leagueRecord) tell(text *printout, e *journal.Event) {
	line := func(format string, args ...any) { text.line("%s "+format, append([]any{shortTime(e.At)}, args...)...) }
	switch d := e.Data.(type) {
	case *journal.Decided:
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
		line("the league began with %s and %s", protocol.Counted(len(d.Players), "player"),
			protocol.Counted(len(d.Referees), "referee"))
	case *journal.RoundAnnounced:
		line("round %d began", d.RoundID)
	case *journal.MatchAssigned:
		line("%s attempt %d: %s", d.MatchID, d.Number, d.RefereeID)
	case *journal.MatchReported:
		line("%s: %s", d.MatchID, outcome(&d.Result))
	case *journal.MatchForfeited:
		line("%s forfeited: %s", d.MatchID, outcome(&d.Result))
	case *journal.RoundCompleted:
		line("round %d ended", d.RoundID)
	case *journal.LeagueCompleted:
		line("the league is over. %s", r.ChampionLine())
	}
}

// outcome describes a result in a few words.
func outcome(r *league.Result) string {
	switch {
	case r.WinnerPlayerID != nil:
		return *r.WinnerPlayerID + " won" + record.ReasonAfter(r.Reason)
	case r.Status == league.StatusDraw:
		return "draw" + record.ReasonAfter(r.Reason)
	}
	return "both players lost" + record.ReasonAfter(r.Reason)
}
