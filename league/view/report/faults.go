package report

import (
	"cmp"
	"fmt"
	"slices"

	"evenodd/league"
	"evenodd/league/inspect/check"
	"evenodd/league/journal"
	"evenodd/league/lists"
	"evenodd/league/protocol"
	"evenodd/league/view/record"
)

// The kinds of faults.
const (
	kindAnswer   = "answer"          // a player gave no answer in time, or one that does not count
	kindNotice   = "notice"          // a player did not acknowledge a notice
	kindRefusal  = "refusal"         // a player refused an invitation
	kindForfeit  = "forfeit"         // a player was suspended, shut down or withdrawn
	kindLocal    = "local"           // a try is void, because of the machine or the network of the referee
	kindAttempt  = "attempt"         // a referee failed with a match
	kindRejected = "rejected_report" // the manager rejected a report
	kindDispute  = "dispute"         // a referee reported another result later
)

// A FaultGroup is a fault of an agent with all its occurrences.
type FaultGroup struct {
	AgentID     string         `json:"agent_id"`
	Kind        string         `json:"kind"`
	Code        string         `json:"error_code,omitzero"`
	Name        string         `json:"error_name,omitzero"`
	Method      string         `json:"method,omitzero"`
	Problem     string         `json:"problem"`              // of the first occurrence, in words
	Cause       string         `json:"cause,omitzero"`       // in words that follow the name of the agent
	Meaning     string         `json:"meaning,omitzero"`     // of the cause, in words
	Requirement string         `json:"requirement,omitzero"` // of 'evenodd check'
	Expected    string         `json:"expected,omitzero"`    // its text
	Remedy      string         `json:"remedy,omitzero"`      // how to mend it
	Page        string         `json:"page,omitzero"`        // section of docs/protocol.md
	Count       int            `json:"count"`
	Lost        int            `json:"technical_losses"` // matches that the agent lost by it
	Occurrences []record.Fault `json:"occurrences"`      // the first ones
}

// mostOccurrences is the number of occurrences of a group in a report; a sheet has all.
const mostOccurrences = 20

// kindOf is the kind of a fault in a transcript.
func kindOf(f *record.Fault) string {
	switch {
	case f.Local:
		return kindLocal
	case f.OfNotice():
		return kindNotice
	case f.Code == "":
		return kindRefusal
	}
	return kindAnswer
}

// groups sorts faults into groups by agent and cause: agents in order, each with the most frequent first.
func groups(faults []record.Fault, most int, agents map[string]int) []FaultGroup {
	type key struct{ agent, kind, method, code, cause string }
	index, list := map[key]int{}, []FaultGroup{}
	for i := range faults {
		f := &faults[i]
		k := key{f.AgentID, f.Kind, f.Method, f.Code, ""}
		switch cause := f.Cause(); {
		case cause.Dead && ofPlayer(f.Kind):
			k = key{agent: f.AgentID, cause: "dead"} // referees stop calling such an agent, which tells nothing new
		case cause.Wire && ofPlayer(f.Kind):
			k = key{agent: f.AgentID, cause: cause.Words}
		}
		at, known := index[k]
		if !known {
			at = len(list)
			index[k] = at
			list = append(list, newGroup(f))
		}
		g := &list[at]
		g.Count++
		if g.Method != f.Method {
			g.Method = ""
		}
		if f.Lost {
			g.Lost++
		}
		if len(g.Occurrences) < most || most == 0 {
			g.Occurrences = append(g.Occurrences, *f)
		}
	}
	slices.SortStableFunc(list, func(a, b FaultGroup) int {
		return cmp.Or(agents[a.AgentID]-agents[b.AgentID], b.Lost-a.Lost, b.Count-a.Count)
	})
	return list
}

func newGroup(f *record.Fault) FaultGroup {
	g := FaultGroup{
		AgentID: f.AgentID, Kind: f.Kind, Code: f.Code, Name: protocol.Code(f.Code).Name(), Method: f.Method,
		Problem: f.Problem,
	}
	if f.Kind == kindLocal || f.Kind == kindForfeit {
		return g
	}
	cause := f.Cause()
	if !cause.Dead { // no answer breaks a requirement
		r := check.Remedy(f.Method, protocol.Code(f.Code), cause.Unreadable)
		g.Requirement, g.Expected, g.Remedy, g.Page = r.ID, r.Text, r.Hint, r.Page
	}
	if !ofPlayer(f.Kind) {
		return g
	}
	if g.Cause, g.Meaning = cause.Words, cause.Remedy; cause.Wire {
		g.Remedy, g.Meaning = cause.Remedy, ""
	}
	return g
}

// ofPlayer tells whether a fault is an answer of a player.
func ofPlayer(kind string) bool {
	return kind == kindAnswer || kind == kindNotice || kind == kindRefusal
}

// Reference names the requirement that the fault breaks, in parentheses; "" for none.
func (g *FaultGroup) Reference() string {
	if g.Requirement == "" {
		return ""
	}
	return fmt.Sprintf(" (%s, %s)", g.Requirement, g.Page)
}

// A Repeat is an occurrence of a fault with those that follow it in the same match and differ in nothing but the time.
type Repeat struct {
	First *record.Fault
	Count int
	Lost  bool // the match, by one of them
}

// Repeats are the occurrences, those that repeat each other once.
func (g *FaultGroup) Repeats() (list []Repeat) {
	for i := range g.Occurrences {
		f := &g.Occurrences[i]
		if last := len(list) - 1; last >= 0 && list[last].First.Same(f) {
			list[last].Count++
			list[last].Lost = list[last].Lost || f.Lost
			continue
		}
		list = append(list, Repeat{f, 1, f.Lost})
	}
	return list
}

// Where is the match with the try, or the number of tries.
func (r Repeat) Where() string {
	switch {
	case r.Count > 1:
		return fmt.Sprintf("%s, %d tries", r.First.MatchID, r.Count)
	case r.First.Try > 0:
		return fmt.Sprintf("%s, try %d", r.First.MatchID, r.First.Try)
	}
	return r.First.MatchID
}

// MatchIDs are the ids of the matches of the occurrences, each once, in order.
func (g *FaultGroup) MatchIDs() []string {
	return slices.Compact(lists.Map(g.Occurrences, func(f record.Fault) string { return f.MatchID }))
}

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
func (b *builder) fail(e *journal.Event, kind, refereeID string, attempt league.Attempt, method string,
	code protocol.Code, reason string) {
	b.failures = append(b.failures, record.Fault{
		Kind: kind, AgentID: refereeID, MatchID: attempt.MatchID.String(), Attempt: attempt.Number, At: e.At, Method: method,
		Code:    string(code),
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
