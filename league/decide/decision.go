package decide

import (
	"errors"
	"fmt"

	"evenodd/league/journal"
	"evenodd/league/protocol"
)

// A Command is what an organiser orders.
type Command struct {
	Name    string // protocol.CommandPause or a later one
	By      string // the author
	Reason  string // "" for none
	AgentID string // of suspend, readmit and withdraw
	MatchID string // of rematch and rule
	Winner  string // of rule: the id of a player, protocol.WinnerDraw or protocol.WinnerNone
}

// Decision returns the event of an organiser's command. The error, a *protocol.Error, tells
// why the command is not possible now.
func Decision(s *journal.State, c Command) (journal.DecisionEvent, error) {
	makers := map[string]func(*journal.State, Command) (journal.DecisionEvent, error){
		protocol.CommandPause: pause, protocol.CommandResume: resume, protocol.CommandSuspend: suspend, protocol.CommandReadmit: readmit,
		protocol.CommandWithdraw: withdraw, protocol.CommandRematch: rematch, protocol.CommandRule: rule,
	}
	makes := makers[c.Name]
	if makes == nil {
		return nil, protocol.Fault(protocol.ErrInvalidFieldType, "command %.40q: want pause, resume, suspend, readmit, withdraw, rematch or rule", c.Name)
	}
	if err := c.decision().CheckText(); err != nil {
		return nil, protocol.Fault(protocol.ErrInvalidFieldType, "%v", err)
	}
	if s.Completed != nil {
		return nil, protocol.Fault(protocol.ErrLeagueComplete, "the league is completed: its results are final, and %s is not possible any more", c.Name)
	}
	d, err := makes(s, c)
	if err == nil {
		err = s.Check(d)
	}
	if err == nil {
		return d, nil
	}
	if fault, ok := errors.AsType[*protocol.Error](err); ok {
		return nil, fault
	}
	return nil, protocol.Fault(protocol.ErrInvalidMatchState, "%v", err)
}

// Reopen returns the event with which the first ordered rematch begins, and its match; nil
// if none is ordered.
func Reopen(s *journal.State) *journal.MatchReopened {
	for _, id := range s.Rematches {
		if m := s.Match(id); m.RematchOrdered != nil {
			return &journal.MatchReopened{Decision: m.RematchOrdered.Decision, MatchID: id}
		}
	}
	return nil
}

func (c *Command) decision() journal.Decision {
	return journal.Decision{By: c.By, Reason: c.Reason}
}

func pause(_ *journal.State, c Command) (journal.DecisionEvent, error) {
	return &journal.Paused{Decision: c.decision()}, nil
}

func resume(_ *journal.State, c Command) (journal.DecisionEvent, error) {
	return &journal.Unpaused{Decision: c.decision()}, nil
}

func suspend(s *journal.State, c Command) (journal.DecisionEvent, error) {
	_, err := agentOf(s, c)
	return &journal.AgentHeld{Decision: c.decision(), AgentID: c.AgentID}, err
}

func readmit(s *journal.State, c Command) (journal.DecisionEvent, error) {
	_, err := agentOf(s, c)
	return &journal.AgentReadmitted{Decision: c.decision(), AgentID: c.AgentID}, err
}

func withdraw(s *journal.State, c Command) (journal.DecisionEvent, error) {
	a, err := agentOf(s, c)
	if err != nil {
		return nil, err
	}
	return &journal.AgentWithdrawn{Decision: c.decision(), AgentID: c.AgentID, Annulled: s.Annuls(a)}, nil
}

func rematch(s *journal.State, c Command) (journal.DecisionEvent, error) {
	id, _, err := matchOf(s, c)
	return &journal.RematchOrdered{Decision: c.decision(), MatchID: id}, err
}

func rule(s *journal.State, c Command) (journal.DecisionEvent, error) {
	id, players, err := matchOf(s, c)
	if err != nil {
		return nil, err
	}
	d := &journal.MatchRuled{Decision: c.decision(), MatchID: id}
	switch c.Winner {
	case players[0], players[1]:
		d.Status, d.WinnerPlayerID = protocol.StatusWin, &c.Winner
	case protocol.WinnerDraw:
		d.Status = protocol.StatusDraw
	case protocol.WinnerNone:
		d.Status = protocol.StatusTechnicalLoss
	default:
		return nil, protocol.Fault(protocol.ErrInvalidFieldType, "winner %.40q: want %s or %s, the players of %s, or %s, or %s",
			c.Winner, players[0], players[1], id, protocol.WinnerDraw, protocol.WinnerNone)
	}
	report := &journal.MatchReported{Attempt: protocol.Attempt{MatchID: id}}
	report.Status, report.WinnerPlayerID = d.Status, d.WinnerPlayerID
	score, err := s.Score(report)
	d.Score = score[:]
	return d, err
}

// agentOf is the agent of a command.
func agentOf(s *journal.State, c Command) (*journal.Agent, error) {
	a := s.Agents[c.AgentID]
	if a != nil {
		return a, nil
	}
	if s.Dropped[c.AgentID] {
		return nil, protocol.Fault(protocol.ErrPlayerNotRegistered, "agent %s lost its registration before the start", c.AgentID)
	}
	return nil, protocol.Fault(protocol.ErrPlayerNotRegistered, "agent %.40q is not registered in this league: want an id such as %s or %s",
		c.AgentID, protocol.PlayerID(1), protocol.RefereeID(1))
}

// matchOf is the match of a command with its players.
func matchOf(s *journal.State, c Command) (id protocol.MatchID, players [2]string, err error) {
	id, ok := protocol.ParseMatchID(c.MatchID)
	switch {
	case !ok:
		return id, players, protocol.Fault(protocol.ErrInvalidFieldType, "match_id %.40q: want an id such as R1M2", c.MatchID)
	case s.Started == nil:
		return id, players, protocol.Fault(protocol.ErrLeagueNotStarted, "the league has not started: there is no match %s yet", id)
	}
	_, players[0], players[1], ok = s.Find(id)
	switch {
	case ok:
		return id, players, nil
	case id.Round > s.Round && id.Round <= s.TotalRounds():
		err = fmt.Errorf("round %d has not begun", id.Round)
	case id.Round > s.Round || id.Round < 1:
		err = fmt.Errorf("the league has %d rounds", s.TotalRounds())
	default:
		err = fmt.Errorf("round %d has %d matches", id.Round, len(s.Pairings(id.Round)))
	}
	return id, players, protocol.Fault(protocol.ErrMatchNotFound, "match %s is not known: %v", id, err)
}
