package pairing_test

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"evenodd/league"
	"evenodd/league/pairing"
)

func TestSwissPairings(t *testing.T) {
	for _, tt := range []struct {
		name    string
		players int
		rounds  int
		end     judge
		want    [][]pairing.Pairing
	}{
		{"two players meet once", 2, 0, lowerWins, [][]pairing.Pairing{
			{{0, 1}},
		}},
		{"the bye goes to the lowest ranked player that had none", 3, 0, lowerWins, [][]pairing.Pairing{
			{{0, 1}},
			{{2, 0}}, // the bye of player 2 counts as a win
		}},
		{"the upper half meets the lower half, winners meet winners", 8, 0, lowerWins, [][]pairing.Pairing{
			{{0, 4}, {5, 1}, {2, 6}, {7, 3}},
			{{3, 0}, {1, 2}, {4, 7}, {6, 5}}, // 0 wants side B, and 2 does too
			{{0, 1}, {2, 4}, {5, 3}, {7, 6}},
		}},
		{"players that met transpose their opponents", 8, 0, allDrawn, [][]pairing.Pairing{
			{{0, 4}, {5, 1}, {2, 6}, {7, 3}},
			{{6, 0}, {1, 7}, {4, 2}, {3, 5}}, // 5 wants side A, as 0 does
			{{0, 3}, {2, 1}, {5, 4}, {7, 6}},
		}},
		{"floaters meet the best of the next group, without costing a pair", 6, 0, lowerWins, [][]pairing.Pairing{
			{{0, 3}, {4, 1}, {2, 5}},
			{{1, 0}, {3, 2}, {5, 4}}, // 2 floats down
			{{0, 2}, {5, 1}, {4, 3}}, // 1 and 4 have met; after 1 against 3, 4 could only meet 5 again
		}},
		{"a technical loss is a loss, a double loss is one for both", 4, 0, func(_ int, p pairing.Pairing) league.Played {
			if p.A == 0 {
				return league.Played{A: p.A, B: p.B, Winner: league.None, Technical: true}
			}
			return league.Played{A: p.A, B: p.B, Winner: 1, Technical: true}
		}, [][]pairing.Pairing{
			{{0, 2}, {3, 1}},
			{{1, 0}, {2, 3}}, // 1 has one point, the others none
		}},
		{"a draw is worth less than a win and more than a loss", 4, 0, func(_ int, p pairing.Pairing) league.Played {
			if p.A == 0 {
				return allDrawn(0, p)
			}
			return league.Played{A: p.A, B: p.B, Winner: 3}
		}, [][]pairing.Pairing{
			{{0, 2}, {3, 1}},
			{{2, 3}, {1, 0}}, // 3 has a point, 0 and 2 have half a point; 0 wants the same side as 3
		}},
		{"an odd field in its largest number of rounds", 5, 3, lowerWins, [][]pairing.Pairing{
			{{0, 2}, {3, 1}},
			{{1, 0}, {2, 4}},
			{{0, 3}, {4, 1}},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPairer(t, pairing.Format{Name: pairing.Swiss, Players: tt.players, Rounds: tt.rounds})
			assert.Equal(t, len(tt.want), p.Rounds())
			assert.Equal(t, len(tt.want)*(tt.players/2), p.Matches())
			assert.Equal(t, tt.want, pairingsOf(play(p, tt.end)))
		})
	}
}

func TestSwissRounds(t *testing.T) {
	for _, tt := range []struct {
		name            string
		players, rounds int
		want            int
		err             string
	}{
		{"no rounds given: enough for one winner of all matches", 9, 0, 4, ""},
		{"a power of two", 1024, 0, 10, ""},
		{"the most rounds", 9, 5, 5, ""},
		{"fewer than the default", 1024, 1, 1, ""},
		{"too many rounds", 9, 6, 0, "a Swiss tournament of 9 players has 1 to 5 rounds, got 6"},
		{"a negative number of rounds", 9, -1, 0, "1 to 5 rounds, got -1"},
		{"one player", 1, 1, 0, "at least 2 players, got 1"},
		{"a negative number of players", -2, 0, 0, "at least 2 players, got -2"},
		{"players past counting", math.MaxInt, 0, 0, "at most 2147483647 players"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := pairing.New(pairing.Format{Name: pairing.Swiss, Players: tt.players, Rounds: tt.rounds})
			if tt.err != "" {
				assert.ErrorContains(t, err, tt.err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tt.want, p.Rounds())
		})
	}
}

func TestSwissRoundIsNilWithoutTheRoundsBefore(t *testing.T) {
	p := newPairer(t, pairing.Format{Name: pairing.Swiss, Players: 4})
	first := []league.Played{lowerWins(1, pairing.Pairing{A: 0, B: 2}), lowerWins(1, pairing.Pairing{A: 3, B: 1})}
	result := func(a, b, winner int) [][]league.Played {
		return [][]league.Played{{{A: a, B: b, Winner: winner}}}
	}
	for _, tt := range []struct {
		name   string
		round  int
		played [][]league.Played
	}{
		{"round 0", 0, nil},
		{"a negative round", -1, nil},
		{"round 1 is not played", 2, nil},
		{"the tournament has ended", 3, [][]league.Played{first, first}},
		{"a player that does not exist", 2, result(0, 4, 0)},
		{"a negative player", 2, result(-1, 2, 2)},
		{"a player against itself", 2, result(2, 2, 2)},
		{"a winner that did not play", 2, result(0, 2, 1)},
		{"a player with two matches", 2, [][]league.Played{append(first, first[0])}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			assert.Nil(t, p.Round(tt.round, tt.played, nil))
		})
	}
	assert.NotNil(t, p.Round(2, [][]league.Played{first}, nil))
}

func TestSwissWithoutLegalPairingRepeatsTheFewestMatches(t *testing.T) {
	p := newPairer(t, pairing.Format{Name: pairing.Swiss, Players: 7, Rounds: 4})
	// Players 0 to 3 have all met, and 4 has met 5. Player 6 had three byes.
	played := make([][]league.Played, 3)
	for i, pairings := range [][]pairing.Pairing{
		{{0, 1}, {2, 3}, {4, 5}}, {{0, 2}, {1, 3}, {4, 5}}, {{0, 3}, {1, 2}, {4, 5}},
	} {
		for _, pair := range pairings {
			played[i] = append(played[i], lowerWins(0, pair))
		}
	}
	// One of the first four has the bye, the others meet 4, 5 and 6.
	round := p.Round(4, played, nil)
	require.Len(t, round, 3)
	for _, pair := range round {
		assert.NotEqual(t, min(pair.A, pair.B) < 4, max(pair.A, pair.B) < 4, "%v", round)
	}
	// Without 6, two of the first four have to meet again, or 4 and 5: no pairing has fewer.
	absent := pairing.Absences{6: {4}}
	again := 0
	round = p.Round(4, played, absent)
	require.Len(t, round, 3)
	for _, pair := range round {
		if (min(pair.A, pair.B) < 4) == (max(pair.A, pair.B) < 4) {
			again++
		}
	}
	assert.Equal(t, 1, again, "%v", round)
	assert.Len(t, p.Round(4, played, pairing.Absences{{1}, {1}, {1}, {1}, nil, {1}, nil}), 1, "two players are left")
	assert.Nil(t, p.Round(4, played, pairing.Absences{{1}, {1}, {1}, {1}, nil, {1}, {4}}), "one player is left")
}

// In both positions the pairing by numbers of pairs alone gave the leader an opponent with far fewer points, although
// it had not met a nearer one.
func TestLeaderMeetsTheNearestOpponent(t *testing.T) {
	for _, tt := range []struct {
		name   string
		f      pairing.Format
		played [][]league.Played
		want   []pairing.Pairing // with the lower index first
	}{
		{
			"1 with 7 points meets 7 with 5, not 4 with 2", pairing.Format{Players: 8, Rounds: 4}, [][]league.Played{
				{{A: 0, B: 4, Winner: league.None}, {A: 5, B: 1, Winner: 1}, {A: 2, B: 6, Winner: league.None}, {A: 7, B: 3, Winner: league.None}},
				{{A: 1, B: 0, Winner: league.None}, {A: 4, B: 2, Winner: league.None}, {A: 3, B: 6, Winner: 3}, {A: 5, B: 7, Winner: league.None}},
				{{A: 1, B: 3, Winner: 1}, {A: 2, B: 0, Winner: league.None}, {A: 7, B: 4, Winner: 7}, {A: 6, B: 5, Winner: 5}},
			},
			[]pairing.Pairing{{A: 1, B: 7}, {A: 2, B: 3}, {A: 0, B: 5}, {A: 4, B: 6}},
		},
		{
			"0 and 6 with 7 points have met, and meet 8 and 4 with 6", pairing.Format{Players: 9}, [][]league.Played{
				{{A: 0, B: 4, Winner: 0}, {A: 5, B: 1, Winner: 5}, {A: 2, B: 6, Winner: 6}, {A: 7, B: 3, Winner: league.None}},
				{{A: 6, B: 0, Winner: league.None}, {A: 8, B: 5, Winner: 5}, {A: 3, B: 1, Winner: 3}, {A: 2, B: 7, Winner: 7}},
				{{A: 5, B: 0, Winner: 0}, {A: 6, B: 3, Winner: 6}, {A: 4, B: 7, Winner: 4}, {A: 1, B: 8, Winner: 8}},
			},
			[]pairing.Pairing{{A: 0, B: 8}, {A: 4, B: 6}, {A: 5, B: 7}, {A: 2, B: 3}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.f.Name, tt.f.Points = pairing.Swiss, league.MatchPoints{Win: 3, Draw: 1}
			round := newPairer(t, tt.f).Round(4, tt.played, nil)
			for i, p := range round {
				round[i] = pairing.Pairing{A: min(p.A, p.B), B: max(p.A, p.B)}
			}
			assert.Equal(t, tt.want, round)
		})
	}
}

// randomResults is a judge of wins, draws and losses that are as likely.
func randomResults(rng *rand.Rand) judge {
	return func(_ int, p pairing.Pairing) league.Played {
		return league.Played{A: p.A, B: p.B, Winner: []int{p.A, p.B, league.None}[rng.IntN(3)]}
	}
}

func TestSwissFieldsFrom2To257(t *testing.T) {
	most, part := 16, 3 // players in as many rounds as possible; the part by which a field grows
	if os.Getenv("EVENODD_TEST_ALL") != "" {
		most, part = 150, 16
	}
	for players := 2; players <= 257; players += max(1, players/part) {
		rng := rand.New(rand.NewPCG(uint64(players), 1))
		for name, end := range map[string]judge{
			"lower wins": lowerWins,
			"all drawn":  allDrawn,
			"random":     randomResults(rng),
		} {
			rounds := 0
			if players <= most {
				rounds = (players + 1) / 2
			}
			played := checkSwiss(t, pairing.Format{Name: pairing.Swiss, Players: players, Rounds: rounds}, end)
			balance := make([]int, players)
			for _, results := range played {
				for _, r := range results {
					balance[r.A]++
					balance[r.B]--
				}
				require.LessOrEqual(t, slices.Max(balance), 2, "%d players, %s", players, name)
				require.GreaterOrEqual(t, slices.Min(balance), -2, "%d players, %s", players, name)
			}
		}
	}
}

func TestAnySwissTournament(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		players := rapid.IntRange(2, 65).Draw(t, "players")
		rounds := rapid.IntRange(1, min(7, (players+1)/2)).Draw(t, "rounds")
		checkSwiss(t, pairing.Format{Name: pairing.Swiss, Players: players, Rounds: rounds}, drawnJudge(t))
	})
}

// checkSwiss plays a tournament and checks its rounds: every player has one match, or
// its only bye; nobody meets an opponent twice; equal results give equal pairings.
func checkSwiss(t fataler, f pairing.Format, end judge) [][]league.Played {
	t.Helper()
	p := newPairer(t, f)
	played := play(p, end)
	require.Len(t, played, p.Rounds(), "%+v: a legal pairing always exists", f)
	met := map[pairing.Pairing]bool{} // lower index first
	hadBye := make([]bool, f.Players)
	for i, pairings := range pairingsOf(played) {
		require.Len(t, pairings, f.Players/2, "%+v R%d", f, i+1)
		byes := pairing.Byes(f.Players, pairings)
		require.Len(t, byes, f.Players%2, "%+v R%d: a player has two matches", f, i+1)
		for _, player := range byes {
			require.False(t, hadBye[player], "%+v R%d: second bye of %d", f, i+1, player)
			hadBye[player] = true
		}
		for _, pair := range pairings {
			pair = pairing.Pairing{A: min(pair.A, pair.B), B: max(pair.A, pair.B)}
			require.False(t, met[pair], "%+v R%d: %v meet again", f, i+1, pair)
			met[pair] = true
		}
	}
	last := len(played) - 1
	require.Equal(t, pairingsOf(played)[last], newPairer(t, f).Round(last+1, played, nil), "%+v: not deterministic", f)
	return played
}

// TestSidesAreBalancedWherePossible swaps sides after the pairing, so that some players
// have had one side too often, and compares each round with an exhaustive search.
func TestSidesAreBalancedWherePossible(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		players := rapid.IntRange(6, 12).Draw(t, "players")
		favoured := rapid.IntRange(0, players).Draw(t, "favoured") // players below get side A against the others
		end := drawnJudge(t)
		met := map[pairing.Pairing]bool{}
		balance := make([]int, players)
		balanced := func(p, q int) bool {
			return !met[pairing.Pairing{A: p, B: q}] && max(balance[p], balance[q]) > -2 && min(balance[p], balance[q]) < 2
		}
		p := newPairer(t, pairing.Format{Name: pairing.Swiss, Players: players, Rounds: (players + 1) / 2})
		var played [][]league.Played
		for round := 1; round <= p.Rounds(); round++ {
			pairings := p.Round(round, played, nil)
			require.Len(t, pairings, players/2)
			possible := canPairAll(players, pairing.Byes(players, pairings), balanced)
			results := make([]league.Played, len(pairings))
			for i, pair := range pairings {
				require.False(t, possible && !balanced(pair.A, pair.B), "R%d: both of %v must get the same side", round, pair)
				if pair.A >= favoured && pair.B < favoured {
					pair.A, pair.B = pair.B, pair.A
				}
				results[i] = end(round, pair)
			}
			for _, r := range results {
				met[pairing.Pairing{A: r.A, B: r.B}], met[pairing.Pairing{A: r.B, B: r.A}] = true, true
				balance[r.A]++
				balance[r.B]--
			}
			played = append(played, results)
		}
	})
}

// canPairAll tells by exhaustive search whether all players except some can be paired.
func canPairAll(players int, except []int, legal func(p, q int) bool) bool {
	known := map[int]bool{0: true} // by the set of players left
	var search func(left int) bool
	search = func(left int) bool {
		if result, ok := known[left]; ok {
			return result
		}
		p := bits.TrailingZeros(uint(left))
		for q := p + 1; q < players; q++ {
			if left>>q&1 == 1 && legal(p, q) && search(left&^(1<<p|1<<q)) {
				known[left] = true
				return true
			}
		}
		known[left] = false
		return false
	}
	left := 1<<players - 1
	for _, p := range except {
		left &^= 1 << p
	}
	return search(left)
}

func BenchmarkSwissRound(b *testing.B) {
	for _, players := range []int{1000, 10000} {
		b.Run(strconv.Itoa(players), func(b *testing.B) {
			p := newPairer(b, pairing.Format{Name: pairing.Swiss, Players: players})
			for name, end := range map[string]judge{"random": randomResults(rand.New(rand.NewPCG(1, 2))), "lower wins": lowerWins, "draws": allDrawn} {
				played := play(p, end)
				for _, round := range []int{1, 2, p.Rounds()} {
					b.Run(fmt.Sprintf("%s/round %d", name, round), func(b *testing.B) {
						b.ReportAllocs()
						for b.Loop() {
							p.Round(round, played, nil)
						}
					})
				}
			}
		})
	}
}

func BenchmarkLateSwissRound(b *testing.B) {
	const round = 150
	p := newPairer(b, pairing.Format{Name: pairing.Swiss, Players: 400, Rounds: 200})
	var played [][]league.Played
	for len(played) < round-1 {
		var results []league.Played
		for _, pair := range p.Round(len(played)+1, played, nil) {
			results = append(results, lowerWins(0, pair))
		}
		played = append(played, results)
	}
	for b.Loop() {
		p.Round(round, played, nil)
	}
}

func TestSwissSeedsReplaceTheOrderOfIndexes(t *testing.T) {
	p := newPairer(t, pairing.Format{Name: pairing.Swiss, Players: 5, Seeds: []int{4, 2, 0, 1, 3}})
	round := p.Round(1, nil, nil)
	assert.Equal(t, []pairing.Pairing{{4, 0}, {1, 2}}, round, "the upper half 4, 2 meets the lower half 0, 1; sides alternate")
	assert.Equal(t, []int{3}, pairing.Byes(5, round), "the last seed has the bye")
}

func TestScoreGroupsFollowThePoints(t *testing.T) {
	played := [][]league.Played{{
		{A: 0, B: 2, Winner: 2},
		{A: 3, B: 1, Winner: league.None},
	}}
	failed := [][]league.Played{{
		{A: 0, B: 2, Winner: 2, Technical: true},
		{A: 3, B: 1, Winner: 1},
	}}
	for _, tt := range []struct {
		name   string
		points league.MatchPoints
		played [][]league.Played
		want   [2]int // the players of the first match
	}{
		{"default: the winner 2 leads and meets 3 of the drawn, because 1 wants side A too", league.MatchPoints{}, played, [2]int{2, 3}},
		{"3, 1, 0", league.MatchPoints{Win: 3, Draw: 1}, played, [2]int{2, 3}},
		{"only a draw has points: 1 and 3 lead, but have met", league.MatchPoints{Draw: 1}, played, [2]int{0, 1}},
		{"more points than a league can have", league.MatchPoints{Win: math.MaxInt, Draw: math.MinInt}, played, [2]int{2, 3}},
		{"a technical loss is worth more than a win", league.MatchPoints{Win: 1, TechnicalLoss: 2}, failed, [2]int{0, 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPairer(t, pairing.Format{Name: pairing.Swiss, Players: 4, Points: tt.points})
			first := p.Round(2, tt.played, nil)[0]
			assert.Equal(t, tt.want, [2]int{min(first.A, first.B), max(first.A, first.B)})
		})
	}
}
