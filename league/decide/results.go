package decide

import (
	"fmt"
	"maps"
	"slices"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/protocol"
)

// A MatchRecord is a recorded result with its match.
type MatchRecord struct {
	MatchID   string
	RoundID   int
	PlayerA   string
	PlayerB   string
	RefereeID string
	Status    string
	Grade     string // as in journal.MatchReported
	Winner    string // "" for a draw and a double loss
	Number    int    // 0 when none was drawn
	ChoiceA   string // "" when none was made
	ChoiceB   string
	Reason    string
	Faults    league.PerPlayer[string] // the failures by which players lost technically
	Fallbacks league.PerPlayer[int]    // as in league.Result
}

// Evidence tells how many results rest on the word of each referee alone, in order of ids; nil for
// none.
func Evidence(s *journal.State) (sentences []string) {
	for _, id := range slices.SortedFunc(maps.Keys(s.Stated), league.CompareIDs) {
		if n := s.Stated[id]; n == 1 {
			sentences = append(sentences, "1 result rests on the word of referee "+id+" alone.")
		} else if n > 1 {
			sentences = append(sentences, fmt.Sprintf("%d results rest on the word of referee %s alone.", n, id))
		}
	}
	return sentences
}

// Results are all recorded results in schedule order.
func Results(s *journal.State) []MatchRecord {
	records := make([]MatchRecord, 0, s.Recorded)
	for id, m := range s.Matches() {
		r := m.Report
		if r == nil {
			continue
		}
		p := s.Pairings(id.Round)[id.Number-1]
		players := [2]string{s.Started.Players[p.A], s.Started.Players[p.B]}
		moves := r.Result.Moves(players)
		records = append(records, MatchRecord{
			MatchID: id.String(), RoundID: id.Round, PlayerA: players[0], PlayerB: players[1], RefereeID: r.RefereeID,
			Status: r.Status, Grade: r.Grade, Winner: protocol.ValueOf(r.WinnerPlayerID),
			Number: protocol.ValueOf(r.DrawnNumber), ChoiceA: moves[0], ChoiceB: moves[1], Reason: r.Reason,
			Faults: r.Faults, Fallbacks: r.Fallbacks,
		})
	}
	return records
}
