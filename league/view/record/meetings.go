package record

import (
	"evenodd/league"
)

// A HeadToHead sums the results of a player against an opponent.
type HeadToHead struct {
	OpponentID string `json:"opponent_id"`
	league.Tally
	Points   int      `json:"points"`
	MatchIDs []string `json:"match_ids"`
}

// Meetings sums the results of the rounds up to one by player and opponent, for the pairs that
// are wanted. The results of an annulled player do not count.
func (l *League) Meetings(last int, wanted func(player, opponent string) bool) map[[2]string]*HeadToHead {
	sums := map[[2]string]*HeadToHead{}
	for r, score := range l.counted(1, last) {
		for side, player := range score {
			key := [2]string{player.Name, score[1-side].Name}
			if !wanted(key[0], key[1]) {
				continue
			}
			if sums[key] == nil {
				sums[key] = &HeadToHead{OpponentID: key[1]}
			}
			sum := sums[key]
			sum.Add(r.Outcome(player.Name), 1)
			sum.Points += player.Value
			sum.MatchIDs = append(sum.MatchIDs, r.MatchID.String())
		}
	}
	return sums
}
