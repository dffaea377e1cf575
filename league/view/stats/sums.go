package stats

import "evenodd/league"

// A Strategy sums up the matches of all players of a strategy. A match between two of them
// counts for both.
type Strategy struct {
	Name    string `json:"strategy"`
	Players int    `json:"players"`
	league.Tally
}

// sumStrategies sums the matches up by strategy, if a player has one.
func (a *Analysis) sumStrategies(matches []league.Played) {
	number, known := map[string]int{}, false
	var sums []Strategy
	for i := range a.Players {
		name := a.Players[i].Strategy
		known = known || name != ""
		if _, ok := number[name]; !ok {
			number[name], sums = len(sums), append(sums, Strategy{Name: name})
		}
		sums[number[name]].Players++
	}
	if !known {
		return
	}
	for _, m := range matches {
		for _, player := range [...]int{m.A, m.B} {
			sums[number[a.Players[player].Strategy]].Add(m.Outcome(player), 1)
		}
	}
	a.Strategies = sums
}

// addSonnebornBerger sets the scores of all players, by their points in the table.
func (a *Analysis) addSonnebornBerger(matches []league.Played, players []league.Standing) {
	for _, m := range matches {
		for _, player := range [...]int{m.A, m.B} {
			points := float64(players[m.A+m.B-player].Points) // of the opponent
			switch m.Outcome(player) {
			case league.Win:
				a.Players[player].SonnebornBerger += points
			case league.Draw:
				a.Players[player].SonnebornBerger += points / 2
			}
		}
	}
}
