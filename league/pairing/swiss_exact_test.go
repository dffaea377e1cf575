package pairing_test

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/pairing"
)

// An exactSwiss is a Swiss tournament as the documentation defines its rounds. It knows a round by a search of
// all complete pairings.
type exactSwiss struct {
	players int
	points  league.MatchPoints
	absent  pairing.Absences

	score, balance []int
	last           []int // 1 for A, -1 for B
	byes           []int
	met            [][]int
}

func newExactSwiss(players int, points league.MatchPoints) *exactSwiss {
	s := &exactSwiss{players: players, points: points, absent: make(pairing.Absences, players), score: make([]int, players),
		balance: make([]int, players), last: make([]int, players), byes: make([]int, players), met: make([][]int, players)}
	for p := range players {
		s.met[p] = make([]int, players)
	}
	return s
}

// present are the players of a round, best first.
func (s *exactSwiss) present(round int) (ranked []int) {
	for p := range s.players {
		if !s.absent.Has(p, round) {
			ranked = append(ranked, p)
		}
	}
	slices.SortStableFunc(ranked, func(p, q int) int { return s.score[q] - s.score[p] })
	return ranked
}

// play adds the results of a round.
func (s *exactSwiss) play(results []league.Played, there []int) {
	for _, r := range results {
		s.met[r.A][r.B]++
		s.met[r.B][r.A]++
		s.score[r.A] += s.points.For(r.Outcome(r.A))
		s.score[r.B] += s.points.For(r.Outcome(r.B))
		s.balance[r.A]++
		s.balance[r.B]--
		s.last[r.A], s.last[r.B] = 1, -1
		there = slices.DeleteFunc(there, func(p int) bool { return p == r.A || p == r.B })
	}
	for _, p := range there {
		s.byes[p]++
		s.score[p] += s.points.Win
	}
}

const bye = -1

// criteria are what a pair of players, of whom the first is ranked higher, adds to the values by which pairings
// compare: the first that differs is decisive. Groups are the scores from the highest.
type criteria [4 + 2*12]int

func (s *exactSwiss) criteria(groups []int, p, q int) (values criteria) {
	group := slices.Index(groups, s.score[p])
	if q == bye {
		values[0], values[3], values[4+2*group] = min(s.byes[p], 1), s.score[p], 1
		return values
	}
	values[1] = min(s.met[p][q], 1)
	if s.balance[p] >= 2 && s.balance[q] >= 2 || s.balance[p] <= -2 && s.balance[q] <= -2 {
		values[2] = 1
	}
	if s.score[p] > s.score[q] {
		values[4+2*group], values[5+2*group] = 1, s.score[p]-s.score[q]
	}
	return values
}

func (c criteria) plus(d criteria) criteria {
	for i := range c {
		c[i] += d[i]
	}
	return c
}

// sum is that of all pairs of a pairing, given by the opponent of each player.
func (s *exactSwiss) sum(ranked []int, opponent map[int]int) (sum criteria) {
	for i, p := range ranked {
		if q := opponent[p]; q == bye || slices.Index(ranked, q) > i {
			sum = sum.plus(s.criteria(s.groups(ranked), p, q))
		}
	}
	return sum
}

// groups are the scores from the highest.
func (s *exactSwiss) groups(ranked []int) (scores []int) {
	for _, p := range ranked {
		scores = append(scores, s.score[p])
	}
	return slices.Compact(scores)
}

func (s *exactSwiss) wants(p int) int {
	if s.balance[p] != 0 {
		return s.balance[p]
	}
	return s.last[p]
}

// conflicts are the pairs of a score group that want the same side, and those that do strongly.
func (s *exactSwiss) conflicts(ranked []int, opponent map[int]int, score int) []int {
	some, strong := 0, 0
	for i, p := range ranked {
		q := opponent[p]
		if s.score[p] != score || q == bye || slices.Index(ranked, q) < i || s.wants(p)*s.wants(q) <= 0 {
			continue
		}
		some++
		if s.balance[p] != 0 && s.balance[q] != 0 {
			strong++
		}
	}
	return []int{some, strong}
}

// A search finds all complete pairings with the least sum.
type search struct {
	pairs map[[2]int]criteria
	best  criteria
	found []map[int]int
}

// pair pairs the open players in each way that is not worse than the best one so far.
func (s *search) pair(open []int, chosen map[int]int, sum criteria) {
	order := slices.Compare(sum[:], s.best[:])
	if s.found != nil && order > 0 {
		return // sums only grow
	}
	if len(open) == 0 {
		if order != 0 || s.found == nil {
			s.found, s.best = nil, sum
		}
		s.found = append(s.found, maps.Clone(chosen))
		return
	}
	p := open[0]
	for i, q := range open[1:] {
		chosen[p], chosen[q] = q, p
		s.pair(slices.Concat(open[1:1+i], open[2+i:]), chosen, sum.plus(s.pairs[[2]int{p, q}]))
	}
}

// least keeps the pairings with the least values.
func least(of []map[int]int, values func(opponent map[int]int) []int) (kept []map[int]int) {
	var best []int
	for _, opponent := range of {
		v := values(opponent)
		order := -1
		if kept != nil {
			order = slices.Compare(v, best)
		}
		if order < 0 {
			kept, best = nil, v
		}
		if order <= 0 {
			kept = append(kept, opponent)
		}
	}
	return kept
}

// round is the only pairing that the definition leaves.
func (s *exactSwiss) round(ranked []int) map[int]int {
	open := slices.Clone(ranked)
	if len(open)%2 == 1 {
		open = append(open, bye)
	}
	found := &search{pairs: map[[2]int]criteria{}}
	for i, p := range open {
		for _, q := range open[i+1:] {
			found.pairs[[2]int{p, q}] = s.criteria(s.groups(ranked), p, q)
		}
	}
	found.pair(open, map[int]int{}, criteria{})
	all := found.found
	for start, end := 0, 0; start < len(ranked); start = end {
		score := s.score[ranked[start]]
		for end < len(ranked) && s.score[ranked[end]] == score {
			end++
		}
		all = least(all, func(opponent map[int]int) []int { return s.conflicts(ranked, opponent, score) })
		isLower := func(q int) bool { return q == bye || s.score[q] <= score }
		group := slices.DeleteFunc(slices.Clone(ranked[start:end]), func(p int) bool { return !isLower(all[0][p]) })
		half := len(group) / 2
		order := slices.Clone(group[half:])
		for i := half - 1; i >= 0; i-- {
			order = append(order, group[i])
		}
		order = append(append(order, ranked[end:]...), bye)
		chosen := map[int]bool{}
		for _, p := range group {
			if !chosen[p] {
				all = least(all, func(opponent map[int]int) []int { return []int{slices.Index(order, opponent[p])} })
				chosen[all[0][p]] = true
			}
		}
	}
	return all[0]
}

// checkExactly plays a league with random results and withdrawals, and compares each round with the definition.
func checkExactly(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 11))
	players := 4 + rng.IntN(9)
	f := pairing.Format{Name: pairing.Swiss, Players: players, Rounds: 1 + rng.IntN(pairing.MaxSwissRounds(players))}
	f.Points = []league.MatchPoints{{}, {Win: 3, Draw: 1}}[rng.IntN(2)]
	leave := []float64{0, 0, 0.1, 0.3}[rng.IntN(4)]
	p := newPairer(t, f)
	s := newExactSwiss(players, cmp.Or(f.Points, league.MatchPoints{Win: 2, Draw: 1}))
	var played [][]league.Played
	for round := 1; round <= p.Rounds(); round++ {
		for player := range players {
			if !s.absent.Has(player, round) && rng.Float64() < leave && round > 1 {
				s.absent.Set(player, round, true)
			}
		}
		ranked := s.present(round)
		pairings := p.Round(round, played, s.absent)
		if len(ranked) < 2 {
			require.Nil(t, pairings, "seed %d: the league ends", seed)
			return
		}
		opponent := map[int]int{}
		if len(ranked)%2 == 1 {
			opponent[bye] = none(ranked, pairings)
			opponent[opponent[bye]] = bye
		}
		for _, pair := range pairings {
			opponent[pair.A], opponent[pair.B] = pair.B, pair.A
		}
		want := s.round(ranked)
		require.Equal(t, s.sum(ranked, want), s.sum(ranked, opponent), "seed %d, round %d of %d players: another pairing is better", seed, round, players)
		require.Equal(t, want, opponent, "seed %d, round %d of %d players: by sides and the order of halves", seed, round, players)
		results := make([]league.Played, len(pairings))
		for i, pair := range pairings {
			if rng.IntN(20) == 0 { // a ruling, or a game with other sides
				pair.A, pair.B = pair.B, pair.A
			}
			results[i] = randomResults(rng)(round, pair)
		}
		s.play(results, ranked)
		played = append(played, results)
	}
}

// none is the present player without a match.
func none(ranked []int, pairings []pairing.Pairing) int {
	return ranked[slices.IndexFunc(ranked, func(p int) bool {
		return !slices.ContainsFunc(pairings, func(pair pairing.Pairing) bool { return pair.A == p || pair.B == p })
	})]
}

func TestSwissRoundsAreTheBestByDefinition(t *testing.T) {
	leagues := 200
	if os.Getenv("EVENODD_TEST_ALL") != "" {
		leagues = 5000
	}
	var running sync.WaitGroup
	for worker := range runtime.GOMAXPROCS(0) {
		running.Go(func() {
			for seed := worker; seed < leagues && !t.Failed(); seed += runtime.GOMAXPROCS(0) {
				checkExactly(t, uint64(seed))
			}
		})
	}
	running.Wait()
}
