package cmd

import (
	"context"
	"fmt"
	"io"
	"os/user"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"evenodd/league/protocol"
)

// A decisionCommand is a command of 'evenodd league' that makes a decision.
type decisionCommand struct {
	name, short, long, example string

	reasoned bool // needs --reason
	of       string
}

// The things that a decision is about.
const (
	ofLeague = ""
	ofAgent  = "agent"
	ofMatch  = "match"
)

var decisionRows = [...]decisionCommand{
	{name: protocol.CommandStart, short: "Start the league now, or at a set time", example: examples(
		"Start now", "evenodd league start",
		"Start at a time", "evenodd league start --at 2026-09-01T10:00:00Z",
	),
		long: `Start the league with the agents that have answered; it needs two players and a referee.
With --at it starts at that time, or as soon as enough agents have answered if that is
later. A later start command replaces the time, also after a restart.`},
	{name: protocol.CommandPause, short: "Pause the league: running matches finish, no round begins", example: examples(
		"Pause before the next round", "evenodd league pause --reason lunch",
	),
		long: "Pause the league. Running matches finish; no round and no rematch begins until 'evenodd league resume', also after a restart."},
	{name: protocol.CommandResume, short: "End the pause of the league", example: examples(
		"Go on", "evenodd league resume",
	),
		long: "End the pause of the league. The next round begins at once."},
	{name: protocol.CommandSuspend, of: ofAgent, reasoned: true, short: "Suspend an agent until it is readmitted", example: examples(
		"Suspend a player", "evenodd league suspend P03 --reason 'it floods the referee'",
	),
		long: "Suspend an agent. It gets nothing to do until 'evenodd league readmit', also if it answers. A player forfeits its matches meanwhile, and these forfeits stand."},
	{name: protocol.CommandReadmit, of: ofAgent, short: "End the suspension or the shutdown of an agent", example: examples(
		"Let a player play again", "evenodd league readmit P03",
	),
		long: "End the suspension or the shutdown of an agent, whether an organiser or its failures caused it. Its failures start at 0."},
	{name: protocol.CommandWithdraw, of: ofAgent, reasoned: true, short: "Withdraw an agent for good", example: examples(
		"Withdraw a player", "evenodd league withdraw P03 --reason 'left the course'",
	),
		long: `Withdraw an agent for good. A player of a round-robin that has played fewer than half of
its matches, not counting forfeits, loses its results: they stay visible and do not count
for anybody. Any other player forfeits its remaining matches. Before the start the
registration ends.`},
	{name: protocol.CommandRematch, of: ofMatch, reasoned: true, short: "Play a match again between two rounds", example: examples(
		"Play a match again", "evenodd league rematch R1M2 --reason 'the referee crashed'",
	),
		long: "Annul the result of a match, and play it again as its next attempt between two rounds. Until then the result counts."},
	{name: protocol.CommandRule, of: ofMatch, reasoned: true, short: "Decide the result of a match", example: examples(
		"Let P03 win", "evenodd league rule R1M2 --winner P03 --reason 'P01 sent no choice'",
		"Let both players lose", "evenodd league rule R1M2 --winner none --reason 'both cheated'",
	),
		long: "Decide the result of a match. --winner is the id of a player, draw, or none: then both players lose. The result replaces any other, and ends the match if it is running."},
}

// decisionFlags are the flags of one decision.
type decisionFlags struct {
	reason string
	at     string
	winner string
}

// decisionCommands makes the commands that make a decision.
func decisionCommands(o organiser) []*cobra.Command {
	var commands []*cobra.Command
	for i := range decisionRows {
		row := decisionRows[i]
		commands = append(commands, newDecision(o, row))
	}
	return commands
}

func newDecision(o organiser, row decisionCommand) *cobra.Command {
	flags := &decisionFlags{}
	c := &cobra.Command{
		Use: row.name, Short: row.short, Long: row.long, Example: row.example, Args: noArguments,
		RunE: func(c *cobra.Command, args []string) error {
			q, err := o.order(row, flags, args)
			if err != nil {
				return err
			}
			return o.decide(c.Context(), q)
		},
	}
	switch row.of {
	case ofAgent:
		c.Use += " AGENT"
		c.Args = takes(1, nil, row.name+" takes one agent, such as P01")
		c.ValidArgsFunction = o.completeAgents
	case ofMatch:
		c.Use += " MATCH"
		c.Args = takes(1, nil, row.name+" takes one match, such as R1M1")
		c.ValidArgsFunction = o.completeMatches
	}
	why := "the reason, for the record"
	if row.reasoned {
		why += " (required)"
	}
	c.Flags().StringVar(&flags.reason, "reason", "", why)
	switch row.name {
	case protocol.CommandStart:
		c.Flags().StringVar(&flags.at, "at", "", "start at this `time`, such as 2026-09-01T10:00:00Z (RFC 3339)")
	case protocol.CommandRule:
		c.Flags().StringVar(&flags.winner, "winner", "", "the `player` that wins, draw, or none (required)")
	}
	return c
}

// order makes the request of a command, and checks what needs no manager.
func (o *organiser) order(row decisionCommand, flags *decisionFlags, args []string) (*protocol.OrganiseRequest, error) {
	q := &protocol.OrganiseRequest{Command: row.name, By: o.by, Reason: strings.TrimSpace(flags.reason), Winner: flags.winner}
	if len(args) > 0 && row.of == ofAgent {
		q.AgentID = args[0]
	}
	if len(args) > 0 && row.of == ofMatch {
		q.MatchID = args[0]
		if id, ok := protocol.ParseMatchID(q.MatchID); !ok || id.String() != q.MatchID {
			return nil, usage("match %.40q: matches are called R1M1, R1M2, …", q.MatchID)
		}
	}
	switch {
	case row.reasoned && q.Reason == "":
		return nil, usage("%s needs --reason: the record must tell why", row.name)
	case utf8.RuneCountInString(q.Reason) > protocol.MaxReason:
		return nil, usage("--reason: must have at most %d characters", protocol.MaxReason)
	case row.name == protocol.CommandRule && q.Winner == "":
		return nil, usage("rule needs --winner: a player such as P01, draw, or none if both players lose")
	}
	switch at, err := readTime("at", flags.at); {
	case err != nil:
		return nil, err
	case !at.IsZero():
		q.StartAt = at.Format(time.RFC3339)
	}
	if q.By == "" {
		q.By = loginName()
	}
	if q.By == "" || utf8.RuneCountInString(q.By) > protocol.MaxOrganiserName {
		return nil, usage("--by %.80q: your name, 1 to %d characters, belongs to the record", q.By, protocol.MaxOrganiserName)
	}
	return q, nil
}

// loginName is the login name of the user; "" if the system does not tell it.
func loginName() string {
	u, err := user.Current()
	if err != nil {
		return ""
	}
	return u.Username
}

// decide sends the decision to the manager.
func (o *organiser) decide(ctx context.Context, q *protocol.OrganiseRequest) error {
	m, err := o.connect(ctx)
	if err != nil {
		return err
	}
	defer m.Close()
	q.LeagueID = m.leagueID
	var made *protocol.Organised
	err = m.patiently(ctx, func() (err error) {
		q.Envelope = m.envelope("")
		made, err = protocol.OrganiseLeague.Call(ctx, m.caller, protocol.Peer{Endpoint: m.url}, q)
		return err
	})
	if err != nil {
		return fmt.Errorf("%s was not done: %w", q.Command, err)
	}
	return show(o.out, o.format, struct {
		SchemaVersion string `json:"schema_version"`
		LeagueID      string `json:"league_id"`
		Status        string `json:"status"`
		Command       string `json:"command"`
		Event         int    `json:"event"`
		At            string `json:"at"`
		About         string `json:"about"`
	}{outputSchema, m.leagueID, made.Status, made.Command, made.Event, made.At, made.About}, func(w io.Writer) error {
		return printLine(w, "%s", made.About)
	})
}

// completeAgents completes the id of an agent from the data folder.
func (o organiser) completeAgents(c *cobra.Command, args []string, begin string) ([]string, cobra.ShellCompDirective) {
	return o.complete(c, args, begin, (*leagueRecord).agentIDs)
}

// completeMatches completes the id of a match of an announced round.
func (o organiser) completeMatches(c *cobra.Command, args []string, begin string) ([]string, cobra.ShellCompDirective) {
	return o.complete(c, args, begin, func(r *leagueRecord) (ids []string) {
		for round := 1; round <= r.Round; round++ {
			for i := range r.Pairings(round) {
				ids = append(ids, protocol.MatchID{Round: round, Number: i + 1}.String())
			}
		}
		return ids
	})
}

func (o *organiser) complete(c *cobra.Command, args []string, begin string, list func(*leagueRecord) []string) (found []string, _ cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	r, from, err := o.readLeague(c.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer from.Close()
	return beginningWith(begin, list(r)), cobra.ShellCompDirectiveNoFileComp
}
