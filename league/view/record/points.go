package record

import (
	"iter"
	"slices"

	"evenodd/league"
	"evenodd/league/journal"
)

// Points are the points of the players of a league that has started, by index: before round 1, and
// after each round, also after an open one. Byes are included. Results of an annulled player do not
// count.
func (l *League) Points() [][]int {
	all := [][]int{make([]int, len(l.Started.Players))}
	for round := 1; round <= l.CompletedRounds() || round == l.Round && l.Open(); round++ {
		points := slices.Clone(all[round-1])
		for _, player := range l.Rounds[round-1].Byes {
			points[player] += l.Created.Scoring.Win
		}
		for _, score := range l.counted(round, round) {
			for _, of := range score {
				player, _ := l.PlayerIndex(of.Name)
				points[player] += of.Value
			}
		}
		all = append(all, points)
	}
	return all
}

// counted returns the results of announced rounds from one to another that count, with the points of
// both sides: not those of an annulled player.
func (l *League) counted(first, last int) iter.Seq2[*journal.MatchReported, [2]league.Member[int]] {
	return func(yield func(*journal.MatchReported, [2]league.Member[int]) bool) {
		for _, m := range l.MatchesOf(first, last) {
			if m.Report == nil {
				continue
			}
			score, _ := l.Score(m.Report) // the journal has checked it
			if !l.Agents[score[0].Name].Annulled && !l.Agents[score[1].Name].Annulled && !yield(m.Report, score) {
				return
			}
		}
	}
}
