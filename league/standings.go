package league

import (
	"cmp"
	"slices"
)

// Ranking returns the rows of all players, best first, ranked by the league's tie-breakers.
// Players that these leave level share a rank, and are in ascending order of
// index: ranks are 1, 2, 2, 4. The slice is the caller's. Levels, by player, go before all tie-breakers:
// the lowest level ranks first. Nil levels are equal.
func (t *Table) Ranking(levels []int) []Standing {
	r := ranking{players: make([]int, len(t.rows))}
	for player := range r.players {
		r.players[player] = player
	}
	if levels != nil {
		r.add(tiebreak{name: Bracket, ascending: true}, func(player int) float64 { return float64(levels[player]) })
	}
	of := &scores{}
	if t.swiss != nil {
		of.byes = t.swiss.byes
	}
	if t.games != nil {
		of.buchholz, of.sonnebornBerger = t.opponents()
	}
	for _, by := range t.tiebreaks {
		if by.name == TiebreakHeadToHead {
			of.headToHead = t.headToHead(r.groups())
		}
		r.add(by, func(player int) float64 { return by.value(&t.rows[player], of) })
	}
	r.sort()
	rows := make([]Standing, len(r.players))
	for i, player := range r.players {
		rows[i] = t.rows[player]
		if t.swiss != nil {
			rows[i].Byes, rows[i].Buchholz = new(len(t.swiss.byes[player])), new(int(of.buchholz[player]))
			rows[i].SonnebornBerger = &of.sonnebornBerger[player]
		}
	}
	r.separate(rows)
	return rows
}

// headToHead is, by player, the points from matches within the same group. In a Swiss system forfeits do not count
// (C.07, article 6.1.1).
func (t *Table) headToHead(group []int) []float64 {
	gained := make([]float64, len(t.rows))
	for player, games := range t.games {
		for _, g := range games {
			if group[g.opponent] == group[player] && (t.swiss == nil || !g.forfeit) {
				gained[player] += float64(t.scoring.For(g.outcome))
			}
		}
	}
	return gained
}

// opponents are the scores of the opponents by player, once per match. In a Swiss system they follow articles 15 and
// 16 of the FIDE Tie-Break Regulations (C.07) of 1 March 2026, which docs/formats.md explains; elsewhere
// forfeits are matches like all others (article 15.2).
func (t *Table) opponents() (buchholz, sonnebornBerger []float64) {
	buchholz, sonnebornBerger = make([]float64, len(t.rows)), make([]float64, len(t.rows))
	count := func(player, score int, o Outcome) {
		buchholz[player] += float64(score)
		switch o {
		case Win:
			sonnebornBerger[player] += float64(score)
		case Draw:
			sonnebornBerger[player] += float64(score) / 2
		}
	}
	adjusted, rounds := t.adjusted()
	for player, games := range t.games {
		own := t.rows[player].Points
		for _, g := range games {
			score := adjusted[g.opponent]
			if t.swiss != nil && g.forfeit { // 16.4.1: against a dummy
				score = min(own, score)
			}
			count(player, score, g.outcome)
		}
		if t.swiss == nil {
			continue
		}
		dummy := min(own, t.dummyLimit(rounds)) // 16.4.2
		for range t.swiss.byes[player] {
			count(player, dummy, Win)
		}
		for range t.swiss.absences[player] {
			count(player, dummy, Loss)
		}
	}
	return buchholz, sonnebornBerger
}

// dummyLimit is the most points of the dummy of a bye or an absence: those of a draw in each round (16.4.2), or half of
// those of a win where a draw is worth less. With draws alone, a player with a bye would be behind the others with the same
// points in a league with 3 points for a win and 1 for a draw; 16.6 allows another rule.
func (t *Table) dummyLimit(rounds int) int { return max(t.scoring.Draw*rounds, t.scoring.Win*rounds/2) }

// adjusted are the points of each player as its opponents' tie-breaks count them (16.3), and the number of rounds. The
// absences after the last round in which a player won, drew or lost a match by playing, won by a forfeit or had a bye
// count as draws.
func (t *Table) adjusted() (points []int, rounds int) {
	points = make([]int, len(t.rows))
	for player := range points {
		points[player] = t.rows[player].Points
		if t.swiss == nil {
			continue
		}
		last := uint16(0)
		for _, g := range t.games[player] {
			rounds = max(rounds, int(g.round))
			if !g.forfeit || g.outcome == Win {
				last = max(last, g.round)
			}
		}
		for _, round := range t.swiss.byes[player] {
			last = max(last, round)
		}
		rounds = max(rounds, int(last))
		for _, round := range t.swiss.absences[player] {
			rounds = max(rounds, int(round))
			if round > last {
				points[player] += t.scoring.Draw
			}
		}
	}
	return points, rounds
}

// A ranking sorts players by values, the first deciding first.
type ranking struct {
	players []int // in the order that the last sort gave them
	by      []tiebreak
	values  [][]float64 // of each tie-break by player, as people see them
}

// add adds a tie-break with the values of the players.
func (r *ranking) add(by tiebreak, value func(player int) float64) {
	values := make([]float64, len(r.players))
	for player := range values {
		values[player] = value(player)
	}
	r.by, r.values = append(r.by, by), append(r.values, values)
}

// sort puts the best player first; the lower index decides between level players.
func (r *ranking) sort() {
	slices.SortFunc(r.players, func(a, b int) int {
		if by := r.decider(a, b); by < len(r.values) {
			if r.by[by].ascending {
				a, b = b, a
			}
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
func (r *ranking) separate(rows []Standing) {
	deciders := make([]int, len(rows)) // between each row and the row above
	for i := range rows {
		rows[i].Rank = i + 1
		if i == 0 {
			continue
		}
		if deciders[i] = r.decider(r.players[i-1], r.players[i]); deciders[i] < len(r.by) {
			rows[i].ByPoints = r.by[deciders[i]].name == TiebreakPoints
			if !rows[i].ByPoints {
				rows[i].DecidedBy = r.by[deciders[i]].name
			}
			continue
		}
		rows[i].Rank = rows[i-1].Rank
		rows[i-1].Tied, rows[i].Tied = true, true
	}
	for decider := range r.by {
		r.addValues(rows, deciders, decider)
	}
}

// addValues adds the values of a tie-break to the rows of players that the earlier ones left
// level, and among which it decided, unless a column has them.
func (r *ranking) addValues(rows []Standing, deciders []int, decider int) {
	by := &r.by[decider]
	if by.name == Bracket {
		return
	}
	for start := 0; start < len(rows); {
		end, separates := start+1, false
		for ; end < len(rows) && deciders[end] >= decider; end++ {
			separates = separates || deciders[end] == decider
		}
		for ; start < end; start++ {
			if !separates || by.inColumn(&rows[start]) {
				continue
			}
			if rows[start].TiebreakValues == nil {
				rows[start].TiebreakValues = TiebreakValues{}
			}
			rows[start].TiebreakValues[by.name] = r.values[decider][rows[start].Player]
		}
	}
}
