package report

import (
	"slices"

	"evenodd/league/protocol"
	"evenodd/league/record"
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
		if l.Agents[idA].Annulled || l.Agents[idB].Annulled {
			continue
		}
		score, _ := l.Score(r) // the journal has checked it
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
