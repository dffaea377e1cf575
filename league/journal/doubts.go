package journal

import (
	"fmt"
	"slices"

	"evenodd/league"
	"evenodd/league/protocol"
)

// Doubts are the results of a referee of which something is not shown, without those that no longer count.
type Doubts struct {
	Stated    int                         // of GradeStated
	NotShown  int                         // those of Stated that have the reason NotShown
	Explained []league.MatchID            // those of Stated of which Match.Doubt says more than OnItsWord, in order
	Denied    map[league.MatchID][]string // of any grade: the players that deny the result
}

// OnItsWord is the Doubt of a result of which nothing else is to be said.
const OnItsWord = "rests on the word of its referee"

// NotShown is the reason of a draw that the manager records for a match whose referee lost its attempt.
const NotShown = "its referee did not show its result"

// Doubt is the reason to doubt a result of GradeStated; "" for any other: that it rests on the word of
// its referee, with the referee's own reason if it names a winner without all choices, or why the manager recorded
// it after it had refused the report.
func (m *Match) Doubt() string {
	r := m.Report
	switch {
	case r == nil || r.Grade != GradeStated:
		return ""
	case m.IsLost(r.Number):
		return r.Reason
	case r.WinnerPlayerID == nil || r.Reason == "" || chosen(r) == len(r.Choices) && len(r.Choices) > 0:
		return OnItsWord
	}
	return fmt.Sprintf("%s, which says: %.120q", OnItsWord, r.Reason)
}

// chosen is the number of players whose choice a result has.
func chosen(r *MatchReported) (n int) {
	for _, c := range r.Choices {
		if protocol.ValueOf(c.Value) != "" {
			n++
		}
	}
	return n
}

// doubtsOf are the doubts about the results of a referee.
func (s *State) doubtsOf(refereeID string) *Doubts {
	d := s.Doubts[refereeID]
	if d == nil {
		d = &Doubts{Denied: map[league.MatchID][]string{}}
		s.Doubts[refereeID] = d
	}
	return d
}

// doubt counts the doubt about the result of a match.
func (s *State) doubt(m *Match) {
	r := m.Report
	if r.Grade != GradeStated {
		return
	}
	d := s.doubtsOf(r.RefereeID)
	d.Stated++
	switch m.Doubt() {
	case "", OnItsWord:
	case NotShown:
		d.NotShown++
	default:
		at, _ := slices.BinarySearchFunc(d.Explained, r.MatchID, league.MatchID.Compare)
		d.Explained = slices.Insert(d.Explained, at, r.MatchID)
	}
}

// undoubt takes the doubt about the result of a match back, and the denials of it.
func (s *State) undoubt(m *Match) {
	r := m.Report
	d := s.Doubts[r.RefereeID]
	if d == nil {
		return
	}
	delete(d.Denied, r.MatchID)
	if r.Grade != GradeStated {
		return
	}
	d.Stated--
	switch m.Doubt() {
	case "", OnItsWord:
	case NotShown:
		d.NotShown--
	default:
		d.Explained = slices.DeleteFunc(d.Explained, func(id league.MatchID) bool { return id == r.MatchID })
	}
}

// deny counts the denial of a result by a player.
func (s *State) deny(r *MatchReported, playerID string) {
	if d := s.doubtsOf(r.RefereeID); !slices.Contains(d.Denied[r.MatchID], playerID) {
		d.Denied[r.MatchID] = append(d.Denied[r.MatchID], playerID)
	}
}
