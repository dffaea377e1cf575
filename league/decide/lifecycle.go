package decide

import (
	"cmp"
	"fmt"
	"strings"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/protocol"
)

// Suspension decides about an agent between two rounds, by its failures in a row (spec
// 003 §2.8). It returns an AgentSuspended or AgentShutdown event; nil for neither. While
// a round is open it must not be asked: matches of a round end in any order.
func Suspension(s *journal.State, id string) journal.Data {
	a := s.Agents[id]
	switch suspend, shutdown := s.ExceedsLimits(a); {
	case shutdown:
		return &journal.AgentShutdown{AgentID: id, Reason: failuresOf(a)}
	case suspend:
		return &journal.AgentSuspended{AgentID: id, Reason: failuresOf(a)}
	}
	return nil
}

// failuresOf describes an agent's failures in a row.
func failuresOf(a *journal.Agent) string {
	switch {
	case !a.Player && a.Failures == 1:
		return "failed with the last match it was handed"
	case !a.Player:
		return fmt.Sprintf("failed %d times in a row with matches it was handed", a.Failures)
	case a.Failures == 1:
		return "did not answer in its last match"
	case a.SuspendReason != "": // in some of them nobody asked it
		return fmt.Sprintf("missed its last %d matches", a.Failures)
	}
	return fmt.Sprintf("did not answer in its last %d matches", a.Failures)
}

// Revival ends the suspension of an agent that answers again; nil if it is not
// suspended, or cannot return.
func Revival(s *journal.State, id string) *journal.AgentReturned {
	a := s.Agents[id]
	if a.SuspendReason == "" || a.PartOver() != "" || s.Completed != nil {
		return nil
	}
	return &journal.AgentReturned{AgentID: id, Endpoint: a.Endpoint, Generation: a.Generation, Reason: "it answers again"}
}

// RefereeFailure records that a referee failed with its last attempt at a match. The
// failure counts when the round is over. Nil if it does not count: the match has a result, the
// referee is suspended, or has failed often enough in this round to be suspended.
func RefereeFailure(s *journal.State, id league.MatchID, refereeID, reason string) *journal.AgentFailed {
	recorded, _, _, _ := s.Find(id)
	a := s.Agents[refereeID]
	most := cmp.Or(s.Created.SuspendAfter, journal.DefaultSuspendAfter)
	if shutdown := s.Created.ShutdownAfter; shutdown > 0 {
		most = min(most, max(shutdown-1, 1)) // one bad round does not shut down a referee
	}
	if a.Inactive() || recorded.Report != nil || a.RoundFailures >= most {
		return nil
	}
	at := league.Attempt{MatchID: id, Number: recorded.LastAttempt(refereeID)}
	return &journal.AgentFailed{AgentID: refereeID, Attempt: at, Reason: reason}
}

// Forfeit ends a match of an announced round of which a player is suspended, shut down or
// withdrawn: that player loses, and the other wins by default. Nil if both are present, or
// the match has a result.
func Forfeit(s *journal.State, id league.MatchID) (*journal.MatchForfeited, error) {
	recorded, idA, idB, _ := s.Find(id)
	absent := s.InactivePlayers(idA, idB)
	if len(absent) == 0 || recorded.Report != nil {
		return nil, nil //nolint:nilnil // nobody forfeits it
	}
	f := &journal.MatchForfeited{MatchID: id, Players: absent}
	f.Status = league.StatusTechnicalLoss
	f.Choices = league.Both(idA, (*string)(nil), idB, (*string)(nil))
	var why []string
	for _, id := range absent {
		a := s.Agents[id]
		if a.Held == nil && a.Withdrawn == nil {
			f.Faults = append(f.Faults, league.Member[string]{Name: id, Value: cmp.Or(a.LastFault, string(protocol.ErrTimeout))})
		}
		switch {
		case a.Withdrawn != nil:
			why = append(why, id+" was withdrawn by "+a.Withdrawn.By)
		case a.Held != nil:
			why = append(why, id+" is suspended by "+a.Held.By)
		case a.ShutdownReason != "":
			why = append(why, id+" was shut down: it "+a.ShutdownReason)
		default:
			why = append(why, id+" is suspended: it "+a.SuspendReason)
		}
	}
	f.Reason = strings.Join(why, "; ") + " - both lose"
	if f.WinnerPlayerID = journal.ForfeitWinner(idA, idB, absent); f.WinnerPlayerID != nil {
		f.Reason = why[0] + " - " + *f.WinnerPlayerID + " wins by default"
	}
	score, err := s.Score(&journal.MatchReported{Attempt: league.Attempt{MatchID: id}, Result: f.Result})
	f.Score = score[:]
	return f, err
}
