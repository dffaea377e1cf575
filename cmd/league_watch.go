package cmd

import (
	"context"
	"fmt"
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
		Long: `Show how far the league is: its phase, the round, the running matches with the time of their start, the agents
with what needs attention (absent, not reached, suspended, failing, technical losses), and the last decisions.

With --watch the command goes on until the league is over, and prints a line for each change; with --format json one
document after each change.`,
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
		return s // without reasons
	}
	defer m.Close()
	var now protocol.StatusData
	_ = m.ask(ctx, protocol.QueryStatus, protocol.QueryParams{}, &now)
	r.obstacles = map[string]string{}
	for _, a := range now.Inactive {
		r.obstacles[a.AgentID] = a.Reason
	}
	return r.status()
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
		changed = r.Events > before && o.format == formatJSON || stopped != r.Stopped && r.Completed == nil
		r.Stopped = stopped
		if o.format == formatText {
			if err := lines.print(o.out); err != nil {
				return err
			}
		}
	}
}

// tell adds a line about an event, if it matters to an organiser.
func (r *leagueRecord) tell(text *printout, e *journal.Event) {
	if line := r.told(e); line != "" {
		text.line("%s %s", shortTime(e.At), line)
	}
}

// told describes an event; "" if it does not matter to an organiser. The event is folded.
func (r *leagueRecord) told(e *journal.Event) string {
	switch d := e.Data.(type) {
	case *journal.Decided:
		return d.About()
	case *journal.AgentRegistered:
		return fmt.Sprintf("%s registered as a %s", r.named(d.AgentID), d.Role)
	case *journal.RegistrationDropped:
		return fmt.Sprintf("the registration of %s ended: %s", d.AgentID, d.Reason)
	case *journal.AgentSuspended:
		return fmt.Sprintf("%s suspended: it %s", r.named(d.AgentID), d.Reason)
	case *journal.AgentReturned:
		return r.named(d.AgentID) + " returned"
	case *journal.AgentShutdown:
		return fmt.Sprintf("%s shut down: it %s", r.named(d.AgentID), d.Reason)
	case *journal.Started:
		return fmt.Sprintf("the league began with %s and %s", protocol.Counted(len(d.Players), "player"),
			protocol.Counted(len(d.Referees), "referee"))
	case *journal.RoundAnnounced:
		return fmt.Sprintf("round %d began", d.RoundID)
	case *journal.MatchAssigned:
		return fmt.Sprintf("%s attempt %d: %s", d.MatchID, d.Number, d.RefereeID)
	case *journal.MatchReported:
		return fmt.Sprintf("%s: %s", d.MatchID, r.outcome(d.MatchID, &d.Result))
	case *journal.MatchForfeited:
		return fmt.Sprintf("%s forfeited: %s", d.MatchID, r.outcome(d.MatchID, &d.Result))
	case *journal.RoundCompleted:
		return fmt.Sprintf("round %d ended", d.RoundID)
	case *journal.LeagueCompleted:
		return "the league is over. " + r.ChampionLine()
	}
	return ""
}

// outcome describes the result of a match in a few words.
func (r *leagueRecord) outcome(id league.MatchID, of *league.Result) string {
	_, a, b, _ := r.Find(id)
	text := fmt.Sprintf("%s and %s both lost", r.named(a), r.named(b))
	switch {
	case of.WinnerPlayerID != nil && *of.WinnerPlayerID == b:
		a, b = b, a
		fallthrough
	case of.WinnerPlayerID != nil:
		text = fmt.Sprintf("%s won against %s", r.named(a), r.named(b))
	case of.Status == league.StatusDraw:
		text = fmt.Sprintf("%s and %s drew", r.named(a), r.named(b))
	}
	return text + record.ReasonAfter(of.Reason)
}
