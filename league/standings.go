package league

import (
	"cmp"
	"slices"
)

// Bracket is what decided between players on different levels. See Ranking.
const Bracket = "bracket"

// Standings returns the rows of all players, best first, ranked by the league's
// tie-breakers. Players that these leave level share a rank, and are in ascending order of
// index: ranks are 1, 2, 2, 4. The slice is the caller's; rows share their Deciders.
func (t *Table) Standings() []Row { return t.Ranking(nil) }

// Ranking is Standings with levels, by player, that go before all tie-breakers: the lowest
// level ranks first. Nil levels are equal.
func (t *Table) Ranking(levels []int) []Row {
	r := ranking{players: make([]int, len(t.rows))}
	for player := range r.players {
		r.players[player] = player
	}
	v := t.values()
	for _, name := range t.scoring.Tiebreakers {
		if name == TiebreakHeadToHead {
			v[name] = t.headToHead(r.groups())
		}
		r.names, r.values = append(r.names, name), append(r.values, v[name])
	}
	if levels != nil {
		r.names, r.values = slices.Insert(r.names, 0, Bracket), slices.Insert(r.values, 0, make([]float64, len(levels)))
		for player, level := range levels {
			r.values[0][player] = -float64(level)
		}
	}
	r.sort()
	rows := make([]Row, len(r.players))
	for i, player := range r.players {
		rows[i] = t.rows[player]
		if v[TiebreakHeadToHead] != nil {
			rows[i].HeadToHead = int(v[TiebreakHeadToHead][player])
		}
		if v[TiebreakBuchholz] != nil {
			rows[i].Buchholz, rows[i].SonnebornBerger = int(v[TiebreakBuchholz][player]), v[TiebreakSonnebornBerger][player]
		}
	}
	r.separate(rows)
	return rows
}

// values are the values of all tie-breakers but head_to_head by player. Those of the
// opponents are there only if the table keeps them or ranks by them.
func (t *Table) values() map[string][]float64 {
	v := map[string][]float64{}
	for _, name := range t.scoring.Tiebreakers {
		v[name] = make([]float64, len(t.rows))
		for player := range t.rows {
			v[name][player] = t.rows[player].Value(name)
		}
	}
	if t.showOpponents || v[TiebreakBuchholz] != nil || v[TiebreakSonnebornBerger] != nil {
		v[TiebreakBuchholz], v[TiebreakSonnebornBerger] = t.opponents()
	}
	return v
}

// headToHead is, by player, the points from matches within the same group.
func (t *Table) headToHead(group []int) []float64 {
	gained := make([]float64, len(t.rows))
	for player, games := range t.games {
		for _, g := range games {
			if group[g.opponent] == group[player] {
				gained[player] += float64(t.scoring.worth(g.end))
			}
		}
	}
	return gained
}

// opponents are the scores of the opponents by player, once per match.
func (t *Table) opponents() (buchholz, sonnebornBerger []float64) {
	buchholz, sonnebornBerger = make([]float64, len(t.rows)), make([]float64, len(t.rows))
	for player, games := range t.games {
		for _, g := range games {
			points := float64(t.rows[g.opponent].Points)
			buchholz[player] += points
			switch g.end {
			case won:
				sonnebornBerger[player] += points
			case drew:
				sonnebornBerger[player] += points / 2
			}
		}
	}
	return buchholz, sonnebornBerger
}

// A ranking sorts players by values, the first deciding first.
type ranking struct {
	players []int // in the order that the last sort gave them
	names   []string
	values  [][]float64 // of each name by player; the highest ranks first
}

// sort puts the best player first; the lower index decides between level players.
func (r *ranking) sort() {
	slices.SortFunc(r.players, func(a, b int) int {
		if by := r.decider(a, b); by < len(r.values) {
			return cmp.Compare(r.values[by][b], r.values[by][a])
		}
		return cmp.Compare(a, b)
	})
}

// decider is the index of the values that decide between two players; the number of values
// if they are level.
func (r *ranking) decider(a, b int) int {
	for i, values := range r.values {
		if values[a] != values[b] {
			return i
		}
	}
	return len(r.values)
}

// groups returns the group number of each player: players that the values so far leave
// level are in one group.
func (r *ranking) groups() (group []int) {
	r.sort()
	group = make([]int, len(r.players))
	for i := 1; i < len(r.players); i++ {
		number := group[r.players[i-1]]
		if r.decider(r.players[i-1], r.players[i]) < len(r.values) {
			number++
		}
		group[r.players[i]] = number
	}
	return group
}

// separate fills in the ranks of the sorted rows, and what decided between them.
func (r *ranking) separate(rows []Row) {
	deciders := make([]int, len(rows)) // between each row and the row above
	for i := range rows {
		rows[i].Rank = i + 1
		if i == 0 {
			continue
		}
		if deciders[i] = r.decider(r.players[i-1], r.players[i]); deciders[i] < len(r.names) {
			rows[i].DecidedBy = r.names[deciders[i]]
			continue
		}
		rows[i].Rank = rows[i-1].Rank
		rows[i-1].Tied, rows[i].Tied = true, true
	}
	sets := make([]uint, len(rows)) // of deciders, one bit each
	for decider := range r.names {
		for start := 0; start < len(rows); {
			end, separates := start+1, false
			for ; end < len(rows) && deciders[end] >= decider; end++ {
				separates = separates || deciders[end] == decider
			}
			for ; start < end; start++ {
				if separates {
					sets[start] |= 1 << decider
				}
			}
		}
	}
	lists := make([][]string, 1<<len(r.names))
	for i, set := range sets {
		if lists[set] == nil && set != 0 {
			lists[set] = r.namesOf(set)
		}
		rows[i].Deciders = lists[set]
	}
}

// namesOf are the names of a set of deciders.
func (r *ranking) namesOf(set uint) (names []string) {
	for decider, name := range r.names {
		if set&(1<<decider) != 0 {
			names = append(names, name)
		}
	}
	return names
}
