package report

import (
	"slices"

	"evenodd/league/journal"
	"evenodd/league/protocol"
	"evenodd/league/view/record"
)

// crossTable sums the results that count by player and opponent.
func crossTable(l *record.League, standings []Row) []CrossRow {
	list, index := make([]CrossRow, len(standings)), map[string]int{}
	for i := range standings {
		list[i] = CrossRow{PlayerID: standings[i].PlayerID, Against: []HeadToHead{}}
		index[standings[i].PlayerID] = i
	}
	cells := make([]map[string]int, len(list)) // into Against, by opponent
	for m := range l.Matches() {
		r := m.Report
		if r == nil {
			continue
		}
		_, idA, idB, _ := l.Find(r.MatchID)
		score, counts := pointsOf(l, r)
		if !counts {
			continue
		}
		for side, pair := range [...][2]string{{idA, idB}, {idB, idA}} {
			row := index[pair[0]]
			if cells[row] == nil {
				cells[row] = map[string]int{}
			}
			at, known := cells[row][pair[1]]
			if !known {
				at = len(list[row].Against)
				cells[row][pair[1]] = at
				list[row].Against = append(list[row].Against, HeadToHead{OpponentID: pair[1]})
			}
			list[row].Against[at].count(r.Status, r.WinnerPlayerID, pair[0], score[side].Value, r.MatchID)
		}
	}
	for i := range list {
		slices.SortFunc(list[i].Against, func(a, b HeadToHead) int { return protocol.CompareIDs(a.OpponentID, b.OpponentID) })
	}
	return list
}

// count adds a result of a player.
func (h *HeadToHead) count(status string, winner *string, player string, points int, id protocol.MatchID) {
	won := winner != nil && *winner == player
	switch {
	case won:
		h.Wins++
	case status == protocol.StatusDraw:
		h.Draws++
	default:
		h.Losses++
		if status == protocol.StatusTechnicalLoss {
			h.TechnicalLosses++
		}
	}
	h.Points += points
	h.MatchIDs = append(h.MatchIDs, id.String())
}

// pointsOf are the points of the two players of a result; false if the result does not count.
func pointsOf(l *record.League, r *journal.MatchReported) (score [2]protocol.Member[int], counts bool) {
	score, _ = l.Score(r) // the journal has checked it
	return score, !l.Agents[score[0].Name].Annulled && !l.Agents[score[1].Name].Annulled
}

// progress are the points after each completed round, those of byes included.
func progress(l *record.League) []RoundPoints {
	list := []RoundPoints{}
	if l.Started == nil {
		return list
	}
	points := make([]int, len(l.Started.Players))
	for round := 1; round <= l.CompletedRounds(); round++ {
		l.AddPoints(round, points)
		one := RoundPoints{RoundID: round, Points: make(protocol.PerPlayer[int], len(points))}
		for player, id := range l.Started.Players {
			one.Points[player] = protocol.Member[int]{Name: id, Value: points[player]}
		}
		list = append(list, one)
	}
	return list
}
