package simulation_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"evenodd/league"
	"evenodd/league/protocol"
	"evenodd/league/simulation"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/store"
	"evenodd/league/store/disk"
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

// rulesEarly tells whether the decision rules a match before its players have heard the result. The manager goes on with
// the next round at once, while the referee goes on with the match, so that the players hear its result sooner or later.
func (d *decision) rulesEarly() bool {
	_, method, during := strings.Cut(d.Message, "/")
	return during && d.Command == protocol.CommandRule && method != protocol.ReportMatchResult.Name
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
			if r.IntN(2) == 0 && (d.Command == protocol.CommandRule || round > 1) { // no match of the running round is over
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
	var certain []decision
	for i := range l.Decisions {
		if l.isCertain(i) {
			certain = append(certain, l.Decisions[i])
		}
	}
	l.Decisions = certain
}

// isCertain tells whether a decision comes at a moment that comes for sure. After a ruling, the manager does not wait for
// the end of the match, so that its later messages may be sent or not, and the league may be over before the next
// decision at the same moment.
func (l *randomLeague) isCertain(i int) bool {
	about, _, during := strings.Cut(l.Decisions[i].Message, "/")
	for k, other := range l.Decisions {
		ruled, _, _ := strings.Cut(other.Message, "/")
		if during && other.Command == protocol.CommandRule && ruled == about &&
			(other.Message != l.Decisions[i].Message || k < i) {
			return false
		}
	}
	return true
}

// A decider is the organiser of a random league.
type decider struct {
	leagueID  string
	decisions []decision
	over      context.Context // ends with the league
	end       func()
	pausing   sync.WaitGroup

	mu      sync.Mutex
	token   string
	caller  protocol.Caller             // of the last start of the league
	decided map[int]bool                // by index of decisions: it is sent
	settled map[int]bool                // the manager has answered, or has recorded it
	made    map[int]*protocol.Organised // those that the manager confirmed
	found   map[int]bool                // those that it recorded, and whose confirmation a crash has cut off
}

func newDecider(leagueID string, decisions []decision) *decider {
	d := &decider{leagueID: leagueID, decisions: decisions, decided: map[int]bool{}, settled: map[int]bool{},
		made: map[int]*protocol.Organised{}, found: map[int]bool{}}
	d.over, d.end = context.WithCancel(context.Background())
	return d
}

// close ends the pauses.
func (d *decider) close() {
	d.end()
	d.pausing.Wait()
}

// opened is called with the folder of the league at each start. A crash may have cut off the answer to a decision: it is
// sent again unless the journal has it. A disk that fails here ends the start, and the next one comes here again.
func (d *decider) opened(folder store.Folder) {
	secret, err := folder.Secret(d.leagueID, true)
	if err != nil {
		return
	}
	d.knows(secret)
	text, err := readAll(folder.Disk, folder.Journal(d.leagueID))
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range d.decided {
		if err == nil && !d.settled[i] {
			d.found[i] = bytes.Contains(text, fmt.Appendf(nil, "%q", d.reasonOf(i)))
			d.settled[i], d.decided[i] = d.found[i], d.found[i]
		}
	}
}

func readAll(d disk.Disk, path string) ([]byte, error) {
	f, err := d.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(f)
}

// knows gives the organiser its token.
func (d *decider) knows(secret [32]byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.token = protocol.AdminToken(protocol.ManagerKeysOf(secret).Admin, d.leagueID)
}

// roundBegins sends the decisions that come before a round.
func (d *decider) roundBegins(round int) {
	d.decide(func(c *decision) bool { return c.Round == round })
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
	d.decide(func(c *decision) bool {
		// a referee that has crashed before GAME_OVER may go on with its report
		before := r.Method == protocol.ReportMatchResult.Name && c.Message == matchID+"/"+protocol.NotifyMatchResult.Name
		return before || c.Message == matchID+"/"+r.Method
	})
}

// decide sends the decisions that are due, each once.
func (d *decider) decide(due func(*decision) bool) {
	for i := range d.decisions {
		c := &d.decisions[i]
		d.mu.Lock()
		send := due(c) && !d.decided[i]
		d.decided[i] = d.decided[i] || send
		d.mu.Unlock()
		if !send {
			continue
		}
		done, settled := d.send(c.Command, d.reasonOf(i), func(q *protocol.OrganiseRequest) {
			q.AgentID, q.MatchID, q.Winner = c.AgentID, c.MatchID, c.Winner
		})
		d.mu.Lock()
		if d.settled[i] = settled; done != nil {
			d.made[i] = done
		}
		d.mu.Unlock()
		if c.Command == protocol.CommandPause && (done != nil || !settled) {
			d.pausing.Go(d.resume)
		}
	}
}

// resume ends a pause.
func (d *decider) resume() {
	settled := false
	for !settled && protocol.SystemClock().Sleep(d.over, pauseOfDecision) == nil {
		_, settled = d.send(protocol.CommandResume, "", nil)
	}
}

// reasonOf is the reason of a decision, by which the journal has it.
func (d *decider) reasonOf(i int) string { return fmt.Sprintf("decision %d", i+1) }

// send sends a command to the manager, and returns its confirmation. Settled tells that the manager has answered, also if
// the command is not possible now.
func (d *decider) send(command, reason string, change leaguetest.Command) (done *protocol.Organised, settled bool) {
	d.mu.Lock()
	q := &protocol.OrganiseRequest{LeagueID: d.leagueID, Command: command, By: "A. Smith", Reason: reason}
	q.AuthToken = d.token
	caller := d.caller
	d.mu.Unlock()
	if change != nil {
		change(q)
	}
	to := protocol.Peer{Endpoint: simulation.Memory + "://manager/mcp"}
	done, err := protocol.OrganiseLeague.Call(d.over, caller, to, q)
	e := protocol.AsError(err)
	return done, err == nil || e != nil && e.Remote && e.Code != ""
}

// acted tells whether the manager has recorded any decision.
func (d *decider) acted() bool { return d.has(func(*decision) bool { return true }) }

// withdrew tells whether the organiser withdrew a player.
func (d *decider) withdrew() bool {
	return d.has(func(c *decision) bool { return c.Command == protocol.CommandWithdraw })
}

// has tells whether the manager has recorded a decision of a kind.
func (d *decider) has(kind func(*decision) bool) bool {
	for i := range d.decisions {
		if (d.made[i] != nil || d.found[i]) && kind(&d.decisions[i]) {
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
