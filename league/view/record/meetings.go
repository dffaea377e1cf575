package record

import (
	"evenodd/league"
)

// A HeadToHead sums the results of a player against an opponent.
type HeadToHead struct {
	OpponentID      string   `json:"opponent_id"`
	Wins            int      `json:"wins"`
	Draws           int      `json:"draws"`
	Losses          int      `json:"losses"`
	TechnicalLosses int      `json:"technical_losses,omitzero"`
	Points          int      `json:"points"`
	MatchIDs        []string `json:"match_ids"`
}

// Meetings sums the results of the rounds up to one by player and opponent, for the pairs that
// are wanted. The results of an annulled player do not count.
func (l *League) Meetings(last int, wanted func(player, opponent string) bool) map[[2]string]*HeadToHead {
	sums := map[[2]string]*HeadToHead{}
	for round := 1; round <= last; round++ {
		for i, pair := range l.Pairings(round) {
			ids := [2]string{l.Started.Players[pair.A], l.Started.Players[pair.B]}
			r := l.Match(league.MatchID{Round: round, Number: i + 1}).Report
			if r == nil || l.Agents[ids[0]].Annulled || l.Agents[ids[1]].Annulled {
				continue
			}
			score, _ := l.Score(r) // the journal has checked it
			for side, player := range ids {
				opponent := ids[1-side]
				if !wanted(player, opponent) {
					continue
				}
				key := [2]string{player, opponent}
				if sums[key] == nil {
					sums[key] = &HeadToHead{OpponentID: opponent}
				}
				var tally league.Tally
				tally.Add(r.Outcome(player), 1)
				sum := sums[key]
				sum.Wins, sum.Draws, sum.Losses = sum.Wins+tally.Wins, sum.Draws+tally.Draws, sum.Losses+tally.Losses
				sum.TechnicalLosses += tally.TechnicalLosses
				sum.Points += score[side].Value
				sum.MatchIDs = append(sum.MatchIDs, r.MatchID.String())
			}
		}
	}
	return sums
}
