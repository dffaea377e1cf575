package report

import (
	"fmt"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/view/record"
)

// add keeps what an event tells.
func (b *builder) add(e *journal.Event) {
	switch d := e.Data.(type) {
	case *journal.Created:
		b.League.CreatedAt = e.At
	case *journal.Started:
		b.League.StartedAt = e.At
	case *journal.LeagueCompleted:
		b.League.CompletedAt = e.At
	case *journal.MatchReported:
		if d.Draw != nil {
			b.draws[d.Attempt] = d.Draw
		}
	case *journal.MatchDeclined:
		b.declined[d.RefereeID]++
	case *journal.AgentFailed:
		b.fail(e, kindAttempt, d.AgentID, d.Attempt, protocol.StartMatch.Name, "", d.Reason)
	case *journal.AttemptLost:
		b.fail(e, kindRejected, d.RefereeID, d.Attempt, protocol.ReportMatchResult.Name, "", d.Reason)
	case *journal.MatchDisputed:
		b.fail(e, kindDispute, d.RefereeID, d.Attempt, protocol.ReportMatchResult.Name, protocol.ErrDuplicateReport,
			"reported another result: "+d.Reason)
	default:
		b.addAgentEvent(e)
	}
}

// fail keeps the failure of a referee.
func (b *builder) fail(e *journal.Event, kind, refereeID string, at league.Attempt, method string,
	code protocol.Code, reason string) {
	b.failures = append(b.failures, record.Fault{
		Kind: kind, AgentID: refereeID, MatchID: at.MatchID.String(), Attempt: at.Number, At: e.At, Method: method, Code: string(code),
		Problem: reason,
	})
}

// addAgentEvent keeps an event of the life of an agent.
func (b *builder) addAgentEvent(e *journal.Event) {
	tell := func(id, format string, args ...any) {
		b.history[id] = append(b.history[id], HistoryEntry{e.Seq, e.At, record.Public(fmt.Sprintf(format, args...))})
	}
	switch d := e.Data.(type) {
	case *journal.AgentRegistered:
		b.endpoint[d.AgentID] = d.Endpoint
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
		if d.Endpoint != b.endpoint[d.AgentID] {
			text += ", at another endpoint"
		}
		if d.PublicKey != "" {
			text += ", with a new public key"
		}
		b.endpoint[d.AgentID] = d.Endpoint
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
