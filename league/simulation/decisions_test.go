package simulation_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/league/simulation"
	"evenodd/league/simulation/leaguetest"
	"evenodd/transport"
)

// A decision is a command that an organiser of a random league sends at a moment that does not depend on the order of
// goroutines, so that the league follows from its seed.
type decision struct {
	// Round is the one before which it comes. 0: it comes before the first delivery of a message about a match.
	Round   int    `json:"round,omitzero"`
	Message string `json:"message,omitzero"` // a match and a method, such as R2M1/report_match_result
	Command string `json:"command"`
	AgentID string `json:"agent_id,omitzero"`
	MatchID string `json:"match_id,omitzero"`
	Winner  string `json:"winner,omitzero"`
}

// pauseOfDecision is the virtual time from pause to resume.
const pauseOfDecision = 10 * time.Millisecond

// drawDecisions draws the decisions of an organiser for every third league.
func (l *randomLeague) drawDecisions(r *rand.Rand) {
	if r.IntN(3) > 0 {
		return
	}
	rounds := l.rounds()
	match := func(round int) string { return fmt.Sprintf("R%dM%d", round, 1+r.IntN(max(l.Players/2, 1))) }
	player := func() string { return league.PlayerID(1 + r.IntN(l.Players)) }
	for range 1 + r.IntN(3) {
		round := 1 + r.IntN(rounds)
		d := decision{Round: round, MatchID: match(max(round-1-r.IntN(2), 1))}
		d.Command = []string{
			protocol.CommandRematch, protocol.CommandRematch, protocol.CommandRule, protocol.CommandRule,
			protocol.CommandWithdraw, protocol.CommandSuspend, protocol.CommandReadmit, protocol.CommandPause,
		}[r.IntN(8)]
		switch d.Command {
		case protocol.CommandRematch, protocol.CommandRule:
			if r.IntN(2) == 0 {
				running := match(round)
				d.Round, d.Message = 0, running+"/"+[]string{
					protocol.Invite.Name, protocol.NotifyMatchResult.Name, protocol.ReportMatchResult.Name,
				}[r.IntN(3)]
				if d.Command == protocol.CommandRule {
					d.MatchID = running
				}
			}
			if d.Command == protocol.CommandRule {
				d.Winner = []string{player(), player(), protocol.WinnerDraw, protocol.WinnerNone}[r.IntN(4)]
			}
		case protocol.CommandPause:
			d.MatchID = ""
		default:
			d.MatchID, d.AgentID = "", player()
		}
		l.Decisions = append(l.Decisions, d)
	}
}

// A decider is the organiser of a random league.
type decider struct {
	leagueID, token string
	decisions       []decision

	mu      sync.Mutex
	caller  protocol.Caller
	begun   int                         // the last round before which it decided
	decided map[int]bool                // by index of decisions
	made    map[int]*protocol.Organised // those that the manager confirmed
	pauses  int
}

func newDecider(o *simulation.Options, decisions []decision, secret [32]byte) *decider {
	return &decider{
		leagueID: o.LeagueID, token: protocol.AdminToken(protocol.ManagerKeysOf(secret).Admin, o.LeagueID),
		decisions: decisions, decided: map[int]bool{}, made: map[int]*protocol.Organised{},
	}
}

// roundBegins sends the decisions that come before a round.
func (d *decider) roundBegins(round int) {
	d.mu.Lock()
	caller, again := d.caller, round <= d.begun
	d.begun = max(d.begun, round)
	d.mu.Unlock()
	if !again {
		d.decide(caller, func(c *decision) bool { return c.Round == round })
	}
}

// seen sends the decisions that come before a message.
func (d *decider) seen(caller protocol.Caller, r transport.Request) {
	d.mu.Lock()
	d.caller = caller
	d.mu.Unlock()
	matchID := ""
	switch q := r.Params.(type) {
	case *protocol.GameInvitation:
		matchID = q.MatchID
	case *protocol.GameOver:
		matchID = q.MatchID
	case *protocol.MatchResultReport:
		matchID = q.MatchID
	default:
		return
	}
	d.decide(caller, func(c *decision) bool { return c.Message == matchID+"/"+r.Method })
}

// decide sends the decisions that are due, each once.
func (d *decider) decide(caller protocol.Caller, due func(*decision) bool) {
	for i := range d.decisions {
		c := &d.decisions[i]
		d.mu.Lock()
		send := due(c) && !d.decided[i]
		d.decided[i] = d.decided[i] || send
		d.mu.Unlock()
		if !send {
			continue
		}
		done, err := d.send(caller, c.Command, fmt.Sprintf("decision %d", i+1), func(q *protocol.OrganiseRequest) {
			q.AgentID, q.MatchID, q.Winner = c.AgentID, c.MatchID, c.Winner
		})
		if err != nil {
			continue // it is not possible at this moment
		}
		d.mu.Lock()
		d.made[i] = done
		d.mu.Unlock()
		if c.Command == protocol.CommandPause {
			go func() {
				time.Sleep(pauseOfDecision)
				_, _ = d.send(caller, protocol.CommandResume, "", nil)
			}()
		}
	}
}

// send sends a command to the manager.
func (d *decider) send(caller protocol.Caller, command, reason string, change leaguetest.Command) (*protocol.Organised, error) {
	q := &protocol.OrganiseRequest{LeagueID: d.leagueID, Command: command, By: "A. Smith", Reason: reason}
	q.AuthToken = d.token
	if change != nil {
		change(q)
	}
	return protocol.OrganiseLeague.Call(context.Background(), caller, protocol.Peer{Endpoint: simulation.Memory + "://manager/mcp"}, q)
}

// withdrew tells whether the organiser withdrew a player.
func (d *decider) withdrew() bool {
	for i := range d.made {
		if d.decisions[i].Command == protocol.CommandWithdraw {
			return true
		}
	}
	return false
}

// kinds are the commands that the manager confirmed, with the moment.
func (d *decider) kinds() (kinds []string) {
	for i := range d.made {
		c := &d.decisions[i]
		kind := c.Command + " before a round"
		if _, method, during := strings.Cut(c.Message, "/"); during {
			kind = c.Command + " before " + method
		}
		kinds = append(kinds, kind)
	}
	slices.Sort(kinds)
	return kinds
}
