package table

import (
	"cmp"
	"slices"
)

// An order compares two rows: negative if a ranks before b, 0 if they are level.
type order func(a, b Row) int

// Standings returns the rows of all players, best first, ranked 1 to n by the league's
// tie-breakers. Players that these cannot separate are in ascending order of index, so
// that ranks are distinct. The slice is the caller's.
func (t *Table) Standings() []Row {
	rows := slices.Clone(t.rows)
	var orders []order
	for _, name := range t.scoring.Tiebreakers {
		orders = append(orders, t.tiebreak(name, rows, orders))
	}
	sort(rows, orders)
	for i := range rows {
		rows[i].Rank = i + 1
	}
	if t.showOpponents {
		buchholz, doubled := t.buchholz(), t.sonnebornBerger()
		for i := range rows {
			rows[i].Buchholz, rows[i].SonnebornBerger = buchholz[rows[i].Player], float64(doubled[rows[i].Player])/2
		}
	}
	return rows
}

// tiebreak returns the order of a tie-breaker. Earlier are the orders that decide before
// it: head_to_head needs the groups that they leave level, and sorts rows to find them.
func (t *Table) tiebreak(name string, rows []Row, earlier []order) order {
	switch name {
	case TiebreakPoints:
		return func(a, b Row) int { return cmp.Compare(b.Points, a.Points) }
	case TiebreakWins:
		return func(a, b Row) int { return cmp.Compare(b.Wins, a.Wins) }
	case TiebreakDraws:
		return func(a, b Row) int { return cmp.Compare(b.Draws, a.Draws) }
	case TiebreakWinRate:
		return compareWinRate
	case TiebreakHeadToHead:
		return descending(t.headToHead(level(rows, earlier)))
	case TiebreakBuchholz:
		return descending(t.buchholz())
	case TiebreakSonnebornBerger:
		return descending(t.sonnebornBerger())
	default:
		panic("table: Validate let an unknown tie-breaker pass: " + name)
	}
}

// descending orders by a value per player.
func descending(values []int) order {
	return func(a, b Row) int { return cmp.Compare(values[b.Player], values[a.Player]) }
}

// compareWinRate compares the fractions wins/played without rounding. A player without
// matches counts as 0/1: as 0/0 it would be level with all others, and the order would
// depend on the sequence of comparisons.
func compareWinRate(a, b Row) int {
	return cmp.Compare(b.Wins*max(a.Played, 1), a.Wins*max(b.Played, 1))
}

// sort puts the best row first; the lower index decides between level rows.
func sort(rows []Row, orders []order) {
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(compare(a, b, orders), cmp.Compare(a.Player, b.Player))
	})
}

// compare applies one order after the other until one decides.
func compare(a, b Row, orders []order) int {
	for _, by := range orders {
		if c := by(a, b); c != 0 {
			return c
		}
	}
	return 0
}

// level returns the group number of each player: players that the orders leave level are
// in one group. It sorts rows.
func level(rows []Row, orders []order) (group []int) {
	sort(rows, orders)
	group = make([]int, len(rows))
	for i := 1; i < len(rows); i++ {
		number := group[rows[i-1].Player]
		if compare(rows[i-1], rows[i], orders) != 0 {
			number++
		}
		group[rows[i].Player] = number
	}
	return group
}

// headToHead is, by player, the points from matches within the same group.
func (t *Table) headToHead(group []int) []int {
	gained := make([]int, len(t.rows))
	for player, games := range t.games {
		for _, g := range games {
			if group[g.opponent] == group[player] {
				gained[player] += t.scoring.worth(g.end)
			}
		}
	}
	return gained
}

// buchholz is, by player, the sum of the points of the opponents, once per match.
func (t *Table) buchholz() []int {
	sums := make([]int, len(t.rows))
	for player, games := range t.games {
		for _, g := range games {
			sums[player] += t.rows[g.opponent].Points
		}
	}
	return sums
}

// sonnebornBerger is, by player, twice the Sonneborn-Berger score: then the half points
// of drawn opponents are integers.
func (t *Table) sonnebornBerger() []int {
	doubled := make([]int, len(t.rows))
	for player, games := range t.games {
		for _, g := range games {
			switch g.end {
			case won:
				doubled[player] += 2 * t.rows[g.opponent].Points
			case drew:
				doubled[player] += t.rows[g.opponent].Points
			}
		}
	}
	return doubled
}
