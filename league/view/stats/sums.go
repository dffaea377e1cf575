package stats

import (
	"cmp"
	"slices"
)

// A Pair counts the matches between two players, technical losses included.
type Pair struct {
	A, B int // A < B

	WinsA, WinsB, Draws int
	BothFailed          int // matches that both lost
}

// headToHead counts the matches of each pair that met.
func headToHead(matches []Match) []Pair {
	pairs := make([]Pair, 0, len(matches))
	known := make(map[edge]int, len(matches))
	for i := range matches {
		m := &matches[i]
		e := edge{int32(min(m.A, m.B)), int32(max(m.A, m.B))} //nolint:gosec // a league has fewer players
		number, ok := known[e]
		if !ok {
			number = len(pairs)
			known[e], pairs = number, append(pairs, Pair{A: int(e.a), B: int(e.b)})
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
	slices.SortFunc(pairs, func(p, q Pair) int { return cmp.Or(cmp.Compare(p.A, q.A), cmp.Compare(p.B, q.B)) })
	return pairs
}

// A Strategy sums up the matches of all players of a strategy. A match between two of them
// counts for both.
type Strategy struct {
	Name            string `json:"strategy"`
	Players         int    `json:"players"`
	Played          int    `json:"played"`
	Wins            int    `json:"wins"`
	Draws           int    `json:"draws"`
	Losses          int    `json:"losses"`
	TechnicalLosses int    `json:"technical_losses"` // part of Losses
}

// sumStrategies sums the matches up by strategy; nil if the players have none.
func sumStrategies(matches []Match, strategies []string) (sums []Strategy) {
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
	count := func(m *Match, player int) {
		s := &sums[number[strategies[player]]]
		s.Played++
		switch {
		case m.Winner == player:
			s.Wins++
		case m.Winner == None && !m.Technical:
			s.Draws++
		default:
			s.Losses++
			if m.Technical {
				s.TechnicalLosses++
			}
		}
	}
	for i := range matches {
		count(&matches[i], matches[i].A)
		count(&matches[i], matches[i].B)
	}
	return sums
}

// sonnebornBerger returns the scores of all players, by their points in the table.
func sonnebornBerger(players int, matches []Match, points []int) []float64 {
	worth := make([]float64, players)
	if points != nil {
		for i, p := range points {
			worth[i] = float64(p)
		}
	} else {
		for i := range matches {
			a, b := matches[i].scores()
			worth[matches[i].A] += a
			worth[matches[i].B] += b
		}
	}
	scores := make([]float64, players)
	for i := range matches {
		m := &matches[i]
		a, b := m.scores()
		scores[m.A] += float64(a * worth[m.B])
		scores[m.B] += float64(b * worth[m.A])
	}
	return scores
}

// scores returns 1 for a win, ½ for a draw and 0 for a loss of any kind.
func (m *Match) scores() (a, b float64) {
	switch {
	case m.Winner == m.A:
		return 1, 0
	case m.Winner == m.B:
		return 0, 1
	case m.Technical:
		return 0, 0
	default:
		return 0.5, 0.5
	}
}
