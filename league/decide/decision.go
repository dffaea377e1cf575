package decide

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/lists"
	"evenodd/league/protocol"
)

// Decision returns the event of an organiser's command, whose envelope is not looked at. The
// error, a *protocol.Error, tells why the command is not possible now.
func Decision(s *journal.State, q *protocol.OrganiseRequest) (*journal.Decided, error) {
	row := slices.IndexFunc(protocol.Commands[:], func(c protocol.Command) bool { return c.Name == q.Command })
	if row < 0 {
		names := lists.Map(protocol.Commands[:], func(c protocol.Command) string { return c.Name })
		return nil, protocol.Fault(protocol.ErrInvalidFieldType, "command %.40q: want one of %s", q.Command,
			strings.Join(names, ", "))
	}
	d := &journal.Decided{Command: q.Command, Decision: journal.Decision{By: q.By, Reason: q.Reason}}
	if err := d.CheckText(); err != nil {
		return nil, protocol.Fault(protocol.ErrInvalidFieldType, "%v", err)
	}
	if s.Completed != nil {
		return nil, protocol.Fault(protocol.ErrLeagueComplete,
			"the league is completed: its results are final, and %s is not possible any more", q.Command)
	}
	if err := complete(s, d, q, protocol.Commands[row].Of); err != nil {
		return nil, err
	}
	switch err := s.Check(d); {
	case errors.Is(err, journal.ErrWinner):
		return nil, protocol.Fault(protocol.ErrInvalidFieldType, "%v", err)
	case err != nil:
		return nil, protocol.Fault(protocol.ErrInvalidMatchState, "%v", err)
	}
	return d, nil
}

// complete adds the members of a command to its event.
func complete(s *journal.State, d *journal.Decided, q *protocol.OrganiseRequest,
	of protocol.CommandObject) (err error) {
	switch of {
	case protocol.OfAgent:
		if d.AgentID, err = s.FindAgent(q.AgentID); err != nil {
			err = protocol.Fault(protocol.ErrPlayerNotRegistered, "%v", err)
		}
	case protocol.OfMatch:
		d.MatchID, err = matchOf(s, q.MatchID)
	}
	if err != nil {
		return err
	}
	switch q.Command {
	case protocol.CommandStart:
		return planStart(s, d, q.StartAt)
	case protocol.CommandWithdraw:
		d.Annulled = s.Annuls(d.AgentID)
	case protocol.CommandRule:
		d.Winner = winnerOf(s, d.MatchID, q.Winner)
	}
	return nil
}

// winnerOf is the winner that an organiser names, with the id of a player in place of its name.
func winnerOf(s *journal.State, match league.MatchID, winner string) string {
	if winner == protocol.WinnerDraw || winner == protocol.WinnerNone {
		return winner
	}
	_, idA, idB, _ := s.Find(match)
	if id, err := s.FindPlayer(winner, idA, idB); err == nil {
		return id
	}
	return winner // the check of the ruling names the players
}

// planStart adds the time of the start to a decision.
func planStart(s *journal.State, d *journal.Decided, text string) error {
	at, err := time.Parse(time.RFC3339, text)
	switch {
	case err != nil:
		return protocol.Fault(protocol.ErrInvalidTimestamp, "start_at %.40q: want a time such as 2026-09-01T10:00:00Z", text)
	case s.Started != nil:
		return protocol.Fault(protocol.ErrLateRegistration, "the league has started: its start cannot be planned again")
	}
	d.StartAt = protocol.FormatTimestamp(at)
	return nil
}

// Reopen returns the event with which the first ordered rematch begins; nil if none is
// ordered.
func Reopen(s *journal.State) *journal.Decided {
	for _, id := range s.Rematches {
		if m := s.Match(id); m.RematchOrdered != nil {
			return &journal.Decided{Command: journal.CommandReopen, Decision: m.RematchOrdered.Decision, MatchID: id}
		}
	}
	return nil
}

// matchOf finds the match of a command.
func matchOf(s *journal.State, name string) (id league.MatchID, err error) {
	if s.Started == nil {
		return id, protocol.Fault(protocol.ErrLeagueNotStarted, "the league has not started: it has no match %.40q yet", name)
	}
	if id, err = s.FindMatch(name); err != nil {
		return id, protocol.Fault(protocol.ErrInvalidFieldType, "match_id: %v", err)
	}
	_, _, _, ok := s.Find(id)
	switch {
	case ok:
		return id, nil
	case id.Round > s.Round && id.Round <= s.TotalRounds():
		err = fmt.Errorf("round %d has not begun", id.Round)
	case id.Round > s.Round || id.Round < 1:
		err = fmt.Errorf("the league has %d rounds", s.TotalRounds())
	default:
		err = fmt.Errorf("round %d has %d matches", id.Round, len(s.Pairings(id.Round)))
	}
	return id, protocol.Fault(protocol.ErrMatchNotFound, "match %s is not known: %v", id, err)
}
