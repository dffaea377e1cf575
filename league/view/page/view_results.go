package page

import (
	"fmt"
	"slices"
	"strings"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/lists"
	"evenodd/league/view/record"
)

// The results are the view of the last results, or of those of one round.
type results struct {
	Title  string
	Rows   []result
	Round  int // 0 for the last results
	Hidden int // results of the round that the list leaves out
}

// A result is a match, with its result if it has one.
type result struct {
	record.Match

	A, B         ref
	MarkA, MarkB mark   // "" without a result
	Score        string // the points of both sides: "3–0"
	Note         string // what the players chose, or why one lost technically
}

// Sentence is the result in words: "P01 won against P02 in R3M1".
func (r *result) Sentence() string {
	switch {
	case r.MarkA == "":
		return r.A.ID + " plays " + r.B.ID
	case r.MarkB == won && r.MarkA != technical:
		return fmt.Sprintf("%s %s %s in %s", r.B.ID, won.Verb(), r.A.ID, r.MatchID)
	case r.MarkA == technical && r.MarkB == technical:
		return fmt.Sprintf("%s and %s both lost technically in %s", r.A.ID, r.B.ID, r.MatchID)
	}
	return fmt.Sprintf("%s %s %s in %s", r.A.ID, r.MarkA.Verb(), r.B.ID, r.MatchID)
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
	list := &results{Title: "Latest results", Rows: []result{}}
	var found []*journal.Match
	for round := m.Round; round >= 1 && len(found) < resultsNow; round-- {
		for _, match := range m.MatchesOf(round, round) {
			if match.Report != nil {
				found = append(found, match)
			}
		}
	}
	slices.SortFunc(found, func(a, b *journal.Match) int { return b.Event - a.Event })
	for _, match := range found[:min(len(found), resultsNow)] {
		list.Rows = append(list.Rows, m.result(match.Report.MatchID))
	}
	return list
}

// resultsOf are the results of a round.
func (m *moment) resultsOf(round int) *results {
	list := &results{Title: fmt.Sprintf("Results of round %d", round), Rows: []result{}, Round: round}
	if round == 0 {
		list.Title = "Results"
		return list
	}
	for id, match := range m.MatchesOf(round, round) {
		switch {
		case match.Report == nil:
		case len(list.Rows) == resultsOfRound:
			list.Hidden++
		default:
			list.Rows = append(list.Rows, m.result(id))
		}
	}
	return list
}

// result describes a match of an announced round.
func (m *moment) result(id league.MatchID) result {
	r := result{Match: m.Row(id, m.Rounds[id.Round-1].Pairings[id.Number-1])}
	r.A, r.B = m.agent(r.PlayerAID), m.agent(r.PlayerBID)
	if r.HasResult() {
		r.MarkA, r.MarkB = markOf(&r.Result, r.PlayerAID), markOf(&r.Result, r.PlayerBID)
		scoring := m.Created.Scoring
		r.Score = fmt.Sprintf("%d–%d", scoring.For(r.Outcome(r.PlayerAID)), scoring.For(r.Outcome(r.PlayerBID)))
		notes := append([]string{m.note(&r.Match)}, r.KeyMarks...)
		if r.Doubt != journal.OnItsWord {
			notes = append(notes, shown(r.Doubt))
		}
		r.Note = strings.Join(slices.DeleteFunc(notes, func(note string) bool { return note == "" }), "; ")
	}
	return r
}

// note tells in a few words how a match was decided: "P01 even, P02 odd, number 4", or
// "P02 did not answer in time".
func (m *moment) note(match *record.Match) string {
	switch {
	case match.Ruled != nil:
		return "ruled by the organiser"
	case len(match.Forfeited) > 0:
		return strings.Join(match.Forfeited, " and ") + " forfeited"
	case match.Status == league.StatusTechnicalLoss && len(match.Faults) == 0:
		return shown(match.Reason)
	case match.Status == league.StatusTechnicalLoss:
		return strings.Join(lists.Map(match.Faults, func(f league.Member[string]) string {
			return f.Name + " " + record.CauseIn(&match.Result, f.Name).Words
		}), "; ")
	}
	moves := match.Moves([2]string{match.PlayerAID, match.PlayerBID})
	if moves[0] == "" || moves[1] == "" {
		return ""
	}
	text := fmt.Sprintf("%s %s, %s %s", match.PlayerAID, shown(m.Say(moves[0])), match.PlayerBID, shown(m.Say(moves[1])))
	if match.DrawnNumber != nil {
		text += fmt.Sprintf(", number %d", *match.DrawnNumber)
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
	record.RunningMatch

	A, B, Referee ref
	State         string // in words
}

// runningShown is the number of running matches of the list.
const runningShown = 12

// running are the running matches: those that are played before those that wait.
func (m *moment) running() *running {
	list := &running{Rows: []runningMatch{}}
	if m.round != live || m.Stopped {
		return list
	}
	var waiting []runningMatch
	for _, r := range m.Running() {
		one := runningMatch{r, m.agent(r.PlayerAID), m.agent(r.PlayerBID), m.agent(r.RefereeID), m.stateOf(r.MatchID, r.Attempt)}
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
