package pairing_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"evenodd/league"
	"evenodd/league/pairing"
)

// doubleLoss is the winner of a match that both players fail.
const doubleLoss = -2

// script returns a judge that knows the winners of some matches, None for a draw, or
// doubleLoss. The lower index wins the others.
func script(winners map[pairing.Pairing]int) judge {
	return func(_ int, p pairing.Pairing) league.Played {
		winner, ok := winners[p]
		if !ok {
			return lowerWins(0, p)
		}
		if winner == doubleLoss {
			return league.Played{A: p.A, B: p.B, Winner: league.None, Technical: true}
		}
		return league.Played{A: p.A, B: p.B, Winner: winner}
	}
}

func TestKnockout(t *testing.T) {
	for _, tt := range []struct {
		name    string
		players int
		seeds   []int
		end     judge
		want    [][]pairing.Pairing
		ranks   []int // by player
	}{
		{"two players play a final", 2, nil, lowerWins, [][]pairing.Pairing{
			{{0, 1}},
		}, []int{1, 2}},
		{"three players: the best has a bye, and the loser of the semifinal is third", 3, nil, lowerWins, [][]pairing.Pairing{
			{{1, 2}},
			{{0, 1}},
		}, []int{1, 2, 3}},
		{"four players: the semifinals, then the final and the match for third place", 4, nil, lowerWins, [][]pairing.Pairing{
			{{0, 3}, {1, 2}},
			{{0, 1}, {2, 3}},
		}, []int{1, 2, 3, 4}},
		{"six players: the two best have a bye", 6, nil, lowerWins, [][]pairing.Pairing{
			{{3, 4}, {2, 5}},
			{{0, 3}, {1, 2}},
			{{0, 1}, {2, 3}},
		}, []int{1, 2, 3, 4, 5, 5}},
		{"eight players: the best two meet in the final", 8, nil, lowerWins, [][]pairing.Pairing{
			{{0, 7}, {3, 4}, {1, 6}, {2, 5}},
			{{0, 3}, {1, 2}},
			{{0, 1}, {2, 3}},
		}, []int{1, 2, 3, 4, 5, 5, 5, 5}},
		{"seeds set the bracket, and the higher seed is A", 4, []int{3, 1, 0, 2}, lowerWins, [][]pairing.Pairing{
			{{3, 2}, {1, 0}},
			{{0, 2}, {3, 1}},
		}, []int{1, 3, 2, 4}},
		{"draws are replayed with sides swapped before the next stage", 4, nil, script(map[pairing.Pairing]int{
			{A: 0, B: 3}: league.None, {A: 3, B: 0}: 3,
		}), [][]pairing.Pairing{
			{{0, 3}, {1, 2}},
			{{3, 0}},
			{{1, 3}, {0, 2}},
		}, []int{3, 1, 4, 2}},
		{"after three replays the higher seed advances", 4, []int{3, 2, 1, 0}, allDrawn, [][]pairing.Pairing{
			{{3, 0}, {2, 1}}, {{0, 3}, {1, 2}}, {{3, 0}, {2, 1}}, {{0, 3}, {1, 2}},
			{{3, 2}, {1, 0}}, {{2, 3}, {0, 1}}, {{3, 2}, {1, 0}}, {{2, 3}, {0, 1}},
		}, []int{4, 3, 2, 1}},
		{"only the match for third place is replayed", 4, nil, script(map[pairing.Pairing]int{
			{A: 2, B: 3}: league.None, {A: 3, B: 2}: 3,
		}), [][]pairing.Pairing{
			{{0, 3}, {1, 2}},
			{{0, 1}, {2, 3}},
			{{3, 2}},
		}, []int{1, 2, 4, 3}},
		{"after a double loss the next opponent advances without a match", 8, nil, script(map[pairing.Pairing]int{
			{A: 0, B: 7}: doubleLoss,
		}), [][]pairing.Pairing{
			{{0, 7}, {3, 4}, {1, 6}, {2, 5}},
			{{1, 2}},
			{{1, 3}},
		}, []int{4, 1, 3, 2, 4, 4, 4, 4}},
		{"a stage without matches is skipped", 8, nil, script(map[pairing.Pairing]int{
			{A: 0, B: 7}: doubleLoss, {A: 2, B: 5}: doubleLoss,
		}), [][]pairing.Pairing{
			{{0, 7}, {3, 4}, {1, 6}, {2, 5}},
			{{1, 3}},
		}, []int{3, 1, 3, 2, 3, 3, 3, 3}},
		{"after two double losses nobody advances", 8, nil, script(map[pairing.Pairing]int{
			{A: 0, B: 7}: doubleLoss, {A: 3, B: 4}: doubleLoss,
		}), [][]pairing.Pairing{
			{{0, 7}, {3, 4}, {1, 6}, {2, 5}},
			{{1, 2}},
		}, []int{3, 1, 2, 3, 3, 3, 3, 3}},
		{"a double loss in a semifinal leaves a champion and a third without a match", 4, nil, script(map[pairing.Pairing]int{
			{A: 0, B: 3}: doubleLoss,
		}), [][]pairing.Pairing{
			{{0, 3}, {1, 2}},
		}, []int{3, 1, 2, 3}},
		{"double losses in both semifinals end the tournament without a champion", 4, nil, script(map[pairing.Pairing]int{
			{A: 0, B: 3}: doubleLoss, {A: 1, B: 2}: doubleLoss,
		}), [][]pairing.Pairing{
			{{0, 3}, {1, 2}},
		}, []int{1, 1, 1, 1}},
		{"after a double loss in the final both finalists have rank 1", 4, nil, script(map[pairing.Pairing]int{
			{A: 0, B: 1}: doubleLoss,
		}), [][]pairing.Pairing{
			{{0, 3}, {1, 2}},
			{{0, 1}, {2, 3}},
		}, []int{1, 1, 3, 4}},
		{"after a double loss in the match for third place both are third", 4, nil, script(map[pairing.Pairing]int{
			{A: 2, B: 3}: doubleLoss,
		}), [][]pairing.Pairing{
			{{0, 3}, {1, 2}},
			{{0, 1}, {2, 3}},
		}, []int{1, 2, 3, 3}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPairer(t, pairing.Format{Name: pairing.Knockout, Players: tt.players, Seeds: tt.seeds})
			played := play(p, tt.end)
			assert.Equal(t, tt.want, pairingsOf(played))
			assert.Equal(t, tt.ranks, ranks(t, p, played))
			checkKnockout(t, pairing.Format{Name: pairing.Knockout, Players: tt.players, Seeds: tt.seeds}, tt.end)
		})
	}
}

func ranks(t fataler, p pairing.Pairer, played [][]league.Played) []int {
	t.Helper()
	ranker, ok := p.(pairing.Ranker)
	require.True(t, ok)
	return ranker.Ranks(played, nil)
}

func TestRanksDuringAKnockout(t *testing.T) {
	p := newPairer(t, pairing.Format{Name: pairing.Knockout, Players: 6})
	played := play(p, script(map[pairing.Pairing]int{{A: 2, B: 5}: league.None}))
	want := [][]int{
		{1, 1, 1, 1, 1, 1}, // before the first round
		{1, 1, 1, 1, 6, 1}, // 4 lost, 2 and 5 replay
		{1, 1, 1, 1, 5, 5},
		{1, 1, 3, 3, 5, 5}, // the final and the match for third place follow
		{1, 2, 3, 4, 5, 5},
	}
	require.Len(t, played, len(want)-1)
	for round, w := range want {
		assert.Equal(t, w, ranks(t, p, played[:round]), "after round %d", round)
	}
	assert.Equal(t, want[1], ranks(t, p, [][]league.Played{played[0], played[0], played[1]}), "a round that does not fit is ignored")
}

func TestOpponentOfAnAbsentPlayerAdvances(t *testing.T) {
	draw := script(map[pairing.Pairing]int{{A: 0, B: 3}: league.None})
	for _, tt := range []struct {
		name    string
		players int
		absent  pairing.Absences
		end     judge
		want    [][]pairing.Pairing
		ranks   []int
	}{
		{"before the first round", 4, pairing.Absences{{1}, nil, nil, nil}, lowerWins, [][]pairing.Pairing{{{1, 2}}, {{1, 3}}}, []int{4, 1, 3, 2}},
		{"after the first round", 4, pairing.Absences{{2}, nil, nil, nil}, lowerWins, [][]pairing.Pairing{{{0, 3}, {1, 2}}, {{2, 3}}}, []int{2, 1, 3, 4}},
		{"during a round", 4, pairing.Absences{nil, {3}, nil, nil}, lowerWins, [][]pairing.Pairing{{{0, 3}, {1, 2}}, {{0, 1}, {2, 3}}}, []int{1, 2, 3, 4}},
		{"instead of a replay", 4, pairing.Absences{{2}, nil, nil, nil}, draw, [][]pairing.Pairing{{{0, 3}, {1, 2}}, {{1, 3}}}, []int{4, 1, 3, 2}},
		{"both players of a match", 4, pairing.Absences{{1}, nil, nil, {1}}, lowerWins, [][]pairing.Pairing{{{1, 2}}}, []int{3, 1, 2, 3}},
		{"a player that waits for its opponent", 3, pairing.Absences{{2}, nil, nil}, lowerWins, [][]pairing.Pairing{{{1, 2}}}, []int{2, 1, 3}},
		{"a player for third place", 4, pairing.Absences{nil, nil, {2}, nil}, lowerWins, [][]pairing.Pairing{{{0, 3}, {1, 2}}, {{0, 1}}}, []int{1, 2, 4, 3}},
		{"both finalists", 4, pairing.Absences{{2}, {2}, nil, nil}, lowerWins, [][]pairing.Pairing{{{0, 3}, {1, 2}}, {{2, 3}}}, []int{1, 1, 3, 4}},
		{"again for third place", 4, pairing.Absences{{1, 2}, nil, nil, nil}, lowerWins,
			[][]pairing.Pairing{{{1, 2}}, {{1, 3}, {0, 2}}}, []int{3, 1, 4, 2}},
		{"all but one", 5, pairing.Absences{{1}, {1}, nil, {1}, {1}}, lowerWins, [][]pairing.Pairing{}, []int{2, 2, 1, 2, 2}},
		{"all", 4, pairing.Absences{{1}, {1}, {1}, {1}}, lowerWins, [][]pairing.Pairing{}, []int{1, 1, 1, 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPairer(t, pairing.Format{Name: pairing.Knockout, Players: tt.players})
			played := playWithout(p, tt.end, tt.absent)
			assert.Equal(t, tt.want, pairingsOf(played))
			assert.Equal(t, tt.ranks, p.(pairing.Ranker).Ranks(played, tt.absent))
		})
	}
}

func TestBracketSizes(t *testing.T) {
	for _, tt := range []struct {
		name                     string
		players, rounds, matches int
	}{
		{pairing.Knockout, 2, 4, 4},
		{pairing.Knockout, 3, 8, 8},
		{pairing.Knockout, 4, 8, 16},
		{pairing.Knockout, 5, 12, 20},
		{pairing.Knockout, 1024, 40, 4096},
		{pairing.DoubleElimination, 2, 16, 12},
		{pairing.DoubleElimination, 5, 32, 36},
		{pairing.DoubleElimination, 1024, 88, 8188},
	} {
		p := newPairer(t, pairing.Format{Name: tt.name, Players: tt.players})
		assert.Equal(t, tt.rounds, p.Rounds(), "%s of %d players", tt.name, tt.players)
		assert.Equal(t, tt.matches, p.Matches(), "%s of %d players", tt.name, tt.players)
	}
}

func TestInvalidBracketIsRejected(t *testing.T) {
	for _, tt := range []struct {
		name    string
		players int
		seeds   []int
		want    string
	}{
		{"one player", 1, nil, "at least 2 players, got 1"},
		{"a negative number of players", -1, nil, "at least 2 players, got -1"},
		{"no seeds in the list", 2, []int{}, "0 seeds for 2 players"},
		{"too few seeds", 3, []int{2, 1}, "2 seeds for 3 players"},
		{"a player twice", 3, []int{2, 1, 2}, "2 is no player, or is listed twice"},
		{"a player that does not exist", 3, []int{0, 1, 3}, "3 is no player"},
		{"a negative player", 3, []int{0, 1, -1}, "-1 is no player"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, name := range []string{pairing.Knockout, pairing.DoubleElimination} {
				_, err := pairing.New(pairing.Format{Name: name, Players: tt.players, Seeds: tt.seeds})
				assert.ErrorContains(t, err, tt.want, name)
			}
		})
	}
}

func TestKnockoutRoundIsNilWithoutTheRoundsBefore(t *testing.T) {
	p := newPairer(t, pairing.Format{Name: pairing.Knockout, Players: 4})
	result := func(a, b, winner int) league.Played {
		return league.Played{A: a, B: b, Winner: winner}
	}
	first := []league.Played{result(0, 3, 0), result(1, 2, 1)}
	second := []league.Played{result(0, 1, 0), result(2, 3, 2)}
	for _, tt := range []struct {
		name   string
		round  int
		played [][]league.Played
	}{
		{"round 0", 0, nil},
		{"a negative round", -1, nil},
		{"round 1 is not played", 2, nil},
		{"round 1 is incomplete", 2, [][]league.Played{first[:1]}},
		{"the tournament has ended", 3, [][]league.Played{first, second}},
		{"rounds after the end", 4, [][]league.Played{first, second, nil}},
		{"matches in another order", 2, [][]league.Played{{first[1], first[0]}}},
		{"other sides", 2, [][]league.Played{{result(3, 0, 0), first[1]}}},
		{"a winner that did not play", 2, [][]league.Played{{result(0, 3, 1), first[1]}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			assert.Nil(t, p.Round(tt.round, tt.played, nil))
		})
	}
	assert.Equal(t, []pairing.Pairing{{A: 0, B: 1}, {A: 2, B: 3}}, p.Round(2, [][]league.Played{first, second}, nil))
}

func TestSeedsAreNotShared(t *testing.T) {
	seeds := []int{0, 1, 2, 3}
	p := newPairer(t, pairing.Format{Name: pairing.Knockout, Players: 4, Seeds: seeds})
	slices.Reverse(seeds)
	assert.Equal(t, []pairing.Pairing{{A: 0, B: 3}, {A: 1, B: 2}}, p.Round(1, nil, nil))
}

func TestAnyKnockout(t *testing.T) {
	for players := 2; players <= 257; players++ {
		checkKnockout(t, pairing.Format{Name: pairing.Knockout, Players: players}, lowerWins)
	}
	rapid.Check(t, func(t *rapid.T) {
		players := rapid.IntRange(2, 257).Draw(t, "players")
		var seeds []int
		if rapid.Bool().Draw(t, "seeded") {
			seeds = rapid.Permutation(indexes(players)).Draw(t, "seeds")
		}
		checkKnockout(t, pairing.Format{Name: pairing.Knockout, Players: players, Seeds: seeds}, drawnJudge(t))
	})
}

func indexes(players int) []int {
	all := make([]int, players)
	for p := range all {
		all[p] = p
	}
	return all
}

// A knockoutRecord is what checkKnockout finds out about the players.
type knockoutRecord struct {
	lost  []int // by player: the stage in which it lost; 0 for none
	third []int // players of the match for third place
}

// checkKnockout plays a knockout and checks it against its definition.
func checkKnockout(t fataler, f pairing.Format, end judge) {
	t.Helper()
	p := newPairer(t, f)
	played := play(p, end)
	require.NotEmpty(t, played)
	require.LessOrEqual(t, len(played), p.Rounds(), "%+v", f)
	seed := indexes(f.Players)
	for i, player := range f.Seeds {
		seed[player] = i
	}

	record := knockoutRecord{lost: make([]int, f.Players)}
	matches, stage := 0, 0
	var replays []pairing.Pairing
	draws := map[pairing.Pairing]int{}
	for i, results := range played {
		if len(replays) > 0 {
			require.Equal(t, replays, pairingsOf(played)[i], "%+v R%d: replays come before the next stage", f, i+1)
		} else {
			stage++
		}
		replays = nil
		busy := map[int]bool{}
		for number, r := range results {
			matches++
			require.False(t, busy[r.A] || busy[r.B] || r.A == r.B, "%+v R%d: a player has two matches", f, i+1)
			busy[r.A], busy[r.B] = true, true
			third := slices.Contains(record.third, r.A)
			if record.lost[r.A] != 0 || record.lost[r.B] != 0 {
				require.True(t, third || record.third == nil && number == len(results)-1, "%+v R%d: a loser plays on", f, i+1)
				record.third, third = []int{r.A, r.B}, true
			}
			if r.Winner == league.None && !r.Technical {
				key := pairing.Pairing{A: min(r.A, r.B), B: max(r.A, r.B)}
				if draws[key]++; draws[key] <= 3 {
					replays = append(replays, pairing.Pairing{A: r.B, B: r.A})
					continue
				}
				r.Winner = r.A
				if seed[r.B] < seed[r.A] {
					r.Winner = r.B
				}
			}
			for _, player := range []int{r.A, r.B} {
				if player != r.Winner && !third {
					record.lost[player] = stage
				}
			}
		}
	}
	require.Empty(t, replays, "%+v: the end leaves draws", f)
	require.LessOrEqual(t, matches, p.Matches(), "%+v", f)
	checkRanks(t, ranks(t, p, played), record)
	checkBracket(t, p.(pairing.Ranker), played)

	last := len(played) - 1
	require.Equal(t, pairingsOf(played)[last], newPairer(t, f).Round(last+1, played, nil), "%+v: not deterministic", f)
}

// checkBracket checks that each match has one place, between its players, and that the last places have
// the players of the first ranks.
func checkBracket(t fataler, k pairing.Ranker, played [][]league.Played) {
	t.Helper()
	for _, rounds := range []int{0, len(played) / 2, len(played)} {
		found := map[league.MatchID]bool{}
		stages := slices.Concat(k.Bracket(played[:rounds], nil)...)
		for _, slots := range stages {
			for _, s := range slots {
				for _, id := range s.Matches {
					require.False(t, found[id], "%s has two places", id)
					found[id] = true
					if id.Round <= rounds {
						r := played[id.Round-1][id.Number-1]
						require.ElementsMatch(t, []int{s.A, s.B}, []int{r.A, r.B}, "%s", id)
					}
				}
			}
		}
		for i, results := range played[:min(rounds+1, len(played))] {
			for number := range results {
				require.True(t, found[league.MatchID{Round: i + 1, Number: number + 1}], "R%dM%d has no place", i+1, number+1)
			}
		}
	}
	ranks := k.Ranks(played, nil)
	for _, s := range slices.Concat(k.Bracket(played, nil)...)[len(slices.Concat(k.Bracket(nil, nil)...))-1] {
		if s.Winner != league.None {
			want := map[bool]int{false: 1, true: 3}[s.Third]
			require.LessOrEqual(t, ranks[s.Winner], want)
		}
	}
}

// checkRanks checks the ranks at the end of a knockout: later losers rank higher, and
// every rank is 1 more than the number of players that rank higher.
func checkRanks(t fataler, ranks []int, record knockoutRecord) {
	t.Helper()
	unbeaten := 0
	sorted := slices.Sorted(slices.Values(ranks))
	for p, rank := range ranks {
		higher, _ := slices.BinarySearch(sorted, rank)
		require.Equal(t, higher+1, rank, "player %d", p)
		if record.lost[p] == 0 {
			unbeaten++
			require.Equal(t, 1, rank, "player %d is not beaten", p)
		}
		for q := range p {
			a, b := record.lost[p], record.lost[q]
			if a != 0 && b != 0 && (a > b && rank >= ranks[q] || a < b && rank <= ranks[q]) {
				require.FailNow(t, "later losers rank higher", "ranks %d and %d of %d and %d", rank, ranks[q], p, q)
			}
		}
	}
	require.LessOrEqual(t, unbeaten, 1, "at most one champion")
}
