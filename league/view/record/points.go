package record

import (
	"evenodd/league"
	"evenodd/league/pairing"
)

// AddPoints adds the points of an announced round to those of the players, byes included. Results
// of an annulled player do not count.
func (l *League) AddPoints(round int, points []int) {
	pairings := l.Pairings(round)
	if l.Created.Tournament.IsSwiss() {
		for _, player := range pairing.Byes(len(points), pairings) {
			if l.Agents[l.Started.Players[player]].Withdrawn == nil {
				points[player] += l.Created.Scoring.Win
			}
		}
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
}
