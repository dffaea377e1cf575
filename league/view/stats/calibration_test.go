package stats_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"evenodd/league"
	"evenodd/league/journal"
	"evenodd/league/lists"
	"evenodd/league/pairing"
	"evenodd/league/simulation"
	"evenodd/league/simulation/leaguetest"
	"evenodd/league/view/record"
	"evenodd/league/view/stats"
	"evenodd/rules"
	"evenodd/rules/evenodd"
	"evenodd/rules/tictactoe"
)

// leagues is the number of leagues of a test that has a short version.
func leagues() int {
	if leaguetest.All() {
		return 2000
	}
	return 200
}

// evenOdd plays a match of Even/Odd by its rules, with random choices.
func evenOdd(random *rand.Rand, a, b int) league.Played {
	moves := [2]string{}
	for side := range moves {
		moves[side] = []string{evenodd.Even, evenodd.Odd}[random.IntN(2)]
	}
	chance := rules.Chance{}
	for i := range chance.Nonce {
		chance.Nonce[i] = byte(random.Uint32())
	}
	verdict := evenodd.Game{}.Start().Play(moves).Judge(chance)
	m := league.Played{A: a, B: b, Winner: league.None}
	if verdict.Winner != rules.NoSide {
		m.Winner = [2]int{a, b}[verdict.Winner]
	}
	return m
}

// play plays a league of a format, with its pairings.
func play(t *testing.T, f pairing.Format, match func(a, b int) league.Played) (matches []league.Played) {
	t.Helper()
	pairer, err := pairing.New(f)
	require.NoError(t, err)
	var played [][]league.Played
	for round := range pairer.Rounds() {
		var results []league.Played
		for _, p := range pairer.Round(round+1, played, nil) {
			m := match(p.A, p.B)
			matches, results = append(matches, m), append(results, league.Played{A: p.A, B: p.B, Winner: m.Winner})
		}
		played = append(played, results)
	}
	return matches
}

// rejections is the part of many leagues of equal players in which the test rejects.
func rejections(t *testing.T, f pairing.Format, o stats.Options, match func(random *rand.Rand, a, b int) league.Played) float64 {
	t.Helper()
	rejected := 0
	for seed := range leagues() {
		random := rand.New(rand.NewPCG(uint64(seed), 1))
		matches := play(t, f, func(a, b int) league.Played { return match(random, a, b) })
		o.Seed, o.Resamples, o.Shuffles = uint64(seed), 1, 999
		if a := analyse(f.Players, matches, o); a.Equality.Rejected {
			rejected++
		}
	}
	t.Logf("%d of %d leagues", rejected, leagues())
	return float64(rejected) / float64(leagues())
}

// bounds are those of a number of rejections with the probability of 5%; the short version has
// a tenth of the leagues, and wider ones.
func bounds() (low, high float64) {
	if leaguetest.All() {
		return 0.03, 0.07
	}
	return 0.01, 0.10
}

func TestLuckInEvenOddIsNoSkill(t *testing.T) {
	t.Parallel()
	low, high := bounds()
	rate := rejections(t, pairing.Format{Players: 8, Legs: 5}, stats.Options{SidesAlike: true}, evenOdd)
	assert.GreaterOrEqual(t, rate, low)
	assert.LessOrEqual(t, rate, high)
}

func TestAdvantageOfASideIsNoSkill(t *testing.T) {
	t.Parallel()
	first := func(random *rand.Rand, a, b int) league.Played { // side A wins 3 of 4 matches
		m := league.Played{A: a, B: b, Winner: a}
		if random.IntN(4) == 0 {
			m.Winner = b
		}
		return m
	}
	low, high := bounds()
	f := pairing.Format{Players: 12, Legs: 1} // the players with low numbers are on side A more often
	rate := rejections(t, f, stats.Options{}, first)
	assert.GreaterOrEqual(t, rate, low)
	assert.LessOrEqual(t, rate, high)
	assert.Greater(t, rejections(t, f, stats.Options{SidesAlike: true}, first), 0.3, "a test that flips each match would find differences")
}

func TestSwissSystemIsNoSkill(t *testing.T) {
	t.Parallel()
	_, high := bounds()
	f := pairing.Format{Name: pairing.Swiss, Players: 16, Rounds: 7, Points: league.MatchPoints{Win: 3, Draw: 1}}
	assert.LessOrEqual(t, rejections(t, f, stats.Options{SidesAlike: true, PairedByResults: true}, evenOdd), high)
}

func TestIntervalsContainTheTrueRating(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		legs      int
		draws     float64 // the part of the matches
		strengths []float64
		least     float64
	}{
		{"Even/Odd, eight players", 5, 0.5, make([]float64, 8), 0.92},
		{"four equal players, one leg", 1, 0, make([]float64, 4), 0.95},
		{"two players, seven legs", 7, 0, []float64{1.4, 0}, 0.90},
		{"one strong player, one leg", 1, 0, []float64{2, 0, 0, 0, 0, 0, 0, 0}, 0.92},
		{"all players differ", 5, 0, []float64{2, 1.5, 1, 0.5, -0.5, -1, -1.5, -2}, 0.92},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			n := len(tt.strengths)
			truth, inside, times := trueRatings(tt.strengths), 0, min(leagues(), 500)
			for seed := range times {
				matches := roundRobin(n, tt.legs, uint64(seed), func(a, b int) (winA, winB float64) {
					p := 1 / (1 + math.Exp(tt.strengths[b]-tt.strengths[a]))
					return (1 - tt.draws) * p, (1 - tt.draws) * (1 - p)
				})
				a := analyse(n, matches, stats.Options{Seed: uint64(seed), SidesAlike: true, Resamples: 200, Shuffles: 1})
				for i, p := range a.Players {
					if p.Low <= truth[i] && truth[i] <= p.High {
						inside++
					}
				}
			}
			covered := float64(inside) / float64(n*times)
			t.Logf("%.3f", covered)
			assert.GreaterOrEqual(t, covered, tt.least)
		})
	}
}

// trueRatings are the ratings of strengths: an opponent that scores half of the points against
// these players has 1500.
func trueRatings(strengths []float64) []float64 {
	middle := 0.0
	for range 200 {
		for _, x := range strengths {
			middle += (1/(1+math.Exp(middle-x)) - 0.5) / float64(len(strengths))
		}
	}
	ratings := make([]float64, len(strengths))
	for i, x := range strengths {
		ratings[i] = 1500 + 400/math.Ln10*(x-middle)
	}
	return ratings
}

func TestPerfectTicTacToePlayerIsClearOfTheRest(t *testing.T) {
	t.Parallel()
	result, err := simulation.Run(t.Context(), simulation.Options{
		Rules: simulation.Rules{
			Created: journal.Created{LeagueID: "x", GameType: tictactoe.Type, Legs: 4,
				Configuration: journal.Configuration{Participants: journal.Participants{Players: 8, Referees: 1}}},
			Games: rules.NewRegistry(tictactoe.Game{}), Log: zerolog.Nop(),
		},
		Seed: 7, Transport: simulation.Memory,
		Strategies: []string{"random", "random", "perfect", "random", "random", "random", "random", "random"},
	})
	require.NoError(t, err)
	index := map[string]int{}
	for i, row := range result.Players {
		index[row.PlayerID] = i
	}
	matches := lists.Map(result.Meetings, func(m record.Meeting) league.Played { return m.Played })
	a := stats.Analyse(result.Players, matches, stats.Options{Seed: 7})
	perfect := index["P03"]
	require.Equal(t, perfect, a.Order[0])
	assert.Equal(t, 1, a.Players[perfect].WorstRank)
	for i := range a.Players {
		if i != perfect {
			assert.Less(t, a.Players[i].High, a.Players[perfect].Low, "the intervals do not overlap")
		}
	}
	assert.Regexp(t, `^The data show differences \(p < 0\.001\): P03 is better than the rest\.$`, a.Sentence)
	assert.Positive(t, a.Sides.Advantage, "the first player has an advantage")
}
