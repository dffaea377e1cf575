package cmd

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os/user"
	"strings"

	"github.com/spf13/cobra"

	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/words"
)

// A decisionHelp is the help of a command of 'evenodd league' that makes a decision.
type decisionHelp struct {
	short, long string
	examples    []string // pairs of a comment and a command line
}

// decisionHelps has the help of each of protocol.Commands.
var decisionHelps = map[string]decisionHelp{
	protocol.CommandStart: {"Start the league now, or at a set time",
		`Start the league with the agents that have answered, now or at --at; it needs two players and a referee. A
later start command replaces the time.`,
		[]string{"Start now", "evenodd league start",
			"Start at a time", "evenodd league start --at 2026-09-01T10:00:00Z"}},
	protocol.CommandPause: {"Pause the league: running matches finish, no round begins",
		"Pause the league. Running matches finish; no round and no rematch begins until 'evenodd league " +
			"resume', also after a restart.",
		[]string{"Pause before the next round", "evenodd league pause --reason lunch"}},
	protocol.CommandResume: {"End the pause of the league", "End the pause of the league. The next round begins at once.",
		[]string{"Go on", "evenodd league resume"}},
	protocol.CommandSuspend: {"Suspend an agent until it is readmitted",
		"Suspend an agent. It gets nothing to do until 'evenodd league readmit', also if it answers. A player " +
			"forfeits its matches meanwhile, and these forfeits stand.",
		[]string{"Suspend a player", "evenodd league suspend 'Team 3' --reason 'it floods the referee'"}},
	protocol.CommandReadmit: {"End the suspension or the shutdown of an agent",
		"End the suspension or the shutdown of an agent, whether an organiser or its failures caused it. Its " +
			"failures start at 0.",
		[]string{"Let a player play again", "evenodd league readmit 'Team 3'"}},
	protocol.CommandWithdraw: {"Withdraw an agent for good",
		`Withdraw an agent for good. A player of a round-robin that has played fewer than half of its matches loses its
results; any other player forfeits its remaining matches. Before the start the registration ends.`,
		[]string{"Withdraw a player", "evenodd league withdraw 'Team 3' --reason 'left the course'"}},
	protocol.CommandRematch: {"Play a match again between two rounds",
		"Annul the result of a match, and play it again as its next attempt between two rounds. Until then " +
			"the result counts.",
		[]string{"Play a match again", "evenodd league rematch 'Team 1' 'Team 3' 1 --reason 'the referee crashed'"}},
	protocol.CommandRule: {"Decide the result of a match",
		"Decide the result of a match. --winner is a player of it, draw, or none: then both players lose. " +
			"The result replaces any other, and ends the match if it is running.",
		[]string{"Let a player win", "evenodd league rule R1M2 --winner 'Team 3' --reason 'Team 1 sent no choice'",
			"Let both players lose", "evenodd league rule R1M2 --winner none --reason 'both cheated'"}},
}

// newDecision makes a command that makes a decision.
func newDecision(o *leagueCommand, row protocol.Command) *cobra.Command {
	q, help := &protocol.OrganiseRequest{Command: row.Name}, decisionHelps[row.Name]
	c := &cobra.Command{
		Use: row.Name, Short: help.short, Long: help.long, Example: examples(help.examples...),
		RunE: func(c *cobra.Command, args []string) error {
			if err := o.order(row, q, args); err != nil {
				return err
			}
			return o.decide(c.Context(), q)
		},
	}
	switch row.Of {
	case protocol.OfAgent:
		c.Use, c.Args, c.ValidArgsFunction = c.Use+" AGENT", cobra.ExactArgs(1), agentArgument
	case protocol.OfMatch:
		c.Use, c.Args, c.ValidArgsFunction = c.Use+matchUse, oneMatch, matchArguments
	}
	why := "the reason, for the record"
	if row.Reasoned {
		why += " (required)"
	}
	c.Flags().StringVar(&q.Reason, "reason", "", why)
	switch row.Name {
	case protocol.CommandStart:
		c.Flags().StringVar(&q.StartAt, "at", "", "start at this `time`, such as 2026-09-01T10:00:00Z (RFC 3339)")
	case protocol.CommandRule:
		c.Flags().StringVar(&q.Winner, "winner", "", "the `player` that wins, by its id or its name, or draw, or none "+
			"(required)")
		completeAgent(c, "winner", protocol.RolePlayer, protocol.WinnerDraw, protocol.WinnerNone)
	}
	return c
}

// order completes the request of a command, and checks what needs no manager.
func (o *leagueCommand) order(row protocol.Command, q *protocol.OrganiseRequest, args []string) error {
	q.By, q.Reason = cmp.Or(o.by, loginName()), strings.TrimSpace(q.Reason)
	switch row.Of {
	case protocol.OfAgent:
		q.AgentID = args[0]
	case protocol.OfMatch:
		q.MatchID = matchText(args)
		if err := journal.CheckMatch(q.MatchID); err != nil {
			return asUsage(err)
		}
	}
	switch {
	case row.Reasoned && q.Reason == "":
		return usage("%s needs --reason: the record must tell why", row.Name)
	case row.Name == protocol.CommandRule && q.Winner == "":
		return usage("rule needs --winner: a player, draw, or none if both players lose")
	}
	at, err := readTime("at", q.StartAt)
	if err != nil {
		return err
	}
	q.StartAt = protocol.OptionalTimestamp(at)
	if err := (journal.Decision{By: q.By, Reason: q.Reason}).CheckText(); err != nil {
		return usage("--%v", err)
	}
	return nil
}

// matchUse is how the arguments of a command name a match: by its id, or by two players and a round.
const matchUse = " MATCH | PLAYER OPPONENT ROUND"

// oneMatch checks that the arguments have the form of matchUse.
func oneMatch(_ *cobra.Command, args []string) error {
	if len(args) == 1 || len(args) == 3 {
		return nil
	}
	return usage("%s: name a match by its id, such as R1M1, or by two players and a round: Alice Bob 1",
		words.Counted(len(args), "argument"))
}

// matchText is the match of arguments in the form of matchUse, as journal.State.FindMatch reads it.
func matchText(args []string) string {
	if len(args) == 3 {
		return journal.MatchOfPlayers(args[0], args[1], args[2])
	}
	return args[0]
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
func (o *leagueCommand) decide(ctx context.Context, q *protocol.OrganiseRequest) error {
	m, err := o.connect(ctx)
	if err != nil {
		return err
	}
	defer m.Close()
	q.LeagueID = m.leagueID
	made, err := patiently(ctx, m, func() (*protocol.Organised, error) {
		q.Envelope = m.envelope("")
		return protocol.OrganiseLeague.Call(ctx, m.caller, protocol.Peer{Endpoint: m.url}, q)
	})
	if err != nil {
		return fmt.Errorf("%s was not done: %w", q.Command, err)
	}
	return show(o.out, o.format, struct {
		head

		Status  string `json:"status"`
		Command string `json:"command"`
		Event   int    `json:"event"`
		At      string `json:"at"`
		About   string `json:"about"`
	}{headOf(m.leagueID), made.Status, made.Command, made.Event, made.At, made.About}, func(w io.Writer) error {
		return printLine(w, "%s", localTimes(made.About))
	})
}
