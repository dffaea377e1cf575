package record

import (
	"cmp"
	"slices"

	"evenodd/league"
	"evenodd/league/decide"
)

// A Pair sums the results of a player against an opponent.
type Pair struct {
	PlayerID   string `json:"player_id"`
	OpponentID string `json:"opponent_id"`
	league.Tally
}

// HeadToHead sums all results by player and opponent, in order of ids. Each pair that has met is
// there twice, once for each of the two.
func (r *Results) HeadToHead() []Pair {
	players, matches, _ := r.played(func(*decide.MatchRecord) bool { return true })
	sums, keys := map[[2]int]*Pair{}, [][2]int{}
	for _, m := range matches {
		for _, key := range [][2]int{{m.A, m.B}, {m.B, m.A}} {
			if sums[key] == nil {
				sums[key] = &Pair{PlayerID: players[key[0]].PlayerID, OpponentID: players[key[1]].PlayerID}
				keys = append(keys, key)
			}
			sums[key].Add(m.Outcome(key[0]), 1)
		}
	}
	slices.SortFunc(keys, func(a, b [2]int) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	pairs := make([]Pair, len(keys))
	for i, key := range keys {
		pairs[i] = *sums[key]
	}
	return pairs
}

// A HeadToHead sums the results of a player against an opponent.
type HeadToHead struct {
	OpponentID string `json:"opponent_id"`
	league.Tally
	Points   int      `json:"points"`
	MatchIDs []string `json:"match_ids"`
}

// Meetings sums the results of the rounds up to one by player and opponent, for the pairs that
// are wanted. The results of an annulled player do not count.
func (l *League) Meetings(last int, wanted func(player, opponent string) bool) map[[2]string]*HeadToHead {
	sums := map[[2]string]*HeadToHead{}
	for r, score := range l.counted(1, last) {
		for side, player := range score {
			key := [2]string{player.Name, score[1-side].Name}
			if !wanted(key[0], key[1]) {
				continue
			}
			if sums[key] == nil {
				sums[key] = &HeadToHead{OpponentID: key[1]}
			}
			sum := sums[key]
			sum.Add(r.Outcome(player.Name), 1)
			sum.Points += player.Value
			sum.MatchIDs = append(sum.MatchIDs, r.MatchID.String())
		}
	}
	return sums
}
