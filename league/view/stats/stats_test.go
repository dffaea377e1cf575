package stats_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"evenodd/league"
	"evenodd/league/view/stats"
)

// won is a match on sides A and B that the first player of the two won.
func won(winner, loser int) league.Played { return league.Played{A: winner, B: loser, Winner: winner} }

func drawn(a, b int) league.Played { return league.Played{A: a, B: b, Winner: league.None} }

// swapped is the match with the sides exchanged.
func swapped(m league.Played) league.Played { m.A, m.B = m.B, m.A; return m }

func repeated(m league.Played, times int) []league.Played {
	return slices.Repeat([]league.Played{m}, times)
}

// named are players with the names "player 1", "player 2", ….
func named(n int) []league.Standing {
	players := make([]league.Standing, n)
	for i := range players {
		players[i].PlayerID = fmt.Sprintf("player %d", i+1)
	}
	return players
}

func analyse(players int, matches []league.Played, o stats.Options) *stats.Analysis {
	return stats.Analyse(named(players), matches, o)
}

func alike() stats.Options { return stats.Options{Seed: 7, SidesAlike: true} }

func TestOneWinOfTwoPlayers(t *testing.T) {
	a := analyse(2, []league.Played{won(1, 0)}, alike())
	// The derivative of the likelihood is 0 where u, the odds of the winner against an average
	// opponent, solves u²/(u²+1) + u/(u+1) = 3/2: the cubic equation below.
	u := math.Pow(10, (a.Players[1].Rating-1500)/400)
	assert.InDelta(t, 0, u*u*u-u*u-u-3, 1e-6)
	assert.InDelta(t, 1631.4, a.Players[1].Rating, 0.1)
	assert.InDelta(t, 3000, a.Players[0].Rating+a.Players[1].Rating, 1e-6)
	assert.Equal(t, []int{1, 0}, a.Order)
	assert.Equal(t, []int{1, 2}, []int{a.Players[1].Rank, a.Players[0].Rank})
	assert.Equal(t, "1 match is too few to tell the players apart: their order can be luck.", a.Sentence)
}

func TestLikelihoodOfSuperiority(t *testing.T) {
	wins := func(n, winner int) (list []league.Played) {
		for i := range n {
			list = append(list, league.Played{A: i % 2, B: 1 - i%2, Winner: winner})
		}
		return list
	}
	for _, tt := range []struct {
		name        string
		matches     []league.Played
		least, most float64
		text        string
	}{
		{"no match", nil, 0.4, 0.6, ""},
		{"as many wins of both", append(wins(10, 0), wins(10, 1)...), 0.4, 0.6, ""},
		{"35 of 40 wins", append(wins(35, 0), wins(5, 1)...), 0.995, 1, ">99%"},
		{"5 of 40 wins", append(wins(5, 0), wins(35, 1)...), 0, 0.005, "<1%"},
		{"3 of 5 wins", append(wins(3, 0), wins(2, 1)...), 0.55, 0.8, ""},
	} {
		a := stats.Analyse(make([]league.Standing, 2), tt.matches, stats.Options{Seed: 1})
		got := a.Superiority(0, 1)
		assert.GreaterOrEqual(t, got, tt.least, tt.name)
		assert.LessOrEqual(t, got, tt.most, tt.name)
		assert.InDelta(t, 1, got+a.Superiority(1, 0), 1e-12, tt.name)
		if tt.text != "" {
			assert.Equal(t, tt.text, stats.Percent(got), tt.name)
		}
	}
	assert.Equal(t, "7%", stats.Percent(0.071))
}

func TestLegsForPeople(t *testing.T) {
	for n, want := range map[int]string{0: "", 7: "7", 100: "100", 101: "over 100", 3976: "over 100"} {
		assert.Equal(t, want, (&stats.Player{LegsToNext: n}).Legs())
	}
}

func TestSevenWinsOfSevenHaveAFiniteRatingWithAWidth(t *testing.T) {
	a := analyse(2, repeated(won(0, 1), 7), alike())
	winner := a.Players[0]
	assert.InDelta(t, 1764, winner.Rating, 1)
	assert.Less(t, winner.Low, winner.Rating-150)
	assert.Greater(t, winner.High, winner.Rating+300)
	assert.Equal(t, 7, winner.Matches)
	assert.InDelta(t, 2.0/128, a.Equality.P, 0.01, "two of the 128 equally likely results are as clear")
	assert.InDelta(t, 98, a.Equality.Statistic, 1e-9)
	assert.Contains(t, a.Sentence, ": player 1 is better than the rest.")
	players := named(2)
	players[0].PlayerID, players[0].DisplayName = "P01", "Team 4"
	assert.Contains(t, stats.Told(players, repeated(won(0, 1), 7), alike()), ": P01 Team 4 is better than the rest.")
}

func TestEqualPlayersShareTheRank(t *testing.T) {
	a := analyse(3, []league.Played{won(0, 1), won(1, 2), won(2, 0)}, alike())
	for _, p := range a.Players {
		assert.InDelta(t, 1500, p.Rating, 1e-6)
		assert.Equal(t, []int{1, 1, 3}, []int{p.Rank, p.BestRank, p.WorstRank})
		assert.Zero(t, p.LegsToNext)
	}
	assert.InDelta(t, 1, a.Equality.P, 1e-9, "no result is less different")
	assert.Zero(t, a.Equality.Statistic)
}

func TestFourPlayersAndOneLegCanHardlyReject(t *testing.T) {
	matches := []league.Played{won(0, 1), won(0, 2), won(0, 3), won(1, 2), won(1, 3), won(2, 3)}
	a := analyse(4, matches, alike())
	assert.InDelta(t, 20, a.Equality.Statistic, 1e-9, "9 + 1 + 1 + 9")
	assert.InDelta(t, 24.0/64, a.Equality.P, 0.03, "24 of the 64 results are an order of the players without a contradiction")
	assert.InDelta(t, a.Equality.P, a.Equality.SmallestP, 1e-9)
	assert.False(t, a.Equality.Possible)
	assert.Equal(t, "6 matches are too few to tell the players apart: their order can be luck.", a.Sentence)

	matches[5] = drawn(2, 3)
	a = analyse(4, matches, alike())
	assert.Equal(t, "6 matches (5 with a winner) are too few to tell the players apart: their order can be luck.", a.Sentence)
}

func TestTheTestKeepsTheWinsOfASide(t *testing.T) {
	matches := append(repeated(won(0, 1), 2), repeated(swapped(won(0, 1)), 2)...)
	a := analyse(2, matches, stats.Options{Seed: 7})
	assert.InDelta(t, 2.0/6, a.Equality.P, 0.03, "side A wins 2 of 4 matches: in 2 of 6 ways one player wins all")
	assert.InDelta(t, 2.0/16, analyse(2, matches, alike()).Equality.P, 0.03)

	a = analyse(3, []league.Played{won(0, 1), won(0, 2), won(1, 2), won(0, 1), won(0, 2), won(1, 2)}, stats.Options{Seed: 7})
	assert.InDelta(t, 1, a.Equality.P, 1e-9)
	assert.Positive(t, a.Sides.Advantage)
	assert.Equal(t, "The same side won all 6 matches that have a winner: this can be the advantage of the side, and the order of these players can be luck.", a.Sentence)
}

func TestTechnicalLossesCountOnlyInSums(t *testing.T) {
	matches := []league.Played{
		won(0, 1), {A: 0, B: 2, Winner: 0, Technical: true}, {A: 1, B: 2, Winner: league.None, Technical: true}, drawn(2, 1),
	}
	players := []league.Standing{{Strategy: "x", Points: 6}, {Strategy: "y", Points: 1}, {Strategy: "x", Points: 1}}
	a := stats.Analyse(players, matches, alike())
	assert.Equal(t, []int{4, 2, 2, 1}, []int{a.Matches, a.Played, a.Used, a.Equality.Matches})
	assert.Equal(t, stats.Sides{WinsA: 1, Draws: 1}, a.Sides)
	assert.Equal(t, []stats.Strategy{
		{Name: "x", Players: 2, Tally: league.Tally{Played: 5, Wins: 2, Draws: 1, Losses: 2, TechnicalLosses: 2}},
		{Name: "y", Players: 1, Tally: league.Tally{Played: 3, Draws: 1, Losses: 2, TechnicalLosses: 1}},
	}, a.Strategies)
	assert.Equal(t, []int{1, 2, 1}, []int{a.Players[0].Matches, a.Players[1].Matches, a.Players[2].Matches})
	assert.Equal(t, []float64{2, 0.5, 0.5}, []float64{a.Players[0].SonnebornBerger, a.Players[1].SonnebornBerger, a.Players[2].SonnebornBerger})
}

func TestLeaguesWithoutResults(t *testing.T) {
	failed := league.Played{A: 0, B: 1, Winner: 0, Technical: true}
	for _, tt := range []struct {
		name    string
		players int
		matches []league.Played
		want    string
	}{
		{"no players", 0, nil, "No match has been decided by play yet: nothing can be said about the players."},
		{"no matches", 3, nil, "No match has been decided by play yet: nothing can be said about the players."},
		{"only technical losses", 2, []league.Played{failed}, "No match has been decided by play yet: nothing can be said about the players."},
		{"one draw", 2, []league.Played{drawn(0, 1)}, "The only match is a draw: nothing can be said about the players."},
		{"only draws", 3, []league.Played{drawn(0, 1), drawn(1, 2)}, "All 2 matches are draws: they show no difference between the players."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := analyse(tt.players, tt.matches, stats.Options{})
			assert.Equal(t, tt.want, a.Sentence)
			assert.InDelta(t, 1, a.Equality.P, 1e-9)
			assert.False(t, a.Equality.Possible)
			for _, p := range a.Players {
				assert.InDelta(t, 1500, p.Rating, 1e-6)
				assert.Greater(t, p.High-p.Low, 200.0, "nothing is known")
			}
		})
	}
}

func TestImpossibleMatchesPanic(t *testing.T) {
	for _, m := range []league.Played{{A: 0, B: 0, Winner: 0}, {A: 0, B: 2, Winner: 0}, {A: -1, B: 1, Winner: 1}, {A: 0, B: 1, Winner: 2}} {
		assert.Panics(t, func() { analyse(2, []league.Played{m}, alike()) }, "%+v", m)
	}
}

func TestGroupsThatNeverMetHaveFiniteRatings(t *testing.T) {
	var matches []league.Played
	for range 200 {
		matches = append(matches, won(0, 1), won(2, 3), won(3, 2))
	}
	a := analyse(5, matches, stats.Options{Seed: 7})
	assert.Equal(t, 0, a.Order[0])
	assert.Equal(t, 1, a.Order[4])
	assert.InDelta(t, a.Players[2].Rating, a.Players[3].Rating, 50, "side A always wins between them")
	assert.InDelta(t, 1500, a.Players[4].Rating, 1e-6)
}

func TestSamplesOfManyMatchesSaySo(t *testing.T) {
	o := alike()
	o.Resamples, o.Shuffles = 20, 99
	matches := roundRobin(2, stats.MaxMatches+500, 7, luck)
	a := analyse(2, matches, o)
	assert.True(t, a.Sampled)
	assert.Equal(t, []int{20_500, 20_500, 20_000}, []int{a.Matches, a.Played, a.Used})
	assert.Contains(t, a.Sentence, "Ratings and test use a random sample of 20000 of the 20500 matches.")
	assert.False(t, analyse(2, matches[:stats.MaxMatches], o).Sampled)
}

func TestLegsToSeparateFollowTheDifference(t *testing.T) {
	matches := append(repeated(won(0, 1), 60), repeated(won(1, 0), 40)...)
	a := analyse(2, matches, alike())
	legs := a.LegsToSeparate(0, 1)
	// A sign test at 5% needs (1.96·√¼ + 0.84·√(0.6·0.4))² / 0.1² = 194 matches to find 60% in 80% of
	// cases. The prior makes the 60% a little less.
	assert.InDelta(t, 198, legs, 5)
	assert.Equal(t, legs, a.LegsToSeparate(1, 0))
	assert.Equal(t, legs, a.Players[0].LegsToNext)
	assert.Zero(t, a.Players[1].LegsToNext, "nobody is below")
	assert.Zero(t, a.LegsToSeparate(0, 0))

	clear := analyse(2, append(repeated(won(0, 1), 90), repeated(won(1, 0), 10)...), alike())
	assert.InDelta(t, 11, clear.LegsToSeparate(0, 1), 2)
	always := analyse(2, repeated(won(0, 1), 7), alike())
	assert.Equal(t, 7, always.LegsToSeparate(0, 1), "95% in place of 100%; 6 of 6 is significant")
	level := analyse(2, append(repeated(won(0, 1), 5001), repeated(won(1, 0), 4999)...), alike())
	assert.Zero(t, level.LegsToSeparate(0, 1), "more than 10,000")
}

func TestSentenceNamesTheGroupThatStandsOut(t *testing.T) {
	strength := func(of ...float64) func(a, b int) (float64, float64) {
		return func(a, b int) (float64, float64) {
			p := 1 / (1 + math.Exp(of[b]-of[a]))
			return p, 1 - p
		}
	}
	for _, tt := range []struct {
		name string
		play func(a, b int) (float64, float64)
		want string
	}{
		{"one better", strength(4, 0, 0, 0, 0, 0), `: player 1 is better than the rest\.$`},
		{"one worse", strength(0, 0, 0, 0, 0, -4), `: player 6 is worse than the rest\.$`},
		{"two better", strength(4, 4, 0, 0, 0, 0), `: (player 1 and player 2|player 2 and player 1) are better than the rest\.$`},
		{"a gradual slope", strength(0.5, 0.3, 0.1, -0.1, -0.3, -0.5), `: player 1 is better than \d of the 5 others\.$`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := analyse(6, roundRobin(6, 20, 3, tt.play), alike())
			assert.Regexp(t, `^The data show differences \(p < 0\.001\)`+tt.want, a.Sentence)
		})
	}
}

func TestKnockoutCanHardlyReject(t *testing.T) {
	var matches []league.Played
	for left := 32; left > 1; left /= 2 { // the lower number wins
		for i := range left / 2 {
			matches = append(matches, won(i, left-1-i))
		}
	}
	o := alike()
	o.PairedByResults = true
	a := analyse(32, matches, o)
	assert.False(t, a.Equality.Rejected)
	assert.False(t, a.Equality.Possible)
	assert.Equal(t, "The order of these players can be luck: where results decide who meets whom, results hardly tell players apart.", a.Sentence)
	assert.Equal(t, 0, a.Order[0])
}

// matchesOf draws matches of a number of players.
func matchesOf(t *rapid.T, players int) []league.Played {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) league.Played {
		a := rapid.IntRange(0, players-1).Draw(t, "a")
		b := (a + rapid.IntRange(1, players-1).Draw(t, "further")) % players
		return league.Played{A: a, B: b, Winner: rapid.SampledFrom([]int{a, b, league.None}).Draw(t, "winner"), Technical: rapid.IntRange(0, 9).Draw(t, "fails") == 0}
	}), 0, 60).Draw(t, "matches")
}

func drawnOptions(t *rapid.T) stats.Options {
	return stats.Options{Seed: rapid.Uint64().Draw(t, "seed"), SidesAlike: rapid.Bool().Draw(t, "alike"), PairedByResults: rapid.Bool().Draw(t, "paired"), Resamples: 40, Shuffles: 99}
}

func TestNumbersAreFiniteAndIntervalsContainThem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		players := rapid.IntRange(2, 9).Draw(t, "players")
		matches, o := matchesOf(t, players), drawnOptions(t)
		a := analyse(players, matches, o)
		require.Equal(t, a.Told, stats.Told(named(players), matches, o))
		_, err := json.Marshal(a)
		require.NoError(t, err, "JSON has no NaN and no infinity")
		require.Len(t, a.Order, players)
		for i := range a.Players {
			p := &a.Players[i]
			require.LessOrEqual(t, p.Low, p.Rating)
			require.LessOrEqual(t, p.Rating, p.High)
			require.InDelta(t, 1500, p.Rating, 2000)
			require.True(t, 1 <= p.BestRank && p.BestRank <= p.Rank && p.Rank <= p.WorstRank && p.WorstRank <= players, "%+v", p)
		}
		require.True(t, a.Equality.SmallestP > 0 && a.Equality.SmallestP <= a.Equality.P && a.Equality.P <= 1, "%+v", a.Equality)
		require.NotContains(t, a.Sentence, "%!")
	})
}

// At the maximum of the likelihood each player has as many wins as the model expects.
func TestRatingsSolveTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		players := rapid.IntRange(2, 9).Draw(t, "players")
		matches, o := matchesOf(t, players), drawnOptions(t)
		a := analyse(players, matches, o)
		probability := func(points float64) float64 { return 1 / (1 + math.Pow(10, -points/400)) }
		surplus := make([]float64, players)
		for i := range a.Players {
			surplus[i] = 0.5 - probability(a.Players[i].Rating-1500)
		}
		side := 5 - 10*probability(a.Sides.Advantage)
		for _, m := range matches {
			if m.Technical {
				continue
			}
			score := map[int]float64{m.A: 1, m.B: 0, league.None: 0.5}[m.Winner]
			d := score - probability(a.Players[m.A].Rating+a.Sides.Advantage-a.Players[m.B].Rating)
			surplus[m.A] += d
			surplus[m.B] -= d
			side += d
		}
		for _, d := range surplus {
			require.InDelta(t, 0, d, 1e-6)
		}
		if o.SidesAlike {
			require.Zero(t, a.Sides.Advantage)
		} else {
			require.InDelta(t, 0, side, 1e-6)
		}
	})
}

func TestOtherNumbersOfPlayersPermuteTheResult(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		players := rapid.IntRange(2, 9).Draw(t, "players")
		matches, o := matchesOf(t, players), drawnOptions(t)
		as := rapid.Permutation(numbers(players)).Draw(t, "as")
		other := make([]league.Played, len(matches))
		for i, m := range matches {
			other[i] = league.Played{A: as[m.A], B: as[m.B], Winner: league.None, Technical: m.Technical}
			if m.Winner != league.None {
				other[i].Winner = as[m.Winner]
			}
		}
		a, b := analyse(players, matches, o), analyse(players, other, o)
		require.Equal(t, a.Equality, b.Equality)
		require.InDelta(t, a.Sides.Advantage, b.Sides.Advantage, 1e-4)
		for i := range a.Players {
			p, q := &a.Players[i], &b.Players[as[i]]
			require.InDelta(t, p.Rating, q.Rating, 1e-4)
			require.Equal(t, p.Rank, q.Rank)
			require.InDelta(t, p.SonnebornBerger, q.SonnebornBerger, 1e-9)
			require.Equal(t, p.Matches, q.Matches)
		}
	})
}

func TestAWinInsteadOfALossRaisesTheRating(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		players := rapid.IntRange(2, 9).Draw(t, "players")
		matches, o := append(matchesOf(t, players), won(1, 0)), drawnOptions(t)
		before := analyse(players, matches, o)
		matches[len(matches)-1].Winner = 0
		after := analyse(players, matches, o)
		require.Greater(t, after.Players[0].Rating, before.Players[0].Rating)
		require.Less(t, after.Players[1].Rating, before.Players[1].Rating)
	})
}

func numbers(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

func ExampleAnalyse() {
	var matches []league.Played
	for range 10 { // player 1 beats player 2, and both beat player 3
		matches = append(matches, league.Played{A: 0, B: 1, Winner: 0}, league.Played{A: 2, B: 0, Winner: 0}, league.Played{A: 1, B: 2, Winner: 1})
	}
	a := stats.Analyse([]league.Standing{{PlayerID: "Ann"}, {PlayerID: "Bob"}, {PlayerID: "Cem"}}, matches, stats.Options{SidesAlike: true})
	fmt.Println(a.Sentence)
	fmt.Printf("Ann: %.0f, rank %d to %d\n", a.Players[0].Rating, a.Players[0].BestRank, a.Players[0].WorstRank)
	// Output:
	// The data show differences (p < 0.001): Ann is better than the rest.
	// Ann: 2037, rank 1 to 1
}

// roundRobin plays legs of a league. play returns the probabilities that side A and side B win.
func roundRobin(players, legs int, seed uint64, play func(a, b int) (winA, winB float64)) (matches []league.Played) {
	random := rand.New(rand.NewPCG(seed, 0))
	for leg := range legs {
		for i := range players {
			for j := i + 1; j < players; j++ {
				a, b := i, j
				if leg%2 == 1 {
					a, b = j, i
				}
				m := league.Played{A: a, B: b, Winner: league.None}
				winA, winB := play(a, b)
				switch x := random.Float64(); {
				case x < winA:
					m.Winner = a
				case x < winA+winB:
					m.Winner = b
				}
				matches = append(matches, m)
			}
		}
	}
	return matches
}

// luck is a game without skill, as Even/Odd.
func luck(_, _ int) (winA, winB float64) { return 0.25, 0.25 }

// BenchmarkAnalyse analyses leagues. The baseline counts the wins of all matches, once for each
// shuffle and each resample; x-baseline is the ratio.
func BenchmarkAnalyse(b *testing.B) {
	const times = 999 + 200
	for _, size := range []struct{ players, legs int }{{4, 1}, {8, 5}, {50, 1}, {200, 1}} {
		matches := roundRobin(size.players, size.legs, 7, luck)
		for _, alike := range []bool{true, false} {
			b.Run(fmt.Sprintf("players=%d/legs=%d/alike=%t", size.players, size.legs, alike), func(b *testing.B) {
				var took, baseline time.Duration
				for b.Loop() {
					start := time.Now()
					analyse(size.players, matches, stats.Options{Seed: 7, SidesAlike: alike})
					took += time.Since(start)
					start = time.Now()
					for range times {
						countWins(size.players, matches)
					}
					baseline += time.Since(start)
				}
				b.ReportMetric(float64(took)/float64(b.N)/1e6, "ms/analysis")
				b.ReportMetric(float64(took)/float64(baseline), "x-baseline")
			})
		}
	}
}

func countWins(players int, matches []league.Played) []int {
	wins := make([]int, players)
	for i := range matches {
		if m := &matches[i]; m.Winner != league.None {
			wins[m.Winner]++
		}
	}
	return wins
}

// docs/statistics.md names this prior: ten more matches between equal players, five won by each side.
func TestAdvantageOfASideBeginsWithFiveWinsOfEachSide(t *testing.T) {
	matches := []league.Played{{A: 0, B: 1, Winner: 0}, {A: 1, B: 0, Winner: 1}}
	assert.InDelta(t, 400*math.Log10(7.0/5), analyse(2, matches, stats.Options{Seed: 7}).Sides.Advantage, 0.1)
}
