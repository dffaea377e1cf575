package page

import (
	"fmt"
	"html/template"
	"slices"
	"strings"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/view/record"
)

// The results are the view of the last results, or of those of one round.
type results struct {
	Title  string
	Rows   []result
	Hidden int // results of the round that the list leaves out
	Query  template.URL
}

// A result is a match with a result.
type result struct {
	Match        string // its id
	Round        int
	A, B         ref
	MarkA, MarkB mark
	Note         string // what the players chose, or why one lost technically
	At           string // when it was reported

	Ruled   *record.DecisionInForce // the ruling of an organiser; nil for none
	Rematch *record.DecisionInForce // the order of a rematch that has no result yet; nil for none
	Annuls  int                     // earlier results that no longer count
	Dispute bool                    // a referee has reported another result later, or a player denies this one
	Stated  bool                    // it rests on the word of its referee alone
}

// Score is the result as side A and side B see it: "1–0".
func (r *result) Score() string {
	switch {
	case r.MarkA == won:
		return "1–0"
	case r.MarkB == won:
		return "0–1"
	case r.MarkA == drawn:
		return "½–½"
	}
	return "0–0"
}

// Sentence is the result in words: "P01 won against P02 in R3M1".
func (r *result) Sentence() string {
	if r.MarkB == won && r.MarkA != technical {
		return fmt.Sprintf("%s %s %s in %s", r.B.ID, won.Verb(), r.A.ID, r.Match)
	}
	if r.MarkA == technical && r.MarkB == technical {
		return fmt.Sprintf("%s and %s both lost technically in %s", r.A.ID, r.B.ID, r.Match)
	}
	return fmt.Sprintf("%s %s %s in %s", r.A.ID, r.MarkA.Verb(), r.B.ID, r.Match)
}

// The number of results that a list has.
const (
	resultsNow     = 10
	resultsOfRound = 100
)

// results are the last results now, or those of the round of the moment.
func (m *moment) results() *results {
	if m.round != live {
		return m.resultsOf(m.round)
	}
	list := &results{Title: "Latest results", Rows: []result{}, Query: m.query()}
	type recent struct {
		event int
		id    league.MatchID
	}
	var found []recent
	for round := m.Round; round >= 1 && len(found) < resultsNow; round-- {
		for i := range m.Rounds[round-1].Pairings {
			id := league.MatchID{Round: round, Number: i + 1}
			if match := m.Match(id); match.Report != nil {
				found = append(found, recent{match.Event, id})
			}
		}
	}
	slices.SortFunc(found, func(a, b recent) int { return b.event - a.event })
	list.Rows = protocol.Each(found[:min(len(found), resultsNow)], func(r recent) result { return m.result(r.id) })
	return list
}

// resultsOf are the results of a round.
func (m *moment) resultsOf(round int) *results {
	list := &results{Title: fmt.Sprintf("Results of round %d", round), Rows: []result{}, Query: m.query()}
	if round == 0 {
		list.Title = "Results"
		return list
	}
	for i := range m.Rounds[round-1].Pairings {
		id := league.MatchID{Round: round, Number: i + 1}
		switch {
		case m.Match(id).Report == nil:
		case len(list.Rows) == resultsOfRound:
			list.Hidden++
		default:
			list.Rows = append(list.Rows, m.result(id))
		}
	}
	return list
}

// result describes a match with a result.
func (m *moment) result(id league.MatchID) result {
	match, idA, idB, _ := m.Find(id)
	r := result{
		Match: id.String(), Round: id.Round, A: m.agent(idA), B: m.agent(idB),
		MarkA: markOf(match.Report, idA), MarkB: markOf(match.Report, idB), At: match.ReportedAt,
		Ruled: record.InForce(match.Ruled), Rematch: record.InForce(match.RematchOrdered),
		Annuls: len(match.Annulled), Dispute: len(match.Disputed) > 0,
		Stated: match.Report.Grade == journal.GradeStated,
	}
	r.Note = strings.Join(append([]string{note(match, [2]string{idA, idB})}, m.KeyMarks(match, idA, idB)...), "; ")
	return r
}

// note tells in a few words how a match was decided: "even : odd, number 4", or
// "P02 did not answer in time".
func note(match *journal.Match, ids [2]string) string {
	report := match.Report
	switch {
	case match.Ruled != nil:
		return "ruled by the organiser"
	case len(match.Forfeited) > 0:
		return strings.Join(match.Forfeited, " and ") + " forfeited"
	case report.Status == league.StatusTechnicalLoss:
		if len(report.Faults) == 0 {
			return shown(report.Reason)
		}
		return strings.Join(protocol.Each(report.Faults, func(f league.Member[string]) string {
			return f.Name + " " + record.FailureInWords(f.Value)
		}), "; ")
	}
	moves := report.Result.Moves(ids)
	if moves[0] == "" || moves[1] == "" {
		return ""
	}
	text := shown(moves[0]) + " : " + shown(moves[1])
	if report.DrawnNumber != nil {
		text += fmt.Sprintf(", number %d", *report.DrawnNumber)
	}
	return text
}

// The running matches are the view of the matches that are played now or come next.
type running struct {
	Rows   []runningMatch
	Hidden int // matches that the list leaves out
}

// A runningMatch is a match without a result. Nothing here tells a choice.
type runningMatch struct {
	Match   string
	A, B    ref
	Referee ref
	Attempt int
	State   string // in words
	Since   string // when the attempt began; "" before
}

// runningShown is the number of running matches of the list.
const runningShown = 12

// running are the running matches: those that are played before those that wait.
func (m *moment) running() *running {
	list := &running{Rows: []runningMatch{}}
	if m.round != live {
		return list
	}
	var waiting []runningMatch
	for _, r := range m.Running() {
		one := runningMatch{Match: r.MatchID, A: m.agent(r.PlayerAID), B: m.agent(r.PlayerBID), Attempt: r.Attempt,
			Since: r.Since, State: m.stateOf(r.MatchID, r.Attempt)}
		if r.RefereeID != "" {
			one.Referee = m.agent(r.RefereeID)
		}
		if r.Attempt == 0 {
			waiting = append(waiting, one)
		} else {
			list.Rows = append(list.Rows, one)
		}
	}
	list.Rows = append(list.Rows, waiting...)
	if len(list.Rows) > runningShown {
		list.Hidden, list.Rows = len(list.Rows)-runningShown, list.Rows[:runningShown]
	}
	return list
}

// stateOf is the state of a match without a result in words.
func (m *moment) stateOf(matchID string, attempt int) string {
	id, ok := league.ParseMatchID(matchID)
	if !ok || attempt == 0 {
		return "waiting"
	}
	match := m.Match(id)
	a := match.Attempts[attempt-1]
	again := ""
	if match.Reopened() {
		again = ", rematch"
	}
	switch {
	case a.Failed:
		return "referee failed" + again
	case a.Declined:
		return "referee declined" + again
	case a.Accepted:
		return "playing" + again
	}
	return "assigned" + again
}
