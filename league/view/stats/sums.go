package stats

import (
	"cmp"
	"slices"

	"evenodd/league"
)

// A Pair counts the matches between two players, technical losses included.
type Pair struct {
	A          int `json:"-"` // less than B
	B          int `json:"-"`
	WinsA      int `json:"wins_A"`
	WinsB      int `json:"wins_B"`
	Draws      int `json:"draws"`
	BothFailed int `json:"both_failed,omitzero"` // matches that both lost
}

// headToHead counts the matches of each pair that met.
func headToHead(matches []league.Played) []Pair {
	pairs := make([]Pair, 0, len(matches))
	known := make(map[[2]int]int, len(matches))
	for _, m := range matches {
		key := [2]int{min(m.A, m.B), max(m.A, m.B)}
		number, ok := known[key]
		if !ok {
			number = len(pairs)
			known[key], pairs = number, append(pairs, Pair{A: key[0], B: key[1]})
		}
		switch p := &pairs[number]; {
		case m.Winner == p.A:
			p.WinsA++
		case m.Winner == p.B:
			p.WinsB++
		case m.Technical:
			p.BothFailed++
		default:
			p.Draws++
		}
	}
	slices.SortFunc(pairs, func(p, q Pair) int { return cmp.Or(p.A-q.A, p.B-q.B) })
	return pairs
}

// A Strategy sums up the matches of all players of a strategy. A match between two of them
// counts for both.
type Strategy struct {
	Name    string `json:"strategy"`
	Players int    `json:"players"`
	league.Tally
}

// sumStrategies sums the matches up by strategy; nil if the players have none.
func sumStrategies(matches []league.Played, strategies []string) (sums []Strategy) {
	if len(strategies) == 0 {
		return nil
	}
	number := map[string]int{}
	for _, name := range strategies {
		if _, ok := number[name]; !ok {
			number[name], sums = len(sums), append(sums, Strategy{Name: name})
		}
		sums[number[name]].Players++
	}
	for _, m := range matches {
		for _, player := range [...]int{m.A, m.B} {
			sums[number[strategies[player]]].Add(m.Outcome(player), 1)
		}
	}
	return sums
}

// addSonnebornBerger sets the scores of all players, by their points in the table.
func (a *Analysis) addSonnebornBerger(matches []league.Played, points []int) {
	if points == nil {
		return
	}
	for _, m := range matches {
		for _, player := range [...]int{m.A, m.B} {
			opponent := m.A + m.B - player
			switch m.Outcome(player) {
			case league.Win:
				a.Players[player].SonnebornBerger += float64(points[opponent])
			case league.Draw:
				a.Players[player].SonnebornBerger += float64(points[opponent]) / 2
			}
		}
	}
}
