package record

import (
	"slices"

	"evenodd/league"
)

// Points are the points of the players of a league that has started, by index: before round 1, and
// after each round, also after an open one. Byes are included. Results of an annulled player do not
// count.
func (l *League) Points() [][]int {
	all := [][]int{make([]int, len(l.Started.Players))}
	for round := 1; round <= l.CompletedRounds() || round == l.Round && l.Open(); round++ {
		points, pairings := slices.Clone(all[round-1]), l.Pairings(round)
		for _, player := range l.Rounds[round-1].Byes {
			points[player] += l.Created.Scoring.Win
		}
		for i, pair := range pairings {
			report := l.Match(league.MatchID{Round: round, Number: i + 1}).Report
			if report == nil || l.Agents[l.Started.Players[pair.A]].Annulled || l.Agents[l.Started.Players[pair.B]].Annulled {
				continue
			}
			score, _ := l.Score(report) // the journal has checked it
			points[pair.A] += score[0].Value
			points[pair.B] += score[1].Value
		}
		all = append(all, points)
	}
	return all
}
