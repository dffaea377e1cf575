package report

import (
	"fmt"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/view/record"
)

// A collector keeps of the events what the state of the league does not have.
type collector struct {
	league   League // its times
	history  map[string][]HistoryEntry
	endpoint map[string]string
	draws    map[league.Attempt]*protocol.Draw
	failures []record.Fault // of referees
	declined map[string]int // matches, by referee
}

func newCollector() *collector {
	return &collector{
		history: map[string][]HistoryEntry{}, endpoint: map[string]string{},
		draws: map[league.Attempt]*protocol.Draw{}, declined: map[string]int{},
	}
}

// add keeps what an event tells.
func (c *collector) add(e *journal.Event) {
	switch d := e.Data.(type) {
	case *journal.Created:
		c.league.CreatedAt = e.At
	case *journal.Started:
		c.league.StartedAt = e.At
	case *journal.LeagueCompleted:
		c.league.CompletedAt = e.At
	case *journal.MatchReported:
		if d.Draw != nil {
			c.draws[d.Attempt] = d.Draw
		}
	case *journal.MatchDeclined:
		c.declined[d.RefereeID]++
	case *journal.AgentFailed:
		c.fail(e, kindAttempt, d.AgentID, d.Attempt, protocol.StartMatch.Name, "", d.Reason)
	case *journal.AttemptLost:
		c.fail(e, kindRejected, d.RefereeID, d.Attempt, protocol.ReportMatchResult.Name, "", d.Reason)
	case *journal.MatchDisputed:
		c.fail(e, kindDispute, d.RefereeID, d.Attempt, protocol.ReportMatchResult.Name, protocol.ErrDuplicateReport,
			"reported another result: "+d.Reason)
	default:
		c.addAgentEvent(e)
	}
}

// fail keeps the failure of a referee.
func (c *collector) fail(e *journal.Event, kind, refereeID string, at league.Attempt, method string,
	code protocol.Code, reason string) {
	c.failures = append(c.failures, record.Fault{
		Kind: kind, AgentID: refereeID, MatchID: at.MatchID.String(), Attempt: at.Number, At: e.At, Method: method, Code: string(code),
		Problem: reason,
	})
}

// addAgentEvent keeps an event of the life of an agent.
func (c *collector) addAgentEvent(e *journal.Event) {
	tell := func(id, format string, args ...any) {
		c.history[id] = append(c.history[id], HistoryEntry{e.Seq, e.At, record.Public(fmt.Sprintf(format, args...))})
	}
	switch d := e.Data.(type) {
	case *journal.AgentRegistered:
		c.endpoint[d.AgentID] = d.Endpoint
		tell(d.AgentID, "registered as %s", d.DisplayName)
	case *journal.AgentAnswered:
		tell(d.AgentID, "answered for the first time")
	case *journal.RegistrationDropped:
		tell(d.AgentID, "lost its registration: %s", d.Reason)
	case *journal.AgentReturned:
		text := "showed its token or its registration code again"
		if d.Reason != "" {
			text = "returned: " + d.Reason
		}
		if d.Endpoint != c.endpoint[d.AgentID] {
			text += ", at another endpoint"
		}
		if d.PublicKey != "" {
			text += ", with a new public key"
		}
		c.endpoint[d.AgentID] = d.Endpoint
		tell(d.AgentID, "%s", text)
	case *journal.AgentSuspended:
		tell(d.AgentID, "was suspended: it %s", d.Reason)
	case *journal.AgentShutdown:
		tell(d.AgentID, "was shut down: it %s", d.Reason)
	case *journal.AgentInformed:
		tell(d.AgentID, "knows that the league is over")
	case *journal.Decided:
		if d.AgentID != "" {
			tell(d.AgentID, "%s", d.About())
		}
	}
}
