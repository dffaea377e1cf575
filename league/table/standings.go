package table

import (
	"cmp"
	"slices"
)

// order compares two rows: negative if a ranks before b, 0 if they are tied.
type order func(a, b Row) int

// Standings returns the rows of all players, best first, with ranks 1 to n. Players that are
// tied after all tie-breaks are ordered by index, so that ranks are distinct. The caller
// owns the slice.
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
	return rows
}

// tiebreak returns the order of a tie-breaker. earlier are the orders with a higher
// priority; head_to_head sorts rows to find the players that they leave tied.
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
// matches counts as 0/1: with 0/0 it would be tied with every player, and the order would
// not be transitive.
func compareWinRate(a, b Row) int {
	return cmp.Compare(b.Wins*max(a.Played, 1), a.Wins*max(b.Played, 1))
}

// sort sorts the best first, and by index if no order decides.
func sort(rows []Row, orders []order) {
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(compare(a, b, orders), cmp.Compare(a.Player, b.Player))
	})
}

// compare returns the result of the first order that decides.
func compare(a, b Row, orders []order) int {
	for _, by := range orders {
		if c := by(a, b); c != 0 {
			return c
		}
	}
	return 0
}

// level numbers the groups of players that the orders leave tied. It returns the group
// number by player, and sorts rows.
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

// headToHead returns, by player, the points from matches against players of the same group.
func (t *Table) headToHead(group []int) []int {
	gained := make([]int, len(t.rows))
	for player, games := range t.games {
		for _, g := range games {
			if group[g.opponent] == group[player] {
				gained[player] += t.worth(g.result)
			}
		}
	}
	return gained
}

// sonnebornBerger returns, by player, twice the Sonneborn-Berger score, so that half points
// are integers.
func (t *Table) sonnebornBerger() []int {
	doubled := make([]int, len(t.rows))
	for player, games := range t.games {
		for _, g := range games {
			switch g.result {
			case won:
				doubled[player] += 2 * t.rows[g.opponent].Points
			case drew:
				doubled[player] += t.rows[g.opponent].Points
			}
		}
	}
	return doubled
}
