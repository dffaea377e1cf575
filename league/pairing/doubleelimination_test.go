package pairing_test

import (
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"evenodd/league"
	"evenodd/league/pairing"
)

func TestDoubleElimination(t *testing.T) {
	for _, tt := range []struct {
		name    string
		players int
		absent  pairing.Absences
		end     judge
		want    [][]pairing.Pairing
		ranks   []int // by player
	}{
		{"two players play until one has lost twice", 2, nil, script(map[pairing.Pairing]int{{A: 1, B: 0}: 0}), [][]pairing.Pairing{
			{{0, 1}}, {{0, 1}},
		}, []int{1, 2}},
		{"the final is played again, with other sides, if its loser had lost none", 2, nil,
			onceEach(map[int]int{2: 1}), [][]pairing.Pairing{{{0, 1}}, {{0, 1}}, {{1, 0}}}, []int{1, 2}},
		{"three players: the best has a bye", 3, nil, lowerWins, [][]pairing.Pairing{
			{{1, 2}}, {{0, 1}}, {{1, 2}}, {{0, 1}},
		}, []int{1, 2, 3}},
		{"four players", 4, nil, lowerWins, [][]pairing.Pairing{
			{{0, 3}, {1, 2}}, {{0, 1}, {2, 3}}, {{1, 2}}, {{0, 1}},
		}, []int{1, 2, 3, 4}},
		{"eight players: those that drop meet losers of the other half", 8, nil, lowerWins, [][]pairing.Pairing{
			{{0, 7}, {3, 4}, {1, 6}, {2, 5}},
			{{0, 3}, {1, 2}, {4, 7}, {5, 6}},
			{{0, 1}, {2, 4}, {3, 5}},
			{{2, 3}}, {{1, 2}}, {{0, 1}},
		}, []int{1, 2, 3, 4, 5, 5, 7, 7}},
		{"draws are replayed while other matches go on", 4, nil, script(map[pairing.Pairing]int{
			{A: 0, B: 3}: league.None, {A: 3, B: 0}: 3,
		}), [][]pairing.Pairing{
			{{0, 3}, {1, 2}}, {{3, 0}}, {{1, 3}, {0, 2}}, {{0, 3}}, {{3, 0}}, {{1, 3}},
		}, []int{3, 1, 4, 2}},
		{"after a double loss both play for the losers' bracket, and nobody advances", 4, nil, script(map[pairing.Pairing]int{
			{A: 0, B: 3}: doubleLoss,
		}), [][]pairing.Pairing{
			{{0, 3}, {1, 2}}, {{3, 0}}, {{0, 2}}, {{0, 1}}, {{1, 0}},
		}, []int{1, 2, 3, 4}},
		{"after two double losses both are eliminated", 4, nil, script(map[pairing.Pairing]int{
			{A: 0, B: 3}: doubleLoss, {A: 3, B: 0}: doubleLoss,
		}), [][]pairing.Pairing{
			{{0, 3}, {1, 2}}, {{3, 0}}, {{1, 2}},
		}, []int{3, 1, 2, 3}},
		{"after a double loss in the final, the player that had lost none is the champion", 2, nil,
			onceEach(map[int]int{2: doubleLoss}), [][]pairing.Pairing{{{0, 1}}, {{0, 1}}}, []int{1, 2}},
		{"after a double loss in the second final both have rank 1", 2, nil,
			onceEach(map[int]int{2: 1, 3: doubleLoss}), [][]pairing.Pairing{{{0, 1}}, {{0, 1}}, {{1, 0}}}, []int{1, 1}},
		{"an absent player loses its next two matches", 4, pairing.Absences{{1}, nil, nil, nil}, lowerWins, [][]pairing.Pairing{
			{{1, 2}}, {{1, 3}}, {{2, 3}}, {{1, 2}},
		}, []int{4, 1, 2, 3}},
		{"a player that is there again goes on in the losers' bracket", 4, pairing.Absences{{1, 2}, nil, nil, nil}, lowerWins,
			[][]pairing.Pairing{{{1, 2}}, {{1, 3}, {0, 2}}, {{0, 3}}, {{0, 1}}, {{1, 0}}}, []int{1, 2, 4, 3}},
		{"all but one", 5, pairing.Absences{{1}, {1}, nil, {1}, {1}}, lowerWins, [][]pairing.Pairing{}, []int{2, 2, 1, 4, 4}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPairer(t, pairing.Format{Name: pairing.DoubleElimination, Players: tt.players})
			played := playWithout(p, tt.end, tt.absent)
			assert.Equal(t, tt.want, pairingsOf(played))
			assert.Equal(t, tt.ranks, p.(pairing.Ranker).Ranks(played, tt.absent))
		})
	}
}

// onceEach is a judge that knows the winners of some rounds with one match. The lower index wins the others.
func onceEach(winners map[int]int) judge {
	return func(round int, p pairing.Pairing) league.Played {
		if winner, ok := winners[round]; ok {
			return script(map[pairing.Pairing]int{p: winner})(round, p)
		}
		return lowerWins(round, p)
	}
}

func TestUnbeatenPlayersRankBeforeThoseThatHaveLost(t *testing.T) {
	p := newPairer(t, pairing.Format{Name: pairing.DoubleElimination, Players: 4})
	played := play(p, lowerWins)
	for round, want := range [][]int{{1, 1, 1, 1}, {1, 1, 3, 3}, {1, 2, 2, 4}, {1, 2, 3, 4}, {1, 2, 3, 4}} {
		assert.Equal(t, want, ranks(t, p, played[:round]), "after round %d", round)
	}
}

func TestAnyDoubleElimination(t *testing.T) {
	for players := 2; players <= 70; players++ {
		checkDoubleElimination(t, indexes(players), newDoubleModel(players, 0, 0, 0))
	}
	rapid.Check(t, func(t *rapid.T) {
		players := rapid.IntRange(2, 70).Draw(t, "players")
		seeds := rapid.Permutation(indexes(players)).Draw(t, "seeds")
		m := newDoubleModel(players, rapid.Uint64().Draw(t, "seed"), rapid.SampledFrom([]int{0, 20, 90}).Draw(t, "draws"),
			rapid.SampledFrom([]int{0, 5, 50}).Draw(t, "failures"))
		for _, player := range rapid.SliceOfN(rapid.IntRange(0, players-1), 0, players).Draw(t, "absent") {
			m.absent[player] = []int{1}
		}
		checkDoubleElimination(t, seeds, m)
	})
}

// checkDoubleElimination compares a double elimination with that of a model.
func checkDoubleElimination(t fataler, seeds []int, m *doubleModel) {
	t.Helper()
	p := newPairer(t, pairing.Format{Name: pairing.DoubleElimination, Players: len(seeds), Seeds: seeds})
	busy := map[[2]int]bool{}
	played := playWithout(p, func(round int, pair pairing.Pairing) league.Played {
		for _, player := range []int{pair.A, pair.B} {
			require.False(t, busy[[2]int{round, player}], "%d plays twice in R%d", player, round)
			busy[[2]int{round, player}] = true
		}
		return m.result(pair.A, pair.B)
	}, m.absent)
	met, matches := m.met, 0
	m.met = map[[2]int]int{}
	want := m.play(seeds)
	require.Equal(t, m.met, met, "the matches of each pair")
	for _, n := range met {
		matches += n
	}
	require.LessOrEqual(t, matches, p.Matches())
	require.LessOrEqual(t, len(played), p.Rounds())
	require.Equal(t, want, p.(pairing.Ranker).Ranks(played, m.absent))
	for player, lost := range m.lost {
		require.True(t, lost == 2 || want[player] == 1, "%d has lost %d matches, and has rank %d", player, lost, want[player])
	}
	if slices.ContainsFunc(m.absent, func(rounds []int) bool { return rounds != nil }) {
		return
	}
	checkBracket(t, p.(pairing.Ranker), played)
	if bits.OnesCount(uint(len(seeds))) == 1 && m.failures == 0 {
		checkRematches(t, p.(pairing.Ranker).Bracket(played, nil))
	}
}

// checkRematches checks that of 2^k players no two meet again before stage k of the losers' bracket.
func checkRematches(t fataler, parts [][][]pairing.Slot) {
	t.Helper()
	met := map[[2]int]bool{}
	for _, s := range slices.Concat(parts[0]...) {
		met[pairOf(s.A, s.B)] = true
	}
	for stage, places := range parts[1][:len(parts[0])-1] {
		for _, s := range places {
			require.False(t, met[pairOf(s.A, s.B)], "stage %d: %d and %d meet again", stage+1, s.A, s.B)
		}
	}
}

func pairOf(a, b int) [2]int { return [2]int{min(a, b), max(a, b)} }

// A doubleModel plays double eliminations stage by stage, with a list of the players of each stage. The result of a
// match depends on its players and on how often they have met.
type doubleModel struct {
	seed            uint64
	draws, failures int // per cent
	absent          pairing.Absences
	met             map[[2]int]int
	place           []int // by player: that in the order of the seeds
	lost            []int
	levels          [][]int // the eliminated players, those of the lowest rank first
}

func newDoubleModel(players int, seed uint64, draws, failures int) *doubleModel {
	return &doubleModel{seed, draws, failures, make(pairing.Absences, players), map[[2]int]int{}, make([]int, players),
		make([]int, players), nil}
}

// result is the next match of two players.
func (m *doubleModel) result(a, b int) league.Played {
	pair := pairOf(a, b)
	rng := rand.New(rand.NewPCG(m.seed, uint64(pair[0]<<20|pair[1]<<8|m.met[pair])))
	m.met[pair]++
	r := league.Played{A: a, B: b, Winner: pair[rng.IntN(2)], Technical: rng.IntN(100) < m.failures}
	if r.Technical && rng.IntN(2) == 0 || !r.Technical && rng.IntN(100) < m.draws {
		r.Winner = league.None
	}
	return r
}

// play returns the ranks of the players.
func (m *doubleModel) play(seeds []int) []int {
	field := []int{0}
	for len(field) < len(seeds) {
		for i := len(field) - 1; i >= 0; i-- { // put the opponent behind each one
			field = slices.Insert(field, i+1, 0)
		}
		for i := range len(field) / 2 {
			field[2*i+1] = len(field) - 1 - field[2*i]
		}
	}
	for i, seed := range field {
		if field[i] = league.None; seed < len(seeds) {
			field[i], m.place[seeds[seed]] = seeds[seed], seed
		}
	}
	field, losers := m.stage(field, true)
	for stage := 1; len(field) > 1; stage++ {
		losers, _ = m.stage(losers, false)
		var drops, mixed []int
		field, drops = m.stage(field, true)
		for i := range losers {
			j, half := i, len(drops)/2
			switch stage % 4 {
			case 1:
				j = len(drops) - 1 - i
			case 2:
				j = (i + half) % len(drops)
			case 3:
				j = len(drops) - 1 - (i+half)%len(drops)
			}
			mixed = append(mixed, losers[i], drops[j])
		}
		losers, _ = m.stage(mixed, false)
	}
	unbeaten, other := field[0], losers[0]
	if unbeaten != league.None && other != league.None {
		if m.winner(unbeaten, other) == other {
			m.winner(other, unbeaten)
		}
		m.eliminate(unbeaten, other)
	}
	ranks, rank := make([]int, len(seeds)), 1
	for p := range ranks {
		if ranks[p] = 1; m.lost[p] < 2 {
			rank = 2
		}
	}
	for _, level := range slices.Backward(m.levels) {
		for _, p := range level {
			ranks[p] = rank
		}
		rank += len(level)
	}
	return ranks
}

// stage plays a stage, and returns its winners and the players that drop.
func (m *doubleModel) stage(field []int, mayDrop bool) (winners, drops []int) {
	var ended []int
	for pair := range slices.Chunk(field, 2) {
		a, b := pair[0], pair[1]
		winner, drop := m.winner(a, b), league.None
		switch {
		case !mayDrop:
		case winner != league.None:
			drop = a + b - winner
		case min(a, b) == league.None:
			drop = max(a, b)
		default:
			drop = m.winner(a, b)
		}
		winners, drops, ended = append(winners, winner), append(drops, drop), append(ended, a, b)
	}
	m.eliminate(ended...)
	return winners, drops
}

// eliminate ends the tournament of those that have lost twice.
func (m *doubleModel) eliminate(players ...int) {
	m.levels = append(m.levels, slices.DeleteFunc(players, func(p int) bool { return p == league.None || m.lost[p] < 2 }))
}

// winner plays until one of two players wins, or both lose; None stands for a missing player.
func (m *doubleModel) winner(a, b int) int {
	there := func(p int) bool { return p != league.None && m.absent[p] == nil }
	winner := league.None
	switch {
	case there(a) && there(b):
		for range 4 { // draws
			r := m.result(a, b)
			if winner = r.Winner; winner != league.None || r.Technical {
				break
			}
			if winner = a; m.place[b] < m.place[a] {
				winner = b
			}
		}
	case there(a):
		winner = a
	case there(b):
		winner = b
	}
	for _, p := range []int{a, b} {
		if p != league.None && p != winner {
			m.lost[p]++
		}
	}
	return winner
}
